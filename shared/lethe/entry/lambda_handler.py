"""The handler of a function: built during Lambda's init phase, or at the first call anywhere else.

On Lambda this module is imported first, and the garbage collector rests until the function is built: what an init
phase allocates stays for the container's life, and looking through it again and again is a tenth of a cold start.
Afterwards it is frozen, so that later collections leave it alone.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from lethe.entry.events import LambdaContext
from lethe.entry.left_out import leave_out

Event = TypeVar("Event")
Response = TypeVar("Response")

_ON_LAMBDA: Final = "AWS_LAMBDA_INITIALIZATION_TYPE" in os.environ
if _ON_LAMBDA:
    gc.disable()
    leave_out()


class LambdaHandler(Generic[Event, Response]):
    """Callable as Lambda calls a handler. ``build`` makes the application from the environment."""

    def __init__(self, build: Callable[[Mapping[str, str]], Callable[[Event, LambdaContext], Response]]) -> None:
        self._build = build
        self._application: Callable[[Event, LambdaContext], Response] | None = None
        if _ON_LAMBDA:
            self._application = build(os.environ)
            gc.freeze()
            gc.enable()

    def __call__(self, event: Event, context: LambdaContext) -> Response:
        """Answer one event."""
        if self._application is None:
            self._application = self._build(os.environ)
        return self._application(event, context)
