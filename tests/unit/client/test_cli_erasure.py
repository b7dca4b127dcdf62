"""`lethe erase | erasures | admit | holds`: over HTTP, for a person and as JSON, with honest exit statuses."""

import json
from pathlib import Path

import pytest

from tests.unit.client.command_line import World
from tests.unit.client.samples import erasure, hold, problem, running_erasure
from tests.unit.client.stub_service import Reply, StubService


def world_for(stub: StubService, folder: Path) -> World:
    return World(folder, {"LETHE_URL": stub.url, "LETHE_API_KEY": "lk_env_key"})


def begun(**changes: object) -> Reply:
    sample = running_erasure("er_1", **changes)
    return Reply(202, {"id": sample["id"], "erasure": sample})


def test_erase_says_what_was_begun(tmp_path: Path) -> None:
    with StubService(begun(), begun()) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("erase", "alice", "--reason", "she asked") == 0
        assert world.out.splitlines() == [
            "er_1: everything of a user, running, unreadable since 2026-05-04 09:00:01 UTC",
            "next: lethe erasures show er_1",
        ]
        assert world.run("--json", "erase", "alice") == 0
        assert json.loads(world.out) == running_erasure()
    assert stub.asked[0].body == {"user_id": "alice", "scope": {"subject": True}, "reason": "she asked"}


@pytest.mark.parametrize(
    ("options", "scope"),
    [
        (["alice", "--session", "s1"], {"session_id": "s1"}),
        (["alice", "--memory", "mem_1", "--memory", "mem_2"], {"memory_ids": ["mem_1", "mem_2"]}),
        (
            ["alice", "--kind", "fact", "--after", "2026-01-01T00:00:00Z", "--before", "2026-02-01T00:00:00Z"],
            {"kind": ["fact"], "created_after": "2026-01-01T00:00:00Z", "created_before": "2026-02-01T00:00:00Z"},
        ),
        (["--tenant", "--yes"], {"tenant": True}),
    ],
)
def test_erase_sends_the_scope(tmp_path: Path, options: list[str], scope: dict[str, object]) -> None:
    with StubService(begun(unreadable_since=None)) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("erase", *options) == 0
    assert stub.asked[0].body["scope"] == scope
    assert world.out.startswith("er_1: everything of a user, running, not all of it is unreadable yet\n")


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["alice", "--tenant"],
        ["--session", "s1"],
        ["alice", "--session", "s1", "--memory", "mem_1"],
        ["alice", "--memory", "mem_1", "--kind", "fact"],
        ["--tenant", "--session", "s1"],
    ],
)
def test_erase_takes_one_thing_and_asks_nothing_otherwise(tmp_path: Path, options: list[str]) -> None:
    with StubService() as stub:
        world = world_for(stub, tmp_path)
        assert world.run("erase", *options) == 2
        assert stub.asked == []
    assert world.err.startswith("lethe: name ")


def test_erase_waits_for_the_end(tmp_path: Path) -> None:
    with StubService(begun(), Reply(200, running_erasure()), Reply(200, erasure())) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("erase", "alice", "--wait") == 0
    assert world.out.splitlines() == [
        "er_1: everything of a user, unreadable since 2026-05-04 09:00:01 UTC",
        "er_1: everything of a user, completed, unreadable since 2026-05-04 09:00:01 UTC",
        "receipt rc_1: lethe receipt show er_1",
    ]


def test_erase_that_fails_is_status_1(tmp_path: Path) -> None:
    step = {"name": "verify", "state": "failed", "found": 0, "deleted": 0, "attempts": 2}
    failed = erasure(
        state="failed",
        failure="left_behind",
        steps=[step],
        retry_at="2026-05-04T09:12:00Z",
        receipt_id=None,
        receipts=[],
    )
    with StubService(begun(), Reply(200, failed), begun(), Reply(200, failed)) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("erase", "alice", "--wait") == 1
        assert "er_1: everything of a user, failed" in world.out
        assert world.err == (
            "lethe: er_1 failed at the step verify (left_behind); the service tries again soon after "
            "2026-05-04 09:12:00 UTC, or at once when the same is asked for again\n"
        )
        assert world.run("--json", "erase", "alice", "--wait") == 1
        assert json.loads(world.out)["state"] == "failed"


