"""Writes: sessions, memories, entities."""

from lethe.entry.lambda_handler import LambdaHandler
from lethe.entry.wiring.api import build_write as build

lambda_handler = LambdaHandler(build)
