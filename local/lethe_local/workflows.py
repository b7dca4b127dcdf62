"""State machines and schedules of the template: what of them runs on a laptop, and what they need to run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lethe.domain.json_values import JsonObject, JsonValue
from lethe_local.intrinsics import ACCOUNT, REGION, TemplateError

_PLACE = re.compile(r"\$\{([A-Za-z0-9_]+)\}")
_RATE = re.compile(r"rate\((\d{1,5}) (minute|hour|day)s?\)")
_SECONDS = {"minute": 60.0, "hour": 3_600.0, "day": 86_400.0}


@dataclass(frozen=True, slots=True)
class StateMachineResource:
    """A standard state machine: its name, and its definition with every substitution made."""

    logical_id: str
    name: str
    definition: str


@dataclass(frozen=True, slots=True)
class ScheduleResource:
    """A function that is invoked with ``event`` (JSON text) every ``seconds``."""

    logical_id: str
    function: str
    seconds: float
    event: str


class TaskFailed(Exception):
    """A task's function failed; ``error`` is the name that Retry and Catch go by."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class Host(Protocol):
    """What an account's state machines need from outside."""

    def invoke(self, function_arn: str, event: JsonValue) -> JsonValue:
        """The function's answer. Raises TaskFailed, and TimeoutError when there was none in time."""
        ...

    def pause(self, seconds: float) -> None:
        """Before a retry."""
        ...

    def wait(self, seconds: float) -> None:
        """Instead of a Wait state."""
        ...

    def ended(self, name: str) -> None:
        """An execution has ended."""
        ...


def state_machine_arn(name: str, account: str = ACCOUNT) -> str:
    """The address of a state machine."""
    return f"arn:aws:states:{REGION}:{account}:stateMachine:{name}"


def read_state_machine(root: Path, bucket: str, logical_id: str, properties: JsonObject) -> StateMachineResource:
    """The machine of resolved ``properties``, whose definition is a file below ``root``. Raises TemplateError."""
    place = _map(properties.get("DefinitionS3Location"), f"{logical_id}.DefinitionUri")
    if place.get("Bucket") != bucket:
        raise TemplateError(f"{logical_id}: its DefinitionUri must be a file beside the template")
    if properties.get("StateMachineType", "STANDARD") != "STANDARD":
        raise TemplateError(f"{logical_id}: the local stack runs standard state machines only")
    file = root / str(place["Key"])
    if not file.is_file():
        raise TemplateError(f"{logical_id}: there is no {place['Key']}")
    values = _map(properties.get("DefinitionSubstitutions", {}), f"{logical_id}.DefinitionSubstitutions")

    def fill(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise TemplateError(f"{logical_id}: DefinitionSubstitutions has no {match[1]}")
        return str(values[match[1]])

    definition = _PLACE.sub(fill, file.read_text(encoding="utf-8"))
    return StateMachineResource(logical_id, str(properties.get("StateMachineName", logical_id)), definition)


def read_schedule(logical_id: str, properties: JsonObject) -> ScheduleResource | None:
    """The schedule of a rule's resolved ``properties``; None for one that is switched off. Raises TemplateError."""
    if properties.get("State", "ENABLED") != "ENABLED":
        return None
    rate = _RATE.fullmatch(str(properties.get("ScheduleExpression")))
    if rate is None:
        raise TemplateError(f"{logical_id}: the local stack knows schedules such as rate(5 minutes) only")
    targets = properties.get("Targets")
    if not isinstance(targets, list) or len(targets) != 1:
        raise TemplateError(f"{logical_id} must have one target")
    target = _map(targets[0], logical_id)
    function = str(target.get("Arn")).rpartition(":function:")[2]
    return ScheduleResource(logical_id, function, int(rate[1]) * _SECONDS[rate[2]], str(target.get("Input", "{}")))


def _map(value: JsonValue, where: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TemplateError(f"{where}: a map is expected")
    return value
