"""Keeps the search index in step with the table of memories, from its stream."""

from lethe.entry.lambda_handler import LambdaHandler
from lethe.entry.wiring.search import build_index as build

lambda_handler = LambdaHandler(build)
