"""From an API Gateway event to an operation and back: requests are judged and errors become HTTP here alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Final

from pydantic_core import from_json

from lethe.domain import ids
from lethe.domain.idempotency import StoredAnswer
from lethe.domain.identity import Caller, Permission, Space
from lethe.domain.json_values import canonical
from lethe.entry.about import spoken_of
from lethe.entry.api.types import CLIENT_ID
from lethe.entry.auditing import Auditor
from lethe.entry.authorizer import caller_of
from lethe.entry.call import Answer, Call
from lethe.entry.events import Event, HttpResponse, LambdaContext
from lethe.entry.idempotency import REPLAYED_HEADER, Idempotency, with_user, without_user
from lethe.entry.observability import Observer
from lethe.entry.problems import problem_headers, problem_text
from lethe.entry.reading import read_body, seen_version, validated_body, validated_query
from lethe.entry.routes import ROUTES, Route
from lethe.errors import (
    Erased,
    Forbidden,
    InvalidInput,
    LetheError,
    MethodNotAllowed,
    NotFound,
    Unauthenticated,
)

Operation = Callable[[Call], Answer]
OpenSpace = Callable[[Caller, str | None], Space]

_CLIENT_ID: Final = re.compile(CLIENT_ID, re.ASCII)
_WHILE_FENCED: Final = frozenset(
    (
        "begin_erasure",
        "erase_subject",
        "list_erasures",
        "get_erasure",
        "get_receipt",
        "list_holds",
        "get_hold",
        "release_hold",
        "list_audit",
    )
)
"""What still answers a tenant that is erased as a whole: everything about erasures and their proof, and no data."""

_ROUTES: Final = {route.key: route for route in ROUTES}


class Application:
    """Dispatches events to operations. One is built per function at cold start."""

    def __init__(
        self,
        operations: Mapping[str, Operation],
        open_space: OpenSpace,
        idempotency: Idempotency,
        auditor: Auditor,
        observer: Observer,
    ) -> None:
        self._operations = operations
        self._open_space = open_space
        self._idempotency = idempotency
        self._auditor = auditor
        self._observer = observer

    def __call__(self, event: Event, context: LambdaContext) -> HttpResponse:
        """Answer one event of an HTTP API (payload format 2.0); never raises."""
        started = perf_counter()
        request_id = context.aws_request_id
        route = _ROUTES.get(str(event.get("routeKey")))
        route_key = "$default" if route is None else route.key  # in logs: nothing else that an event names
        try:
            response = self._respond(event, route, context)
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

    def _respond(self, event: Event, route: Route | None, context: LambdaContext) -> HttpResponse:
        if route is None or route.operation not in self._operations:
            raise _unknown(event)
        operation = self._operations[route.operation]
        if not route.permissions:
            return _success(operation(Call(_NOBODY, {}, None, None)))
        caller = caller_of(event)
        if caller is None:
            raise Unauthenticated
        refusal = _refusal(route, caller)
        if refusal is not None:
            self._auditor.refused(route, _as_far_as_read(route, event, caller), context.aws_request_id)
            raise refusal
        headers = event.get("headers") or {}
        raw = read_body(route, event, headers)
        call = Call(
            caller,
            _path_values(route, event),
            validated_query(route, event),
            validated_body(route.body, raw),
            seen_version(route, headers),
            lambda: context.get_remaining_time_in_millis() / 1_000,
        )
        key = headers.get("idempotency-key")

        def run(call: Call) -> HttpResponse:
            if key is None or route.method not in ("POST", "PUT", "PATCH"):
                return _success(operation(call))
            return self._once(key, route, call, raw, operation)

        return self._auditor.beside(route, call, context.aws_request_id, run)

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
        if stored.location is not None:
            response["headers"]["location"] = stored.location
        if replayed:
            response["headers"][REPLAYED_HEADER] = "true"
        return response


def _refusal(route: Route, caller: Caller) -> LetheError | None:
    """Why the request is refused whatever it says: the key may not do such a thing, or its whole tenant is erased. Then
    there is nothing to read, and nothing may be written.
    """
    if not any(caller.may(permission) for permission in route.permissions):
        return Forbidden("this key lacks the permission " + " or ".join(route.permissions))
    if not caller.fenced or route.operation in _WHILE_FENCED:
        return None
    if Permission.READ in route.permissions:
        return NotFound()
    return Erased("this whole tenant was erased; its operator admits it again by: lethe tenants admit NAME")


def _as_far_as_read(route: Route, event: Event, caller: Caller) -> Call:
    """A request that is refused in any case, for the entry alone: it names what could be read, path, query and body in
    this order, up to what is wrong with it.
    """
    call = Call(caller, {}, None, None)
    try:
        call = replace(call, path=_path_values(route, event))
        call = replace(call, query=validated_query(route, event))
        return replace(call, body=validated_body(route.body, read_body(route, event, event.get("headers") or {})))
    except LetheError:  # the answer is the refusal, and says nothing about the rest
        return call


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


def _path_values(route: Route, event: Event) -> dict[str, str]:
    values = dict(event.get("pathParameters") or {})
    for name, value in values.items():
        if name in ("session_id", "key", "name") and not _CLIENT_ID.fullmatch(value):
            raise InvalidInput.of(name, "must be 1 to 128 of A-Z a-z 0-9 . _ : -")
        prefix = ids.ERASURE if route.path.startswith("/v1/erasures") else ids.MEMORY
        if name == "id" and not ids.is_id(value, prefix) and route.method != "DELETE":
            raise NotFound
    return values


def _stored(answer: Answer, call: Call) -> StoredAnswer:
    about = spoken_of(answer.body, getattr(call.body, "session_id", None)) | answer.about
    body = without_user(_body_text(answer), call.user_id)
    return StoredAnswer(answer.status, body, about, answer.whole, answer.headers.get("location"))


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
