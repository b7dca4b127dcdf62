"""Keys that carry the same actor: a name is no proof, so nothing that is bound to a caller passes between them."""

from __future__ import annotations

from tests.support.api import TenantOnStack

ACTOR = "agent-7"
SECRET = "9981-4410"


def test_a_replay_does_not_pass_from_a_key_that_governs(tenant: TenantOnStack) -> None:
    tenant.admin.put(
        "/v1/entities/pin", {"user_id": "ann", "value": SECRET, "category": "profile", "sensitive": True}
    ).ok(201)
    governs, reads = tenant.api("read", "govern", actor=ACTOR), tenant.api("read", actor=ACTOR)
    ask = {"user_id": "ann", "query": "pin", "tiers": ["entities"]}

    assert SECRET in governs.post("/v1/recall", ask, idempotency_key="k").text
    other = reads.post("/v1/recall", ask, idempotency_key="k")

    assert other.ok()["entities"][0]["masked"] is True
    assert SECRET not in other.text
    assert "idempotency-replayed" not in other.headers


def test_a_cursor_does_not_pass_to_another_key(tenant: TenantOnStack) -> None:
    for text in ("I keep bees", "I keep hens", "I keep owls"):
        tenant.admin.remember(text)
    one, other = tenant.api("read", actor=ACTOR), tenant.api("read", actor=ACTOR)
    cursor = one.get("/v1/memories", user_id="ann", limit=1).ok()["next_cursor"]

    one.get("/v1/memories", user_id="ann", limit=1, cursor=cursor).ok()
    other.get("/v1/memories", user_id="ann", limit=1, cursor=cursor).problem(400, "invalid_cursor")


def test_keys_for_one_user_each_do_not_meet(tenant: TenantOnStack) -> None:
    """Without ``user_id`` the requests are equal to the letter, and still about two users."""
    ann = tenant.api("read", "write", users=["ann"], actor=ACTOR)
    bob = tenant.api("read", "write", users=["bob"], actor=ACTOR)

    first = ann.post("/v1/memories", {"text": "I keep bees"}, idempotency_key="k").ok(201)
    second = bob.post("/v1/memories", {"text": "I keep bees"}, idempotency_key="k")

    assert second.ok(201)["results"][0]["memory"]["id"] != first["results"][0]["memory"]["id"]
    for user_id in ("ann", "bob"):
        assert len(tenant.admin.get("/v1/memories", user_id=user_id).ok()["memories"]) == 1


def test_a_new_key_for_the_same_holder_starts_with_no_answers(tenant: TenantOnStack) -> None:
    """Rotation, as docs/limits.md has it: the guard against duplicates still holds, the stored answer does not."""
    old, new = tenant.api("read", "write", actor=ACTOR), tenant.api("read", "write", actor=ACTOR)
    body = {"user_id": "ann", "text": "I keep bees"}

    old.post("/v1/memories", body, idempotency_key="k").ok(201)
    again = new.post("/v1/memories", body, idempotency_key="k")

    assert "idempotency-replayed" not in again.headers
    assert again.ok(200)["results"][0]["event"] == "duplicate"
