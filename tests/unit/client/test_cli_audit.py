"""`lethe audit`: the trail of the table and of files, sound and damaged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lethe.domain.audit import AuditEvent, Verdict, ends_json, linked
from lethe.domain.chain import ChainEnd, hash_of
from lethe.domain.identity import hidden, subject_of
from lethe_client.cli.stack import environment_of_stack
from tests.fakes.audit import FakeAuditTrail
from tests.fakes.time_and_ids import START
from tests.unit.client.command_line import MASTER_KEY, World

ANN = subject_of("acme", "ann", MASTER_KEY)
Lines = list[str]


def event(number: int, subject: str | None = ANN) -> AuditEvent:
    at = START + timedelta(seconds=number)
    return AuditEvent("acme", at, "c" * 32, "recall", Verdict.ALLOWED, subject, (), f"request-{number}")


def written(trail: FakeAuditTrail, count: int) -> FakeAuditTrail:
    for number in range(count):
        trail.append(event(number, None if number % 3 == 2 else ANN))
    return trail


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(
        tmp_path,
        environment={"LETHE_LEDGER_TABLE": "ledger"},
        trails={"ledger": written(FakeAuditTrail(), 7)},
    )


def exported(world: World, name: str = "trail.jsonl") -> Path:
    path = world.folder / name
    assert world.run("audit", "export", "--tenant", "acme", "--output", str(path)) == 0
    return path


def test_a_sound_table(world: World) -> None:
    assert world.run("audit", "verify", "--tenant", "acme") == 0
    assert world.out == (
        "7 entries of tenant acme in 1 strands: nothing is missing, moved or changed as far as it shows by itself; "
        "--known compares it with ends that were noted elsewhere\n"
    )
    known = exported(world)
    assert world.run("audit", "verify", "--tenant", "acme", "--known", str(known)) == 0
    assert world.out == "7 entries of tenant acme in 1 strands: nothing is missing, moved or changed\n"
    assert world.run("--json", "audit", "verify", "--tenant", "acme") == 0
    end = world.trails["ledger"].ends("acme")[0]
    assert world.answer() == {
        "tenant": "acme",
        "sound": True,
        "length": 7,
        "strands": [{"strand": 0, "length": 7, "hash": end.hash, "fault": None}],
    }


@pytest.mark.parametrize("tenant", ["nobody", "acme-2"])
@pytest.mark.parametrize(
    "command", [("verify",), ("export",), ("export", "--output", "no.jsonl"), ("list",), ("list", "--user", "ann")]
)
def test_a_tenant_without_entries_is_no_proof(
    world: World, command: tuple[str, ...], tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is not written either: an empty one would pass for an export later."""
    monkeypatch.chdir(world.folder)
    assert world.run("audit", *command, "--tenant", tenant) == 1
    assert world.err == "lethe: there is no entry at all: is that the tenant's name?\n"
    assert command == ("verify",) or world.out == ""
    assert list(world.folder.iterdir()) == []


def test_a_table_that_falls_short_of_an_earlier_export(world: World) -> None:
    earlier = exported(world)
    world.trails["ledger"] = written(FakeAuditTrail(), 5)
    assert world.run("audit", "verify", "--tenant", "acme") == 0
    assert world.run("audit", "verify", "--tenant", "acme", "--known", str(earlier)) == 1
    assert world.out.splitlines()[0] == "strand 0: entry 6 is truncated; sound up to 5"
    assert world.err == "lethe: the audit trail is not what it was\n"


def test_ends_that_were_noted_of_another_tenant_prove_nothing(world: World) -> None:
    noted = world.folder / "noted.jsonl"
    noted.write_text(json.dumps({"tenant": "zzz", "ends": []}) + "\n", encoding="utf-8")
    assert world.run("audit", "verify", "--tenant", "acme", "--known", str(noted)) == 1
    assert world.err == "lethe: the noted ends are of another tenant's trail\n"


def test_a_table_that_lost_everything_falls_short_of_noted_ends(world: World) -> None:
    earlier = exported(world)
    world.trails["ledger"] = FakeAuditTrail()
    assert world.run("--json", "audit", "verify", "--tenant", "acme", "--known", str(earlier)) == 1
    answer = world.answer()
    assert isinstance(answer, dict)
    assert answer["strands"][0]["fault"] == {"n": 1, "wrong": "truncated"}


def test_a_line_that_names_a_member_twice_is_no_entry(world: World) -> None:
    path = exported(world)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines[:3], '{"action":"health",' + lines[3][1:], *lines[4:]]), encoding="utf-8")
    assert world.run("audit", "verify", str(path)) == 1
    assert "entry 3 is" in world.out


