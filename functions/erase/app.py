"""The tasks of the state machine beside it, and the tick that starts erasures again."""

from lethe.entry.lambda_handler import LambdaHandler
from lethe.entry.wiring.erasing import build_erase as build

lambda_handler = LambdaHandler(build)
