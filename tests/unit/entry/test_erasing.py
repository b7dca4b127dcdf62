"""The function ``erase``: tasks in, whether they are done out, and no error's text to anybody."""

from __future__ import annotations

import pytest

from lethe.domain.erasure import ErasureState, StepName
from lethe.entry.erasing import COMPACT, TICK, EraseApplication, Task, Unexpected
from lethe.errors import InvalidInput, Unavailable
from lethe.ports import TimeLeft
from lethe.services.erasure.worker import Done


class Context:
    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


class Listener:
    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def worked(self, task: str, done: bool, seconds: float) -> None:
        self.heard.append((task, "done" if done else "more"))

    def failed(self, task: str, error: BaseException) -> None:
        self.heard.append((task, type(error).__name__))


class Tasks:
    """Answers as it is told, and notes what it was asked."""

    def __init__(self, *outcomes: Done | Exception) -> None:
        self._outcomes = list(outcomes)
        self.asked: list[tuple[str, ...]] = []
        self.time_left = 0.0

    def run(self, task: StepName, tenant: str, erasure_id: str, time_left: TimeLeft) -> Done:
        self.asked.append((task.value, tenant, erasure_id))
        self.time_left = time_left()
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def fail(self, tenant: str, erasure_id: str, why: str) -> None:
        self.asked.append(("fail", tenant, erasure_id, why))


def application(tasks: Tasks, listener: Listener) -> EraseApplication:
    return EraseApplication(tasks, {TICK: lambda: 3, COMPACT: lambda: 1}, listener, lambda: 0.0)


TASK: Task = {"task": "memories", "tenant": "acme", "erasure": "er_1"}


def test_a_task_says_whether_it_is_done_and_what_comes_next() -> None:
    tasks, listener = Tasks(Done(False), Done(True), Done(False, StepName.INDEX)), Listener()
    erase = application(tasks, listener)
    state = ErasureState.RUNNING.value
    assert erase(TASK, Context()) == TASK | {"done": False, "state": state}
    assert erase(TASK, Context()) == TASK | {"done": True, "state": state}
    assert erase(TASK, Context())["task"] == "index"
    assert tasks.asked == [("memories", "acme", "er_1")] * 3
    assert 50 < tasks.time_left < 60
    assert listener.heard == [("memories", "more"), ("memories", "done"), ("memories", "more")]


def test_the_tick_and_the_honest_end() -> None:
    tasks, listener = Tasks(), Listener()
    erase = application(tasks, listener)
    assert erase({"task": "tick"}, Context()) == {"task": "tick", "started": 3}
    assert erase({"task": "compact"}, Context()) == {"task": "compact", "started": 1}
    failing: Task = {"task": "fail", "tenant": "acme", "erasure": "er_1", "error": "LeftBehind"}
    assert erase(failing, Context())["done"] is True
    assert tasks.asked == [("fail", "acme", "er_1", "LeftBehind")]


def test_ours_leave_by_name_and_others_without_a_word() -> None:
    listener = Listener()
    with pytest.raises(Unavailable):
        application(Tasks(Unavailable()), listener)(TASK, Context())
    with pytest.raises(Unexpected) as raised:
        application(Tasks(KeyError("CANARY")), listener)(TASK, Context())
    assert str(raised.value) == ""
    assert (raised.value.__cause__, raised.value.__suppress_context__) == (None, True)
    assert listener.heard == [("memories", "Unavailable"), ("memories", "KeyError")]
    with pytest.raises(InvalidInput):
        application(Tasks(), listener)({"task": "dance", "tenant": "acme", "erasure": "er_1"}, Context())