def test_an_export_is_checked_without_a_table(world: World) -> None:
    path = exported(world)
    assert world.out == f"7 entries written to {path}\n"
    alone = World(world.folder)
    assert alone.run("audit", "verify", str(path)) == 0
    assert alone.run("audit", "verify", str(path), "--tenant", "acme", "--known", str(path)) == 0
    assert alone.run("audit", "verify", str(path), "--tenant", "other") == 1
    assert alone.err == "lethe: the file holds the trail of another tenant\n"


def test_an_export_is_printed_where_no_file_is_named(world: World) -> None:
    path = exported(world)
    assert world.run("audit", "export", "--tenant", "acme") == 0
    assert world.out == path.read_text(encoding="utf-8")


def test_an_export_writes_over_nothing(world: World) -> None:
    path = exported(world)
    assert world.run("audit", "export", "--tenant", "acme", "--output", str(path)) == 2
    assert "cannot be written (FileExistsError)" in world.err


def forged(lines: Lines) -> Lines:
    """The last entry is another one, and the first line knows it: only an end that was noted elsewhere tells."""
    after = json.loads(lines[-2])
    entry = linked(event(99), 0, ChainEnd(after["n"], after["hash"]))
    head = {"tenant": "acme", "ends": ends_json({0: entry.end})}
    return [json.dumps(head), *lines[1:-1], json.dumps({**json.loads(lines[-1]), "hash": entry.hash})]


def changed(lines: Lines) -> Lines:
    return [*lines[:3], lines[3].replace('"recall"', '"nothing"'), *lines[4:]]


def of_another_strand(lines: Lines) -> Lines:
    return [*lines[:3], lines[3].replace('"strand":0', '"strand":1'), *lines[4:]]


DAMAGES: dict[str, tuple[Callable[[Lines], Lines], tuple[int, int, str]]] = {
    "changed": (changed, (0, 3, "altered")),
    "no JSON": (lambda lines: [*lines[:3], "entry 3", *lines[4:]], (0, 3, "truncated")),
    "cut out": (lambda lines: [*lines[:3], *lines[4:]], (0, 3, "misplaced")),
    "cut off": (lambda lines: lines[:-2], (0, 6, "truncated")),
    "repeated": (lambda lines: [*lines, lines[-1]], (0, 8, "misplaced")),
    "swapped": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], (0, 1, "misplaced")),
    "of another strand": (of_another_strand, (0, 3, "truncated")),
    "all gone": (lambda lines: lines[:1], (0, 1, "truncated")),
    "forged": (forged, (0, 7, "altered")),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_export(world: World, name: str) -> None:
    damage, (strand, n, wrong) = DAMAGES[name]
    path = exported(world)
    path.write_text("\n".join(damage(path.read_text("utf-8").splitlines())) + "\n", encoding="utf-8")
    assert world.run("--json", "audit", "verify", str(path)) == 1
    answer: Any = world.answer()
    assert not answer["sound"]
    faults = {each["strand"]: each["fault"] for each in answer["strands"] if each["fault"]}
    assert faults[strand] == {"n": n, "wrong": wrong}


@pytest.mark.parametrize("text", ["", "{}", '{"tenant": "acme"}', '{"tenant": "acme", "ends": 1}', "entry"])
def test_what_is_no_export(world: World, text: str) -> None:
    path = world.folder / "no.jsonl"
    path.write_text(text, encoding="utf-8")
    assert world.run("audit", "verify", str(path)) == 1
    assert "is no export of an audit trail" in world.err
    assert world.run("audit", "verify", "--tenant", "acme", "--known", str(path)) == 2
    assert "names no ends of an audit trail" in world.err


def test_a_file_that_is_not_there(world: World) -> None:
    for options in (("nowhere",), ("--tenant", "acme", "--known", "nowhere")):
        assert world.run("audit", "verify", *options) == 2
        assert "cannot be read (FileNotFoundError)" in world.err


def test_nothing_says_what_to_verify(world: World) -> None:
    assert world.run("audit", "verify") == 2
    assert World(world.folder).run("audit", "verify", "--tenant", "acme") == 2


