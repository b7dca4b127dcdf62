"""An entry for every request, written beside its operation: without it nothing is answered."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from lethe.domain.audit import AuditEntry, AuditEvent, Verdict, check_strand, document
from lethe.domain.identity import EVERY_USER, Caller, Permission, Space, hidden, session_of, subject_of
from lethe.entry.application import Application
from lethe.entry.auditing import hides_whose, named_in
from lethe.entry.call import Answer, Call
from lethe.entry.events import Event
from lethe.entry.idempotency import Idempotency
from lethe.entry.routes import ROUTES
from lethe.entry.settings import Audited
from lethe.errors import Conflict, Erased, Forbidden, NotFound, Throttled, Unavailable
from lethe.services.auditing import MOST_TARGETS
from tests.fakes.audit import FakeAuditTrail, fake_auditor
from tests.fakes.idempotency import FakeIdempotencyRecords, fake_standing
from tests.fakes.time_and_ids import START, FixedClock
from tests.unit.entry.test_application import Context, Listener, context_of

KEY = b"k" * 32
MEMORY = "mem_" + "0" * 26
ERASURE = "er_" + "0" * 26
RECEIPT = "rc_" + "0" * 26
SECRET = "I live in Oslo"
ANN = subject_of("acme", "ann", KEY)


def caller(*permissions: Permission, subjects: tuple[str, ...] = ("*",)) -> Caller:
    return Caller("acme", "key:1", frozenset(permissions), subjects, "key-1")


def answering(call: Call) -> Answer:
    return Answer(200, json.dumps({"text": SECRET}))


def erasing(call: Call) -> Answer:
    """An operation that comes to an erasure: a part of one that runs, or a new one."""
    call.erasing(ERASURE)
    return Answer(202, json.dumps({"id": ERASURE}), {"location": f"/v1/erasures/{ERASURE}"})


class TellingTrail(FakeAuditTrail):
    """Tells that an entry was begun."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()

    def append(self, event: AuditEvent) -> AuditEntry:
        self.begun.set()
        return super().append(event)


class House:
    """An application with all operations, each of which does the same."""

    def __init__(
        self,
        operation: Callable[[Call], Answer] = answering,
        trail: FakeAuditTrail | None = None,
        audited: Audited = "all",
    ) -> None:
        self.trail = trail or FakeAuditTrail()
        self.listener = Listener()
        self.ran: list[Call] = []
        clock = FixedClock()

        def run(call: Call) -> Answer:
            self.ran.append(call)
            return operation(call)

        self.application = Application(
            dict.fromkeys((route.operation for route in ROUTES), run),
            lambda caller, user_id: Space(caller.tenant, str(user_id), 1),
            Idempotency(FakeIdempotencyRecords(), fake_standing(clock), KEY, clock),
            fake_auditor(self.trail, clock, audited),
            self.listener,
        )

    def send(
        self,
        route: str,
        by: Caller | None = None,
        body: Mapping[str, object] | None = None,
        path: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        **query: str,
    ) -> tuple[int, str]:
        event: dict[str, object] = {
            "routeKey": route,
            "rawPath": route.partition(" ")[2],
            "headers": {"content-type": "application/json", **(headers or {})},
            "requestContext": {"authorizer": {"lambda": context_of(by or caller(Permission.ADMIN))}},
            "pathParameters": dict(path or {}),
            "queryStringParameters": query,
            "rawQueryString": "&".join(f"{name}={value}" for name, value in query.items()),
        }
        if body is not None:
            event["body"] = json.dumps(body)
        answer = self.application(cast(Event, event), Context())
        return answer["statusCode"], answer["body"]

    @property
    def entries(self) -> list[AuditEntry]:
        documents = self.trail.stretch("acme", 0, 0, 1_000)
        assert check_strand(documents, "acme", 0, self.trail.ends("acme").values()).fault is None
        return sorted(self.trail.of_subject("acme", ANN, 1_000, None).items, key=lambda entry: entry.n)

    @property
    def everything(self) -> list[dict[str, Any]]:
        return [dict(each) for each in self.trail.stretch("acme", 0, 0, 1_000)]


