"""The audit trail through HTTP: who did what, read by those who govern, and by nobody else."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lethe.domain.audit import check_strand
from lethe.domain.audit_trail import check_export
from lethe.domain.chain import ChainEnd, hash_of
from lethe.domain.identity import hidden, subject_of
from lethe.domain.times import to_rfc3339
from lethe.entry.wiring.access import audit_desk
from lethe_client.cli import main
from lethe_client.cli.surroundings import real_surroundings
from tests.support.api import Api, ApiStack, TenantOnStack


def entries(api: Api, user_id: str = "ann", **query: object) -> list[dict[str, Any]]:
    """All but those of such questions: the one that is asked may see its own entry, or be faster than that."""
    found: list[dict[str, Any]] = api.get("/v1/audit", user_id=user_id, **query).ok()["entries"]
    return [entry for entry in found if entry["action"] != "list_audit"]


def actions(api: Api, user_id: str = "ann", **query: object) -> list[str]:
    return [entry["action"] for entry in entries(api, user_id, **query)]


def test_what_was_done_newest_first(api: Api) -> None:
    memory = api.remember("I live in Oslo")
    api.post("/v1/recall", {"user_id": "ann", "query": "Where?"}).ok()
    api.get(f"/v1/memories/{memory['id']}", user_id="ann").ok()
    api.remember("I live in Bergen", user_id="bob")
    found = entries(api)
    assert [entry["action"] for entry in found] == ["get_memory", "recall", "add_memories"]
    assert found[0]["targets"] == [memory["id"]]
    assert {entry["verdict"] for entry in found} == {"allowed"}
    assert len({entry["key"] for entry in found}) == 1
    assert actions(api, "bob") == ["add_memories"]


def test_an_entry_can_be_checked_by_its_reader(api: Api) -> None:
    """``hash`` is of all other members, and ``previous`` is the hash before; one user's entries are not all."""
    api.remember("I live in Oslo")
    for _ in range(3):
        api.get("/v1/memories", user_id="ann").ok()
    found = api.get("/v1/audit", user_id="ann").ok()["entries"]
    assert len(found) >= 4
    for entry in found:
        assert entry["hash"] == hash_of({name: value for name, value in entry.items() if name != "hash"})
    strands: dict[int, list[dict[str, Any]]] = {}
    for entry in reversed(found):
        strands.setdefault(entry["strand"], []).append(entry)
    for strand, chain in strands.items():
        end = ChainEnd(len(chain), chain[-1]["hash"])
        assert check_strand(chain, chain[0]["tenant"], strand, [end]).fault is None