def test_the_newest_entries(world: World) -> None:
    assert world.run("audit", "list", "--tenant", "acme", "--limit", "2") == 0
    rows = [line.split() for line in world.out.splitlines()]
    assert [row[:4] for row in rows[1:]] == [
        ["2026-03-01", "12:00:06", "recall", "allowed"],
        ["2026-03-01", "12:00:05", "recall", "allowed"],
    ]
    assert world.run("--json", "audit", "list", "--tenant", "acme", "--user", "ann") == 0
    answer: Any = world.answer()
    assert [entry["n"] for entry in answer["entries"]] == [7, 5, 4, 2, 1]
    assert world.run("audit", "list", "--tenant", "acme", "--user", "bob") == 0
    assert world.out == "no entries\n"
    assert world.run("audit", "list", "--tenant", "acme", "--user", "b\x07b") == 1


BOT, NAMELESS, GONE = "0" * 26, "1" * 26, "2" * 26


@pytest.fixture
def answerable(world: World) -> World:
    """Entries of two keys of the tenant, and of one that there is no more."""
    world.environment["LETHE_ACCESS_TABLE"] = "access"
    assert world.run("tenants", "create", "acme") == 0
    table = world.tables["access"]
    assert world.run("keys", "create", "--tenant", "acme", "--permissions", "read", "--actor", "support-bot") == 0
    assert world.run("keys", "create", "--tenant", "acme", "--permissions", "read") == 0
    (made, first), (other, second) = table.by_id.items()
    table.by_id = {BOT: replace(first, id=BOT), NAMELESS: replace(second, id=NAMELESS, actor=f"key:{NAMELESS}")}
    assert {made, other}.isdisjoint(table.by_id)
    assert world.run("keys", "revoke", BOT) == 0
    trail = world.trails["ledger"] = FakeAuditTrail()
    for number, key_id in enumerate((BOT, NAMELESS, GONE)):
        trail.append(replace(event(number), key=hidden("key", "acme", key_id, MASTER_KEY)))
    return world


def test_who_it_was_is_found_from_an_entry(answerable: World) -> None:
    assert answerable.run("audit", "list", "--tenant", "acme") == 0
    header, gone, nameless, bot = (re.split(r"  +", line) for line in answerable.out.splitlines())
    assert header == ["at", "action", "verdict", "subject", "key", "actor", "request", "targets"]
    unknown = hidden("key", "acme", GONE, MASTER_KEY)
    assert gone[4:] == [unknown[:12], "request-2"]
    assert nameless[4:] == [NAMELESS, "request-1"]
    assert bot[4:] == [BOT, "support-bot", "request-0"]
    assert answerable.err == ""


def test_who_it_was_stands_beside_the_entries_as_json(answerable: World) -> None:
    assert answerable.run("--json", "audit", "list", "--tenant", "acme", "--limit", "2") == 0
    answer: Any = answerable.answer()
    assert [entry["request_id"] for entry in answer["entries"]] == ["request-2", "request-1"]
    assert answer["keys"] == {answer["entries"][1]["key"]: {"id": NAMELESS, "actor": f"key:{NAMELESS}"}}
    for entry in answer["entries"]:
        assert entry["hash"] == hash_of({name: value for name, value in entry.items() if name != "hash"})


def test_keys_are_listed_with_the_hash_that_entries_name_them_by(answerable: World) -> None:
    by_hash = {hidden("key", "acme", key_id, MASTER_KEY): key_id for key_id in (BOT, NAMELESS)}
    assert answerable.run("--json", "keys", "list", "--tenant", "acme") == 0
    answer: Any = answerable.answer()
    assert {key["audit_key"]: key["id"] for key in answer["keys"]} == by_hash
    assert answerable.run("keys", "list", "--tenant", "acme") == 0
    header, *rows = (re.split(r"  +", line) for line in answerable.out.splitlines())
    column = header.index("audit key")
    assert {(row[column], row[0]) for row in rows} == {(found[:12], key_id) for found, key_id in by_hash.items()}


def test_entries_are_listed_without_the_keys_where_these_cannot_be_read(answerable: World) -> None:
    def listed(says: str) -> None:
        assert answerable.run("--json", "audit", "list", "--tenant", "acme") == 0
        answer: Any = answerable.answer()
        assert (len(answer["entries"]), answer["keys"]) == (3, {})
        why = "keys are shown by their hashes, for the tenant's keys cannot be read"
        assert answerable.err == f"lethe: {why}: {says}\n"

    answerable.tables["access"].by_name.clear()
    listed("there is no such tenant")
    del answerable.environment["LETHE_ACCESS_TABLE"]
    listed("set LETHE_ACCESS_TABLE")


def test_the_table_of_a_deployed_stack_is_in_its_outputs() -> None:
    outputs = {"AccessTableName": "a", "MasterSecretArn": "s", "LedgerTableName": "l"}
    assert environment_of_stack("lethe", lambda _: outputs)["LETHE_LEDGER_TABLE"] == "l"
