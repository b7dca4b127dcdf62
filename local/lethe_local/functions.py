"""Runs the Lambda functions of the template in this process, the way Lambda runs them: one request a container."""

from __future__ import annotations

import importlib.util
import logging
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Protocol, TypeAlias

from lethe.domain.json_values import JsonValue
from lethe.ports import Clock
from lethe_local.intrinsics import TemplateError, function_arn
from lethe_local.template import FunctionResource

Event: TypeAlias = dict[str, JsonValue]
Handler: TypeAlias = "Callable[[Event, LambdaContext], JsonValue]"
_log = logging.getLogger("lethe_local.functions")


class Build(Protocol):
    """What every ``app.py`` offers: its handler for one environment and clock."""

    def __call__(self, environment: Mapping[str, str], clock: Clock) -> Handler:
        """A handler that shares nothing with another one but what is cached for the process."""
        ...


class FunctionFailed(Exception):
    """The function raised, or ran into its own time-out; the log says which."""


class FunctionLate(Exception):
    """The function did not answer within the time that its caller waits."""


class LambdaContext:
    """The context object of one invocation, as the Lambda runtime hands it over."""

    def __init__(self, function: FunctionResource) -> None:
        self.aws_request_id = str(uuid.uuid4())
        self.function_name = function.logical_id
        self.function_version = "$LATEST"
        self.invoked_function_arn = function_arn(function.logical_id)
        self.memory_limit_in_mb = str(function.memory_mb)
        self.log_group_name = f"/aws/lambda/{function.logical_id}"
        self.log_stream_name = "local"
        self.identity = None
        self.client_context = None
        self._deadline = time.monotonic() + function.timeout_seconds

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the function's time-out; 0 from then on."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))


class _Invocation:
    """One run of a handler in a thread of its own, which can be left behind when it takes too long."""

    def __init__(self, handler: Handler, event: Event, context: LambdaContext, done: Callable[[], None]) -> None:
        self._handler, self._event, self._context = handler, event, context
        self._done = done
        self.answer: JsonValue = None
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self._run, name=context.function_name, daemon=True)

    def _run(self) -> None:
        try:
            self.answer = self._handler(self._event, self._context)
        except Exception as error:  # whatever a function raises is its failure, and Lambda reports it as such
            self.error = error
        finally:
            self._done()

    def finish_within(self, seconds: float) -> bool:
        self.thread.start()
        self.thread.join(seconds)
        return not self.thread.is_alive()


class LocalFunction:
    """One function of the template with its containers.

    A container is one handler made by the app's ``build``; it serves one request at a time, and the one used last
    serves next. At most ``most_containers`` exist; further requests wait for one.
    """

    def __init__(
        self, resource: FunctionResource, environment: Mapping[str, str], clock: Clock, most_containers: int
    ) -> None:
        self.resource = resource
        self._build = load_build(resource)
        self._environment = dict(environment)
        self._clock = clock
        self._idle: list[Handler] = [self._build(self._environment, clock)]
        self._places = threading.BoundedSemaphore(most_containers)
        self._running: set[threading.Thread] = set()
        self._lock = threading.Lock()

    @property
    def arn(self) -> str:
        """Its address, as Lambda would give it."""
        return function_arn(self.resource.logical_id)

    def running(self) -> tuple[threading.Thread, ...]:
        """The threads of all invocations that have not ended, those that nobody waits for any more included."""
        with self._lock:
            return tuple(self._running)

    def invoke(self, event: Event, wait_seconds: float) -> JsonValue:
        """The handler's answer. Raises FunctionFailed, or FunctionLate when ``wait_seconds`` pass before it."""
        started = time.monotonic()
        if not self._places.acquire(timeout=wait_seconds):
            raise FunctionLate(self.resource.name)
        handler = self._container()
        context = LambdaContext(self.resource)
        invocation = _Invocation(handler, event, context, done=lambda: self._release(handler))
        with self._lock:
            self._running.add(invocation.thread)
        left = wait_seconds - (time.monotonic() - started)
        limit = self.resource.timeout_seconds
        if not invocation.finish_within(max(0.0, min(left, limit))):
            if left < limit:
                raise FunctionLate(self.resource.name)
            _log.error("%s: timed out after %d s", self.resource.name, limit)
            raise FunctionFailed(self.resource.name)
        if invocation.error is not None:
            _log.error("%s: raised", self.resource.name, exc_info=invocation.error)
            raise FunctionFailed(self.resource.name) from invocation.error
        return invocation.answer

    def _container(self) -> Handler:
        try:
            return self._idle.pop()  # the newest: its caches are warm
        except IndexError:
            try:
                return self._build(self._environment, self._clock)
            except Exception as error:
                self._places.release()
                _log.error("%s: could not start", self.resource.name, exc_info=error)
                raise FunctionFailed(self.resource.name) from error

    def _release(self, handler: Handler) -> None:
        with self._lock:
            self._running.discard(threading.current_thread())
        self._idle.append(handler)
        self._places.release()


def load_build(resource: FunctionResource) -> Build:
    """Import the function's module from its folder, as a module of its own, and give its ``build``.

    Raises TemplateError when the file or ``build`` is missing.
    """
    module_name, _, handler_name = resource.handler.rpartition(".")
    path = resource.folder / f"{module_name}.py"
    if not module_name or not path.is_file():
        raise TemplateError(f"{resource.logical_id}: there is no {resource.name}/{module_name}.py")
    module = _import(f"lethe_function_{resource.name}", path)
    build: Build | None = getattr(module, "build", None)
    if build is None or not hasattr(module, handler_name):
        raise TemplateError(f"{resource.name}/{module_name}.py must have build and {handler_name}")
    return build


def _import(name: str, path: object) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, str(path))
    if spec is None or spec.loader is None:
        raise TemplateError(f"{name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up there
    spec.loader.exec_module(module)
    return module