def test_an_entry_says_who_did_what_to_whom_and_nothing_else() -> None:
    house = House()
    body = {"user_id": "ann", "query": "Where?", "session_id": "monday"}
    assert house.send("POST /v1/recall", body=body)[0] == 200
    (entry,) = house.entries
    assert entry.event == AuditEvent(
        tenant="acme",
        at=START,
        key=hidden("key", "acme", "key-1", KEY),
        action="recall",
        verdict=Verdict.ALLOWED,
        subject=ANN,
        targets=("session:" + session_of("acme", ANN, "monday", KEY),),
        request_id="request-1",
    )
    kept = json.dumps(document(entry))
    assert not [word for word in ('"ann"', "Where?", "monday", "key-1") if word in kept]


@pytest.mark.parametrize(
    ("route", "path", "expected"),
    [
        ("GET /v1/memories/{id}", {"id": MEMORY}, (MEMORY,)),
        ("DELETE /v1/memories/{id}", {"id": MEMORY}, (MEMORY,)),
        ("DELETE /v1/memories/{id}", {"id": "my own name"}, ()),
        ("GET /v1/entities/{key}", {"key": "size"}, ("entity:" + hidden("entity", "acme", f"{ANN}\0size", KEY),)),
        ("GET /v1/sessions/{session_id}", {"session_id": "s"}, ("session:" + session_of("acme", ANN, "s", KEY),)),
    ],
)
def test_what_a_request_names_in_its_path(route: str, path: dict[str, str], expected: tuple[str, ...]) -> None:
    house = House()
    assert house.send(route, path=path, user_id="ann")[0] == 200
    (entry,) = house.entries
    assert entry.event.targets == expected


def test_a_hold_is_named_by_its_hash() -> None:
    house = House()
    assert house.send("DELETE /v1/holds/{name}", path={"name": "the-case-of-ann"})[0] == 200
    (entry,) = house.everything
    assert (entry["subject"], entry["targets"]) == (None, ["hold:" + hidden("hold", "acme", "the-case-of-ann", KEY)])


def test_the_memories_of_an_erasure_are_named_up_to_a_number() -> None:
    house = House(erasing)
    named = [f"mem_{number:026d}" for number in range(MOST_TARGETS + 1)]
    body = {"user_id": "ann", "scope": {"memory_ids": named}}
    assert house.send("POST /v1/erasures", body=body)[0] == 202
    (entry,) = house.entries
    assert list(entry.event.targets) == [*named[:MOST_TARGETS], ERASURE]


def test_the_session_of_an_erasure_is_named() -> None:
    house = House(erasing)
    assert house.send("POST /v1/erasures", body={"user_id": "ann", "scope": {"session_id": "monday"}})[0] == 202
    (entry,) = house.entries
    assert entry.event.targets == (ERASURE, "session:" + session_of("acme", ANN, "monday", KEY))


MAY_ERASE: dict[str, dict[str, Any]] = {
    "POST /v1/erasures": {"body": {"user_id": "ann", "scope": {"subject": True}}},
    "DELETE /v1/subjects/{user_id}": {"path": {"user_id": "ann"}},
    "DELETE /v1/memories/{id}": {"path": {"id": MEMORY}, "user_id": "ann"},
    "DELETE /v1/sessions/{session_id}": {"path": {"session_id": "s"}, "user_id": "ann"},
}


def erasures(entry: AuditEntry) -> list[str]:
    return [target for target in entry.event.targets if target.startswith("er_")]


@pytest.mark.parametrize("route", MAY_ERASE)
def test_an_entry_names_the_erasure_that_its_operation_comes_to(route: str) -> None:
    """Also when it fails afterwards: what it began goes on."""

    def failing(call: Call) -> Answer:
        call.erasing(ERASURE)
        raise Unavailable("the store does not answer")

    for operation, status in ((erasing, 202), (failing, 503)):
        house = House(operation)
        assert house.send(route, **MAY_ERASE[route])[0] == status
        (entry,) = house.entries
        assert (erasures(entry), entry.event.verdict) == ([ERASURE], Verdict.ALLOWED)


