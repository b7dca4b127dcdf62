"""Sensitive values: what the mark covers, and who may take it off."""

from __future__ import annotations

import pytest

from tests.support.api import TenantOnStack

USER = {"user_id": "ann"}
SECRET = "9981-4410"


def pin(value: str = SECRET, **more: object) -> dict[str, object]:
    return {"user_id": "ann", "value": value, "category": "profile", **more}


def test_the_mark_covers_what_stood_there_before(tenant: TenantOnStack) -> None:
    tenant.admin.put("/v1/entities/pin", pin()).ok(201)
    tenant.admin.put("/v1/entities/pin", pin("new", sensitive=True)).ok(200)

    reads, governs = tenant.api("read"), tenant.api("read", "govern")
    hidden = reads.get("/v1/entities/pin/history", **USER)

    assert [version["masked"] for version in hidden.ok()["versions"]] == [True, True]
    assert SECRET not in hidden.text
    shown = governs.get("/v1/entities/pin/history", **USER).ok()["versions"]
    assert [version["value"] for version in shown] == [SECRET, "new"]


def test_a_mark_taken_off_shows_the_newest_version_alone(tenant: TenantOnStack) -> None:
    for body in (pin(), pin("second", sensitive=True), pin("third", sensitive=False), pin("fourth")):
        tenant.admin.put("/v1/entities/pin", body)

    versions = tenant.api("read").get("/v1/entities/pin/history", **USER).ok()["versions"]

    assert [version["value"] for version in versions] == [None, None, "third", "fourth"]


def test_recall_of_the_past_keeps_what_is_sensitive_now(tenant: TenantOnStack) -> None:
    begun = "2024-01-01T00:00:00Z"
    tenant.admin.put("/v1/entities/pin", pin(valid_from=begun)).ok(201)
    tenant.admin.put("/v1/entities/pin", pin("new", sensitive=True)).ok(200)
    ask = {"user_id": "ann", "query": "pin", "tiers": ["entities"], "as_of": "2024-06-01T00:00:00Z"}

    (shown,) = tenant.api("read", "govern").post("/v1/recall", ask).ok()["entities"]
    hidden = tenant.api("read").post("/v1/recall", ask)

    assert shown["value"] == SECRET
    assert [entity["masked"] for entity in hidden.ok()["entities"]] == [True]
    assert SECRET not in hidden.text


def test_stored_answers_that_show_the_value_go_with_the_mark(tenant: TenantOnStack) -> None:
    one = tenant.api("read", "write")
    one.put("/v1/entities/pin", pin(), idempotency_key="put").ok(201)
    one.put("/v1/entities/pin", pin("of a session", session_id="s"), idempotency_key="other").ok(201)
    ask = {"user_id": "ann", "query": "pin", "tiers": ["entities"]}
    assert SECRET in one.post("/v1/recall", ask, idempotency_key="recall").text

    marked = one.put("/v1/entities/pin", pin(sensitive=True), idempotency_key="mark")

    one.post("/v1/recall", ask, idempotency_key="recall").problem(410, "erased")
    one.put("/v1/entities/pin", pin(), idempotency_key="put").problem(410, "erased")
    again = one.put("/v1/entities/pin", pin(sensitive=True), idempotency_key="mark")
    assert again.ok(200) == marked.ok(200)
    body = pin("of a session", session_id="s")
    assert one.put("/v1/entities/pin", body, idempotency_key="other").ok(201)["value"] == "of a session"


def test_only_who_sees_sensitive_values_takes_the_mark_off(tenant: TenantOnStack) -> None:
    writes, governs = tenant.api("read", "write"), tenant.api("write", "govern")
    writes.put("/v1/entities/pin", pin(sensitive=True)).ok(201)

    refused = writes.put("/v1/entities/pin", pin("x", sensitive=False))

    assert "sensitive" in refused.problem(403, "forbidden")["detail"]
    assert tenant.admin.get("/v1/entities/pin", **USER).ok()["value"] == SECRET
    assert writes.put("/v1/entities/pin", pin("y")).ok()["sensitive"] is True
    assert governs.put("/v1/entities/pin", pin("z", sensitive=False)).ok()["sensitive"] is False
    assert writes.put("/v1/entities/pin", pin("w", sensitive=False)).ok()["sensitive"] is False


@pytest.mark.parametrize("sensitive", [True, False, None])
def test_a_new_value_may_say_either(tenant: TenantOnStack, sensitive: bool | None) -> None:
    said: dict[str, object] = {} if sensitive is None else {"sensitive": sensitive}

    stored = tenant.api("write").put("/v1/entities/pin", pin() | said).ok(201)

    assert stored["sensitive"] is bool(sensitive)
