"""The shipped state machine in the local interpreter, over a function that does as it is told."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import boto3
import pytest

from lethe.adapters.step_functions import StepFunctionsExecutions
from lethe.domain.erasure import StepName
from lethe.domain.json_values import JsonValue
from lethe.errors import LetheError, Throttled, Unavailable
from lethe_local.functions import Event
from lethe_local.stack import LocalStack, StackOptions
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.client import SFNClient
    from mypy_boto3_stepfunctions.type_defs import DescribeExecutionOutputTypeDef, HistoryEventTypeDef

ROOT = Path(__file__).resolve().parents[3]
HOUSE = Path(__file__).parent / "machine_house"
TENANT, ERASURE = "acme", "er_01JZ0000000000000000000000"
TASKS = [name.value for name in StepName if name is not StepName.DRAIN]
CONTENT = "peanuts"


class LeftBehind(LetheError):
    """As the function names it."""


@dataclass(frozen=True)
class Machine:
    """A running house, and a client of its Step Functions."""

    stack: LocalStack
    client: SFNClient

    @property
    def app(self) -> ModuleType:
        return sys.modules["lethe_function_erase"]

    @property
    def executions(self) -> StepFunctionsExecutions:
        environment = self.stack.environment
        return StepFunctionsExecutions(
            "us-east-1", environment["LETHE_STATE_MACHINE_ARN"], environment["LETHE_STEP_FUNCTIONS_ENDPOINT"]
        )

    def plan(self, task: str, *answers: Callable[[Event], JsonValue]) -> None:
        self.app.answers[task] = list(answers)

    def run(self, run: int = 1) -> str:
        """Start one and wait for its end; its status."""
        self.executions.start(TENANT, ERASURE, run)
        assert self.stack.wait_until_erased(60)
        return self.describe(run)["status"]

    def describe(self, run: int = 1) -> DescribeExecutionOutputTypeDef:
        return self.client.describe_execution(executionArn=self._arn(run))

    def history(self, run: int = 1) -> list[HistoryEventTypeDef]:
        return list(self.client.get_execution_history(executionArn=self._arn(run), maxResults=1000)["events"])

    def _arn(self, run: int) -> str:
        machine = self.stack.environment["LETHE_STATE_MACHINE_ARN"].replace(":stateMachine:", ":execution:")
        return f"{machine}:{ERASURE}" + (f"-{run}" if run > 1 else "")

    @property
    def tasks(self) -> list[str]:
        """What the function was told by the machine, in order."""
        return [str(event["task"]) for event in self.app.told if event["task"] != "tick"]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("machine")
    shutil.copytree(HOUSE, folder, dirs_exist_ok=True)
    shutil.copy(ROOT / "functions/erase/erase.asl.json", folder / "functions/erase/erase.asl.json")
    return folder


def _started(house: Path, state: Path) -> LocalStack:
    return LocalStack.start(StackOptions(house, state, tables="moto", say=print, most_pause=0))


def _client(stack: LocalStack) -> SFNClient:
    client: SFNClient = boto3.client(
        "stepfunctions",
        endpoint_url=stack.environment["LETHE_STEP_FUNCTIONS_ENDPOINT"],
        region_name="us-east-1",
        aws_access_key_id="-",
        aws_secret_access_key="-",
    )
    return client


@pytest.fixture
def machine(house: Path, tmp_path: Path) -> Iterator[Machine]:
    with _started(house, tmp_path) as stack:
        client = _client(stack)
        yield Machine(stack, client)
        client.close()


def raising(error: BaseException) -> Callable[[Event], JsonValue]:
    def answer(event: Event) -> JsonValue:
        raise error

    return answer


def not_yet(event: Event) -> JsonValue:
    return {**event, "done": False}


def round_again(event: Event) -> JsonValue:
    return {**event, "task": "index", "done": False}


def failures(machine: Machine) -> list[Event]:
    return [event for event in machine.app.told if event["task"] == "fail"]


def test_every_step_is_done_once_and_in_order(machine: Machine) -> None:
    assert machine.run() == "SUCCEEDED"
    assert machine.tasks == TASKS
    told = [event for event in machine.app.told if event["task"] != "tick"]
    assert all(set(event) == {"task", "tenant", "erasure"} for event in told)
    assert {(event["tenant"], event["erasure"]) for event in told} == {(TENANT, ERASURE)}


def test_a_task_is_called_until_it_is_done(machine: Machine) -> None:
    machine.plan("memories", not_yet, not_yet, not_yet)
    assert machine.run() == "SUCCEEDED"
    assert machine.tasks.count("memories") == 4
    assert len(machine.tasks) == len(TASKS) + 3


def test_a_probe_looks_in_stretches_and_sends_the_deleting_steps_round(machine: Machine) -> None:
    machine.plan("probe", not_yet, round_again)
    assert machine.run() == "SUCCEEDED"
    first, last = TASKS.index("index"), TASKS.index("probe")
    assert machine.tasks == [*TASKS[:last], "probe", "probe", *TASKS[first:last], "probe", *TASKS[last + 1 :]]


@pytest.mark.parametrize("error", [Unavailable(), Throttled()], ids=lambda error: type(error).__name__)
def test_what_passes_is_tried_again(machine: Machine, error: LetheError) -> None:
    machine.plan("entities", raising(error), raising(error), raising(error))
    assert machine.run() == "SUCCEEDED"
    assert machine.tasks.count("entities") == 4
    assert failures(machine) == []


def test_what_does_not_pass_ends_honestly(machine: Machine) -> None:
    machine.plan("sessions", *(raising(Unavailable()) for _ in range(20)))
    assert machine.run() == "FAILED"
    assert machine.tasks.count("sessions") == 9, "once, and eight times again"
    assert failures(machine) == [{"task": "fail", "tenant": TENANT, "erasure": ERASURE, "error": "Unavailable"}]
    assert machine.describe()["error"] == "ErasureFailed"
    assert "archive" not in machine.tasks


@pytest.mark.parametrize(
    ("task", "error", "name"),
    [("verify", LeftBehind(), "LeftBehind"), ("fence", KeyError(CONTENT), "Unexpected")],
)
def test_what_no_retry_can_mend_ends_at_once(machine: Machine, task: str, error: Exception, name: str) -> None:
    machine.plan(task, raising(error))
    assert machine.run() == "FAILED"
    assert machine.tasks.count(task) == 1
    assert failures(machine) == [{"task": "fail", "tenant": TENANT, "erasure": ERASURE, "error": name}]
    assert "receipt" not in machine.tasks


def test_an_end_that_cannot_be_written_is_an_end_all_the_same(machine: Machine) -> None:
    machine.plan("verify", raising(LeftBehind()))
    machine.plan("fail", raising(ValueError()))
    assert machine.run() == "FAILED"
    assert machine.tasks[-2:] == ["verify", "fail"]


def test_the_history_holds_no_content_and_stays_small(machine: Machine) -> None:
    machine.plan("derived", lambda event: {**event, "done": False, "text": CONTENT})
    machine.plan("sessions", raising(Unavailable(CONTENT)))
    machine.plan("verify", raising(LeftBehind(CONTENT)))
    assert machine.run() == "FAILED"
    events = machine.history()
    entered = [each["stateEnteredEventDetails"] for each in events if "stateEnteredEventDetails" in each]
    assert len(entered) > 2 * len(TASKS)
    for state in entered:
        handed_on = json.loads(state["input"])
        assert set(handed_on) <= {"task", "tenant", "erasure", "done", "seconds", "error"}, state["name"]
        assert len(state["input"]) < 1024
    assert CONTENT not in json.dumps(
        [each for each in events if "lambdaFunctionSucceededEventDetails" not in each], default=str
    )


def test_two_starts_are_one_execution(machine: Machine) -> None:
    held = threading.Event()

    def wait(event: Event) -> JsonValue:
        assert held.wait(30)
        return {**event, "done": True}

    machine.plan("fence", wait)
    starters = [threading.Thread(target=machine.executions.start, args=(TENANT, ERASURE, 1)) for _ in range(4)]
    for each in starters:
        each.start()
    for each in starters:
        each.join()
    held.set()
    assert machine.stack.wait_until_erased(60)
    assert machine.tasks == TASKS
    assert machine.run() == "SUCCEEDED", "an ended one is not started again"
    assert machine.tasks == TASKS
    assert machine.run(2) == "SUCCEEDED"
    assert machine.tasks == [*TASKS, *TASKS]


def test_the_drain_waits_for_what_had_begun_before(machine: Machine) -> None:
    assert machine.stack.wait_until_erased(60)
    machine.stack.tick()
    held, entered, swept = threading.Event(), threading.Event(), threading.Event()

    def write(event: Event) -> JsonValue:
        entered.set()
        assert held.wait(30)
        machine.app.told.append({"task": "late write"})
        return {}

    def sweep(event: Event) -> JsonValue:
        swept.set()
        return {**event, "done": True}

    machine.plan("tick", write)
    machine.plan("sweep", sweep)
    writer = threading.Thread(target=machine.stack.tick)
    writer.start()
    assert entered.wait(30)
    machine.executions.start(TENANT, ERASURE, 1)
    wait_until(lambda: [event["type"] for event in machine.history()[-1:]] == ["WaitStateEntered"])
    assert not swept.wait(0.2), "nothing is swept while a writer lives"
    held.set()
    writer.join()
    assert machine.stack.wait_until_erased(60)
    last = TASKS.index("probe") + 1
    assert machine.tasks == [*TASKS[:last], "late write", *TASKS[last:]]


def test_an_execution_survives_the_stack(house: Path, tmp_path: Path) -> None:
    stopping = threading.Event()

    def until_stopped(event: Event) -> JsonValue:
        stopping.set()
        return {**event, "done": False}

    with _started(house, tmp_path) as stack:
        client = _client(stack)
        first = Machine(stack, client)
        first.plan("memories", *(until_stopped for _ in range(100_000)))
        first.executions.start(TENANT, ERASURE, 1)
        assert stopping.wait(30)
        client.close()
    assert "fail" not in first.tasks
    with _started(house, tmp_path) as stack:
        client = _client(stack)
        second = Machine(stack, client)
        assert stack.wait_until_erased(60)
        assert second.tasks == TASKS
        assert second.run() == "SUCCEEDED"
        client.close()


def test_schedules_are_called_at_the_start_and_on_demand(machine: Machine) -> None:
    machine.stack.tick()
    machine.stack.tick()
    assert sum(event == {"task": "tick"} for event in machine.app.told) >= 2
