"""How much a body may hold, judged before pydantic walks it.

Pydantic makes an error for each unknown member and each wrong item, some 20 microseconds each: megabytes of them
would take seconds. So unknown members and items are counted first, by what the models themselves allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Final, Union, get_args, get_origin

from annotated_types import MaxLen
from pydantic import BaseModel

from lethe.domain.immutable import immutable
from lethe.errors import FieldError

_FEW: Final = 20
"""So many unknown members of one object pydantic may name; more are refused together."""


@immutable
class JsonBytes:
    """Marks a type of free JSON: at most ``limit`` bytes, so no more values than half as many and two."""

    limit: int


@immutable
class _Rule:
    """What bounds a value, where something does: items of a list, the model of an object, bytes of free JSON."""

    most_items: int | None = None
    items: _Rule | None = None
    model: type[BaseModel] | None = None
    json_bytes: int | None = None


def oversized(model: type[BaseModel], value: object, place: str = "") -> Iterator[FieldError]:
    """What of ``value`` is too much for ``model``. ``place`` is where it stands, such as ``messages[3]``."""
    if not isinstance(value, dict):
        return
    if len(value) > _FEW and len(value.keys() - model.model_fields.keys()) > _FEW:
        yield FieldError(place or "body", "has too many unknown fields")
        return
    for name, rule in _rules(model):
        if name in value:
            yield from _beyond(rule, value[name], f"{place}.{name}" if place else name)


def _beyond(rule: _Rule, value: object, place: str) -> Iterator[FieldError]:
    if rule.json_bytes is not None and _holds_more_values(value, rule.json_bytes // 2 + 2):
        yield FieldError(place, f"at most {rule.json_bytes} bytes as JSON")
    elif isinstance(value, list):
        if rule.most_items is not None and len(value) > rule.most_items:
            yield FieldError(place, f"at most {rule.most_items} items")
        elif rule.items is not None:
            for index, item in enumerate(value):
                yield from _beyond(rule.items, item, f"{place}[{index}]")
    elif rule.model is not None:
        yield from oversized(rule.model, value, place)


def _holds_more_values(value: object, most: int) -> bool:
    """Whether there are more than ``most`` values and names in ``value``; looks at so many and no more."""
    left, ahead = most, [value]
    while ahead:
        inner = ahead.pop()
        if isinstance(inner, dict | list):
            left -= len(inner) * (2 if isinstance(inner, dict) else 1)
            if left < 0:
                return True
            ahead.extend(inner.values() if isinstance(inner, dict) else inner)
    return False


@cache
def _rules(model: type[BaseModel]) -> tuple[tuple[str, _Rule], ...]:
    """The fields of ``model`` that can hold too much; most cannot and are no work."""
    ruled = ((name, _rule(field.annotation, tuple(field.metadata))) for name, field in model.model_fields.items())
    return tuple((name, rule) for name, rule in ruled if rule is not None)


def _rule(annotation: object, marks: tuple[object, ...] = ()) -> _Rule | None:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _rule(inner[0], (*inner[1:], *marks))
    if origin in (Union, UnionType):
        return _either([_rule(choice, marks) for choice in inner])
    for mark in marks:
        if isinstance(mark, JsonBytes):
            return _Rule(json_bytes=mark.limit)
    if origin is list:
        most = next((mark.max_length for mark in marks if isinstance(mark, MaxLen)), None)
        return _Rule(most_items=most, items=_rule(inner[0]))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _Rule(model=annotation)
    return None


def _either(choices: list[_Rule | None]) -> _Rule | None:
    """The rule of the one choice that has one: no field of ours may be two things that can be too much."""
    ruled = [choice for choice in choices if choice is not None]
    assert len(ruled) <= 1
    return ruled[0] if ruled else None