def test_what_a_hold_keeps_is_said_and_is_status_0(tmp_path: Path) -> None:
    held = erasure(state="completed_with_holds", held=2, holds=["case-7"])
    of_two = erasure(state="completed_with_holds", held=2, holds=["case-7", "case-8"], scope={"memory_ids": ["mem_1"]})
    with StubService(begun(), Reply(200, held), begun(), Reply(200, of_two)) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("erase", "alice", "--wait") == 0
        told = "er_1: everything of a user, completed with holds, unreadable since 2026-05-04 09:00:01 UTC"
        assert told in world.out.splitlines()
        assert "held: 2 records, kept by case-7; erased when that is released" in world.out.splitlines()
        assert world.run("erase", "alice", "--wait", "--memory", "mem_1") == 0
    assert "completed with holds, what no hold keeps is unreadable since 2026-05-04 09:00:01 UTC" in world.out
    assert "held: 2 records, kept by case-7, case-8; erased when those are released" in world.out.splitlines()


def test_erase_that_does_not_end_in_time_is_status_1(tmp_path: Path) -> None:
    with StubService(begun(), Reply(200, running_erasure())) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("erase", "alice", "--wait", "--timeout", "0") == 1
    assert world.err == "lethe: er_1 is still running after 0 s; it goes on by itself: lethe erasures show er_1\n"


def test_a_whole_tenant_is_erased_only_by_who_says_yes(tmp_path: Path) -> None:
    with StubService(begun(scope={"tenant": True})) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("erase", "--tenant") == 2
        assert world.err == (
            f"lethe: this erases every user of the tenant whose key this is, at {stub.url}, and locks the tenant out; "
            "if that is meant, add --yes\n"
        )
        assert world.run("erase", "--tenant", "--wait", "--json") == 2
        assert world.run("erase", "alice", "--yes") == 2
        assert stub.asked == []
        assert world.run("erase", "--tenant", "--yes") == 0
    assert world.out.splitlines() == [
        "er_1: everything of the tenant, running, unreadable since 2026-05-04 09:00:01 UTC",
        "next: lethe erasures show er_1",
        "its keys reach erasures, receipts, holds and the audit trail alone until `lethe tenants admit NAME`",
    ]


def test_erasures_are_listed(tmp_path: Path) -> None:
    failed = erasure("er_2", state="failed", failure="left_behind", scope={"memory_ids": ["mem_1", "mem_2"]})
    page = Reply(200, {"erasures": [failed, erasure()], "next_cursor": "c1"})
    with StubService(page, page, Reply(200, {"erasures": [], "next_cursor": None})) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("erasures", "list", "--limit", "2") == 0
        assert world.out.splitlines() == [
            "requested         state                 scope                 id",
            "2026-05-04 09:00  failed (left_behind)  2 memories            er_2",
            "2026-05-04 09:00  completed             everything of a user  er_1",
        ]
        assert world.run("--json", "erasures", "list", "--limit", "1") == 0
        assert json.loads(world.out) == {"erasures": [failed]}
        assert world.run("erasures", "list", "--user", "ann") == 0
        assert world.out == "no erasures\n"
    assert [asked.target for asked in stub.asked] == [
        "/v1/erasures?limit=2",
        "/v1/erasures?limit=1",
        "/v1/erasures?user_id=ann&limit=50",
    ]


def test_one_erasure_is_shown(tmp_path: Path) -> None:
    ranged = {"kinds": ["fact"], "created_after": "2026-01-01T00:00:00Z", "created_before": None}
    with StubService(Reply(200, erasure(scope=ranged)), Reply(200, erasure())) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("erasures", "show", "er_1") == 0
        assert world.out.splitlines() == [
            "memories of kind fact after 2026-01-01T00:00:00Z, asked for at 2026-05-04 09:00:00 UTC",
            "er_1: completed, unreadable since 2026-05-04 09:00:01 UTC",
            "receipt rc_1: lethe receipt show er_1",
            "",
            "step      state  found  deleted  attempts",
            "memories  done   3      3        1",
            "verified at 2026-05-04 09:01:00 UTC: 0 left",
        ]
        assert world.run("--json", "erasures", "show", "er_1") == 0
        assert json.loads(world.out) == erasure()
    assert stub.asked[0].target == "/v1/erasures/er_1"