@pytest.mark.parametrize("raised", [None, Conflict("held"), Erased(), Forbidden("no")])
@pytest.mark.parametrize("route", MAY_ERASE)
def test_an_entry_names_no_erasure_where_none_came_of_it(route: str, raised: Exception | None) -> None:
    def operation(call: Call) -> Answer:
        if raised is not None:
            raise raised
        return Answer(204)

    house = House(operation)
    house.send(route, **MAY_ERASE[route])
    (entry,) = house.entries  # one, although it is refused: it was not begun before it was known
    assert erasures(entry) == []
    assert entry.event.verdict is (Verdict.REFUSED if isinstance(raised, Forbidden) else Verdict.ALLOWED)


def test_a_repetition_names_the_erasure_of_the_first_request() -> None:
    house = House(erasing)
    for _ in range(2):
        answer = house.send("POST /v1/erasures", headers={"idempotency-key": "once"}, **MAY_ERASE["POST /v1/erasures"])
        assert answer[0] == 202
    assert len(house.ran) == 1
    assert [erasures(entry) for entry in house.entries] == [[ERASURE], [ERASURE]]


@pytest.mark.parametrize("route", MAY_ERASE)
def test_an_entry_is_begun_before_anything_is_deleted(route: str) -> None:
    trail, seen = TellingTrail(), []

    def operation(call: Call) -> Answer:
        answer = erasing(call)
        seen.append(trail.begun.wait(20))
        return answer

    assert House(operation, trail).send(route, **MAY_ERASE[route])[0] == 202
    assert seen == [True]


def test_what_begins_no_erasure_names_none() -> None:
    house = House()
    house.send("DELETE /v1/entities/{key}", path={"key": "size"}, user_id="ann")
    house.send("DELETE /v1/subjects/{user_id}", caller(Permission.ERASE, subjects=("0" * 32,)), path={"user_id": "ann"})
    assert [target[:3] for entry in house.entries for target in entry.event.targets] == ["ent"]


def test_a_receipt_that_is_asked_for_by_its_id_is_named() -> None:
    house = House()
    assert house.send("GET /v1/erasures/{id}/receipt", path={"id": ERASURE}, receipt_id=RECEIPT)[0] == 200
    assert house.send("GET /v1/erasures/{id}/receipt", path={"id": ERASURE}, receipt_id="the one of ann")[0] == 200
    assert [entry["targets"] for entry in house.everything] == [[ERASURE, RECEIPT], [ERASURE]]


OF_WHOM_ONLY_THE_STORE_KNOWS = (
    "GET /v1/erasures/{id}",
    "GET /v1/erasures/{id}/receipt",
    "GET /v1/holds/{name}",
    "DELETE /v1/holds/{name}",
)


def one_of(route: str) -> dict[str, str]:
    return {"name": "case-7"} if "{name}" in route else {"id": ERASURE}


@pytest.mark.parametrize("route", OF_WHOM_ONLY_THE_STORE_KNOWS)
def test_whose_it_turned_out_to_be_is_in_the_entry(route: str) -> None:
    def operation(call: Call) -> Answer:
        call.about(ANN)
        return answering(call)

    house = House(operation)
    path = one_of(route)
    assert house.send(route, path=path)[0] == 200
    assert house.send(route, caller(Permission.GOVERN, subjects=(subject_of("acme", "bob", KEY),)), path=path)[0] == 200
    assert [entry.event.verdict for entry in house.entries] == [Verdict.ALLOWED, Verdict.REFUSED]


@pytest.mark.parametrize("route", OF_WHOM_ONLY_THE_STORE_KNOWS)
def test_what_is_of_the_whole_tenant_is_for_keys_that_cover_every_user(route: str) -> None:
    def operation(call: Call) -> Answer:
        call.about(EVERY_USER)
        raise NotFound

    house = House(operation)
    for by in (caller(Permission.ADMIN), caller(Permission.ADMIN, subjects=(ANN,))):
        assert house.send(route, by, path=one_of(route))[0] == 404
    found = [(entry["subject"], entry["verdict"]) for entry in house.everything]
    assert found == [(None, "allowed"), (None, "refused")]


