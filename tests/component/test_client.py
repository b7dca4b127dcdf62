"""The SDK and the `lethe` command against the running stack: what the service answers is what they understand."""

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lethe.entry.wiring.erasing import receipt_signer
from lethe_client import (
    ConflictError,
    ErasedError,
    ForbiddenError,
    Lethe,
    MessageInput,
    NotFoundError,
    UnauthenticatedError,
    VersionConflictError,
)
from lethe_client.cli import main
from lethe_client.cli.surroundings import real_surroundings
from lethe_client.receipts import check_receipt, read_public_key
from tests.support.api import ApiStack, TenantOnStack
from tests.unit.client.command_line import World


@pytest.fixture
def client(api_stack: ApiStack, tenant: TenantOnStack) -> Lethe:
    return Lethe(api_stack.local.url, tenant.key("read", "write")[1])


def test_memories(client: Lethe) -> None:
    said = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
    added = client.memories.add(
        "I keep bees on the roof.", user_id="alice", occurred_at=said, valid_until="2030-01-01T00:00:00Z"
    )
    memory = added.results[0].memory
    assert memory is not None
    assert (memory.occurred_at, memory.valid_until) == (said, datetime(2030, 1, 1, tzinfo=UTC))
    assert client.memories.get(memory.id, user_id="alice") == memory
    changed = client.memories.update(memory.id, version=memory.version, user_id="alice", no_end=True, pinned=True)
    assert (changed.valid_until, changed.pinned, changed.version) == (None, True, memory.version + 1)
    with pytest.raises(VersionConflictError) as caught:
        client.memories.update(memory.id, version=memory.version, user_id="alice", pinned=False)
    assert caught.value.current_version == changed.version
    versions = client.memories.history(memory.id, user_id="alice")
    assert [(past.version, past.valid_until) for past in versions] == [(1, memory.valid_until), (2, None)]
    assert versions[-1] == changed
    client.memories.delete(memory.id, user_id="alice")
    client.memories.delete(memory.id, user_id="alice")
    with pytest.raises(NotFoundError):
        client.memories.get(memory.id, user_id="alice")


def test_a_batch_and_its_pages(client: Lethe) -> None:
    batch = client.memories.batch([{"text": "I like figs."}, {"text": ""}, {"text": "I like plums."}], user_id="alice")
    assert [item.id is None for item in batch.results] == [False, True, False]
    assert [item.error is None for item in batch.results] == [True, False, True]
    assert sum(batch.counts.values()) == 3
    listed = list(client.memories.list(user_id="alice", page_size=1))
    assert {memory.text for memory in listed} == {"I like figs.", "I like plums."}
    found = client.memories.search("Which fruit? figs?", user_id="alice", threshold=0, explain=True)
    assert found.outcome == "found"
    assert found.memories[0].text == "I like figs."
    assert found.explain is not None
    assert {candidate.id for candidate in found.explain} == {memory.id for memory in listed}
    assert all(candidate.decisions for candidate in found.explain)


def test_a_session_and_what_recall_makes_of_it(client: Lethe) -> None:
    said: MessageInput = {"role": "user", "content": "My sister is Ines.", "id": "one", "name": "Alice"}
    reply: MessageInput = {"role": "assistant", "content": "Noted."}
    answer = client.sessions.append("s.1", [said, reply], user_id="alice")
    again = client.sessions.append("s.1", [said], user_id="alice")
    assert [receipt.status for receipt in (*answer.messages, *again.messages)] == ["stored", "stored", "duplicate"]
    memory = answer.results[0].memory
    assert memory is not None
    assert memory.source.message_ids == (answer.messages[0].id,)
    window = client.sessions.window("s.1", user_id="alice", turns=1)
    assert [message.content for message in window.messages] == ["My sister is Ines.", "Noted."]
    assert list(client.sessions.messages("s.1", user_id="alice", page_size=1)) == list(window.messages)
    assert [session.session_id for session in client.sessions.list(user_id="alice")] == ["s.1"]
    client.entities.put("tea", {"sort": "green"}, category="preference", user_id="alice")
    recalled = client.recall("sister Ines", user_id="alice", session_id="s.1", threshold=0, explain=True)
    assert memory.text in recalled.context
    assert [entity.key for entity in recalled.entities] == ["tea"]
    assert [message.id for message in recalled.messages] == [message.id for message in window.messages]
    assert recalled.route.tiers == ("session", "entities", "memories")
    assert client.sessions.end("s.1", user_id="alice").ended_at is not None
    assert client.subject("alice").counts == {"memories": 1, "entities": 1, "sessions": 1}
    client.sessions.delete("s.1", user_id="alice")
    with pytest.raises(NotFoundError):
        client.sessions.get("s.1", user_id="alice")


