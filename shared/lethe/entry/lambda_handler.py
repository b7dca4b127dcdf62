"""The handler of a function: built during Lambda's init phase, or at the first call anywhere else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from lethe.entry.events import Event, LambdaContext

Response = TypeVar("Response")


class LambdaHandler(Generic[Response]):
    """Callable as Lambda calls a handler. ``build`` makes the application from the environment."""

    def __init__(self, build: Callable[[Mapping[str, str]], Callable[[Event, LambdaContext], Response]]) -> None:
        self._build = build
        self._application: Callable[[Event, LambdaContext], Response] | None = None
        if "AWS_LAMBDA_INITIALIZATION_TYPE" in os.environ:
            self._application = build(os.environ)

    def __call__(self, event: Event, context: LambdaContext) -> Response:
        """Answer one event."""
        if self._application is None:
            self._application = self._build(os.environ)
        return self._application(event, context)
