"""Field types that several requests share, each with its limit and the sentence that names it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Final, TypeVar, cast

from annotated_types import MaxLen
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    PlainSerializer,
    Tag,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from lethe.domain.blank import is_blank
from lethe.domain.identity import normalise_user_id
from lethe.domain.json_values import JsonValue as DomainJson
from lethe.domain.json_values import canonical
from lethe.domain.times import parse_rfc3339, to_rfc3339
from lethe.entry.shape import JsonBytes

METADATA_BYTES = 4_096
ENTITY_VALUE_BYTES = 65_536
MESSAGE_BYTES = 32_768
QUERY_BYTES = 4_096
_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}", re.ASCII)


AnyJson = TypeVar("AnyJson")


class Body(BaseModel):
    """A request body: unknown fields are refused, types are not coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, defer_build=True)


class Query(BaseModel):
    """A query string: unknown parameters are refused; values arrive as text."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)


class Out(BaseModel):
    """An answer."""

    model_config = ConfigDict(frozen=True, defer_build=True)


def refused(message: str, *fields: str) -> PydanticCustomError:
    """A validation error whose message is ours alone. What judges several fields together names those it is about."""
    return PydanticCustomError("refused", message, {"fields": fields} if fields else None)


Value = TypeVar("Value")
MOST_FILTERED = 32
"""Values that a filter names at most."""
OneOrMore = Annotated[
    Annotated[Value, Tag("list[1]")] | Annotated[list[Value], MaxLen(MOST_FILTERED), Tag("list[n]")],
    Discriminator(lambda value: "list[n]" if isinstance(value, list) else "list[1]"),
]
"""One value or a list of up to 32; what is refused is refused once. Errors leave the tags out of their paths."""


def _time(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        raise refused("must be an RFC 3339 time in a string")
    try:
        return parse_rfc3339(value)
    except ValueError as error:
        raise refused(str(error)) from None


def _digits(value: object) -> object:
    """Python reads 5_0, +5, 05 and other scripts' digits as numbers; JSON knows none of them."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise refused("must be a whole number, in digits")
    return value


def _user_id(value: str) -> str:
    try:
        normalise_user_id(value)
    except ValueError as error:
        raise refused(str(error)) from None
    return value


def _not_blank(value: str) -> str:
    if is_blank(value):
        raise refused("must not be blank")
    return value


def at_most_bytes(limit: int) -> Callable[[str], str]:
    """A validator for the UTF-8 length of a text."""

    def check(value: str) -> str:
        if len(value.encode()) > limit:
            raise refused(f"at most {limit} bytes")
        return value

    return check


def _text_of(limit: int) -> FieldInfo:
    """A text whose limit is in bytes, described in OpenAPI, which counts characters."""
    described: dict[str, JsonValue] = {"maxLength": limit}
    field: FieldInfo = Field(
        min_length=1, description=f"At most {limit:,} bytes in UTF-8.", json_schema_extra=described
    )
    return field


def _json_bytes(limit: int) -> Callable[[AnyJson], AnyJson]:
    def check(value: AnyJson) -> AnyJson:
        try:
            size = len(canonical(cast(DomainJson, value)).encode())
        except ValueError:
            raise refused("holds a number beyond the range of 64-bit floating point, which is not kept") from None
        if size > limit:
            raise refused(f"at most {limit} bytes as JSON")
        return value

    return check


Time = Annotated[datetime, BeforeValidator(_time, json_schema_input_type=str)]
TimeOut = Annotated[datetime, PlainSerializer(to_rfc3339, return_type=str)]
UserId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1_024,
        description="1 to 256 characters after NFC, no control characters; required, unless the key is for one user.",
        json_schema_extra={"pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$"},
    ),
    AfterValidator(_user_id),
]
CLIENT_ID: Final = r"[A-Za-z0-9._:\-]{1,128}"
"""The form of session ids, entity keys and names of holds, which clients choose; in paths too."""
ClientId = Annotated[str, Field(pattern=f"^{CLIENT_ID}$")]
Metadata = Annotated[dict[str, JsonValue], JsonBytes(METADATA_BYTES), AfterValidator(_json_bytes(METADATA_BYTES))]
EntityValue = Annotated[JsonValue, JsonBytes(ENTITY_VALUE_BYTES), AfterValidator(_json_bytes(ENTITY_VALUE_BYTES))]
Content = Annotated[str, _text_of(MESSAGE_BYTES), AfterValidator(at_most_bytes(MESSAGE_BYTES))]
QueryText = Annotated[
    str, _text_of(QUERY_BYTES), AfterValidator(_not_blank), AfterValidator(at_most_bytes(QUERY_BYTES))
]
StatementText = Annotated[
    str,
    Field(
        min_length=1, max_length=2_000, description="Something that can be seen, not white space and the like alone."
    ),
    AfterValidator(_not_blank),
]
ContextText = Annotated[str, Field(max_length=2_000)]
Speaker = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_not_blank)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Version = Annotated[int, Field(ge=0, le=2**31)]
QueryNumber = Annotated[int, BeforeValidator(_digits)]
"""A whole number in a query string, which is text."""
Limit = Annotated[QueryNumber, Field(ge=1, le=200)]
Cursor = str
"""Checked by ``entry.cursor`` alone, so that whatever is no cursor of ours is one and the same refusal."""
