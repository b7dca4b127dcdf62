"""Isolation: no route lets a caller see, or find out about, another user's or tenant's data, wherever he names it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from lethe.entry.routes import ROUTES, Route
from tests.support.api import Api, ApiStack, Reply, TenantOnStack

CANARY = "zqx-secret-of-ann"
MISSING = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV"
PROTECTED = [route for route in ROUTES if route.permissions]
BODIES: dict[str, dict[str, Any]] = {
    "append_messages": {"messages": [{"role": "user", "content": "hello"}], "remember": False},
    "end_session": {},
    "add_memories": {"text": "I live in Rome"},
    "add_batch": {"items": [{"text": "I live in Rome"}]},
    "search_memories": {"query": CANARY, "threshold": 0, "top_k": 100, "explain": True},
    "recall": {"query": CANARY, "threshold": 0, "session_id": "s-ann", "explain": True, "token_budget": 20_000},
    "put_entity": {"value": 1, "category": "profile"},
    "change_memory": {"version": 1, "pinned": True},
    "begin_erasure": {"scope": {"session_id": "s-ann"}},
    "place_hold": {},
}
OF_A_TENANT = frozenset(
    ("list_erasures", "get_erasure", "get_receipt", "list_holds", "get_hold", "release_hold", "list_audit")
)
"""Routes that name no user."""


@dataclass(frozen=True)
class Planted:
    """What one user owns: a memory, a session, an entity, and a cursor of every list."""

    memory_id: str
    cursors: dict[str, str]
    snapshot: list[bytes]


def plant(api: Api, user_id: str) -> Planted:
    memories = [api.remember(f"{CANARY} {n}", user_id, metadata={"canary": CANARY})["id"] for n in range(3)]
    for n in range(3):
        body = {"user_id": user_id, "value": f"{CANARY} {n}", "category": "profile"}
        api.put(f"/v1/entities/e-ann{n or ''}", body, idempotency_key="k-1" if n == 0 else f"k-{n + 5}").ok(201)
        api.say(f"s-ann{n or ''}", CANARY, CANARY, CANARY, user_id=user_id, remember=False)
    cursors = {
        path: api.get(path, user_id=user_id, limit=1, **({"order": "asc"} if "messages" in path else {})).ok()[
            "next_cursor"
        ]
        for path in ("/v1/memories", "/v1/sessions", "/v1/entities", "/v1/sessions/s-ann/messages")
    }
    return Planted(memories[0], cursors, snapshot(api, user_id, memories[0]))


LISTS = ("/v1/memories", "/v1/sessions", "/v1/entities", "/v1/sessions/s-ann/messages")


def _order(path: str) -> dict[str, str]:
    return {"order": "asc"} if path.endswith("messages") else {}


def snapshot(api: Api, user_id: str, memory_id: str) -> list[bytes]:
    """Everything that can be read of the user, as it is answered."""
    paths = [
        "/v1/memories", f"/v1/memories/{memory_id}", f"/v1/memories/{memory_id}/history", "/v1/entities",
        "/v1/entities/e-ann", "/v1/entities/e-ann/history", "/v1/sessions", "/v1/sessions/s-ann",
        "/v1/sessions/s-ann/messages",
    ]  # fmt: skip
    replies = [api.get(path, user_id=user_id) for path in paths]
    assert all(reply.status == 200 for reply in replies)
    return [reply.raw for reply in replies] + [api.get(f"/v1/subjects/{user_id}").raw]


Parts = dict[str, dict[str, Any]]


def call(api: Api, route: Route, values: dict[str, str], user_id: str | None, more: Parts | None = None) -> Reply:
    """The route with its path filled; the user in the place where this route takes it. ``more`` by part."""
    more = more or {}
    path = route.path.format(**({"user_id": user_id or "x"} | values))
    query: dict[str, object] = dict(more.get("query", {}))
    body: dict[str, Any] | None = None
    if route.body is not None:
        body = BODIES[route.operation] | more.get("body", {})
        if user_id is not None:
            body["user_id"] = user_id
    elif user_id is not None and "{user_id}" not in route.path:
        query["user_id"] = user_id
    return api.send(route.method, path, body, query, more.get("headers", {}))


FOREIGN = {"session_id": "s-ann", "key": "e-ann", "name": "h-ann"}
ABSENT = {"session_id": "s-none", "key": "e-none", "id": MISSING, "name": "h-none"}


@pytest.fixture
def strangers(tenant: TenantOnStack, api_stack: ApiStack) -> Iterator[tuple[Planted, dict[str, tuple[Api, str]]]]:
    """Ann's data, and callers that are not Ann: with the user id that each may use. Afterwards it is as it was."""
    planted = plant(tenant.admin, "ann")
    other = api_stack.tenant()
    callers = {
        "another user, key for all": (tenant.admin, "bob"),
        "another user, key for one": (tenant.api("admin", users=["bob"]), "bob"),
        "the same id in another tenant": (other.admin, "ann"),
        "the same id in another tenant, key for one": (other.api("admin", users=["ann"]), "ann"),
    }
    yield planted, callers
    assert snapshot(tenant.admin, "ann", planted.memory_id) == planted.snapshot


