"""Reads typed values out of an answer, and writes those of a request."""

from collections.abc import Callable
from datetime import datetime
from typing import NoReturn, TypeVar

from lethe_client.errors import LetheProtocolError
from lethe_client.json_types import JsonObject, JsonValue

T = TypeVar("T")

When = datetime | str
"""A time to send: an aware datetime, or RFC 3339 text with an offset."""


class Fields:
    """The members of one object of an answer; a wrong type is a `LetheProtocolError` naming the member.

    Members that the contract may leave out have a default; unknown ones are ignored, since fields may be
    added to the contract.
    """

    def __init__(self, data: JsonObject, what: str) -> None:
        self.data = data
        self._what = what

    def text(self, name: str, default: str | None = None) -> str:
        """A string; without a default it must be there."""
        value = self.data.get(name, default)
        return value if isinstance(value, str) else self._fail(name, "a string")

    def optional_text(self, name: str) -> str | None:
        """A string, or None."""
        return None if self.data.get(name) is None else self.text(name)

    def integer(self, name: str, default: int | None = None) -> int:
        """A whole number; without a default it must be there."""
        value = self.data.get(name, default)
        return value if isinstance(value, int) and not isinstance(value, bool) else self._fail(name, "a whole number")

    def number(self, name: str, default: float | None = None) -> float:
        """A number; without a default it must be there."""
        value = self.data.get(name, default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number and isinstance(value, int | float) else self._fail(name, "a number")

    def flag(self, name: str, default: bool | None = None) -> bool:
        """True or false; without a default it must be there."""
        value = self.data.get(name, default)
        return value if isinstance(value, bool) else self._fail(name, "true or false")

    def time(self, name: str) -> datetime:
        """A time, as an aware datetime."""
        try:
            return datetime.fromisoformat(self.text(name))
        except ValueError:
            return self._fail(name, "a time")

    def optional_time(self, name: str) -> datetime | None:
        """A time, or None."""
        return None if self.data.get(name) is None else self.time(name)

    def object(self, name: str) -> JsonObject:
        """An object; {} when it is missing or null."""
        value = self.data.get(name)
        if value is None:
            return {}
        return value if isinstance(value, dict) else self._fail(name, "an object")

    def optional_object(self, name: str) -> JsonObject | None:
        """An object, or None."""
        return None if self.data.get(name) is None else self.object(name)

    def value(self, name: str) -> JsonValue:
        """Any JSON value; None when it is missing."""
        return self.data.get(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings; () when it is missing or null."""
        return tuple(
            item if isinstance(item, str) else self._fail(name, "a list of strings") for item in self._list(name)
        )

    def integers(self, name: str) -> dict[str, int]:
        """An object of whole numbers; {} when it is missing or null."""
        inner = Fields(self.object(name), f"{self._what}.{name}")
        return {key: inner.integer(key) for key in inner.data}

    def objects(self, name: str, make: Callable[[JsonObject], T]) -> tuple[T, ...]:
        """A list of objects, each made into `T`; () when it is missing or null."""
        return tuple(
            make(item) if isinstance(item, dict) else self._fail(name, "a list of objects") for item in self._list(name)
        )

    def _list(self, name: str) -> list[JsonValue]:
        value = self.data.get(name)
        if value is None:
            return []
        return value if isinstance(value, list) else self._fail(name, "a list")

    def _fail(self, name: str, expected: str) -> NoReturn:
        raise LetheProtocolError(f"{self._what}: {name} is not {expected}")


def time_text(when: When | None) -> str | None:
    """RFC 3339 text of a time to send.

    Raises:
        ValueError: a datetime without an offset, which the service would have to guess at.
    """
    if not isinstance(when, datetime):
        return when
    if when.utcoffset() is None:
        raise ValueError("a time needs an offset (datetime with tzinfo)")
    return when.isoformat()