def test_an_erasure_that_failed_is_shown_with_status_1(tmp_path: Path) -> None:
    failed = erasure(state="failed", failure="left_behind", scope={"session": "b" * 32})
    with StubService(Reply(200, failed)) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("erasures", "show", "er_1") == 1
    assert world.out.startswith("a session (bbbbbbbb…), asked for ")


def test_admit(tmp_path: Path) -> None:
    admitted = {"user_id": "alice", "state": "active"}
    with StubService(Reply(200, admitted), Reply(200, admitted), Reply(404, problem(404, "not_found"))) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("admit", "alice") == 0
        assert world.out == "admitted: may be written to\n"
        assert world.run("--json", "admit", "alice") == 0
        assert json.loads(world.out) == admitted
        assert world.run("admit", "nobody") == 1
    assert stub.asked[0].target == "/v1/subjects/alice/admit"


def test_holds_are_placed_listed_and_released(tmp_path: Path) -> None:
    part = hold("case-8", scope={"memory_ids": ["mem_1"]})
    page = Reply(200, {"holds": [hold(), part], "next_cursor": None})
    nothing = Reply(200, {"holds": [], "next_cursor": None})
    gone = (Reply(200, part), Reply(204))
    with StubService(Reply(201, part), Reply(200, part), page, page, nothing, *gone, *gone) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("holds", "place", "case-8", "alice", "--memory", "mem_1", "--reason", "a court asked") == 0
        assert world.out == "case-8 holds 1 memory\n"
        assert world.run("--json", "holds", "place", "case-8", "alice", "--memory", "mem_1") == 0
        assert json.loads(world.out) == part
        assert world.run("holds", "list") == 0
        assert world.out.splitlines() == [
            "name    placed            holds                 subject",
            f"case-7  2026-05-04 09:00  everything of a user  {'a' * 32}",
            f"case-8  2026-05-04 09:00  1 memory              {'a' * 32}",
        ]
        assert world.run("--json", "holds", "list") == 0
        assert json.loads(world.out) == {"holds": [hold(), part]}
        assert world.run("holds", "list", "--user", "alice") == 0
        assert world.out == "no holds\n"
        assert world.run("holds", "release", "case-8") == 0
        assert world.out == "released case-8; what was erased meanwhile is deleted within minutes\n"
        assert world.run("--json", "holds", "release", "case-8") == 0
        assert json.loads(world.out) == {"name": "case-8", "released": True}
    scope = {"memory_ids": ["mem_1"]}
    assert stub.asked[0].body == {"user_id": "alice", "scope": scope, "reason": "a court asked"}
    assert stub.asked[4].target == "/v1/holds?user_id=alice&limit=200"
    assert (stub.asked[6].method, stub.asked[6].target) == ("DELETE", "/v1/holds/case-8")


def test_to_release_no_hold_is_no_error_and_is_said(tmp_path: Path) -> None:
    none = (Reply(404, problem(404, "not_found")), Reply(204))
    with StubService(*none, *none) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("holds", "release", "case-9") == 0
        assert world.out == "there is no hold case-9 on the users of this key: nothing was released\n"
        assert world.run("--json", "holds", "release", "case-9") == 0
        assert json.loads(world.out) == {"name": "case-9", "released": False}


def test_a_hold_is_on_one_thing(tmp_path: Path) -> None:
    with StubService() as stub:
        world = world_for(stub, tmp_path)
        assert world.run("holds", "place", "case-7", "alice", "--session", "s1", "--kind", "fact") == 2
        assert stub.asked == []
    assert world.err == "lethe: name one thing: --session, --memory, a range of --kind, --after and --before\n"


def test_a_hold_that_cannot_stand_is_status_1(tmp_path: Path) -> None:
    with StubService(Reply(409, problem(409, "conflict"))) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("holds", "place", "case-7", "alice") == 1
    assert world.err == "lethe: 409 conflict: this is conflict\n"
