"""`lethe tenants admit` and `lethe ledger replay`: arguments, where they act, what they print, how they fail."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from lethe.domain.access import Tenant
from lethe.errors import Conflict, Unavailable
from lethe.services.erasure.replay import Replay, Replayed, Watcher
from lethe.services.erasure.tenants import TenantAdmission
from tests.unit.client.command_line import AccessTable, Terminal, World

LEDGER = {"LETHE_LEDGER_TABLE": "ledger", "LETHE_ACCESS_TABLE": "access", "LETHE_SUBJECTS_TABLE": "subjects"}
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Admission:
    def __init__(self, refuses: bool = False) -> None:
        self.refuses = refuses
        self.admitted: list[str] = []

    def admit(self, name: str) -> Tenant:
        if self.refuses:
            raise Conflict("the tenant is still being erased")
        self.admitted.append(name)
        return Tenant(name, NOW)


class Replaying:
    def __init__(self, refuses: bool = False, opened: int = 4) -> None:
        self.refuses = refuses
        self.opened = opened
        self.since: list[datetime | None] = []

    def run(self, watcher: Watcher, backup_of: datetime | None = None) -> Replayed:
        if self.refuses:
            raise Unavailable("the store does not answer")
        self.since.append(backup_of)
        done = Replayed(5, 3, 1, self.opened)
        watcher(done)
        return done


def world(folder: Path, admission: Admission | None = None, replay: Replaying | None = None) -> World:
    made = World(folder, dict(LEDGER))
    made.admission = cast(TenantAdmission, admission or Admission())
    made.replay = cast(Replay, replay or Replaying())
    return made


def test_a_tenant_is_admitted(tmp_path: Path) -> None:
    admission = Admission()
    one = world(tmp_path, admission)
    one.tables["access"] = AccessTable()
    one.tables["access"].put_tenant(Tenant("acme", NOW, "er_1"))
    assert one.run("tenants", "admit", "acme") == 0
    assert one.out.startswith("tenant acme can be used again")
    assert one.run("--json", "tenants", "admit", "acme") == 0
    assert one.answer() == {
        "tenant": "acme",
        "name": "acme",
        "created_at": "2026-03-01T12:00:00.000000Z",
        "fenced_by": None,
        "admitted": True,
    }
    assert admission.admitted == ["acme", "acme"]
    assert one.index_settings["LETHE_LEDGER_TABLE"] == "ledger"


def test_a_tenant_that_nothing_fences_is_said_to_be_none_to_admit(tmp_path: Path) -> None:
    one = world(tmp_path)
    assert one.run("tenants", "create", "acme") == 0
    assert one.run("tenants", "admit", "acme") == 0
    assert one.out == "tenant acme is not erased: there was nothing to admit\n"
    assert one.run("--json", "tenants", "admit", "acme") == 0
    assert cast("dict[str, object]", one.answer())["admitted"] is False
    assert one.run("tenants", "admit", "acne") == 1
    assert one.err == "lethe: there is no such tenant\n"


def test_an_admission_that_was_cut_short_is_finished(tmp_path: Path) -> None:
    one = world(tmp_path)
    assert one.run("tenants", "create", "acme") == 0
    assert one.run("keys", "create", "--tenant", "acme", "--permissions", "read") == 0
    keys = one.tables["access"].by_id
    keys.update({key_id: replace(key, fenced="er_1") for key_id, key in keys.items()})
    assert one.run("tenants", "admit", "acme") == 0
    assert one.out.startswith("tenant acme can be used again")


def test_a_tenant_that_is_being_erased_is_not(tmp_path: Path) -> None:
    one = world(tmp_path, Admission(refuses=True))
    assert one.run("tenants", "create", "acme") == 0
    assert one.run("tenants", "admit", "acme") == 1
    assert one.err == "lethe: the tenant is still being erased\n"


def test_a_replay_prints_its_counts(tmp_path: Path) -> None:
    one = world(tmp_path)
    assert one.run("--json", "ledger", "replay", "--yes") == 0
    assert one.answer() == {"erasures": 5, "subjects": 3, "tenants": 1, "opened": 4}
    assert one.run("ledger", "replay", "--yes") == 0
    assert re.search("^opened +4$", one.out, re.MULTILINE)
    assert one.out.splitlines()[-1].startswith("next: ")


def test_a_replay_asks_first(tmp_path: Path) -> None:
    replay = Replaying()
    one = world(tmp_path, None, replay)
    assert one.run("ledger", "replay") == 2
    assert "by the ledger ledger this fences" in one.err
    assert one.err.endswith("add --yes\n")
    assert one.run("ledger", "replay", "--backup-of", "2026-03-01T12:00:00Z") == 2
    assert replay.since == []


def test_a_replay_that_opened_nothing_promises_nothing(tmp_path: Path) -> None:
    one = world(tmp_path, None, Replaying(opened=0))
    assert one.run("ledger", "replay", "--yes") == 0
    assert one.out.splitlines()[-1] == "no erasure was opened again: there is nothing to wait for"


def test_a_terminal_shows_how_far_a_replay_is(tmp_path: Path) -> None:
    one = world(tmp_path)
    one.err_stream = Terminal
    assert one.run("ledger", "replay", "--yes") == 0
    assert one.err == "\r3 subjects fenced, 4 erasures opened again\x1b[K\n"


@pytest.mark.parametrize("text", ["2026-03-01T12:00:00Z", "2026-03-01 12:00Z", "2026-03-01T13:00:00+01:00"])
def test_a_replay_is_told_when_the_backup_is_from(tmp_path: Path, text: str) -> None:
    replay = Replaying()
    assert world(tmp_path, None, replay).run("ledger", "replay", "--yes", "--backup-of", text) == 0
    assert replay.since == [NOW]


@pytest.mark.parametrize("text", ["yesterday", "2026-03-01T12:00:00", "9999-03-01T12:00:00Z"])
def test_a_backup_is_of_a_moment_that_has_been(tmp_path: Path, text: str) -> None:
    replay = Replaying()
    with pytest.raises(SystemExit) as refused:
        world(tmp_path, None, replay).run("ledger", "replay", "--yes", "--backup-of", text)
    assert refused.value.code == 2
    assert replay.since == []


def test_a_replay_that_cannot_go_on_says_so(tmp_path: Path) -> None:
    one = world(tmp_path, None, Replaying(refuses=True))
    assert one.run("ledger", "replay", "--yes") == 1
    assert one.err == "lethe: the store does not answer\n"


def test_without_a_ledger_nothing_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = World(tmp_path, {})
    assert one.run("ledger", "replay", "--yes") == 2
    assert "no ledger table" in one.err
    with pytest.raises(SystemExit):
        world(tmp_path).run("ledger", "replay", "--yes", "--backup-of", "yesterday")