def test_names_are_keyed_hashes(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    key_id, text = tenant.key("admin", users=("zebedee",))
    api = Api(api_stack.wire, text)
    api.say("quiet-monday", "My shoes are size 38", user_id="zebedee")
    api.put("/v1/entities/shoe.size", {"user_id": "zebedee", "value": 38, "category": "profile"}).ok(201)
    found = entries(api, "zebedee")
    master_key = api_stack.local.environment["LETHE_MASTER_KEY"].encode()
    assert {entry["subject"] for entry in found} == {subject_of(tenant.name, "zebedee", master_key)}
    assert {entry["key"] for entry in found} == {hidden("key", tenant.name, key_id, master_key)}
    assert [entry["targets"][0].partition(":")[0] for entry in found] == ["entity", "session"]
    ledger = [item for item in api_stack.everything_stored() if item["pk"]["S"] == f"LEDGER#{tenant.name}"]
    kept = json.dumps(ledger)
    assert len(ledger) > 6
    assert not [word for word in ("zebedee", "quiet-monday", "shoe", key_id) if word in kept]


def test_pages_and_times(api_stack: ApiStack, api: Api) -> None:
    begun = api_stack.now()
    api.remember("I live in Oslo")
    for _ in range(4):
        api.get("/v1/memories", user_id="ann").ok()
    seen: list[int] = []
    cursor: dict[str, object] = {}
    while True:
        page = api.get("/v1/audit", user_id="ann", limit=2, **cursor).ok()
        assert len(page["entries"]) <= 2
        seen += [1 for entry in page["entries"] if entry["action"] != "list_audit"]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert len(seen) == 5
    later = to_rfc3339(api_stack.now() + timedelta(minutes=1))
    assert actions(api, after=later) == []
    assert actions(api, before=to_rfc3339(begun - timedelta(minutes=1))) == []
    assert actions(api, after=to_rfc3339(begun - timedelta(minutes=1)), before=later)[-1] == "add_memories"
    # A cursor is for the list that gave it.
    first = api.get("/v1/audit", user_id="ann", limit=1).ok()["next_cursor"]
    api.get("/v1/audit", user_id="ann", limit=1, before=later, cursor=first).problem(400, "invalid_cursor")
    api.get("/v1/audit", user_id="bob", limit=1, cursor=first).problem(400, "invalid_cursor")


def test_only_who_governs_reads_it(tenant: TenantOnStack) -> None:
    for permission in ("read", "write", "erase"):
        tenant.api(permission).get("/v1/audit", user_id="ann").problem(403, "forbidden")
    governing = tenant.api("govern")
    assert actions(governing) == []
    only_bob = tenant.api("govern", users=("bob",))
    only_bob.get("/v1/audit", user_id="ann").problem(403, "forbidden")
    assert only_bob.get("/v1/audit").ok().keys() == {"entries", "next_cursor"}  # about the key's own user


def test_a_refused_request_is_in_it(tenant: TenantOnStack) -> None:
    tenant.admin.remember("I live in Oslo")
    tenant.api("read", users=("bob",)).get("/v1/memories", user_id="ann").problem(403, "forbidden")
    refused, _ = entries(tenant.admin)
    assert (refused["action"], refused["verdict"]) == ("list_memories", "refused")


def test_who_released_a_hold_is_in_the_trail_of_whom_it_was_on(tenant: TenantOnStack) -> None:
    api = tenant.admin
    api.remember("I live in Oslo")
    api.put("/v1/holds/case-7", {"user_id": "ann"}).ok(201)
    others = tenant.api("govern", users=("bob",))
    others.get("/v1/holds/case-7").problem(404, "not_found")
    others.delete("/v1/holds/case-7").ok(204)
    api.get("/v1/holds/case-7").ok()
    api.delete("/v1/holds/case-7").ok(204)
    api.delete("/v1/holds/case-7").ok(204)  # there is none any more, so that nobody knows whose it was
    *newer, placed, _ = entries(api)
    assert [(entry["action"], entry["verdict"]) for entry in newer] == [
        ("release_hold", "allowed"),
        ("get_hold", "allowed"),
        ("release_hold", "refused"),
        ("get_hold", "refused"),
    ]
    assert {tuple(entry["targets"]) for entry in newer} == {tuple(placed["targets"])}
    assert newer[0]["key"] == placed["key"] != newer[2]["key"] == newer[3]["key"]
    assert actions(api, "bob") == []


@pytest.mark.parametrize("way", ["subject", "scope", "memory", "session"])
def test_who_asked_is_found_from_the_id_of_an_erasure(api: Api, way: str) -> None:
    memory = api.say("monday", "My shoes are size 38")["results"][0]["memory"]
    answer = {
        "subject": lambda: api.delete("/v1/subjects/ann"),
        "scope": lambda: api.post("/v1/erasures", {"user_id": "ann", "scope": {"memory_ids": [memory["id"]]}}),
        "memory": lambda: api.delete(f"/v1/memories/{memory['id']}", user_id="ann"),
        "session": lambda: api.delete("/v1/sessions/monday", user_id="ann"),
    }[way]()
    erasure_id = answer.headers["location"].rpartition("/")[2]
    assert erasure_id.startswith("er_")
    api.get(f"/v1/erasures/{erasure_id}").ok()
    looked, asked, _ = entries(api)
    assert looked["targets"] == [erasure_id]
    assert erasure_id in asked["targets"]
    assert (asked["key"], asked["verdict"]) == (looked["key"], "allowed")


def erasures_told(api: Api) -> dict[str, list[str]]:
    """The erasures that the entries about ann name, by request."""
    return {
        entry["request_id"]: [target for target in entry["targets"] if target.startswith("er_")]
        for entry in entries(api)
        if entry["action"] in ("erase_subject", "begin_erasure", "delete_memory", "delete_session")
    }


def test_an_entry_names_the_erasure_that_its_answer_names(api: Api) -> None:
    """Whoever asks at once, or again: whether the first one runs still, or another one begins."""
    api.remember("I live in Oslo")
    scope = {"user_id": "ann", "scope": {"subject": True}}
    with ThreadPoolExecutor(6) as threads:
        asked = list(threads.map(lambda _: api.delete("/v1/subjects/ann"), range(6)))
    asked += [api.post("/v1/erasures", scope, idempotency_key="once") for _ in range(2)]
    named = {reply.headers["x-request-id"]: [reply.ok(202)["id"]] for reply in asked}
    assert len(named) == 8
    assert len({reply.headers["location"] for reply in asked[6:]}) == 1
    assert erasures_told(api) == named


def test_an_entry_names_no_erasure_where_none_came_of_it(api: Api) -> None:
    memory = api.remember("I live in Oslo")
    where = f"/v1/memories/{memory['id']}"
    api.delete(f"/v1/memories/{memory['id'][:-1]}", user_id="ann").ok(204)
    api.delete("/v1/sessions/nothing", user_id="ann").ok(204)
    stale = {"if-match": '"9"'}
    assert api.send("DELETE", where, None, {"user_id": "ann"}, stale).status == 412
    api.put("/v1/holds/case-7", {"user_id": "ann"}).ok(201)
    api.delete(where, user_id="ann").problem(409, "conflict")
    assert list(erasures_told(api).values()) == [[]] * 4


def test_who_looks_at_erasures_and_receipts_of_others_is_refused_in_it(tenant: TenantOnStack) -> None:
    api = tenant.admin
    api.remember("I live in Oslo")
    where = api.delete("/v1/subjects/ann").headers["location"]
    others = tenant.api("govern", users=("bob",))
    others.get(where).problem(404, "not_found")
    others.get(f"{where}/receipt").problem(404, "not_found")
    others.get("/v1/erasures", user_id="ann").problem(403, "forbidden")
    found = [(entry["action"], entry["verdict"]) for entry in entries(api)]
    assert found[:3] == [("list_erasures", "refused"), ("get_receipt", "refused"), ("get_erasure", "refused")]


def test_a_whole_tenant_asked_for_by_a_key_for_some_is_refused_in_it(
    api_stack: ApiStack, tenant: TenantOnStack
) -> None:
    one = tenant.api("erase", users=("ann",))
    one.post("/v1/erasures", {"scope": {"tenant": True}}).problem(403, "forbidden")
    (entry,) = audit_desk(api_stack.local.environment).newest(tenant.name, 10)
    assert (entry.event.action, entry.event.verdict, entry.event.targets) == ("begin_erasure", "refused", ())


def test_what_an_erased_tenant_is_refused_is_in_the_trails_of_its_users(tenant: TenantOnStack) -> None:
    api = tenant.admin
    memory = api.remember("I live in Oslo")
    api.put("/v1/holds/case-7", {"user_id": "ann"}).ok(201)
    placed = entries(api)[0]
    api.delete("/v1/holds/case-7").ok(204)
    api.post("/v1/erasures", {"scope": {"tenant": True}}).ok(202)
    api.get(f"/v1/memories/{memory['id']}", user_id="ann").problem(404, "not_found")
    api.post("/v1/memories", {"user_id": "ann", "text": "I live in Bergen"}).problem(410, "erased")
    api.post("/v1/recall", {"user_id": "ann", "query": "Where?"}).problem(404, "not_found")
    api.post("/v1/subjects/ann/admit").problem(410, "erased")
    api.put("/v1/holds/case-7", {"user_id": "ann"}).problem(410, "erased")
    found = entries(api)[:5]
    assert [entry["action"] for entry in found] == [
        "place_hold",
        "admit_subject",
        "recall",
        "add_memories",
        "get_memory",
    ]
    assert {entry["verdict"] for entry in found} == {"refused"}
    assert (found[0]["targets"], found[-1]["targets"]) == (placed["targets"], [memory["id"]])


def test_what_is_forbidden_in_the_end_is_refused_in_it(tenant: TenantOnStack) -> None:
    value = {"user_id": "ann", "value": 38, "category": "profile"}
    tenant.admin.put("/v1/entities/size", value | {"sensitive": True}).ok(201)
    writer = tenant.api("write")
    writer.put("/v1/entities/size", value | {"sensitive": False}).problem(403, "forbidden")
    writer.post("/v1/memories", {"user_id": "ann", "text": "x", "origin": "admin"}).problem(403, "forbidden")
    stored, refused, asked = entries(tenant.admin)[:3]
    assert [(entry["action"], entry["verdict"]) for entry in (stored, refused, asked)] == [
        ("add_memories", "refused"),
        ("add_memories", "allowed"),
        ("put_entity", "refused"),
    ]
    assert stored["request_id"] == refused["request_id"] != asked["request_id"]


def test_reading_it_is_in_it_too(api: Api) -> None:
    assert actions(api) == []
    found = api.get("/v1/audit", user_id="ann").ok()["entries"]
    assert [entry["action"] for entry in found][-1] == "list_audit"


def test_an_operator_finds_whose_key_it_was(api_stack: ApiStack, tenant: TenantOnStack, tmp_path: Path) -> None:
    key_id, text = tenant.key("admin", actor="the help desk")
    Api(api_stack.wire, text).remember("I live in Oslo")
    out = io.StringIO()
    around = replace(real_surroundings(), environment=api_stack.local.environment, folder=tmp_path, out=out)
    assert main(["--json", "audit", "list", "--tenant", tenant.name, "--user", "ann"], around) == 0
    answer = json.loads(out.getvalue())
    (entry,) = answer["entries"]
    assert answer["keys"] == {entry["key"]: {"id": key_id, "actor": "the help desk"}}
    out.truncate(0)
    out.seek(0)
    assert main(["--json", "keys", "list", "--tenant", tenant.name], around) == 0
    found = {key["id"]: key["audit_key"] for key in json.loads(out.getvalue())["keys"]}
    assert found[key_id] == entry["key"]


def test_tenants_see_their_own(api_stack: ApiStack) -> None:
    one, other = api_stack.tenant(), api_stack.tenant()
    one.admin.remember("I live in Oslo")
    assert actions(other.admin) == []
    assert actions(one.admin) == ["add_memories"]


def test_what_was_erased_is_still_told(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    api = tenant.admin
    api.remember("I live in Oslo")
    api_stack.set_subject_state(tenant.name, "ann", "erased")
    api.get("/v1/memories", user_id="ann").problem(404, "not_found")
    assert actions(api) == ["list_memories", "add_memories"]


@pytest.mark.parametrize(
    ("query", "field"),
    [({"user_id": "ann", "after": "today"}, "after"), ({"user_id": "ann", "limit": 0}, "limit"), ({}, "user_id")],
)
def test_a_bad_question_is_refused(api: Api, query: dict[str, object], field: str) -> None:
    assert api.get("/v1/audit", **query).fields() == [field]


def test_the_trail_in_the_table_is_whole(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    """As an operator checks it, after requests of many containers at once."""
    api = tenant.admin
    api.remember("I live in Oslo")
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: api.get("/v1/memories", user_id="ann").status, range(30)))
    assert set(answers) == {200}
    desk = audit_desk(api_stack.local.environment)
    checked = desk.verify(tenant.name)
    assert (checked.length, checked.faults) == (31, ())
    lines = list(desk.export(tenant.name))
    assert check_export(lines) == checked
    assert check_export(lines[:-1]).faults
