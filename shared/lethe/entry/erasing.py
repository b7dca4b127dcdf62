"""The function ``erase``: a task of the state machine in, whether it is done out; and what its schedules ask for.

Errors leave by the names of their classes, which the state machine retries or catches; none carries a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypedDict

from lethe.domain.erasure import StepName
from lethe.entry.events import LambdaContext
from lethe.errors import InvalidInput, LetheError
from lethe.ports import TimeLeft
from lethe.services.erasure.worker import Done

TICK, COMPACT, FAIL, LATER = "tick", "compact", "fail", "later"
SPARE: Final = 3.0
"""Seconds that a task leaves of its function's time, to write into the ledger how far it came."""


class Unexpected(Exception):
    """Something failed that nobody foresaw; the state machine catches it by this name, the log says what it was."""


class Task(TypedDict, total=False):
    """What the state machine or a schedule hands over."""

    task: str
    tenant: str
    erasure: str
    error: str


class TaskAnswer(TypedDict, total=False):
    """What the state machine goes on with: nothing but names, and whether the task is done. ``task`` is the one that
    comes next while it is not: mostly the same, or the same with ``later`` behind it, for which the machine waits.
    A schedule hears how much it ``started``.
    """

    task: str
    tenant: str
    erasure: str
    done: bool
    state: str
    started: int


class Tasks(Protocol):
    """Runs tasks; ``services.erasure.worker`` does."""

    def run(self, task: StepName, tenant: str, erasure_id: str, time_left: TimeLeft) -> Done:
        """A stretch of a task, and of those behind it that need not wait."""
        ...

    def fail(self, tenant: str, erasure_id: str, why: str) -> None:
        """The honest end of a machine that gave up."""
        ...


class EraseObserver(Protocol):
    """Told of every stretch."""

    def worked(self, task: str, done: bool, seconds: float) -> None:
        """A stretch of a task ended."""
        ...

    def failed(self, task: str, error: BaseException) -> None:
        """It raised; its text is nobody's business."""
        ...


class EraseApplication:
    """Dispatches tasks."""

    def __init__(
        self,
        tasks: Tasks,
        scheduled: Mapping[str, Callable[[], int]],
        observer: EraseObserver,
        clock: Callable[[], float],
    ) -> None:
        """``scheduled`` has what schedules ask for, by task."""
        self._tasks = tasks
        self._scheduled = scheduled
        self._observer = observer
        self._clock = clock

    def __call__(self, event: Task, context: LambdaContext) -> TaskAnswer:
        """Work on one task until it is done or the time is over. Raises what the worker raises."""
        task, begun = event.get("task", ""), self._clock()
        try:
            answer = self._run(task, event, lambda: context.get_remaining_time_in_millis() / 1_000 - SPARE)
        except LetheError as error:
            self._observer.failed(task, error)
            raise
        except Exception as error:
            self._observer.failed(task, error)
            # Lambda writes an error's text into the history of the state machine; one that is not ours may quote.
            raise Unexpected from None
        self._observer.worked(task, answer.get("done", True), self._clock() - begun)
        return answer

    def _run(self, task: str, event: Task, time_left: TimeLeft) -> TaskAnswer:
        if task in self._scheduled:
            return {"task": task, "started": self._scheduled[task]()}
        tenant, erasure = event["tenant"], event["erasure"]
        if task == FAIL:
            self._tasks.fail(tenant, erasure, event.get("error", "unknown"))
            return {"task": task, "tenant": tenant, "erasure": erasure, "done": True}
        if task not in set(StepName):
            raise InvalidInput.of("task", "not a step of an erasure")
        done = self._tasks.run(StepName(task), tenant, erasure, time_left)
        return {
            "task": f"{task} {LATER}" if done.later else done.following or task,
            "tenant": tenant,
            "erasure": erasure,
            "done": done.done,
            "state": done.state.value,
        }
