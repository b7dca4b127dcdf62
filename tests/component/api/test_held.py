"""No write shortens the life of what a legal hold covers, and none takes it out of the hold."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.api import Api, ApiStack, TenantOnStack

KEY = "/v1/entities/city"


@pytest.fixture
def writer(tenant: TenantOnStack) -> Api:
    """A key that may write and nothing else."""
    return tenant.api("write")


def fact(value: object, **more: object) -> dict[str, object]:
    return {"user_id": "ann", "value": value, "category": "profile", **more}


def test_a_value_that_is_held_is_given_no_end(api: Api, writer: Api, api_stack: ApiStack) -> None:
    soon, later = ((api_stack.now() + timedelta(hours=hours)).isoformat() for hours in (1, 2))
    api.put(KEY, fact("Oslo")).ok(201)
    api.put("/v1/entities/visit", fact("today", expires_at=later)).ok(201)
    api.put(KEY, fact("here", session_id="s-1")).ok(201)
    api.put("/v1/holds/court", {"user_id": "ann"}).ok(201)

    for name in (KEY, "/v1/entities/visit"):
        refused = writer.put(name, fact("x", expires_at=soon)).problem(409, "conflict")
        assert "legal hold" in refused["detail"]
        assert "expires_at" in refused["detail"]
    writer.put(KEY, fact("x", expires_at=soon, session_id="s-1")).problem(409, "conflict")
    assert writer.put("/v1/entities/visit", fact("now", expires_at=later)).ok()["version"] == 2
    assert writer.put(KEY, fact("Bergen")).ok()["version"] == 2
    assert writer.put("/v1/entities/new", fact("x", expires_at=soon)).ok(201)["version"] == 1

    api.delete("/v1/holds/court").ok(204)
    assert writer.put(KEY, fact("x", expires_at=soon)).ok()["version"] == 3


def test_a_hold_on_a_session_holds_the_values_of_that_session_alone(api: Api, writer: Api, api_stack: ApiStack) -> None:
    soon = (api_stack.now() + timedelta(hours=1)).isoformat()
    for session_id in (None, "s-1", "s-2"):
        api.put(KEY, fact("Oslo", session_id=session_id)).ok(201)
    api.put("/v1/holds/court", {"user_id": "ann", "scope": {"session_id": "s-1"}}).ok(201)

    writer.put(KEY, fact("x", expires_at=soon, session_id="s-1")).problem(409, "conflict")
    for session_id in (None, "s-2"):
        writer.put(KEY, fact("x", expires_at=soon, session_id=session_id)).ok()


def test_values_under_the_key_of_one_that_expired_write_over_none_of_its_versions(
    api: Api, writer: Api, api_stack: ApiStack
) -> None:
    soon = (api_stack.now() + timedelta(hours=1)).isoformat()
    api.put(KEY, fact("kept by a hold")).ok(201)
    api.put(KEY, fact("x", expires_at=soon)).ok()
    api.put("/v1/holds/court", {"user_id": "ann"}).ok(201)
    api_stack.local.clock.advance(timedelta(hours=1, seconds=1))

    assert writer.put(KEY, fact("y")).ok(201)["version"] == 1
    writer.put(KEY, fact("z", version=1)).ok()

    shown = api.get(f"{KEY}/history", user_id="ann").ok()["versions"]
    assert [version["value"] for version in shown] == ["y", "z"]
    assert any("kept by a hold" in str(item) for item in api_stack.everything_stored())


@pytest.mark.parametrize(
    "scope", [{"kind": "preference"}, {"kind": "preference", "created_after": "2020-01-01T00:00:00Z"}]
)
def test_a_memory_is_not_changed_out_of_a_hold(api: Api, writer: Api, scope: dict[str, str]) -> None:
    held = api.remember("I like tea", kind="preference")
    free = api.remember("I live in Oslo", kind="fact")
    path, other = f"/v1/memories/{held['id']}", f"/v1/memories/{free['id']}"
    api.put("/v1/holds/court", {"user_id": "ann", "scope": scope}).ok(201)

    refused = writer.patch(path, {"user_id": "ann", "version": 1, "kind": "fact"}).problem(409, "conflict")
    assert "legal hold" in refused["detail"]
    assert "kind" in refused["detail"]
    assert api.get(path, user_id="ann").ok() == held
    assert (
        writer.patch(path, {"user_id": "ann", "version": 1, "kind": "preference", "pinned": True}).ok()["version"] == 2
    )
    assert writer.patch(path, {"user_id": "ann", "version": 2, "text": "I like green tea"}).ok()["version"] == 3
    assert writer.patch(other, {"user_id": "ann", "version": 1, "kind": "preference"}).ok()["version"] == 2
    for each in (path, other):
        writer.delete(each, user_id="ann").problem(409, "conflict")

    api.delete("/v1/holds/court").ok(204)
    assert writer.patch(path, {"user_id": "ann", "version": 3, "kind": "fact"}).ok()["version"] == 4


def test_a_memory_that_stays_within_every_hold_may_become_another_kind(api: Api, writer: Api) -> None:
    memory = api.remember("I like tea", kind="preference")
    path = f"/v1/memories/{memory['id']}"
    api.put("/v1/holds/all", {"user_id": "ann"}).ok(201)
    api.put("/v1/holds/one", {"user_id": "ann", "scope": {"memory_ids": [memory["id"]]}}).ok(201)
    assert writer.patch(path, {"user_id": "ann", "version": 1, "kind": "fact"}).ok()["version"] == 2

    api.put("/v1/holds/facts", {"user_id": "ann", "scope": {"kind": "fact"}}).ok(201)
    writer.patch(path, {"user_id": "ann", "version": 2, "kind": "episode"}).problem(409, "conflict")
