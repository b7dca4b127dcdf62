"""The JSON values that go in and come out, as types."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
"""A value as it came out of a JSON document."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""An object as it came out of a JSON document."""

JsonInput: TypeAlias = bool | int | float | str | Sequence["JsonInput"] | Mapping[str, "JsonInput"] | None
"""A value that a caller may send: any mapping or sequence of such values."""