def test_entities(client: Lethe) -> None:
    first = client.entities.put("shoe", {"size": 42}, category="profile", user_id="alice")
    second = client.entities.put("shoe", {"size": 43}, category="profile", user_id="alice", version=first.version)
    assert client.entities.history("shoe", user_id="alice") == (first, second)
    assert [e.key for e in client.entities.list(user_id="alice", path="$.size", equals=43)] == ["shoe"]
    assert list(client.entities.list(user_id="alice", path="$.size", equals="43")) == []
    client.entities.put("document", 7, category="parameter", user_id="alice", session_id="s1")
    assert client.entities.get("document", user_id="alice", session_id="s1").value == 7
    with pytest.raises(NotFoundError):
        client.entities.get("document", user_id="alice")
    client.entities.delete("shoe", user_id="alice")
    assert list(client.entities.list(user_id="alice", category="profile")) == []


def test_the_same_idempotency_key_gives_the_first_answer(client: Lethe) -> None:
    first = client.memories.add("I like figs.", user_id="alice", idempotency_key="k1")
    second = client.memories.add("I like figs.", user_id="alice", idempotency_key="k1")
    assert (first.replayed, second.replayed) == (False, True)
    assert first.results == second.results


def test_the_user_may_be_left_out_with_a_key_for_one(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    client = Lethe(api_stack.local.url, tenant.key("read", "write", users=["alice"])[1])
    assert client.memories.add("I like figs.").results[0].event == "stored"
    assert len(list(client.memories.list())) == 1
    with pytest.raises(ForbiddenError):
        client.memories.add("I like figs.", user_id="bob")


def test_a_user_is_erased_proved_and_admitted(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    agent = Lethe(api_stack.local.url, tenant.key("read", "write")[1])
    desk = Lethe(api_stack.local.url, tenant.key("erase", "govern")[1])
    agent.memories.add("I keep bees on the roof.", user_id="alice")

    begun = desk.subjects.erase("alice")
    assert begun.unreadable_since is not None
    with pytest.raises(NotFoundError):
        agent.recall("bees", user_id="alice")
    with pytest.raises(ErasedError):
        agent.memories.add("I keep bees.", user_id="alice")
    ended = desk.erasures.wait(begun.id, timeout=90)

    assert (ended.state, ended.scope, ended.failure, ended.held) == ("completed", {"subject": True}, None, 0)
    assert {step.state for step in ended.steps} == {"done"}
    assert next(step.deleted for step in ended.steps if step.name == "memories") >= 1
    assert [sum(look.remaining.values()) for look in ended.verified] == [0, 0]
    assert (desk.erasures.get(begun.id), list(desk.erasures.list())) == (ended, [ended])
    key = read_public_key(receipt_signer(api_stack.local.environment).public_key())
    assert check_receipt(desk.erasures.receipt(begun.id), key) == ()
    desk.subjects.admit("alice")
    desk.subjects.admit("alice")
    assert agent.memories.add("I keep hens.", user_id="alice").results[0].event == "stored"
    assert [memory.text for memory in agent.memories.list(user_id="alice")] == ["I keep hens."]
    with pytest.raises(NotFoundError):
        desk.subjects.admit("nobody")
    with pytest.raises(ForbiddenError):
        agent.subjects.erase("alice")


def test_the_audit_trail_of_a_user_is_read(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    agent = Lethe(api_stack.local.url, tenant.key("read", "write")[1])
    desk = Lethe(api_stack.local.url, tenant.key("govern")[1])
    agent.memories.add("I keep bees on the roof.", user_id="alice")
    agent.recall("bees", user_id="alice")
    found = [entry for entry in desk.audit.list(user_id="alice", page_size=1) if entry.action != "list_audit"]
    assert [(entry.action, entry.verdict) for entry in found] == [("recall", "allowed"), ("add_memories", "allowed")]
    assert found[0].key == found[1].key
    assert found[0].at > found[1].at
    assert list(desk.audit.list(user_id="alice", before=found[1].at)) == []
    with pytest.raises(ForbiddenError):
        agent.audit.page(user_id="alice")


def test_parts_are_erased_unless_a_hold_keeps_them(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    agent = Lethe(api_stack.local.url, tenant.key("read", "write")[1])
    desk = Lethe(api_stack.local.url, tenant.key("erase", "govern")[1])
    kept, other = (agent.memories.add(text, user_id="alice").results[0].memory for text in ("I like figs.", "I ski."))
    assert kept is not None
    assert other is not None
    agent.sessions.append("s1", [{"role": "user", "content": "My sister is Ines."}], user_id="alice")

    hold = desk.holds.place("case-7", user_id="alice", scope={"memory_ids": [kept.id]}, reason="a court asked")
    again = desk.holds.place("case-7", user_id="alice", scope={"memory_ids": [kept.id]})
    assert (desk.holds.get("case-7"), list(desk.holds.list(page_size=1))) == (hold, [hold])
    assert (again, hold.scope) == (hold, {"memory_ids": [kept.id]})
    with pytest.raises(ConflictError):
        desk.holds.place("case-7", user_id="alice")
    with pytest.raises(ConflictError):
        agent.memories.delete(kept.id, user_id="alice")
    deletions = [agent.memories.delete(other.id, user_id="alice"), agent.sessions.delete("s1", user_id="alice")]
    assert agent.memories.delete(other.id, user_id="alice") is None
    assert [memory.id for memory in agent.memories.list(user_id="alice")] == [kept.id]
    assert [desk.erasures.wait(erasure or "", timeout=90).state for erasure in deletions] == ["completed"] * 2

    desk.holds.release("case-7")
    assert list(desk.holds.list()) == []
    ranged = desk.erasures.begin(
        {"kind": kept.kind, "created_before": datetime(2100, 1, 1, tzinfo=UTC)}, user_id="alice", reason="she asked"
    )
    assert list(agent.memories.list(user_id="alice")) == []
    assert desk.erasures.wait(ranged.id, timeout=90).state == "completed"
    assert next(desk.erasures.list(page_size=2)).id == ranged.id


def test_the_command_erases_holds_and_admits(api_stack: ApiStack, tenant: TenantOnStack, tmp_path: Path) -> None:
    key = tenant.key("read", "write", "erase", "govern")[1]
    world = World(tmp_path, {"LETHE_URL": api_stack.local.url, "LETHE_API_KEY": key})
    assert world.run("remember", "alice", "I keep bees on the roof.") == 0
    assert world.run("holds", "place", "case-7", "alice") == 0
    assert world.run("erase", "alice", "--reason", "she asked", "--wait", "--timeout", "90") == 0
    assert "held: " in world.out
    assert world.run("memories", "alice") == 1
    assert world.run("--json", "erasures", "list") == 0
    (erasure,) = json.loads(world.out)["erasures"]
    assert erasure["state"] == "completed_with_holds"
    assert world.run("erasures", "show", erasure["id"]) == 0
    assert world.run("receipt", "show", erasure["id"]) == 0
    assert world.run("holds", "release", "case-7") == 0
    assert world.run("admit", "alice") == 0
    assert world.run("memories", "alice") == 0
    assert world.out == "nothing stored\n"


def test_health_needs_no_key(api_stack: ApiStack) -> None:
    assert Lethe(api_stack.local.url).health().status == "ok"
    with pytest.raises(UnauthenticatedError):
        Lethe(api_stack.local.url).subject("alice")


def test_the_command_makes_keys_that_work_and_takes_them_back(api_stack: ApiStack, tmp_path: Path) -> None:
    (tmp_path / ".lethe").mkdir()
    facts = {"url": api_stack.local.url, "api_key": "", "environment": dict(api_stack.local.environment)}
    (tmp_path / ".lethe" / "dev.json").write_text(json.dumps(facts), encoding="utf-8")

    def lethe(*argv: str) -> dict[str, str]:
        out = io.StringIO()
        around = replace(real_surroundings(), environment={}, folder=tmp_path, out=out)
        assert main(["--json", *argv], around) == 0
        answer: dict[str, str] = json.loads(out.getvalue())
        return answer

    lethe("tenants", "create", "by-command")
    key = lethe("keys", "create", "--tenant", "by-command", "--permissions", "read,write", "--users", "alice,晓岚")
    client = Lethe(api_stack.local.url, key["api_key"])
    assert client.memories.add("我喜欢喝茶。", user_id="晓岚").results[0].event == "stored"
    with pytest.raises(ForbiddenError):
        client.memories.search("茶", user_id="bob")
    lethe("keys", "revoke", key["id"])
    with pytest.raises(UnauthenticatedError):
        client.memories.search("茶", user_id="晓岚")


def test_a_key_that_may_not_read_gets_what_it_may_know(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    tenant.admin.remember("I keep bees", "alice")
    client = Lethe(api_stack.local.url, tenant.key("write")[1])

    (result,) = client.memories.add("I keep bees", user_id="alice").results

    assert result.event == "duplicate"
    assert result.memory is not None
    assert (result.memory.text, result.memory.version, result.memory.created_at) == ("", 1, None)
