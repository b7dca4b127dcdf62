"""Erasures, admission and holds through HTTP, as the contract has them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lethe.domain import ids
from lethe.domain.erasure import StepName
from lethe.domain.times import to_rfc3339
from lethe.entry.routes import ROUTES, Route
from tests.support.api import Api, ApiStack, Reply, TenantOnStack, moment

MISSING = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
OF_GOVERN = tuple(route for route in ROUTES if route.function == "govern")
BODIES: dict[str, dict[str, Any]] = {
    "begin_erasure": {"user_id": "ann", "scope": {"subject": True}},
    "place_hold": {"user_id": "ann", "scope": {"session_id": "s1"}},
}
SCOPES: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "scope"),
    ({"subject": False}, "scope.subject"),
    ({"subject": True, "session_id": "s1"}, "scope"),
    ({"tenant": True, "kind": "fact"}, "scope"),
    ({"tenant": False}, "scope.tenant"),
    ({"session_id": "a b"}, "scope.session_id"),
    ({"memory_ids": []}, "scope.memory_ids"),
    ({"memory_ids": ["mem_x"]}, "scope.memory_ids[0]"),
    ({"memory_ids": [f"mem_{MISSING}"] * 1_001}, "scope.memory_ids"),
    ({"kind": "gossip"}, "scope.kind"),
    ({"created_after": "2026-01-01T00:00:00"}, "scope.created_after"),
    ({"created_before": "yesterday"}, "scope.created_before"),
    ({"subject": True, "everything": True}, "scope.everything"),
)


def begun(reply: Reply) -> dict[str, Any]:
    """The erasure of a 202, its address checked."""
    body = reply.ok(202)
    assert reply.headers["location"] == f"/v1/erasures/{body['id']}"
    assert body["id"] == body["erasure"]["id"]
    erasure: dict[str, Any] = body["erasure"]
    return erasure


def ended(stack: ApiStack, api: Api, erasure_id: str) -> dict[str, Any]:
    """The erasure, once no machine runs."""
    assert stack.local.wait_until_erased(150)
    return api.get(f"/v1/erasures/{erasure_id}").ok()


def send(api: Api, route: Route, **path: str) -> Reply:
    """A well-formed request of a route, about ann."""
    names = {"user_id": "ann", "session_id": "s1", "name": "court", "id": f"{ids.ERASURE}{MISSING}"} | path
    query = {"user_id": "ann"} if route.operation in ("delete_memory", "delete_session", "list_audit") else None
    return api.send(route.method, route.path.format(**names), BODIES.get(route.operation), query)


def test_a_user_is_erased(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    api = tenant.admin
    api.remember("I live in Oslo")
    first = begun(api.delete("/v1/subjects/ann"))
    assert first["state"] in ("accepted", "running")
    assert ids.is_id(first["id"], ids.ERASURE)
    assert first["scope"] == {"subject": True}
    assert moment(first["unreadable_since"]) >= moment(first["requested_at"])
    assert (first["receipt_id"], first["ended_at"], first["failure"]) == (None, None, None)
    assert [step["name"] for step in first["steps"]] == [name.value for name in StepName]

    last = ended(api_stack, api, first["id"])
    assert last["state"] == "completed"
    assert {step["name"]: step["deleted"] for step in last["steps"]}["memories"] >= 2
    assert last["unreadable_since"] == first["unreadable_since"]
    assert moment(last["ended_at"]) >= moment(last["unreadable_since"])
    assert ids.is_id(last["receipt_id"], ids.RECEIPT)
    receipt = api.get(f"/v1/erasures/{first['id']}/receipt").ok()["receipt"]
    assert (receipt["id"], receipt["erasure"]) == (last["receipt_id"], last["id"])
    api.get("/v1/subjects/ann").problem(404, "not_found")


def test_there_is_no_receipt_before_the_end(api: Api) -> None:
    erasure_id = begun(api.delete("/v1/subjects/ann"))["id"]
    reply = api.get(f"/v1/erasures/{erasure_id}/receipt")
    state = api.get(f"/v1/erasures/{erasure_id}").ok()["state"]
    if reply.status == 200:  # the machine was faster
        assert state == "completed"
    else:
        reply.problem(404, "not_found")


def test_from_the_fence_on_reads_are_404_and_writes_410(tenant: TenantOnStack) -> None:
    api = tenant.admin
    memory_id = api.remember("I live in Oslo")["id"]
    api.say("s1", "I like rain")
    begun(api.delete("/v1/subjects/ann"))
    for reply in (
        api.get(f"/v1/memories/{memory_id}", user_id="ann"),
        api.get("/v1/memories", user_id="ann"),
        api.get("/v1/sessions/s1/messages", user_id="ann"),
        api.post("/v1/memories/search", {"user_id": "ann", "query": "Oslo"}),
        api.post("/v1/recall", {"user_id": "ann", "query": "Oslo"}),
    ):
        reply.problem(404, "not_found")
    for reply in (
        api.post("/v1/memories", {"user_id": "ann", "text": "I live in Rome"}),
        api.post("/v1/sessions/s1/messages", {"user_id": "ann", "messages": [{"role": "user", "content": "hi"}]}),
        api.put("/v1/entities/city", {"user_id": "ann", "value": "Rome", "category": "profile"}),
        api.delete("/v1/entities/city", user_id="ann"),
        api.delete(f"/v1/memories/{memory_id}", user_id="ann"),
        api.delete("/v1/sessions/s1", user_id="ann"),
        api.put("/v1/holds/court", {"user_id": "ann"}),
    ):
        assert reply.status in (409, 410), reply.text
        assert reply.check_problem()["code"] in ("erased", "conflict")
    api.remember("I live in Bergen", user_id="bob")


def test_asking_twice_is_one_erasure(api: Api) -> None:
    first = begun(api.delete("/v1/subjects/ann"))
    again = begun(api.post("/v1/erasures", {"user_id": "ann", "scope": {"subject": True}}))
    assert again["id"] == first["id"] or api.get(f"/v1/erasures/{first['id']}").ok()["state"] == "completed"


def test_unknown_and_erased_users_are_erased_with_zero_counts(api_stack: ApiStack, api: Api) -> None:
    found = [ended(api_stack, api, begun(api.delete("/v1/subjects/nobody"))["id"]) for _ in range(2)]
    assert found[0]["id"] != found[1]["id"]
    for erasure in found:
        assert erasure["state"] == "completed"
        assert {step["found"] + step["deleted"] for step in erasure["steps"]} == {0}
        api.get(f"/v1/erasures/{erasure['id']}/receipt").ok()


def test_who_is_admitted_starts_empty(api_stack: ApiStack, api: Api) -> None:
    api.remember("I live in Oslo")
    erasure_id = begun(api.delete("/v1/subjects/ann"))["id"]
    api.post("/v1/subjects/ann/admit").ok()
    assert api.get("/v1/memories", user_id="ann").ok()["memories"] == []
    anew = api.remember("I live in Oslo")
    assert ended(api_stack, api, erasure_id)["state"] == "completed"
    assert [memory["id"] for memory in api.get("/v1/memories", user_id="ann").ok()["memories"]] == [anew["id"]]
    assert api.post("/v1/subjects/ann/admit").ok()["state"] == "active"
    api.post("/v1/subjects/nobody/admit").problem(404, "not_found")


def test_every_part_can_be_erased(api_stack: ApiStack, api: Api) -> None:
    api.say("s1", "My cat is called Miso")
    kept, single = api.remember("I work as a nurse", kind="fact"), api.remember("I live in Oslo", kind="fact")
    ranged = api.remember("I like green tea", kind="preference")
    scopes = {"session_id": "s1"}, {"memory_ids": [single["id"]]}, {"kind": ["preference"]}
    found = [begun(api.post("/v1/erasures", {"user_id": "ann", "scope": scope})) for scope in scopes]
    for erasure in found:
        assert erasure["unreadable_since"] is not None
    left = {memory["id"] for memory in api.get("/v1/memories", user_id="ann").ok()["memories"]}
    assert left == {kept["id"]}
    assert ranged["id"] not in left
    assert api.get("/v1/sessions", user_id="ann").ok()["sessions"] == []
    assert {ended(api_stack, api, erasure["id"])["state"] for erasure in found} == {"completed"}
    assert "s1" not in str(api.get(f"/v1/erasures/{found[0]['id']}").ok()["scope"])


def test_times_bound_what_is_erased(api: Api) -> None:
    memory = api.remember("I live in Oslo")
    scope = {"created_before": memory["created_at"]}
    begun(api.post("/v1/erasures", {"user_id": "ann", "scope": scope}))
    api.get(f"/v1/memories/{memory['id']}", user_id="ann").ok()
    at_that_time = {"created_after": memory["created_at"]}  # what is younger, as in lists
    begun(api.post("/v1/erasures", {"user_id": "ann", "scope": at_that_time}))
    api.get(f"/v1/memories/{memory['id']}", user_id="ann").ok()
    before = to_rfc3339(moment(memory["created_at"]) - timedelta(microseconds=1))
    begun(api.post("/v1/erasures", {"user_id": "ann", "scope": {"created_after": before}}))
    api.get(f"/v1/memories/{memory['id']}", user_id="ann").problem(404, "not_found")


@pytest.mark.parametrize(("scope", "field"), SCOPES, ids=[str(number) for number in range(len(SCOPES))])
def test_a_bad_scope_is_named(api: Api, scope: dict[str, Any], field: str) -> None:
    assert field in api.post("/v1/erasures", {"user_id": "ann", "scope": scope}).fields()
    assert api.get("/v1/erasures").ok()["erasures"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"user_id": "ann"}, "scope"),
        ({"scope": {"subject": True}}, "user_id"),
        ({"user_id": "", "scope": {"subject": True}}, "user_id"),
        ({"user_id": "ann", "scope": {"subject": True}, "reason": "x" * 501}, "reason"),
        ({"user_id": "ann", "scope": "everything"}, "scope"),
        ({"user_id": "ann", "scope": {"subject": True}, "force": True}, "force"),
    ],
)
def test_a_bad_request_is_named(api: Api, body: dict[str, Any], field: str) -> None:
    assert api.post("/v1/erasures", body).fields() == [field]


def test_erasures_are_listed_in_pages_newest_first(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    api = tenant.admin
    made = [begun(api.delete(f"/v1/subjects/user-{number}"))["id"] for number in range(5)]
    seen: list[str] = []
    query: dict[str, object] = {"limit": 2}
    while True:
        page = api.get("/v1/erasures", **query).ok()
        assert len(page["erasures"]) <= 2
        seen += [erasure["id"] for erasure in page["erasures"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert seen == made[::-1]
    cursor = api.get("/v1/erasures", limit=2).ok()["next_cursor"]
    tenant.api("admin").get("/v1/erasures", limit=2, cursor=cursor).problem(400, "invalid_cursor")
    api_stack.tenant().admin.get("/v1/erasures", cursor=cursor).problem(400, "invalid_cursor")
    api.get("/v1/holds", cursor=cursor).problem(400, "invalid_cursor")
    assert api.get("/v1/erasures", limit=0).fields() == ["limit"]
    assert api.get("/v1/erasures", state="failed").fields() == ["state"]


def test_erasures_of_others_are_not_found(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    erasure_id = begun(tenant.admin.delete("/v1/subjects/ann"))["id"]
    strangers = api_stack.tenant().admin, tenant.api("erase", users=["bob"])
    for stranger in strangers:
        for place in (erasure_id, f"{ids.ERASURE}{MISSING}", "er_1", "mem_" + MISSING):
            stranger.get(f"/v1/erasures/{place}").problem(404, "not_found")
            stranger.get(f"/v1/erasures/{place}/receipt").problem(404, "not_found")
        assert stranger.get("/v1/erasures").ok()["erasures"] == []
    assert tenant.api("govern", users=["ann"]).get(f"/v1/erasures/{erasure_id}").ok()["id"] == erasure_id


@pytest.mark.parametrize("permission", ["read", "write", "erase", "govern", "admin"])
def test_who_may_do_what(tenant: TenantOnStack, permission: str) -> None:
    api = tenant.api(permission)
    for route in OF_GOVERN:
        reply = send(api, route) if route.path != "/v1/memories/{id}" else send(api, route, id=f"mem_{MISSING}")
        allowed = permission == "admin" or permission in {each.value for each in route.permissions}
        if allowed:
            assert reply.status not in (401, 403), (route.operation, reply.text)
            assert reply.status < 500
        else:
            reply.problem(403, "forbidden")


def test_without_a_key_nothing_is_told(api_stack: ApiStack) -> None:
    for route in OF_GOVERN:
        send(api_stack.stranger, route).problem(401, "unauthenticated")


def test_a_key_for_one_user_acts_for_that_one(tenant: TenantOnStack) -> None:
    tenant.admin.remember("I live in Oslo", user_id="ann")
    tenant.admin.remember("I live in Oslo", user_id="bob")
    bob = tenant.api("erase", "govern", "read", users=["bob"])
    for user, scope in (("ann", {"subject": True}), ("ann", {"session_id": "s1"})):
        bob.post("/v1/erasures", {"user_id": user, "scope": scope}).problem(403, "forbidden")
    bob.delete("/v1/subjects/ann").problem(403, "forbidden")
    bob.post("/v1/subjects/ann/admit").problem(403, "forbidden")
    bob.put("/v1/holds/court", {"user_id": "ann"}).problem(403, "forbidden")
    bob.post("/v1/erasures", {"scope": {"tenant": True}}).problem(403, "forbidden")
    tenant.api("erase", users=["ann", "bob"]).post("/v1/erasures", {"scope": {"tenant": True}}).problem(
        403, "forbidden"
    )
    assert len(tenant.admin.get("/v1/memories", user_id="ann").ok()["memories"]) == 1
    own = begun(bob.post("/v1/erasures", {"scope": {"subject": True}}))
    assert [erasure["id"] for erasure in bob.get("/v1/erasures").ok()["erasures"]] == [own["id"]]
    bob.get("/v1/memories").problem(404, "not_found")
    bob.post("/v1/subjects/bob/admit").ok()
    assert bob.get("/v1/memories").ok()["memories"] == []


def test_deleting_a_part_names_its_erasure(api_stack: ApiStack, api: Api) -> None:
    memory_id = api.remember("I live in Oslo")["id"]
    api.say("s1", "My cat is called Miso")
    for path in (f"/v1/memories/{memory_id}", "/v1/sessions/s1"):
        gone = api.delete(path, user_id="ann")
        gone.ok(204)
        assert ended(api_stack, api, gone.headers["location"].rpartition("/")[2])["state"] == "completed"
        again = api.delete(path, user_id="ann")
        again.ok(204)
        assert "location" not in again.headers
    assert len(api.get("/v1/erasures").ok()["erasures"]) == 2


def test_a_hold_is_placed_read_and_released(api: Api, tenant: TenantOnStack) -> None:
    memory_id = api.remember("I live in Oslo")["id"]
    body = {"user_id": "ann", "scope": {"memory_ids": [memory_id]}, "reason": "a case"}
    hold = api.put("/v1/holds/court", body).ok(201)
    assert hold["scope"] == {"memory_ids": [memory_id]}
    assert "ann" not in str(hold)
    assert api.put("/v1/holds/court", body).ok() == hold
    api.put("/v1/holds/court", {"user_id": "bob"}).problem(409, "conflict")
    assert api.get("/v1/holds/court").ok() == hold
    assert api.get("/v1/holds").ok() == {"holds": [hold], "next_cursor": None}
    assert tenant.api("govern", users=["bob"]).get("/v1/holds").ok()["holds"] == []
    tenant.api("govern", users=["bob"]).get("/v1/holds/court").problem(404, "not_found")
    kept = api.delete(f"/v1/memories/{memory_id}", user_id="ann").problem(409, "conflict")
    assert "GET /v1/holds?user_id=" in kept["detail"]
    api.get(f"/v1/memories/{memory_id}", user_id="ann").ok()
    for _ in range(2):
        api.delete("/v1/holds/court").ok(204)
    api.get("/v1/holds/court").problem(404, "not_found")
    api.delete(f"/v1/memories/{memory_id}", user_id="ann").ok(204)
    assert api.put("/v1/holds/a b", {"user_id": "ann"}).fields() == ["name"]
    assert api.put("/v1/holds/court", {"user_id": "ann", "scope": {"tenant": True}}).fields() == ["scope.tenant"]


def test_holds_on_one_user_are_found_by_that_user(api: Api, tenant: TenantOnStack) -> None:
    for user in ("ann", "bob"):
        api.remember("I live in Oslo", user_id=user)
    for name, user in (("c", "ann"), ("a", "ann"), ("b", "bob")):
        api.put(f"/v1/holds/{name}", {"user_id": user}).ok(201)
    first = api.get("/v1/holds", user_id="ann", limit=1).ok()
    rest = api.get("/v1/holds", user_id="ann", limit=1, cursor=first["next_cursor"]).ok()
    assert [hold["name"] for hold in first["holds"] + rest["holds"]] == ["a", "c"]
    assert rest["next_cursor"] is None
    assert [hold["name"] for hold in api.get("/v1/holds", user_id="bob").ok()["holds"]] == ["b"]
    assert api.get("/v1/holds", user_id="nobody").ok() == {"holds": [], "next_cursor": None}
    api.get("/v1/holds", user_id="bob", cursor=first["next_cursor"]).problem(400, "invalid_cursor")
    api.get("/v1/holds", cursor=first["next_cursor"]).problem(400, "invalid_cursor")
    tenant.api("govern", users=["bob"]).get("/v1/holds", user_id="ann").problem(403, "forbidden")
    assert api.get("/v1/holds", user_id="").fields() == ["user_id"]
    begun(api.delete("/v1/subjects/ann"))
    assert [hold["name"] for hold in api.get("/v1/holds", user_id="ann").ok()["holds"]] == ["a", "c"]


def test_a_hold_on_an_erased_user_is_refused_with_what_to_do(api_stack: ApiStack, api: Api) -> None:
    api.remember("I live in Oslo")
    ended(api_stack, api, begun(api.delete("/v1/subjects/ann"))["id"])
    refused = api.put("/v1/holds/court", {"user_id": "ann"}).problem(410, "erased")
    assert refused["detail"] == "this user was erased; POST /v1/subjects/{user_id}/admit lets memory begin anew"
    body = api.send("POST", "/v1/subjects/ann/admit", {}).problem(422, "invalid")
    assert body["errors"] == [{"field": "body", "message": "POST takes no body here"}]


def test_an_erasure_that_a_hold_meets_says_so(api_stack: ApiStack, api: Api) -> None:
    memory_id = api.remember("I live in Oslo")["id"]
    api.put("/v1/holds/court", {"user_id": "ann", "scope": {"memory_ids": [memory_id]}}).ok(201)
    last = ended(api_stack, api, begun(api.delete("/v1/subjects/ann"))["id"])
    assert (last["state"], last["holds"]) == ("completed_with_holds", ["court"])
    assert last["held"] > 0
    api.get(f"/v1/memories/{memory_id}", user_id="ann").problem(404, "not_found")
    assert api.get(f"/v1/erasures/{last['id']}/receipt").ok()["receipt"]["id"] == last["receipt_id"]


def test_repeated_requests_are_answered_again(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    api = tenant.admin
    api.remember("I live in Oslo")
    hold = {"user_id": "ann", "scope": {"session_id": "s1"}}
    body = {"user_id": "ann", "scope": {"subject": True}, "reason": "asked by letter"}
    asks: dict[str, tuple[str, str, dict[str, Any] | None]] = {
        "k-hold": ("PUT", "/v1/holds/court", hold),
        "k-erase": ("POST", "/v1/erasures", body),
        "k-admit": ("POST", "/v1/subjects/ann/admit", None),
    }
    first: dict[str, Reply] = {}
    for key, (method, path, sent) in asks.items():
        first[key] = api.send(method, path, sent, headers={"Idempotency-Key": key})
        assert first[key].status in (200, 201, 202), first[key].text
        assert "idempotency-replayed" not in first[key].headers
        if key == "k-erase":
            again = api.send(method, path, sent, headers={"Idempotency-Key": key})  # while the subject is erased
            assert again.headers["idempotency-replayed"] == "true"
            api.send(method, path, hold, headers={"Idempotency-Key": key}).problem(422, "idempotency_mismatch")
    assert api_stack.local.wait_until_erased(150)
    admitted = api.post("/v1/subjects/ann/admit", idempotency_key="k-admit")
    assert (admitted.headers["idempotency-replayed"], admitted.json["state"]) == ("true", "active")
    erasure_id = begun(api.delete("/v1/subjects/ann"))["id"]
    # Neither true any more nor done again.
    api.post("/v1/subjects/ann/admit", idempotency_key="k-admit").problem(410, "erased")
    del asks["k-admit"]
    for key, (method, path, sent) in asks.items():
        again = api.send(method, path, sent, headers={"Idempotency-Key": key})
        assert (again.status, again.raw) == (first[key].status, first[key].raw)
        assert again.headers["idempotency-replayed"] == "true"
        assert again.headers.get("location") == first[key].headers.get("location")
    api.get("/v1/memories", user_id="ann").problem(404, "not_found")
    api.post("/v1/subjects/ann/admit", idempotency_key="k-admit-2").ok()
    api.remember("I live in Rome")
    assert api.post("/v1/subjects/ann/admit", idempotency_key="k-admit").ok() == first["k-admit"].json
    assert ended(api_stack, api, erasure_id)["state"] == "completed"


def test_a_whole_tenant_is_erased(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    for user in ("ann", "bob"):
        tenant.admin.remember("I live in Oslo", user_id=user)
    eraser = tenant.api("erase", "read")
    assert tenant.api("erase").post("/v1/erasures", {"scope": {"tenant": True}, "user_id": "ann"}).status in (202, 422)
    erasure_id = begun(eraser.post("/v1/erasures", {"scope": {"tenant": True}}))["id"]
    eraser.get("/v1/memories", user_id="ann").problem(404, "not_found")
    tenant.admin.post("/v1/memories", {"user_id": "cal", "text": "I live in Rome"}).problem(410, "erased")
    last = ended(api_stack, eraser, erasure_id)
    assert (last["state"], last["scope"]) == ("completed", {"tenant": True})
    eraser.get(f"/v1/erasures/{erasure_id}/receipt").ok()


def test_a_scope_of_nothing_is_no_scope(api: Api) -> None:
    memory = api.remember("I keep bees")
    nothing: list[dict[str, object]] = [
        {"kind": None},
        {"kind": []},
        {"created_after": None, "created_before": None},
        {"subject": 1},
        {"subject": False},
        {"kind": None, "subject": None, "session_id": None, "memory_ids": None},
        {"created_after": "2026-02-01T00:00:00Z", "created_before": "2026-01-01T00:00:00Z"},
    ]
    for scope in nothing:
        api.post("/v1/erasures", {"user_id": "ann", "scope": scope}).problem(422, "invalid")
        api.put("/v1/holds/h", {"user_id": "ann", "scope": scope}).problem(422, "invalid")
    refused = api.post("/v1/erasures", {"user_id": "ann", "scope": {"tenant": True}})
    assert refused.fields() == ["user_id"]
    assert api.get(f"/v1/memories/{memory['id']}", user_id="ann").ok()["text"] == "I keep bees"
    assert api.get("/v1/erasures", user_id="ann").ok()["erasures"] == []


def test_no_way_of_deleting_a_value_goes_around_a_hold(api: Api) -> None:
    for body in ({}, {"session_id": "s"}):
        fact = {"user_id": "ann", "value": 1, "category": "profile", **body}
        api.put("/v1/entities/k", fact).ok(201)
    api.say("s", "I keep bees")
    api.put("/v1/holds/of-session", {"user_id": "ann", "scope": {"session_id": "s"}}).ok(201)
    api.delete("/v1/entities/k", user_id="ann", session_id="s").problem(409, "conflict")
    api.put("/v1/holds/of-all", {"user_id": "ann"}).ok(201)
    api.delete("/v1/entities/k", user_id="ann").problem(409, "conflict")
    api.delete("/v1/holds/of-all").ok(204)
    api.delete("/v1/entities/k", user_id="ann").ok(204)
    assert api.get("/v1/entities/k", user_id="ann", session_id="s").ok()["value"] == 1


def test_erasures_of_one_user_can_be_found_and_every_receipt_read(api: Api, api_stack: ApiStack) -> None:
    api.remember("I keep bees")
    api.remember("I keep owls", "bob")
    ours = api.delete("/v1/subjects/ann").ok(202)["erasure"]
    api.delete("/v1/subjects/bob").ok(202)
    found = api.get("/v1/erasures", user_id="ann").ok()["erasures"]
    assert [(each["id"], each["subject"]) for each in found] == [(ours["id"], ours["subject"])]
    place = f"/v1/erasures/{ours['id']}"
    assert api_stack.local.wait_until_erased(60)
    receipts = api.get(place).ok()["receipts"]
    assert len(receipts) == 1
    named = api.get(f"{place}/receipt", receipt_id=receipts[0]).ok()
    assert named == api.get(f"{place}/receipt").ok()
    assert named["receipt"]["id"] == receipts[0]
    api.get(f"{place}/receipt", receipt_id="rc_01ARZ3NDEKTSV4RRFFQ69G5FAV").problem(404, "not_found")