def test_a_foreign_id_answers_exactly_as_a_missing_one(strangers: tuple[Planted, dict[str, tuple[Api, str]]]) -> None:
    planted, callers = strangers
    for name, (api, user_id) in callers.items():
        for route in PROTECTED:
            if "{" not in route.path or "{user_id}" in route.path or route.method in ("POST", "PUT"):
                continue
            foreign = call(api, route, {**FOREIGN, "id": planted.memory_id}, user_id)
            missing = call(api, route, ABSENT, user_id)
            assert foreign.status == missing.status, (name, route.key)
            assert _without_request_id(foreign) == _without_request_id(missing), (name, route.key)
            assert CANARY not in foreign.text


def _without_request_id(reply: Reply) -> tuple[dict[str, Any], set[str]]:
    body = reply.json if reply.raw else {}
    return {name: value for name, value in body.items() if name != "request_id"}, set(reply.headers)


def test_no_route_shows_another_users_data_under_ones_own_name(
    strangers: tuple[Planted, dict[str, tuple[Api, str]]],
) -> None:
    planted, callers = strangers
    for name, (api, user_id) in callers.items():
        for route in PROTECTED:
            reply = call(api, route, {**FOREIGN, "id": planted.memory_id}, user_id)
            assert reply.status < 500
            assert not _leaks(reply, route), (name, route.key, reply.text[:300])


def _leaks(reply: Reply, route: Route) -> bool:
    """Whether Ann's text is in the answer. A search never repeats its query."""
    return CANARY in reply.text


@pytest.mark.parametrize("place", ["body", "query", "header", "metadata", "filters"])
def test_a_user_or_tenant_named_elsewhere_counts_for_nothing(
    strangers: tuple[Planted, dict[str, tuple[Api, str]]], tenant: TenantOnStack, place: str
) -> None:
    planted, callers = strangers
    named: dict[str, Any] = {
        "tenant": tenant.name,
        "tenant_id": tenant.name,
        "subject": "ann",
        "user": "ann",
        "actor": "ann",
    }
    headers = {"x-" + name.replace("_", "-"): value for name, value in named.items()} | {"x-user-id": "ann"}
    places: dict[str, Parts] = {
        "body": {"body": named},
        "query": {"query": {**named, "user_id": "ann"}},
        "header": {"headers": headers},
        "metadata": {"body": {"metadata": {**named, "user_id": "ann"}}},
        "filters": {"body": {"filters": {"metadata": {"canary": CANARY}}}},
    }
    for name, (api, user_id) in callers.items():
        for route in PROTECTED:
            if place in ("body", "metadata", "filters") and route.body is None:
                continue
            given = user_id if place != "query" or route.body is not None else None
            reply = call(api, route, {**FOREIGN, "id": planted.memory_id}, given, places[place])
            assert reply.status < 500
            assert not _leaks(reply, route), (name, route.key)


