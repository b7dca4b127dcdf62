"""`make dev` as a user runs it: a process of its own, stopped by a signal to its id."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
import urllib3

from lethe.entry.wiring.access import access_service
from lethe_local.dynoxide import find_binary
from tests.support.embedding_servers import EmbeddingServer
from tests.support.waiting import PATIENCE, dev_facts, process_runs, wait_until

ROOT = Path(__file__).resolve().parents[3]

HEEDS_INTERRUPTS = """import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Whatever starts the tests in the background makes all that they start deaf to SIGINT."""


@dataclass
class Dev:
    """A running `python -m lethe_local.dev`, and its dev.json as it was once the server answered."""

    process: subprocess.Popen[str]
    facts: dict[str, Any]
    output: Path

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        headers, url = {"Authorization": f"Bearer {self.facts['api_key']}"}, self.facts["url"] + path
        answer = urllib3.request(method, url, json=body, headers=headers, timeout=60, retries=False)
        assert answer.status < 300, answer.data
        return cast("dict[str, Any]", answer.json())

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@pytest.fixture
def embeddings() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


def _command(state: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "lethe_local.dev", "--root", str(ROOT), "--state-dir", str(state), *more]


def _environment(embeddings: EmbeddingServer, **more: str) -> dict[str, str]:
    settings = {"LETHE_EMBEDDER": "openai:words?dimensions=48", "LETHE_EMBEDDER_URL": embeddings.url + "/v1"}
    path = os.pathsep.join(str(ROOT / folder) for folder in ("shared", "local", "client"))
    around = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return {**around, **settings, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **more}


@contextmanager
def _dev(embeddings: EmbeddingServer, state: Path, *, fresh: bool = False, tables: str = "moto") -> Iterator[Dev]:
    state.mkdir(exist_ok=True)
    output = state.parent / f"{state.name}.log"
    variables = _environment(embeddings, PORT="0", FRESH="1" if fresh else "", LETHE_LOCAL_TABLES=tables)
    with output.open("w") as log:
        process = subprocess.Popen(
            _command(state), env=variables, cwd=state.parent, stdout=log, stderr=subprocess.STDOUT, text=True
        )
    try:
        wait_until(lambda: dev_facts(state).get("pid") == process.pid or process.poll() is not None)
        assert process.poll() is None, output.read_text()
        yield Dev(process, dev_facts(state), output)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _write(dev: Dev, text: str) -> None:
    assert dev.call("POST", "/v1/memories", {"user_id": "alice", "text": text})["results"][0]["event"] == "stored"


def _texts(dev: Dev) -> list[str]:
    return [memory["text"] for memory in dev.call("GET", "/v1/memories?user_id=alice")["memories"]]


def test_state_and_key_survive_stops_by_signal(
    tmp_path: Path, embeddings: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    file = state / "dev.json"
    with _dev(embeddings, state) as dev:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert dev.facts.keys() >= {"url", "api_key", "tenant", "environment", "pid"}
        assert (dev.facts["tenant"], dev.facts["pid"]) == ("dev", dev.process.pid)
        _write(dev, "I keep two parrots.")
        first = dev.facts["api_key"]
        assert dev.stop(signal.SIGINT) == 0
        assert not file.exists()
    with _dev(embeddings, state) as dev:
        assert dev.facts["api_key"] == first
        assert _texts(dev) == ["I keep two parrots."]
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, dev.facts["environment"][name])
        access_service(dev.facts["environment"]).revoke_key(first.split("_")[1])
        assert dev.stop(signal.SIGTERM) == 0
    with _dev(embeddings, state) as dev:
        second = dev.facts["api_key"]
        assert second != first
        assert _texts(dev) == ["I keep two parrots."]
        assert dev.stop(signal.SIGHUP) == 0
    with _dev(embeddings, state, fresh=True) as dev:
        assert dev.facts["api_key"] not in (first, second)
        assert _texts(dev) == []
        assert dev.stop(signal.SIGTERM) == 0


@pytest.mark.dynoxide
def test_dynoxide_keeps_an_answered_write_even_when_the_process_is_killed(
    tmp_path: Path, embeddings: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = find_binary(ROOT) or find_binary(ROOT / ".lethe" / "tools")
    if binary is None:
        pytest.skip("there is no dynoxide, the strict DynamoDB")
    monkeypatch.setenv("LETHE_DYNOXIDE", str(binary))
    state = tmp_path / "state"
    with _dev(embeddings, state, tables="dynoxide") as dev:
        _write(dev, "I keep two parrots.")
        dev.process.kill()
        dev.process.wait(PATIENCE)
        assert (state / "dev.json").exists()
        orphan = int((state / "dynoxide.pid").read_text())
    with _dev(embeddings, state, tables="dynoxide") as dev:
        assert _texts(dev) == ["I keep two parrots."]
        assert int((state / "dynoxide.pid").read_text()) != orphan
        assert not process_runs(orphan)
        assert dev.stop(signal.SIGTERM) == 0
        assert not (state / "dynoxide.pid").exists()


def _in_shell(line: str) -> dict[str, Any]:
    run = subprocess.run(["sh", "-c", f"{line} --fail"], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, (line, run.stdout, run.stderr)
    return cast("dict[str, Any]", json.loads(run.stdout))


def test_the_printed_lines_work_and_the_log_shows_no_content(tmp_path: Path, embeddings: EmbeddingServer) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl, which the printed lines are for")
    with _dev(embeddings, tmp_path / "state") as dev:
        wait_until(lambda: "Requests:" in dev.output.read_text())
        lines = [line.strip() for line in dev.output.read_text().splitlines() if line.startswith("  curl ")]
        assert len(lines) >= 6
        for line in lines[:-1]:
            assert _in_shell(line)
        dev.call("GET", "/v1/subjects/alice")
        dev.call("GET", "/v1/memories?user_id=alice")
        erasure = _in_shell(lines[-1])["erasure"]
        assert erasure["unreadable_since"] is not None
        dev.call("GET", f"/v1/erasures/{erasure['id']}")
        assert dev.stop(signal.SIGINT) == 0
    log = dev.output.read_text().split("Requests:")[1]
    assert log.count(" ms\n") >= len(lines) + 3
    assert "POST   /v1/sessions/{session_id}/messages" in log
    assert "GET    /v1/subjects/{user_id}" in log
    for secret in ("alice", "Lisbon", "Ines", dev.facts["api_key"], "/sessions/first"):
        assert secret not in log


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_who_stops_make_alone_stops_the_server_too(
    tmp_path: Path, embeddings: EmbeddingServer, number: signal.Signals
) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make")
    state = tmp_path / "state"
    (tmp_path / "Makefile").write_text("dev:\n\t@exec " + shlex.join(_command(state)) + "\n", encoding="utf-8")
    variables = _environment(embeddings, PORT="0", LETHE_LOCAL_TABLES="moto")
    with (tmp_path / "log").open("w") as log:
        started = subprocess.Popen(
            [sys.executable, "-c", HEEDS_INTERRUPTS, make, "-f", "Makefile", "dev"],
            env=variables,
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        wait_until(lambda: bool(dev_facts(state)) or started.poll() is not None)
        assert started.poll() is None, (tmp_path / "log").read_text()
        started.send_signal(number)
        started.wait(PATIENCE)
        wait_until(lambda: not dev_facts(state))
    finally:
        with contextlib.suppress(ProcessLookupError):  # the group is gone, as it should be
            os.killpg(started.pid, signal.SIGKILL)
    assert (state / "tables.json").exists()


def test_a_port_that_is_taken_is_said(tmp_path: Path, embeddings: EmbeddingServer) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        said = _refused(embeddings, tmp_path / "state", PORT=port, LETHE_LOCAL_TABLES="moto")
    assert f"port {port} is taken" in said
    assert "Traceback" not in said


def test_a_second_one_on_the_same_state_is_refused(tmp_path: Path, embeddings: EmbeddingServer) -> None:
    state = tmp_path / "state"
    with _dev(embeddings, state) as dev:
        said = _refused(embeddings, state, PORT="0", FRESH="1")
        assert "running" in said
        assert _texts(dev) == []
        assert dev.stop(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"PORT": "many"}, "PORT"),
        ({"PORT": "70000"}, "PORT"),
        ({"PORT": "0", "LETHE_LOCAL_TABLES": "sqlite"}, "LETHE_LOCAL_TABLES"),
        ({"PORT": "0", "LETHE_LOCAL_TABLES": "moto", "LETHE_CACHE_MEGABYTES": "many"}, "LETHE_CACHE_MEGABYTES"),
        ({"PORT": "0", "LETHE_DYNOXIDE": "/nowhere"}, "LETHE_DYNOXIDE"),
        ({"PORT": "0", "OPENSEARCH": "maybe"}, "OPENSEARCH"),
        ({"PORT": "0", "OPENSEARCH": "1", "LETHE_OPENSEARCH_HEAP": "lots"}, "heap"),
        ({"PORT": "0", "OPENSEARCH": "http://127.0.0.1:9"}, "no OpenSearch answers"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    tmp_path: Path, embeddings: EmbeddingServer, variables: dict[str, str], words: str
) -> None:
    said = _refused(embeddings, tmp_path / "state", **variables)
    assert words in said
    assert "Traceback" not in said


def _refused(embeddings: EmbeddingServer, state: Path, **variables: str) -> str:
    """What it says when it cannot start; its exit status is 1."""
    run = subprocess.run(
        _command(state),
        env=_environment(embeddings, **variables),
        cwd=state.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stderr