def test_all_other_routes_name_a_user_or_no_single_thing() -> None:
    assert {route.key for route in ROUTES if hides_whose(route)} == set(OF_WHOM_ONLY_THE_STORE_KNOWS)


def test_an_entry_that_waits_to_be_told_is_begun_before_the_operation_goes_on() -> None:
    trail, seen = TellingTrail(), []

    def operation(call: Call) -> Answer:
        seen.append(trail.begun.is_set())
        call.about(ANN)
        seen.append(trail.begun.wait(20))
        return answering(call)

    assert House(operation, trail).send("DELETE /v1/holds/{name}", path={"name": "case-7"})[0] == 200
    assert seen == [False, True]


@pytest.mark.parametrize("raised", [None, NotFound(), ValueError(SECRET)])
def test_an_operation_that_tells_nothing_leaves_an_entry_all_the_same(raised: Exception | None) -> None:
    def operation(call: Call) -> Answer:
        if raised is not None:
            raise raised
        return answering(call)

    house = House(operation)
    house.send("GET /v1/holds/{name}", path={"name": "case-7"})
    assert [(entry["subject"], entry["verdict"]) for entry in house.everything] == [(None, "allowed")]


def test_a_whole_tenant_is_refused_to_a_key_that_does_not_cover_every_user() -> None:
    house = House()
    for by in (caller(Permission.ERASE), caller(Permission.ERASE, subjects=(ANN,))):
        assert house.send("POST /v1/erasures", by, body={"scope": {"tenant": True}})[0] == 200
    found = [(entry["subject"], entry["verdict"], entry["targets"]) for entry in house.everything]
    assert found == [(None, "allowed", []), (None, "refused", [])]


def test_what_its_operation_forbids_has_an_entry_that_says_refused() -> None:
    """The first entry stands by then: a second one of the same request corrects it."""

    def operation(call: Call) -> Answer:
        raise Forbidden("not with this key")

    house = House(operation)
    body = {"user_id": "ann", "value": 1, "category": "profile", "sensitive": False}
    assert house.send("PUT /v1/entities/{key}", path={"key": "size"}, body=body)[0] == 403
    first, second = (entry.event for entry in house.entries)
    assert (first.verdict, second.verdict) == (Verdict.ALLOWED, Verdict.REFUSED)
    assert (first.request_id, first.subject, first.targets) == (second.request_id, second.subject, second.targets)
    house.send("GET /v1/holds/{name}", path={"name": "case-7"})
    assert [entry["verdict"] for entry in house.everything] == ["allowed", "refused", "refused"]


def test_the_subject_of_a_key_for_one_user_needs_no_name() -> None:
    house = House()
    assert house.send("GET /v1/memories", caller(Permission.READ, subjects=(ANN,)))[0] == 200
    assert [entry.event.subject for entry in house.entries] == [ANN]


def test_a_path_that_names_no_user_has_no_subject() -> None:
    house = House()
    assert house.send("GET /v1/subjects/{user_id}", path={"user_id": "a\x07b"})[0] == 200
    assert [entry["subject"] for entry in house.everything] == [None]


def test_entry_and_operation_run_at_once() -> None:
    """Each waits until the other has begun: one after the other would never end."""
    both = threading.Barrier(2, timeout=20)

    class Trail(FakeAuditTrail):
        def append(self, event: AuditEvent) -> AuditEntry:
            both.wait()
            return super().append(event)

    def operation(call: Call) -> Answer:
        both.wait()
        return answering(call)

    house = House(operation, Trail())
    assert house.send("GET /v1/memories", user_id="ann")[0] == 200
    assert len(house.entries) == 1


def test_the_answer_waits_for_the_entry() -> None:
    done, released = threading.Event(), threading.Event()

    class Trail(FakeAuditTrail):
        def append(self, event: AuditEvent) -> AuditEntry:
            assert released.wait(20)
            return super().append(event)

    def operation(call: Call) -> Answer:
        done.set()
        return answering(call)

    house = House(operation, Trail())
    answers: list[tuple[int, str]] = []
    sender = threading.Thread(target=lambda: answers.append(house.send("GET /v1/memories", user_id="ann")))
    sender.start()
    assert done.wait(20)
    assert answers == []
    released.set()
    sender.join(20)
    assert [status for status, _ in answers] == [200]


