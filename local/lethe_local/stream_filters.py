"""Filter patterns of event source mappings, as far as streams of tables use them; anything else is refused.

What they mean: https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html. Every field of a pattern
must match, and a field matches when one of its alternatives does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from lethe.domain.json_values import JsonObject, JsonValue
from lethe_local.intrinsics import TemplateError

Pattern: TypeAlias = JsonObject
_ABSENT = object()


def read_pattern(text: str, where: str) -> Pattern:
    """The pattern in ``text``. Raises TemplateError for one that is no JSON or uses an operator not known here."""
    try:
        pattern: JsonValue = json.loads(text)
    except ValueError as error:
        raise TemplateError(f"{where}: a filter's pattern must be JSON") from error
    if not isinstance(pattern, Mapping):
        raise TemplateError(f"{where}: a filter's pattern must be a map")
    _check(pattern, where)
    return pattern


def _check(pattern: JsonObject, where: str) -> None:
    for field, rule in pattern.items():
        if isinstance(rule, Mapping):
            _check(rule, where)
            continue
        if field.startswith("$") or isinstance(rule, str) or not isinstance(rule, Sequence):
            raise TemplateError(f"{where}: the local stack does not know the filter of {field}")
        for alternative in rule:
            if isinstance(alternative, Mapping) and (
                len(alternative) != 1 or not alternative.keys() <= _OPERATORS.keys()
            ):
                raise TemplateError(f"{where}: the local stack does not know the filter of {field}")


def matches(record: JsonObject, patterns: Sequence[Pattern]) -> bool:
    """Whether ``record`` is let through: by any of ``patterns``, or because there are none."""
    return not patterns or any(_matches(record, pattern) for pattern in patterns)


def _matches(value: JsonObject, pattern: Pattern) -> bool:
    for field, rule in pattern.items():
        held = value.get(field, _ABSENT)
        if isinstance(rule, Mapping):
            # Below what is not there, everything is absent: "exists: false" may still hold.
            if not _matches(held if isinstance(held, Mapping) else {}, rule):
                return False
        elif not _matches_one(held, rule):
            return False
    return True


def _matches_one(held: object, alternatives: JsonValue) -> bool:
    values = held if isinstance(held, Sequence) and not isinstance(held, str) else [held]
    if not isinstance(alternatives, Sequence):
        raise AssertionError("patterns are checked when they are read")
    return any(_holds(value, alternative) for value in values for alternative in alternatives)


def _holds(value: object, alternative: JsonValue) -> bool:
    if not isinstance(alternative, Mapping):
        return value is not _ABSENT and type(value) is type(alternative) and value == alternative
    ((name, operand),) = alternative.items()
    return _OPERATORS[name](value, operand)


def _anything_but(value: object, operand: JsonValue) -> bool:
    refused = operand if isinstance(operand, Sequence) and not isinstance(operand, str) else [operand]
    return value is not _ABSENT and not any(_holds(value, each) for each in refused)


_OPERATORS: Mapping[str, Callable[[object, JsonValue], bool]] = {
    "exists": lambda value, operand: (value is not _ABSENT) == bool(operand),
    "prefix": lambda value, operand: isinstance(value, str) and value.startswith(str(operand)),
    "suffix": lambda value, operand: isinstance(value, str) and value.endswith(str(operand)),
    "equals-ignore-case": lambda value, operand: isinstance(value, str) and value.lower() == str(operand).lower(),
    "anything-but": _anything_but,
}
