"""From an API Gateway event to an operation and back: requests are judged and errors become HTTP here alone."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Final
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from lethe.domain import ids
from lethe.domain.idempotency import StoredAnswer
from lethe.domain.identity import Caller, Space
from lethe.domain.json_values import canonical
from lethe.entry.about import spoken_of
from lethe.entry.authorizer import caller_of
from lethe.entry.call import Answer, Call
from lethe.entry.events import Event, HttpResponse, LambdaContext
from lethe.entry.idempotency import REPLAYED_HEADER, Idempotency, with_user, without_user
from lethe.entry.observability import Observer
from lethe.entry.problems import invalid_input, problem_headers, problem_text
from lethe.entry.routes import ROUTES, Route
from lethe.errors import (
    FieldError,
    Forbidden,
    InvalidInput,
    LetheError,
    MalformedRequest,
    MethodNotAllowed,
    NotFound,
    TooLarge,
    Unauthenticated,
    UnsupportedMediaType,
)

Operation = Callable[[Call], Answer]
OpenSpace = Callable[[Caller, str | None], Space]

MAXIMUM_BODY_BYTES: Final = 5 * 1024 * 1024
"""Below Lambda's 6 MB a synchronous call, of which the rest of the event takes its share."""

_CLIENT_ID: Final = re.compile(r"[A-Za-z0-9._:\-]{1,128}", re.ASCII)
_JSON_TYPE: Final = re.compile(
    r"application/(?:[\w.+-]+\+)?json\s*(?:;\s*charset=\"?utf-8\"?\s*)?", re.ASCII | re.IGNORECASE
)
_PARAMETER: Final = re.compile(r"[a-z_]{1,32}", re.ASCII)
_IF_MATCH: Final = re.compile(r'"?(\d{1,9})"?', re.ASCII)
_PRECONDITIONS: Final = ("if-match", "if-none-match", "if-unmodified-since", "if-modified-since")
_ROUTES: Final = {route.key: route for route in ROUTES}


class Application:
    """Dispatches events to operations. One is built per function at cold start."""

    def __init__(
        self, operations: Mapping[str, Operation], open_space: OpenSpace, idempotency: Idempotency, observer: Observer
    ) -> None:
        self._operations = operations
        self._open_space = open_space
        self._idempotency = idempotency
        self._observer = observer

    def __call__(self, event: Event, context: LambdaContext) -> HttpResponse:
        """Answer one event of an HTTP API (payload format 2.0); never raises."""
        started = perf_counter()
        request_id = context.aws_request_id
        route_key = event.get("routeKey", "$default")
        try:
            response = self._respond(event, route_key, context)
        except LetheError as error:
            if not 400 <= error.status < 500:
                self._observer.failed(route_key, request_id, error)
            response = _problem(error, request_id)
        except Exception as error:  # the last line of defence: a fault of ours is a 500 without a word of the inside
            self._observer.failed(route_key, request_id, error)
            response = _problem(LetheError(), request_id)
        response["headers"]["x-request-id"] = request_id
        self._observer.served(route_key, request_id, response["statusCode"], perf_counter() - started)
        return response

    def _respond(self, event: Event, route_key: str, context: LambdaContext) -> HttpResponse:
        route = _ROUTES.get(route_key)
        if route is None or route.operation not in self._operations:
            raise _unknown(event)
        operation = self._operations[route.operation]
        if not route.permissions:
            return _success(operation(Call(_NOBODY, {}, None, None)))
        caller = caller_of(event)
        if caller is None:
            raise Unauthenticated
        if not any(caller.may(permission) for permission in route.permissions):
            raise Forbidden("this key lacks the permission " + " or ".join(route.permissions))
        headers = event.get("headers") or {}
        raw = _raw_body(event) if route.body is not None else b""
        if route.body is not None:
            _require_json(headers, raw)
        call = Call(
            caller,
            _path_values(route, event),
            _validated_query(route.query, event),
            _validated_body(route.body, raw),
            _if_match(route, headers),
            lambda: context.get_remaining_time_in_millis() / 1_000,
        )
        key = headers.get("idempotency-key")
        if key is None or route.method not in ("POST", "PUT", "PATCH"):
            return _success(operation(call))
        return self._once(key, route, call, raw, operation)

    def _once(self, key: str, route: Route, call: Call, raw: bytes, operation: Operation) -> HttpResponse:
        request = (route.key, *sorted(call.path.values()), str(call.if_match), _same_body(raw))
        stored, replayed = self._idempotency.run(
            key,
            call.caller,
            request,
            lambda: self._open_space(call.caller, call.user_id),
            lambda: _stored(operation(call), call),
        )
        response = _response(stored.status, with_user(stored.body, call.user_id))
        if replayed:
            response["headers"][REPLAYED_HEADER] = "true"
        return response


