"""``GET /v1/subjects/{user_id}``."""

from __future__ import annotations

from tests.support.api import Api, ApiStack, TenantOnStack

MISSING = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV"


def test_a_subject_is_answered_in_numbers(api: Api) -> None:
    api.remember("I live in Oslo")
    api.remember("I work as a nurse")
    api.say("s-1", "My cat is called Miso")
    api.say("s-2", "hello")
    api.put("/v1/entities/city", {"user_id": "ann", "value": "Oslo", "category": "profile"}).ok(201)
    api.put("/v1/entities/city", {"user_id": "ann", "value": "Bergen", "category": "profile"}).ok(200)

    report = api.get("/v1/subjects/ann").ok()

    assert report["state"] == "active"
    assert report["counts"] == {"memories": 3, "sessions": 2, "entities": 1}
    assert report["user_id"] == "ann"


def test_counts_follow_what_is_deleted(api: Api) -> None:
    memory = api.remember("I live in Oslo")
    api.delete(f"/v1/memories/{memory['id']}", user_id="ann").ok(204)

    assert api.get("/v1/subjects/ann").ok()["counts"] == {"memories": 0, "sessions": 0, "entities": 0}


def test_a_user_never_written_to_is_404(api: Api) -> None:
    api.get("/v1/subjects/nobody").problem(404, "not_found")


def test_reading_deleting_and_failed_changes_make_no_subject(api: Api) -> None:
    api.get("/v1/memories", user_id="ann").ok()
    api.get("/v1/entities", user_id="ann").ok()
    api.post("/v1/memories/search", {"user_id": "ann", "query": "x"}).ok()
    api.post("/v1/recall", {"user_id": "ann", "query": "x"}).ok()
    api.delete(f"/v1/memories/{MISSING}", user_id="ann").ok(204)
    api.delete("/v1/entities/city", user_id="ann").ok(204)
    api.delete("/v1/sessions/s", user_id="ann").ok(204)
    api.post("/v1/sessions/s/end", {"user_id": "ann"}).problem(404, "not_found")
    api.patch(f"/v1/memories/{MISSING}", {"user_id": "ann", "version": 1, "pinned": True}).problem(404, "not_found")

    api.get("/v1/subjects/ann").problem(404, "not_found")


def test_a_subject_of_another_tenant_is_as_missing(api: Api, api_stack: ApiStack) -> None:
    api_stack.tenant().admin.remember("I live in Oslo", "ann")

    foreign = api.get("/v1/subjects/ann").problem(404, "not_found")
    missing = api.get("/v1/subjects/nobody").problem(404, "not_found")

    assert foreign | {"request_id": ""} == missing | {"request_id": ""}


def test_a_key_for_named_users_reads_only_those(tenant: TenantOnStack) -> None:
    tenant.admin.remember("I live in Oslo", "ann")
    bob = tenant.api("read", users=["bob"])

    bob.get("/v1/subjects/ann").problem(403, "forbidden")
    bob.get("/v1/subjects/bob").problem(404, "not_found")
