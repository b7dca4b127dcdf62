"""From event to operation and back: what is judged before an operation runs, and what becomes of its faults."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from lethe.domain.identity import Caller, Permission, Space
from lethe.entry.api.memories import SearchMemories
from lethe.entry.application import Application
from lethe.entry.authorizer import Authorizer, caller_of
from lethe.entry.call import Answer, Call
from lethe.entry.events import Event
from lethe.entry.idempotency import Idempotency
from lethe.entry.routes import ROUTES, Route
from lethe.errors import Conflict, LetheError, NotFound, Throttled, Unavailable
from tests.fakes.audit import FakeAuditTrail, fake_auditor
from tests.fakes.idempotency import FakeIdempotencyRecords, fake_standing
from tests.fakes.time_and_ids import FixedClock

CALLER = Caller("acme", "key:1", frozenset({Permission.READ}), ("*",), "1")
SEARCH = "POST /v1/memories/search"
BODY = '{"user_id": "ann", "query": "x"}'


class Context:
    aws_request_id = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 1_000


class Listener:
    def __init__(self) -> None:
        self.answers: list[tuple[str, int]] = []
        self.faults: list[BaseException] = []

    def served(self, route: str, request_id: str, status: int, seconds: float) -> None:
        self.answers.append((route, status))

    def failed(self, route: str, request_id: str, error: BaseException) -> None:
        self.faults.append(error)


class House:
    """An application with one operation."""

    def __init__(self, operation: Callable[[Call], Answer]) -> None:
        self.listener = Listener()
        idempotency = Idempotency(FakeIdempotencyRecords(), fake_standing(FixedClock()), b"k" * 32, FixedClock())
        self.application = Application(
            {"search_memories": operation, "health": operation},
            lambda caller, user_id: Space(caller.tenant, str(user_id), 1),
            idempotency,
            fake_auditor(FakeAuditTrail(), FixedClock()),
            self.listener,
        )

    def __call__(self, **fields: object) -> tuple[int, dict[str, Any], Mapping[str, str]]:
        event: dict[str, object] = {
            "routeKey": SEARCH,
            "rawPath": "/v1/memories/search",
            "headers": {"content-type": "application/json"},
            "requestContext": {"authorizer": {"lambda": context_of(CALLER)}},
            "body": BODY,
        }
        answer = self.application(cast(Event, event | fields), Context())
        return answer["statusCode"], json.loads(answer["body"]) if answer["body"] else {}, answer["headers"]


def context_of(caller: Caller | None) -> dict[str, Any]:
    answer = Authorizer(lambda _: caller)({"headers": {"authorization": "Bearer x"}}, Context())
    return cast(dict[str, Any], answer["context"])


def fine(call: Call) -> Answer:
    return Answer(200, '{"query": "' + call.body_as(SearchMemories).query + '"}')


def test_an_operation_gets_the_validated_request() -> None:
    house = House(fine)

    assert house()[:2] == (200, {"query": "x"})
    assert house.listener.answers == [(SEARCH, 200)]


@pytest.mark.parametrize("body", [base64.b64encode(BODY.encode()).decode()])
def test_a_binary_body_is_decoded(body: str) -> None:
    assert House(fine)(body=body, isBase64Encoded=True)[0] == 200
    status, problem, _ = House(fine)(body="%%%", isBase64Encoded=True)
    assert (status, problem["code"]) == (400, "invalid_json")


def test_a_body_beyond_the_limit_is_too_large() -> None:
    body = '{"user_id": "ann", "query": "' + "漢" * (128 * 1024 // 3) + '"}'

    assert House(fine)(body=body)[0] == 413


def test_a_lone_surrogate_in_the_event_is_no_fault_of_ours() -> None:
    assert House(fine)(body='{"user_id": "ann", "query": "\ud800"}')[0] == 400


@pytest.mark.parametrize(
    "error", [ValueError("secret text"), KeyError("secret"), RecursionError("secret"), AssertionError()]
)
def test_any_fault_is_a_500_without_a_word_of_the_inside(error: Exception) -> None:
    def fail(call: Call) -> Answer:
        raise error

    house = House(fail)
    status, problem, headers = house()

    assert (status, problem["code"]) == (500, "internal")
    assert problem["request_id"] == headers["x-request-id"] == "request-1"
    assert "secret" not in json.dumps(problem)
    assert house.listener.faults == [error]
    assert house.listener.answers == [(SEARCH, 500)]


@pytest.mark.parametrize(
    ("error", "ours"),
    [(NotFound(), False), (Conflict(), False), (Throttled(), False), (Unavailable(), True), (LetheError(), True)],
)
def test_only_our_own_faults_are_reported_as_such(error: LetheError, ours: bool) -> None:
    def fail(call: Call) -> Answer:
        raise error

    house = House(fail)

    assert house()[0] == error.status
    assert house.listener.faults == ([error] if ours else [])


def test_an_operation_of_another_function_is_as_unknown_as_any() -> None:
    status, problem, headers = House(fine)(routeKey="POST /v1/memories", rawPath="/v1/memories")

    assert (status, problem["code"]) == (405, "method_not_allowed")
    assert headers["allow"] == "GET, POST"


@pytest.mark.parametrize("route", ["GET /v1/nothing/of/ours", "TEA-AT-FOUR /v1/health", "", None, ["x"]])
def test_what_is_no_route_of_ours_comes_into_no_log(route: object) -> None:
    house = House(fine)

    assert house(routeKey=route, rawPath="/nowhere")[0] == 404
    assert house.listener.answers == [("$default", 404)]


@pytest.mark.parametrize(
    "event", [{}, {"routeKey": "$default"}, {"routeKey": SEARCH}, {"routeKey": SEARCH, "headers": None}]
)
def test_an_event_without_anything_is_answered(event: dict[str, object]) -> None:
    answer = House(fine).application(cast(Event, event), Context())

    assert answer["statusCode"] in (401, 404)


@pytest.mark.parametrize(
    "found",
    [
        None, "x", [], {}, {"authenticated": "true"}, {"authenticated": True}, {"authenticated": 1, "tenant": "acme"},
        context_of(CALLER) | {"tenant": ""}, context_of(CALLER) | {"tenant": 5},
        context_of(CALLER) | {"permissions": "fly"},
        context_of(CALLER) | {"subjects": ""}, context_of(CALLER) | {"actor": None},
        context_of(CALLER) | {"key": ""}, context_of(CALLER) | {"key": None}, context_of(None),
    ],
)  # fmt: skip
def test_a_malformed_identity_is_none(found: object) -> None:
    event = cast(Event, {"requestContext": {"authorizer": {"lambda": found}}})

    assert caller_of(event) is None
    assert House(fine)(requestContext=event["requestContext"])[0] == 401


def test_a_caller_comes_through_the_gateway_as_it_was() -> None:
    caller = Caller("acme", "key:1", frozenset({Permission.READ, Permission.ERASE}), ("a" * 32, "b" * 32), "1")

    assert caller_of(cast(Event, {"requestContext": {"authorizer": {"lambda": context_of(caller)}}})) == caller


@pytest.mark.parametrize("error", [Unavailable, Throttled])
def test_an_authorizer_that_cannot_look_says_so(error: type[LetheError]) -> None:
    def away(_: str) -> Caller | None:
        raise error

    answer = Authorizer(away)({"headers": {"authorization": "Bearer x"}}, Context())

    assert answer["isAuthorized"] is True
    assert House(fine)(requestContext={"authorizer": {"lambda": answer["context"]}})[0] == 503


@pytest.mark.parametrize(
    ("header", "presented"),
    [
        ("Bearer k", ["k"]),
        ("bearer  k ", ["k"]),
        ("BEARER k", ["k"]),
        ("Basic k", []),
        ("k", []),
        ("", []),
        ("Bearer", [""]),
    ],
)
def test_what_is_presented_as_a_key(header: str, presented: list[str]) -> None:
    asked: list[str] = []

    def authenticate(key: str) -> Caller | None:
        asked.append(key)
        return None

    answer = Authorizer(authenticate)({"headers": {"authorization": header}}, Context())

    assert asked == presented
    assert answer["context"] == {"authenticated": False}
    assert Authorizer(authenticate)({}, Context())["context"] == {"authenticated": False}


class EveryOperation:
    """An application with all operations, none of which does anything, for a tenant that was erased as a whole."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        idempotency = Idempotency(FakeIdempotencyRecords(), fake_standing(FixedClock()), b"k" * 32, FixedClock())
        self.application = Application(
            {route.operation: self._noting(route.operation) for route in ROUTES},
            lambda caller, user_id: Space(caller.tenant, str(user_id), 1),
            idempotency,
            fake_auditor(FakeAuditTrail(), FixedClock()),
            Listener(),
        )

    def _noting(self, operation: str) -> Callable[[Call], Answer]:
        def run(call: Call) -> Answer:
            self.ran.append(operation)
            return Answer(204)

        return run

    def status(self, route: Route) -> int:
        """Of a request without a body, which only those routes look at that still answer."""
        caller = Caller("acme", "key:1", frozenset({Permission.ADMIN}), ("*",), "1", fenced=True)
        event = {
            "routeKey": route.key,
            "rawPath": route.path,
            "pathParameters": {name: value for name, value in NAMED.items() if f"{{{name}}}" in route.path},
            "requestContext": {"authorizer": {"lambda": context_of(caller)}},
        }
        return self.application(cast(Event, event), Context())["statusCode"]


NAMED = {"id": "er_" + "0" * 26, "name": "court", "user_id": "ann", "session_id": "s", "key": "k"}
ABOUT_ERASURES = {"begin_erasure", "erase_subject", "list_erasures", "get_erasure", "get_receipt", "list_audit"}
ABOUT_HOLDS = {"list_holds", "get_hold", "release_hold"}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_a_tenant_that_is_erased_sees_no_data_and_all_about_its_erasure(route: Route) -> None:
    house = EveryOperation()
    status = house.status(route)
    if not route.permissions:
        assert status == 204
    elif route.operation in ABOUT_ERASURES | ABOUT_HOLDS:
        assert status not in (401, 403, 404, 410)
    else:
        assert status == (404 if Permission.READ in route.permissions else 410)
        assert house.ran == []


def test_a_fence_comes_through_the_gateway() -> None:
    caller = Caller("acme", "key:1", frozenset({Permission.READ}), ("*",), "1", fenced=True)

    assert "fenced" not in context_of(CALLER)
    assert caller_of(cast(Event, {"requestContext": {"authorizer": {"lambda": context_of(caller)}}})) == caller