def _same_body(raw: bytes) -> str:
    """One text for all ways to write the same JSON."""
    try:
        return canonical(from_json(raw or b"{}"))
    except ValueError:  # a number beyond what can be written again, such as 1e999: then it is the same to the letter
        return raw.decode()


_NOBODY: Final = Caller("", "", frozenset(), (), "")


def _unknown(event: Event) -> LetheError:
    """404, or 405 where the path is known for other methods."""
    path = event.get("rawPath", "")
    allowed = sorted({route.method for route in ROUTES if _pattern(route).fullmatch(path)})
    return MethodNotAllowed(allowed) if allowed else NotFound("there is no such path")


def _pattern(route: Route) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{[a-z_]+\\\}", "[^/]+", re.escape(route.path)))


def _raw_body(event: Event) -> bytes:
    body = event.get("body") or ""
    if event.get("isBase64Encoded"):
        try:
            raw = base64.b64decode(body, validate=True)
        except binascii.Error:
            raise MalformedRequest("invalid_json", "the body is not valid base 64") from None
    else:
        raw = body.encode("utf-8", "surrogatepass")
    if len(raw) > MAXIMUM_BODY_BYTES:
        raise TooLarge(f"a request body is at most {MAXIMUM_BODY_BYTES} bytes")
    return raw


def _require_json(headers: Mapping[str, str], raw: bytes) -> None:
    declared = headers.get("content-type", "")
    if raw and not _JSON_TYPE.fullmatch(declared.strip()):
        raise UnsupportedMediaType
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType("send the body without a content encoding")


def _validated_body(model: type[BaseModel] | None, raw: bytes) -> BaseModel | None:
    if model is None:
        return None
    try:
        from_json(raw or b"{}", allow_inf_nan=False)
    except ValueError:
        raise MalformedRequest("invalid_json", "the body is not JSON (RFC 8259, UTF-8, at most 200 levels)") from None
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        raise invalid_input(error) from None


def _validated_query(model: type[BaseModel] | None, event: Event) -> BaseModel | None:
    """The query, read from its raw form: the gateway joins repeated parameters by commas, which ids may hold too."""
    if model is None:
        return None
    try:
        pairs = parse_qsl(event.get("rawQueryString", ""), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise InvalidInput.of("query", "must be percent-encoded UTF-8, at most 100 parameters") from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise InvalidInput([FieldError(name, "given more than once") for name in _repeated(pairs)])
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise invalid_input(error, "query") from None


def _repeated(pairs: list[tuple[str, str]]) -> list[str]:
    """The names that come more than once, as far as they look like names of ours."""
    counted = Counter(name for name, _ in pairs)
    return [name if _PARAMETER.fullmatch(name) else "?" for name, count in counted.items() if count > 1]


def _path_values(route: Route, event: Event) -> dict[str, str]:
    values = dict(event.get("pathParameters") or {})
    for name, value in values.items():
        if name in ("session_id", "key") and not _CLIENT_ID.fullmatch(value):
            raise InvalidInput.of(name, "must be 1 to 128 of A-Z a-z 0-9 . _ : -")
        if name == "id" and not ids.is_id(value, ids.MEMORY) and route.method != "DELETE":
            raise NotFound
    return values


def _if_match(route: Route, headers: Mapping[str, str]) -> int | None:
    """The version that the caller saw. A change whose precondition cannot be judged is refused, not made."""
    value = headers.get("if-match")
    if route.method != "GET":
        unknown = [name for name in _PRECONDITIONS if name in headers and not (route.versioned and name == "if-match")]
        if unknown:
            raise MalformedRequest("invalid_header", f"this request cannot be made conditional by {unknown[0]}")
    if value is None or not route.versioned:
        return None
    match = _IF_MATCH.fullmatch(value.strip())
    if match is None:
        raise MalformedRequest("invalid_header", 'If-Match must be the version that you saw, such as "3"')
    return int(match[1])


def _stored(answer: Answer, call: Call) -> StoredAnswer:
    about = spoken_of(answer.body, getattr(call.body, "session_id", None))
    return StoredAnswer(answer.status, without_user(_body_text(answer), call.user_id), about, answer.whole)


def _body_text(answer: Answer) -> str:
    if answer.body is None:
        return ""
    if isinstance(answer.body, str):
        return answer.body
    return answer.body.model_dump_json(exclude_unset=False)


def _success(answer: Answer) -> HttpResponse:
    response = _response(answer.status, _body_text(answer))
    response["headers"].update(answer.headers)
    return response


def _response(status: int, body: str) -> HttpResponse:
    headers = {"content-type": "application/json", "cache-control": "no-store"} if body else {}
    return {"statusCode": status, "headers": headers, "body": body, "isBase64Encoded": False}


def _problem(error: LetheError, request_id: str) -> HttpResponse:
    return {
        "statusCode": error.status,
        "headers": problem_headers(error),
        "body": problem_text(error, request_id),
        "isBase64Encoded": False,
    }