@pytest.mark.parametrize("error", [Unavailable("no"), Throttled("no")])
@pytest.mark.parametrize("raised", [None, NotFound(), Erased()])
def test_without_the_entry_nothing_is_answered(error: Exception, raised: Exception | None) -> None:
    def operation(call: Call) -> Answer:
        if raised is not None:
            raise raised
        return answering(call)

    house = House(operation)
    house.trail.error = error
    status, body = house.send("GET /v1/memories", user_id="ann")
    assert (status, json.loads(body)["code"]) == (503, "unavailable")
    assert SECRET not in body
    assert len(house.ran) == 1
    assert [type(fault) for fault in house.listener.faults] == [Unavailable]


def test_a_fault_of_ours_in_the_trail_is_a_500_without_content() -> None:
    house = House()
    house.trail.error = ValueError(SECRET)
    status, body = house.send("GET /v1/memories", user_id="ann")
    assert status == 500
    assert SECRET not in body


def test_a_request_that_its_operation_refuses_is_recorded() -> None:
    def operation(call: Call) -> Answer:
        raise NotFound

    house = House(operation)
    assert house.send("GET /v1/memories/{id}", path={"id": MEMORY}, user_id="ann")[0] == 404
    assert [entry.event.verdict for entry in house.entries] == [Verdict.ALLOWED]


IN_WORDS: dict[str, dict[str, Any]] = {
    "GET /v1/memories": {"user_id": "ann"},
    "GET /v1/memories/{id}": {"path": {"id": MEMORY}, "user_id": "ann"},
    "GET /v1/sessions/{session_id}": {"path": {"session_id": "monday"}, "user_id": "ann"},
    "GET /v1/subjects/{user_id}": {"path": {"user_id": "ann"}},
    "POST /v1/recall": {"body": {"user_id": "ann", "query": "Where?", "session_id": "monday"}},
    "POST /v1/memories": {"body": {"user_id": "ann", "text": "I live in Oslo"}},
    "PUT /v1/entities/{key}": {"path": {"key": "size"}, "body": {"user_id": "ann", "value": 1, "category": "profile"}},
    "DELETE /v1/entities/{key}": {"path": {"key": "size"}, "user_id": "ann"},
    "DELETE /v1/memories/{id}": {"path": {"id": MEMORY}, "user_id": "ann"},
    "POST /v1/subjects/{user_id}/admit": {"path": {"user_id": "ann"}},
    "PUT /v1/holds/{name}": {"path": {"name": "case-7"}, "body": {"user_id": "ann"}},
}
"""Requests about one user, in each of the places where a user is named."""


def refused_in_any_case() -> tuple[Caller, ...]:
    """One of an erased tenant, then some that lack the permission for most things."""
    fenced = Caller("acme", "key:1", frozenset({Permission.ADMIN}), ("*",), "key-1", fenced=True)
    return (fenced, caller(Permission.GOVERN), caller(Permission.READ), caller(Permission.ERASE))


@pytest.mark.parametrize("route", IN_WORDS)
def test_what_no_operation_sees_is_recorded_as_refused_with_all_that_it_names(route: str) -> None:
    usual = House()
    assert usual.send(route, **IN_WORDS[route])[0] == 200
    (allowed,) = usual.entries
    house = House()
    statuses = [house.send(route, by, **IN_WORDS[route])[0] for by in refused_in_any_case()]
    assert statuses[0] in (404, 410)
    assert set(statuses[1:]) <= {200, 403}
    assert 403 in statuses
    assert len(house.ran) == statuses.count(200)
    named = tuple(target for target in allowed.event.targets if not target.startswith("er_"))
    assert [entry.event.verdict for entry in house.entries] == [
        Verdict.ALLOWED if status == 200 else Verdict.REFUSED for status in statuses
    ]
    assert {entry.event.targets for entry in house.entries if entry.event.verdict is Verdict.REFUSED} == {named}


