"""What survives a restart, on both kinds of tables, and what does not."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lethe_local.backends import Choice, dynamodb_client
from lethe_local.dynoxide import HOW_TO_GET, find_binary
from lethe_local.moto_tables import StateUnreadable
from lethe_local.stack import LocalStack, StackOptions
from lethe_local.state import AlreadyRunning, StateFolder
from tests.component.local.conftest import HOUSE
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
ITEM: dict[str, Any] = {
    "pk": {"S": "a"},
    "sk": {"S": "1"},
    "number": {"N": "-12.50"},
    "bytes": {"B": b"\x00\xff"},
    "parts": {"BS": [b"\x01", b"\x02"]},
    "nested": {"M": {"list": {"L": [{"B": b"\xfe"}, {"NULL": True}, {"BOOL": False}, {"S": "猫"}]}}},
}


@pytest.fixture(params=["moto", pytest.param("dynoxide", marks=pytest.mark.dynoxide)])
def tables(request: pytest.FixtureRequest) -> Choice:
    choice: Choice = request.param
    if choice == "dynoxide":
        _need_dynoxide()
    return choice


def _need_dynoxide() -> None:
    if find_binary(ROOT) is None and find_binary(ROOT / ".lethe" / "tools") is None:
        pytest.skip(f"there is no dynoxide, the strict DynamoDB: {HOW_TO_GET}")


def _start(state: Path, tables: Choice, fresh: bool = False, endpoint: str | None = None) -> LocalStack:
    options = StackOptions(HOUSE, state, fresh=fresh, tables=tables, dynamodb_endpoint=endpoint, say=print)
    return LocalStack.start(options)


def _put(stack: LocalStack, item: dict[str, Any] = ITEM) -> None:
    client = dynamodb_client(stack.environment["LETHE_DYNAMODB_ENDPOINT"])
    client.put_item(TableName="lethe-notes", Item=item)
    client.close()


def _items(stack: LocalStack) -> list[dict[str, Any]]:
    client = dynamodb_client(stack.environment["LETHE_DYNAMODB_ENDPOINT"])
    found: list[dict[str, Any]] = [dict(item) for item in client.scan(TableName="lethe-notes")["Items"]]
    client.close()
    for item in found:
        if "parts" in item:
            item["parts"]["BS"].sort()
        if "number" in item:
            item["number"] = {"N": str(float(item["number"]["N"]))}
    return found


EXPECTED = ITEM | {"number": {"N": "-12.5"}}


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """The house lies elsewhere than the project, whose dynoxide serves it all the same."""
    binary = find_binary(ROOT) or find_binary(ROOT / ".lethe" / "tools")
    if binary is not None:
        monkeypatch.setenv("LETHE_DYNOXIDE", str(binary))


def test_a_restart_keeps_items_and_the_master_key(tmp_path: Path, tables: Choice) -> None:
    with _start(tmp_path, tables) as stack:
        assert tables in stack.description
        master_key = stack.environment["LETHE_MASTER_KEY"]
        assert len(master_key) >= 32
        _put(stack)
    with _start(tmp_path, tables) as stack:
        assert _items(stack) == [EXPECTED]
        assert stack.environment["LETHE_MASTER_KEY"] == master_key
    with _start(tmp_path, tables) as stack:
        assert _items(stack) == [EXPECTED]


def test_fresh_drops_items_and_the_master_key(tmp_path: Path, tables: Choice) -> None:
    with _start(tmp_path, tables) as stack:
        master_key = stack.environment["LETHE_MASTER_KEY"]
        _put(stack)
    with _start(tmp_path, tables, fresh=True) as stack:
        assert _items(stack) == []
        assert stack.environment["LETHE_MASTER_KEY"] != master_key


def test_nobody_else_can_read_the_state(tmp_path: Path, tables: Choice) -> None:
    state = tmp_path / "state"
    with _start(state, tables) as stack:
        _put(stack)
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "master_key").stat().st_mode) == 0o600
    if tables == "moto":
        assert stat.S_IMODE((state / "tables.json").stat().st_mode) == 0o600


def test_what_a_killed_process_was_writing_is_removed_at_the_next_start(tmp_path: Path) -> None:
    """The process dies with its file half written, as a file of its own that it meant to rename."""
    dies = (
        "import os, pathlib, signal, sys\n"
        "from lethe_local.executions import Begun, Executions\n"
        "os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "Executions(pathlib.Path(sys.argv[1])).begin(Begun('erase', 'er_1', '{}'))\n"
    )
    died = subprocess.run([sys.executable, "-c", dies, str(tmp_path / "executions.json")], check=False, timeout=60)
    assert died.returncode == -signal.SIGKILL
    (draft,) = tmp_path.iterdir()
    (tmp_path / "notes.new").write_text("not ours", encoding="utf-8")
    StateFolder(tmp_path, fresh=False).close()
    assert not draft.exists()
    assert (tmp_path / "notes.new").exists()


def test_one_stack_at_a_time_uses_a_state(tmp_path: Path) -> None:
    with _start(tmp_path, "moto"), pytest.raises(AlreadyRunning):
        _start(tmp_path, "moto", fresh=True)
    with _start(tmp_path, "moto") as stack:
        assert _items(stack) == []


def test_moto_is_saved_while_it_runs(tmp_path: Path) -> None:
    with _start(tmp_path, "moto") as stack:
        _put(stack)
        file = tmp_path / "tables.json"
        wait_until(lambda: file.exists() and '"lethe-notes": [{' in file.read_text(encoding="utf-8"))
        saved = json.loads(file.read_text(encoding="utf-8"))
    assert saved["tables"]["lethe-notes"][0]["pk"] == {"S": "a"}
    assert not list(tmp_path.glob("*.new"))


def test_a_state_that_cannot_be_read_is_said_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "tables.json"
    file.write_text('{"tables": {"lethe-notes"', encoding="utf-8")
    with pytest.raises(StateUnreadable, match="fresh"):
        _start(tmp_path, "moto")
    assert file.read_text(encoding="utf-8") == '{"tables": {"lethe-notes"'
    with _start(tmp_path, "moto", fresh=True) as stack:
        assert _items(stack) == []


def test_two_stacks_in_one_process_do_not_share_tables(tmp_path: Path) -> None:
    with _start(tmp_path / "one", "moto") as one, _start(tmp_path / "two", "moto") as two:
        _put(one)
        assert _items(two) == []
        assert _items(one) == [EXPECTED]


@pytest.mark.dynoxide
def test_dynoxide_takes_over_what_moto_held(tmp_path: Path) -> None:
    _need_dynoxide()
    with _start(tmp_path, "moto") as stack:
        for number in range(60):
            _put(stack, ITEM | {"sk": {"S": f"{number:03}"}})
    with _start(tmp_path, "dynoxide") as stack:
        assert "60 items moved" in stack.description
        assert _items(stack) == [EXPECTED | {"sk": {"S": f"{number:03}"}} for number in range(60)]
    assert not (tmp_path / "tables.json").exists()
    with _start(tmp_path, "moto") as stack:
        assert "not visible" in stack.description


def test_another_endpoint_holds_the_tables(tmp_path: Path) -> None:
    with _start(tmp_path / "one", "moto") as other:
        endpoint = other.environment["LETHE_DYNAMODB_ENDPOINT"]
        with _start(tmp_path / "two", "auto", endpoint=endpoint) as stack:
            assert endpoint in stack.description
            _put(stack)
        assert _items(other) == [EXPECTED]
