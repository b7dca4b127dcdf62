"""PynamoDB attributes for the values that Lethe stores, each exact."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from pynamodb.attributes import Attribute

from lethe.domain.json_values import JsonValue, canonical


def time_text(value: datetime) -> str:
    """An instant as ISO 8601 in UTC, to the microsecond, such as ``2026-03-01T12:00:00.000000+00:00``."""
    return value.astimezone(UTC).isoformat(timespec="microseconds")


def float_text(value: float) -> str:
    """A float as its shortest exact text, such as ``0.95``."""
    return repr(float(value))


class TimeAttribute(Attribute[datetime]):
    """An instant as ISO 8601 text in UTC, to the microsecond; texts sort as times do."""

    attr_type = "S"

    def serialize(self, value: datetime) -> str:
        """Such as ``2026-03-01T12:00:00.000000+00:00``."""
        return time_text(value)

    def deserialize(self, value: str) -> datetime:
        """The instant."""
        return datetime.fromisoformat(value)


class JsonAttribute(Attribute[JsonValue]):
    """A JSON value as canonical text: DynamoDB's own numbers end at 38 digits and 1e-130, JSON's do not."""

    attr_type = "S"

    def serialize(self, value: JsonValue) -> str:
        """The canonical text; ``null`` for None."""
        return canonical(value)

    def deserialize(self, value: str) -> JsonValue:
        """The value."""
        loaded: JsonValue = json.loads(value)
        return loaded


class FloatAttribute(Attribute[float]):
    """A float as its shortest exact text, for the same reason; for numbers that no condition compares."""

    attr_type = "S"

    def serialize(self, value: float) -> str:
        """Such as ``0.95``."""
        return float_text(value)

    def deserialize(self, value: str) -> float:
        """The number."""
        return float(value)


class IntAttribute(Attribute[int]):
    """A whole number, for counters, versions and TTLs."""

    attr_type = "N"

    def serialize(self, value: int) -> str:
        """Decimal digits."""
        return str(int(value))

    def deserialize(self, value: str) -> int:
        """The number."""
        return int(value)


class TextsAttribute(Attribute[tuple[str, ...]]):
    """A list of texts in order, as JSON text; a set would lose order, and may not be empty."""

    attr_type = "S"

    def serialize(self, value: tuple[str, ...]) -> str:
        """The JSON text."""
        return canonical(list(value))

    def deserialize(self, value: str) -> tuple[str, ...]:
        """The texts."""
        return tuple(json.loads(value))
