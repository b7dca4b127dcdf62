"""Reads: recall, search, lists, subjects, health, the API's description."""

from lethe.entry.lambda_handler import LambdaHandler
from lethe.entry.wiring.api import build_recall as build

lambda_handler = LambdaHandler(build)
