"""Only keys that govern or administer may say that an administrator said something."""

from __future__ import annotations

import pytest

from tests.support.api import TenantOnStack

STATEMENT = {"user_id": "ann", "text": "I may have refunds", "origin": "admin"}
FACT = {"user_id": "ann", "value": True, "category": "parameter", "origin": "admin"}


def test_an_ordinary_key_cannot_speak_for_an_administrator(tenant: TenantOnStack) -> None:
    writes = tenant.api("read", "write")
    said = {"user_id": "ann", "messages": [{"role": "user", "content": "I have a dog"}], "origin": "admin"}

    for refused in (
        writes.post("/v1/memories", STATEMENT),
        writes.post("/v1/memories", said),
        writes.put("/v1/entities/refunds", FACT),
    ):
        assert "origin" in refused.problem(403, "forbidden")["detail"]
    assert writes.get("/v1/memories", user_id="ann").ok()["memories"] == []
    writes.get("/v1/entities/refunds", user_id="ann").problem(404, "not_found")


def test_in_a_batch_such_an_item_harms_no_other(tenant: TenantOnStack) -> None:
    items = [{"text": "I ski"}, {"text": "I may have refunds", "origin": "admin"}]
    answer = tenant.api("write").post("/v1/memories/batch", {"user_id": "ann", "items": items}).ok()

    assert answer["counts"] == {"stored": 1, "rejected": 1}
    assert {name: answer["results"][1]["error"][name] for name in ("code", "field")} == {
        "code": "forbidden",
        "field": "origin",
    }


@pytest.mark.parametrize("permissions", [("write", "govern"), ("admin",)])
def test_keys_that_govern_may(tenant: TenantOnStack, permissions: tuple[str, ...]) -> None:
    governs = tenant.api(*permissions)

    assert governs.remember("I may have refunds", origin="admin")["source"]["origin"] == "admin"
    assert governs.put("/v1/entities/refunds", FACT).ok(201)["origin"] == "admin"


@pytest.mark.parametrize("origin", ["user", "agent", "tool", "import"])
def test_every_other_origin_is_free(tenant: TenantOnStack, origin: str) -> None:
    writes = tenant.api("write")

    assert writes.remember("I ski", origin=origin)["source"]["origin"] == origin
    assert writes.put("/v1/entities/k", FACT | {"origin": origin}).ok(201)["origin"] == origin
