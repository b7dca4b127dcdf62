"""Time by step, measured from outside: named functions of the product are replaced by timed ones for a while.

A span's *own* time leaves out what spans inside it took in the same thread, so the steps of one request add up to
its wall time and nothing is counted twice. Spans in other threads run beside the request and are kept apart.
"""

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

REST = "everything else"


@dataclass(slots=True)
class Span:
    """One run of a step: seconds on the clock, and how much of it was its own."""

    step: str
    thread: int
    start: float
    end: float = 0.0
    inner: float = 0.0

    @property
    def own(self) -> float:
        return self.end - self.start - self.inner


@dataclass(slots=True)
class Request:
    """What one request did: its wall time, its spans, and the calls to the store and to the embedding model."""

    seconds: float
    spans: list[Span] = field(default_factory=list)
    calls: list[Span] = field(default_factory=list)
    thread: int = 0

    def steps(self) -> dict[str, float]:
        """Own seconds of each step in the request's own thread; what no step explains is ``REST``."""
        steps: dict[str, float] = {}
        for span in self.spans:
            if span.thread == self.thread:
                steps[span.step] = steps.get(span.step, 0.0) + span.own
        steps[REST] = self.seconds - sum(steps.values())
        return steps

    def beside(self) -> dict[str, float]:
        """Own seconds of each step in other threads, which ran while the request did something else."""
        steps: dict[str, float] = {}
        for span in self.spans:
            if span.thread != self.thread:
                steps[span.step] = steps.get(span.step, 0.0) + span.own
        return steps

    def rounds(self) -> int:
        """The longest chain of calls that waited for one another; calls that overlap count as one round."""
        rounds, free = 0, 0.0
        for call in sorted(self.calls, key=lambda c: c.end):
            if call.start >= free:
                rounds, free = rounds + 1, call.end
        return rounds


class Recorder:
    """Collects spans of all threads; ``request`` cuts them into requests."""

    def __init__(self) -> None:
        self.calls: list[Span] = []
        self._spans: list[Span] = []
        self._stack = threading.local()

    def timed(self, step: str, function: Callable[..., object], *, is_call: bool = False) -> Callable[..., object]:
        """``function``, timed as ``step``; with ``is_call`` it counts as a call over the network as well."""

        @functools.wraps(function)
        def run(*arguments: object, **named: object) -> object:
            span = self.begin(step)
            try:
                return function(*arguments, **named)
            finally:
                self.end(span)
                if is_call:
                    self.calls.append(span)

        return run

    def begin(self, step: str) -> Span:
        span = Span(step, threading.get_ident(), perf_counter())
        self._open().append(span)
        return span

    def end(self, span: Span) -> None:
        span.end = perf_counter()
        stack = self._open()
        stack.pop()
        if stack:
            stack[-1].inner += span.end - span.start
        self._spans.append(span)

    def _open(self) -> list[Span]:
        stack: list[Span] | None = getattr(self._stack, "open", None)
        if stack is None:
            stack = self._stack.open = []
        return stack

    def request(self, run: Callable[[], None]) -> Request:
        """Run one request and take all spans that it made."""
        self._spans.clear()
        self.calls.clear()
        start = perf_counter()
        run()
        seconds = perf_counter() - start
        return Request(seconds, list(self._spans), list(self.calls), threading.get_ident())


@dataclass(frozen=True, slots=True)
class Place:
    """A function to time: what holds it, its name there, and the step that it stands for."""

    owner: object
    name: str
    step: str


@contextmanager
def timing(recorder: Recorder, places: Sequence[Place]) -> Iterator[None]:
    """Time these functions until the block ends. Raises AttributeError where one is gone: the list must follow."""
    before: list[tuple[object, str, object]] = []
    try:
        for place in places:
            original = vars(place.owner)[place.name]
            before.append((place.owner, place.name, original))
            timed: object = (
                classmethod(recorder.timed(place.step, original.__func__))
                if isinstance(original, classmethod)
                else recorder.timed(place.step, original)
            )
            setattr(place.owner, place.name, timed)
        yield
    finally:
        for owner, name, original in reversed(before):
            setattr(owner, name, original)
