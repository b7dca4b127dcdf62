"""Reading a request: its body, query and headers, each refused by the cause before an operation hears of it."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final, NoReturn, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError

from lethe.entry.events import Event
from lethe.entry.problems import invalid_input, place_of
from lethe.entry.routes import Route
from lethe.entry.shape import oversized
from lethe.errors import FieldError, InvalidInput, MalformedRequest, TooLarge, UnsupportedMediaType

Model = TypeVar("Model", bound=BaseModel)

_JSON_TYPE: Final = re.compile(
    r"application/(?:[\w.+-]+\+)?json\s*(?:;\s*charset=\"?utf-8\"?\s*)?", re.ASCII | re.IGNORECASE
)
_PARAMETER: Final = re.compile(r"[a-z_]{1,32}", re.ASCII)
_IF_MATCH: Final = re.compile(r'"(0|[1-9]\d{0,8})"', re.ASCII)
_PRECONDITIONS: Final = ("if-match", "if-none-match", "if-unmodified-since", "if-modified-since")
_TOO_DEEP: Final = "is more than 200 levels deep"
_FEW_ERRORS: Final = 20


def read_body(route: Route, event: Event, headers: Mapping[str, str]) -> bytes:
    """The body as it came, b"" where the route takes none.

    Raises InvalidInput on a body that nobody would look at, TooLarge, UnsupportedMediaType, MalformedRequest.
    """
    if route.body is None:
        if event.get("body"):
            where = "; what it needs goes into the query" if route.query else ""
            raise InvalidInput.of("body", f"{route.method} takes no body here{where}")
        return b""
    raw = _raw(event)
    if len(raw) > route.most_bytes:
        raise TooLarge(f"a request body is at most {route.most_bytes} bytes here")
    declared = headers.get("content-type", "")
    if raw and not _JSON_TYPE.fullmatch(declared.strip()):
        raise UnsupportedMediaType
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType("send the body without a content encoding")
    return raw


def _raw(event: Event) -> bytes:
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return body.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        raise MalformedRequest("invalid_json", "the body is not valid base 64") from None


def validated_body(model: type[Model] | None, raw: bytes) -> Model | None:
    """The body, as ``model`` has it. Raises MalformedRequest or InvalidInput."""
    if model is None:
        return None
    beyond = list(oversized(model, _json(raw or b"{}")))
    if beyond:
        raise InvalidInput(beyond[:_FEW_ERRORS])
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        raise _unreadable(error) or invalid_input(error) from None


def _unreadable(error: ValidationError) -> MalformedRequest | None:
    """The cause, when what Python's parser took is no JSON to pydantic's."""
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] != "json_invalid":
        return None
    if "recursion" in str(first["ctx"]["error"]):
        return _malformed(_TOO_DEEP)
    return _malformed("holds half of a surrogate pair, which is no Unicode text")


class _Doubled(dict[str, object]):
    """An object of which one member, ``name``, came twice."""

    name: str


def _json(raw: bytes) -> object:
    """The value, with the cause when there is none: pydantic's parser takes doubled names, and says little."""
    doubled: list[_Doubled] = []

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        marked = _Doubled(made)
        marked.name = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        doubled.append(marked)
        return marked

    value = _parsed(raw, members)
    if doubled:
        outermost = doubled[-1]  # the last to be complete, so that no other one hides it
        place = place_of((*_where(value, outermost), outermost.name))
        raise _malformed(f"names a member of an object twice: {place}")
    return value


def _parsed(raw: bytes, members: object) -> object:
    if raw.startswith(b"\xef\xbb\xbf"):
        raise _malformed("begins with a byte order mark, which JSON has not")
    try:
        return json.loads(raw.decode(), object_pairs_hook=members, parse_constant=_no_constant)  # type: ignore[arg-type]  # a callable
    except UnicodeDecodeError:
        raise _malformed("is not UTF-8") from None
    except RecursionError:
        raise _malformed(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise _malformed(f"is not JSON (RFC 8259) at line {error.lineno}, column {error.colno}") from None
    except ValueError:
        raise _malformed("holds a whole number of more than 4,300 digits") from None


def _no_constant(name: str) -> NoReturn:
    raise _malformed(f"holds {name}, which is no JSON (RFC 8259)")


def _malformed(what: str) -> MalformedRequest:
    return MalformedRequest("invalid_json", f"the body {what}")


def _where(value: object, wanted: object) -> tuple[str | int, ...]:
    """The way from ``value`` down to ``wanted``, an object within it."""
    ahead: list[tuple[object, tuple[str | int, ...]]] = [(value, ())]
    while ahead:
        inner, way = ahead.pop()
        if inner is wanted:
            return way
        if isinstance(inner, dict):
            ahead.extend((member, (*way, name)) for name, member in inner.items() if isinstance(member, dict | list))
        elif isinstance(inner, list):
            ahead.extend((item, (*way, n)) for n, item in enumerate(inner) if isinstance(item, dict | list))
    return ()


def validated_query(route: Route, event: Event) -> BaseModel | None:
    """The query, read from its raw form: the gateway joins repeated parameters by commas, which ids may hold too.

    Raises InvalidInput, also where the route takes no query: a parameter that is not looked at misleads.
    """
    try:
        pairs = parse_qsl(event.get("rawQueryString", ""), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise InvalidInput.of("query", "must be percent-encoded UTF-8, at most 100 parameters") from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise InvalidInput([FieldError(name, "given more than once") for name in _repeated(pairs)])
    if route.query is None:
        if values:
            raise InvalidInput([FieldError(_shown(name), _unlooked(route)) for name in list(values)[:_FEW_ERRORS]])
        return None
    try:
        return route.query.model_validate(values)
    except ValidationError as error:
        raise invalid_input(error, "query") from None


def _unlooked(route: Route) -> str:
    return f"{route.method} takes no query here" + ("; it belongs into the body" if route.body is not None else "")


def _repeated(pairs: list[tuple[str, str]]) -> list[str]:
    """The names that come more than once, as far as they look like names of ours."""
    counted = Counter(name for name, _ in pairs)
    return [_shown(name) for name, count in counted.items() if count > 1]


def _shown(name: str) -> str:
    return name if _PARAMETER.fullmatch(name) else "?"


def seen_version(route: Route, headers: Mapping[str, str]) -> int | None:
    """The version in ``If-Match``, an entity tag (RFC 9110, 13.1.1); None where the route knows no versions.

    Raises MalformedRequest. A change whose precondition cannot be judged is refused, not made.
    """
    value = headers.get("if-match")
    if route.method != "GET":
        unknown = [name for name in _PRECONDITIONS if name in headers and not (route.versioned and name == "if-match")]
        if unknown:
            raise MalformedRequest("invalid_header", f"this request cannot be made conditional by {unknown[0]}")
    if value is None or not route.versioned:
        return None
    match = _IF_MATCH.fullmatch(value.strip(" \t"))
    if match is None:
        raise MalformedRequest("invalid_header", 'If-Match must be the version that you saw, in quotes, such as "3"')
    return int(match[1])