def test_what_is_refused_and_cannot_be_read_is_named_as_far_as_it_can() -> None:
    house = House()
    fenced = refused_in_any_case()[0]
    for body in ({"user_id": "ann", "scope": {"moon": True}}, {"user_id": 7}):
        assert house.send("PUT /v1/holds/{name}", fenced, path={"name": "case-7"}, body=body)[0] == 410
    assert house.send("PUT /v1/holds/{name}", fenced, path={"name": "case 7"}, body={"user_id": "ann"})[0] == 410
    assert house.send("POST /v1/recall", caller(Permission.WRITE), body={"user_id": "ann"})[0] == 403
    hold = "hold:" + hidden("hold", "acme", "case-7", KEY)
    assert [(entry["subject"], entry["targets"]) for entry in house.everything] == [
        (None, [hold]),
        (None, [hold]),
        (None, []),
        (None, []),
    ]
    assert {entry["verdict"] for entry in house.everything} == {"refused"}


@pytest.mark.parametrize("by", refused_in_any_case()[:2])
def test_without_its_entry_a_refusal_is_not_answered_either(by: Caller) -> None:
    house = House()
    house.trail.error = Unavailable("no")
    assert house.send("GET /v1/memories", by, user_id="ann")[0] == 503
    unrecorded = House(audited="writes")
    assert unrecorded.send("GET /v1/memories", by, user_id="ann")[0] in (403, 404)
    assert unrecorded.everything == []


def test_a_key_for_others_is_recorded_as_refused_about_the_user_it_asked_for() -> None:
    house = House()
    bob = subject_of("acme", "bob", KEY)
    house.send("GET /v1/memories", caller(Permission.READ, subjects=(bob,)), user_id="ann")
    assert [entry.event.verdict for entry in house.entries] == [Verdict.REFUSED]


def test_what_is_not_understood_or_has_no_caller_is_not_recorded() -> None:
    house = House()
    assert house.send("POST /v1/recall", body={"user_id": "ann"})[0] == 422
    assert house.application(cast(Event, {"routeKey": "GET /v1/memories"}), Context())["statusCode"] == 401
    assert house.everything == []


def test_what_needs_no_key_is_not_recorded() -> None:
    house = House()
    for route in ROUTES:
        if not route.permissions:
            assert house.send(route.key)[0] == 200
    assert house.everything == []


def test_every_repetition_of_a_request_is_recorded() -> None:
    house = House()
    for _ in range(3):
        body = {"user_id": "ann", "query": "Where?"}
        assert house.send("POST /v1/recall", body=body, headers={"idempotency-key": "once"})[0] == 200
    assert len(house.ran) == 1
    assert len(house.entries) == 3


@pytest.mark.parametrize(("audited", "recorded"), [("all", 2), ("writes", 1), ("off", 0)])
def test_reads_or_all_can_be_left_out(audited: Audited, recorded: int) -> None:
    house = House(audited=audited)
    assert house.send("GET /v1/memories", user_id="ann")[0] == 200
    assert house.send("POST /v1/memories", body={"user_id": "ann", "text": "x"})[0] == 200
    actions = [entry.event.action for entry in house.entries]
    assert actions == ["list_memories", "add_memories"][2 - recorded :]


def test_what_changes_or_governs_counts_as_a_write() -> None:
    reads = {route.operation for route in ROUTES if Permission.READ in route.permissions}
    assert {"recall", "search_memories", "describe_subject", "read_messages"} <= reads
    assert not reads & {"list_audit", "erase_subject", "get_receipt", "delete_memory", "add_batch", "place_hold"}


def test_a_call_without_names_names_nothing() -> None:
    named = named_in(Call(caller(), {}, None, None))
    assert (named.user_id, named.ids, named.session_id, named.entity_key, named.hold) == (None, (), None, None, None)
    assert (named.owner, named.erasure) == (None, None)
    assert named_in(Call(caller(), {"id": ERASURE}, None, None)).ids == (ERASURE,)
