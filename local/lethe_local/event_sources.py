"""Event source mappings of the template: which function hears of which table's changes, and under what rules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lethe.domain.json_values import JsonObject, JsonValue
from lethe_local.intrinsics import ACCOUNT, REGION, STACK, TemplateError
from lethe_local.stream_filters import Pattern, read_pattern

_STREAM = re.compile(r"arn:aws:dynamodb:[^:]*:[^:]*:table/([^/]+)/stream/[^/]+$")
_KNOWN = frozenset(
    {
        "BatchSize",
        "BisectBatchOnFunctionError",
        "DestinationConfig",
        "Enabled",
        "EventSourceArn",
        "FilterCriteria",
        "FunctionName",
        "FunctionResponseTypes",
        "MaximumBatchingWindowInSeconds",
        "MaximumRecordAgeInSeconds",
        "MaximumRetryAttempts",
        "ParallelizationFactor",  # one item's changes stay in order under any
        "StartingPosition",
        "Tags",
    }
)


@dataclass(frozen=True, slots=True)
class EventSource:
    """One mapping from a table's stream to a function, with the defaults that Lambda has.

    Attributes:
        logical_id: of the mapping.
        function: logical id of the function.
        table: real name of the table.
        batch_size: most records of one invocation.
        window_seconds: how long records are gathered for one.
        from_start: whether a new mapping begins with the oldest record that is kept, or with the next one.
        bisects: whether a batch that the function fails on is split in two.
        reports_failures: whether the function says which records failed.
        most_retries: how often a batch is tried again; None for ever.
        most_age_seconds: how old a record may be to be delivered; None for any age.
        destination: the name of what hears of records that were given up; None for nothing.
        filters: a record is delivered that matches one of them; every record when there are none.
    """

    logical_id: str
    function: str
    table: str
    batch_size: int = 100
    window_seconds: float = 0.0
    from_start: bool = True
    bisects: bool = False
    reports_failures: bool = False
    most_retries: int | None = None
    most_age_seconds: float | None = None
    destination: str | None = None
    filters: tuple[Pattern, ...] = ()


def stream_arn(table: str, label: str) -> str:
    """The address of a stream of ``table``, as events carry it."""
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}/stream/{label}"


def read_event_source(logical_id: str, properties: JsonObject) -> EventSource | None:
    """The mapping of resolved ``properties``; None for one that is switched off. Raises TemplateError."""
    if _text(properties.get("Enabled", True)) == "false":
        return None
    unknown = properties.keys() - _KNOWN
    if unknown:
        raise TemplateError(f"{logical_id}: the local stack does not know {', '.join(sorted(unknown))}")
    source = _STREAM.match(str(properties.get("EventSourceArn")))
    if source is None:
        raise TemplateError(f"{logical_id}: the local stack reads streams of DynamoDB tables only")
    position = properties.get("StartingPosition")
    if position not in ("TRIM_HORIZON", "LATEST"):
        raise TemplateError(f"{logical_id}: StartingPosition must be TRIM_HORIZON or LATEST")
    return EventSource(
        logical_id=logical_id,
        function=str(properties.get("FunctionName")).rpartition(":")[2].removeprefix(f"{STACK}-"),
        table=source[1],
        batch_size=_number(properties, "BatchSize", logical_id) or 100,
        window_seconds=_number(properties, "MaximumBatchingWindowInSeconds", logical_id) or 0,
        from_start=position == "TRIM_HORIZON",
        bisects=_text(properties.get("BisectBatchOnFunctionError", False)) == "true",
        reports_failures="ReportBatchItemFailures" in _list(properties, "FunctionResponseTypes", logical_id),
        most_retries=_number(properties, "MaximumRetryAttempts", logical_id),
        most_age_seconds=_number(properties, "MaximumRecordAgeInSeconds", logical_id),
        destination=_destination(properties, logical_id),
        filters=_filters(properties, logical_id),
    )


def _text(value: JsonValue) -> str:
    return str(value).lower()


def _number(properties: JsonObject, name: str, where: str) -> int | None:
    """A whole number; None when it is not given, or is Lambda's -1 for "no limit"."""
    value = properties.get(name, -1)
    if isinstance(value, bool) or not isinstance(value, (int, str)) or not re.fullmatch(r"-1|\d{1,9}", str(value)):
        raise TemplateError(f"{where}.{name} must be a whole number")
    return None if int(value) == -1 else int(value)


def _list(holder: JsonObject, name: str, where: str) -> Sequence[JsonValue]:
    value = holder.get(name, ())
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TemplateError(f"{where}.{name} must be a list")
    return value


def _map(value: JsonValue, where: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TemplateError(f"{where}: a map is expected")
    return value


def _destination(properties: JsonObject, where: str) -> str | None:
    on_failure = _map(_map(properties.get("DestinationConfig", {}), where).get("OnFailure", {}), where)
    arn = on_failure.get("Destination")
    return str(arn).rpartition(":")[2] if arn is not None else None


def _filters(properties: JsonObject, where: str) -> tuple[Pattern, ...]:
    filters = _list(_map(properties.get("FilterCriteria", {}), where), "Filters", where)
    return tuple(read_pattern(str(_map(each, where).get("Pattern")), where) for each in filters)
