"""Keys that may write and not read: they are told what became of what they sent, and nothing of what others wrote."""

from __future__ import annotations

import pytest

from tests.support.api import Api, Reply, TenantOnStack

CANARY = "canary-5177"
KNOWN = {"id", "user_id", "status", "version"}


@pytest.fixture
def writes(tenant: TenantOnStack) -> Api:
    return tenant.api("write", actor="writer")


def planted(tenant: TenantOnStack) -> dict[str, object]:
    """A memory of another writer, with more about it than its text."""
    return tenant.admin.remember(
        "I keep bees", metadata={"note": CANARY}, session_id=f"s-{CANARY}", speaker=None, kind="decision"
    )


def test_a_correction_is_answered_by_what_was_sent(tenant: TenantOnStack, writes: Api) -> None:
    memory = planted(tenant)
    path, body = f"/v1/memories/{memory['id']}", {"user_id": "ann", "version": 1, "pinned": True, "confidence": 0.5}

    first = writes.patch(path, body, idempotency_key="k")
    again = writes.patch(path, body, idempotency_key="k")

    assert first.ok() == {
        "id": memory["id"], "user_id": "ann", "status": "current", "version": 2, "pinned": True, "confidence": 0.5,
    }  # fmt: skip
    assert again.raw == first.raw
    text = writes.patch(path, {"user_id": "ann", "version": 2, "text": "I keep hens"}).ok()
    assert text.keys() == KNOWN | {"text"}
    ended = writes.patch(path, {"user_id": "ann", "version": 3, "metadata": {}, "valid_until": None}).ok()
    assert ended.keys() == KNOWN | {"metadata"}


@pytest.mark.parametrize("how", ["text", "messages", "session"])
def test_a_duplicate_tells_nothing_of_the_other_writer(tenant: TenantOnStack, writes: Api, how: str) -> None:
    said = {
        "messages": [{"role": "user", "content": "I keep bees", "name": "Ann", "created_at": "2024-05-01T10:00:00Z"}]
    }
    if how == "text":
        memory = planted(tenant)
        reply = writes.post("/v1/memories", {"user_id": "ann", "text": "I keep bees"})
        results = reply.ok(200)["results"]
    else:
        first = tenant.admin.post("/v1/memories", {"user_id": "ann", "metadata": {"note": CANARY}, **said}).ok(201)
        memory = first["results"][0]["memory"]
        path = "/v1/memories" if how == "messages" else "/v1/sessions/mine/messages"
        reply = writes.post(path, {"user_id": "ann", **said})
        results = reply.json["results"]

    assert [result["event"] for result in results] == ["duplicate"], reply.text
    assert results[0]["memory"] == {"id": memory["id"], "user_id": "ann", "status": "current", "version": 1}
    assert CANARY not in reply.text
    assert tenant.name not in reply.text


def test_what_it_stores_itself_is_answered_whole(writes: Api) -> None:
    memory = writes.remember("I keep bees", metadata={"note": "mine"})

    assert memory["metadata"] == {"note": "mine"}
    assert memory["source"]["actor"] == "writer"


def test_a_batch_tells_no_more_than_ids(tenant: TenantOnStack, writes: Api) -> None:
    memory = planted(tenant)

    reply = writes.post("/v1/memories/batch", {"user_id": "ann", "items": [{"text": "I keep bees"}]})

    assert reply.ok()["results"] == [{"index": 0, "event": "duplicate", "id": memory["id"], "error": None}]


def test_an_entity_is_answered_with_the_value_that_was_sent(tenant: TenantOnStack, writes: Api) -> None:
    tenant.admin.put(
        "/v1/entities/k",
        {
            "user_id": "ann",
            "value": CANARY,
            "category": "profile",
            "confidence": 0.3,
            "origin": "admin",
            "sensitive": True,
        },
    ).ok(201)

    reply: Reply = writes.put("/v1/entities/k", {"user_id": "ann", "value": "mine", "category": "parameter"})

    assert CANARY not in reply.text
    entity = reply.ok(200)
    assert (entity["value"], entity["category"], entity["actor"], entity["confidence"]) == (
        "mine", "parameter", "writer", 1.0,
    )  # fmt: skip


def test_who_may_read_still_sees_the_memory_that_stands(tenant: TenantOnStack) -> None:
    memory = planted(tenant)

    reply = tenant.api("read", "write").post("/v1/memories", {"user_id": "ann", "text": "I keep bees"})

    assert reply.ok(200)["results"][0]["memory"] == memory
