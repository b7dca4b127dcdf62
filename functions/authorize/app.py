"""Who is calling: the Lambda authorizer of the HTTP API."""

from lethe.entry.lambda_handler import LambdaHandler
from lethe.entry.wiring.access import build_authorize as build

lambda_handler = LambdaHandler(build)
