"""The HTTP API in front of the functions: routes, authorizer, limits and errors of Amazon API Gateway."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from lethe.domain.json_values import JsonValue
from lethe.errors import (
    Forbidden,
    InvalidInput,
    LetheError,
    NotFound,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from lethe.ports import Clock
from lethe_local.events import MalformedAnswer, authorizer_event, function_event, query_parameters, to_answer
from lethe_local.exchange import Answer, Request, problem
from lethe_local.functions import Event, FunctionFailed, FunctionLate, LocalFunction
from lethe_local.intrinsics import TemplateError
from lethe_local.routing import Match, Router, percent_decoded
from lethe_local.template import AuthorizerResource, Template

WAIT_SECONDS = 29.0
"""How long the gateway waits for a function: an HTTP API gives up after 30 seconds, a REST API after 29."""

PAYLOAD_BYTES = 6 * 1024 * 1024
"""Lambda's limit for a synchronous event, and for its answer."""

_log = logging.getLogger("lethe_local.gateway")


class Gateway:
    """Turns HTTP requests into invocations of the template's functions. Safe to use from many threads."""

    def __init__(
        self,
        template: Template,
        functions: Mapping[str, LocalFunction],
        clock: Clock,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        """``functions`` by logical id. Raises TemplateError for an identity source that is not known."""
        self._router = Router(template.routes)
        self._functions = functions
        self._authorizers = template.authorizers
        self._clock = clock
        self._wait_seconds = wait_seconds
        for authorizer in template.authorizers.values():
            for source in authorizer.identity_sources:
                _check_identity_source(source)

    def handle(self, request: Request) -> Answer:
        """The answer to one request; never raises."""
        route_key = "-"
        try:
            match = self._match(request)
            route_key = match.route.key
            return self._answer(request, match)
        except LetheError as error:
            return problem(request.id, error, route_key)
        except MalformedAnswer as error:
            _log.error("%s: the function's answer is refused: %s", route_key, error)
            return problem(request.id, LetheError(), route_key)
        except Exception:
            _log.exception("the gateway failed")
            return problem(request.id, LetheError(), route_key)

    def _match(self, request: Request) -> Match:
        try:
            percent_decoded(request.path)
            match = self._router.match(request.method, request.path)
        except ValueError as error:
            raise _not_utf8("path") from error
        try:
            query_parameters(request.query)
        except ValueError as error:
            raise _not_utf8("query") from error
        if match is None:
            raise NotFound
        return match

    def _answer(self, request: Request, match: Match) -> Answer:
        context = self._authorize(request, match)
        event = function_event(request, match, self._clock.now(), context)
        if _size(event) > PAYLOAD_BYTES:
            raise TooLarge(f"at most {PAYLOAD_BYTES} bytes a request, as the function gets it")
        answer = to_answer(self._invoke(match.route.function, event), match.route.key)
        if len(answer.body) > PAYLOAD_BYTES:
            _log.error("%s: answered more than %d bytes", match.route.key, PAYLOAD_BYTES)
            raise LetheError
        return answer

    def _authorize(self, request: Request, match: Match) -> Mapping[str, JsonValue] | None:
        """The context that the route's authorizer gives; None without authorizer."""
        if match.route.authorizer is None:
            return None
        authorizer = self._authorizers[match.route.authorizer]
        event = authorizer_event(request, match, self._clock.now(), _identity(authorizer, request, match))
        verdict = self._invoke(authorizer.function, event)
        if not isinstance(verdict, Mapping) or not isinstance(verdict.get("isAuthorized"), bool):
            raise MalformedAnswer("an authorizer answers isAuthorized")
        if not verdict["isAuthorized"]:
            raise Forbidden
        context = verdict.get("context") or {}
        if not isinstance(context, Mapping):
            raise MalformedAnswer("an authorizer's context is a map")
        return context

    def _invoke(self, function: str, event: Event) -> JsonValue:
        try:
            return self._functions[function].invoke(event, self._wait_seconds)
        except FunctionLate as error:
            _log.error("%s: no answer within %g s", function, self._wait_seconds)
            raise Unavailable from error
        except FunctionFailed as error:
            raise LetheError from error  # the function's log has said why


def _check_identity_source(source: str) -> None:
    if source != "$context.routeKey" and not source.startswith("$request.header."):
        raise TemplateError(f"the local stack does not know the identity source {source}")


def _identity(authorizer: AuthorizerResource, request: Request, match: Match) -> list[str]:
    """The values of the identity sources. Raises Unauthenticated when one is missing, as the gateway refuses then."""
    values = []
    for source in authorizer.identity_sources:
        if source == "$context.routeKey":
            values.append(match.route.key)
            continue
        value = request.header(source.removeprefix("$request.header.").lower())
        if not value:
            raise Unauthenticated
        values.append(value)
    return values


def _not_utf8(field: str) -> InvalidInput:
    return InvalidInput.of(field, "must be percent-encoded UTF-8")


def _size(event: Event) -> int:
    return len(json.dumps(event, ensure_ascii=False).encode("utf-8"))