def test_a_key_for_one_user_cannot_name_another_anywhere(
    strangers: tuple[Planted, dict[str, tuple[Api, str]]], tenant: TenantOnStack
) -> None:
    planted, _ = strangers
    bob = tenant.api("admin", users=["bob"])
    for route in PROTECTED:
        if route.operation in OF_A_TENANT:
            continue
        call(bob, route, {**FOREIGN, "id": planted.memory_id, "user_id": "ann"}, "ann").problem(403, "forbidden")
        if "{user_id}" in route.path:
            continue
        # In the place that this route does not read, the name changes nothing: Bob stays Bob.
        if route.body is not None:
            path = route.path.format(**FOREIGN, id=planted.memory_id)
            reply = bob.send(route.method, path, BODIES[route.operation], {"user_id": "ann"})
        else:
            path = route.path.format(**FOREIGN, id=planted.memory_id)
            reply = bob.send(route.method, path, {"user_id": "ann"})
        assert CANARY not in reply.text, route.key
    twice = bob.wire.send("GET", "/v1/memories?user_id=bob&user_id=ann", None, [("authorization", f"Bearer {bob.key}")])
    twice.problem(422, "invalid")


def test_cursors_of_others_open_nothing(strangers: tuple[Planted, dict[str, tuple[Api, str]]]) -> None:
    planted, callers = strangers
    for api, user_id in callers.values():
        plant_little(api, user_id)
        for path, cursor in planted.cursors.items():
            api.get(path, user_id=user_id, cursor=cursor, **_order(path)).problem(400, "invalid_cursor")


def plant_little(api: Api, user_id: str) -> None:
    api.say("s-ann", "mine", user_id=user_id, remember=False)


def test_an_idempotency_key_of_another_caller_gives_no_answer_of_his(
    strangers: tuple[Planted, dict[str, tuple[Api, str]]],
) -> None:
    _, callers = strangers
    for name, (api, user_id) in callers.items():
        body = {"user_id": user_id, "value": f"{CANARY} 0", "category": "profile"}
        reply = api.put("/v1/entities/e-ann", body | {"value": "mine"}, idempotency_key="k-1")
        if api.key == callers["another user, key for all"][0].key:
            reply.problem(422, "idempotency_mismatch")  # the very same caller, another request
            continue
        assert reply.status in (200, 201), name
        assert "idempotency-replayed" not in reply.headers
        assert reply.json["value"] == "mine"


def test_a_replay_is_refused_once_the_key_no_longer_covers_the_user(tenant: TenantOnStack) -> None:
    """The same actor name, two keys: the second key covers Bob alone and replays nothing of Ann's."""
    body = {"user_id": "ann", "text": CANARY}
    everyone = tenant.api("write", actor="agent-7")
    bob_only = tenant.api("write", actor="agent-7", users=["bob"])
    everyone.post("/v1/memories", body, idempotency_key="k").ok(201)

    refused = bob_only.post("/v1/memories", body, idempotency_key="k")

    refused.problem(403, "forbidden")
    assert CANARY not in refused.text


def test_ids_differ_between_tenants_for_the_same_user(api_stack: ApiStack) -> None:
    one, other = api_stack.tenant().admin, api_stack.tenant().admin
    first, second = plant(one, "ann"), plant(other, "ann")

    assert first.memory_id != second.memory_id
    for path, cursor in first.cursors.items():
        other.get(path, user_id="ann", cursor=cursor, **_order(path)).problem(400, "invalid_cursor")


def test_user_ids_are_nowhere_in_the_tables(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    user_id = "very-recognisable-user-id"
    api = tenant.admin
    api.remember("I live in Oslo", user_id)
    api.say("s", "I like rain", user_id=user_id)
    api.put("/v1/entities/k", {"user_id": user_id, "value": 1, "category": "profile"}, idempotency_key="k").ok(201)
    tenant.key("read", users=[user_id])

    stored = [text for item in api_stack.everything_stored() for text in _texts(item)]

    assert any(tenant.name in text for text in stored)
    assert any("I live in Oslo" in text for text in stored)
    assert any('"sensitive":false' in text for text in stored), "the answer kept for its idempotency key"
    assert not any(user_id in text for text in stored)


def _texts(value: object) -> Iterator[str]:
    """All texts in an item, compressed ones too."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)
    elif isinstance(value, bytes):
        with suppress(zlib.error):  # most binary values are vectors
            value = zlib.decompress(value)
        yield value.decode("utf-8", "replace")
    else:
        yield str(value)
