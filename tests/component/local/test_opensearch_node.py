"""A real node as a process: what it needs, how it starts and ends, and what is kept; and the stack that runs on it."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3
import yaml

from lethe.domain.json_values import JsonObject
from lethe_local.node_watch import MOST_STARTS, WITHIN_SECONDS, NodeWatch
from lethe_local.opensearch_node import (
    SOURCE,
    NodeWanted,
    OpenSearchNode,
    main,
    node_wanted,
    version_at,
    what_is_missing,
)
from lethe_local.processes import end_leftover, telling
from tests.support.real_node import why_no_node
from tests.support.waiting import PATIENCE, process_runs, wait_until

ROOT = Path(__file__).resolve().parents[3]


def _tool(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(stat.S_IRWXU)


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tools))
    assert "there is no java" in str(what_is_missing())
    _tool(tools, "java", "echo 'openjdk version \"11.0.2\" 2019-01-15' >&2")
    assert "version 11" in str(what_is_missing())
    _tool(tools, "java", "echo 'java version \"1.8.0_391\"' >&2")
    assert "version 8" in str(what_is_missing())
    _tool(tools, "java", "echo nonsense >&2")
    assert "version unknown" in str(what_is_missing())
    _tool(tools, "java", "echo 'openjdk version \"21.0.1\" 2023-10-17' >&2")
    assert "there is no mvn" in str(what_is_missing())
    with pytest.raises(RuntimeError, match="there is no mvn"):
        OpenSearchNode.start(tmp_path / "home")
    _tool(tools, "mvn", "exit 1")
    assert what_is_missing() is None
    _tool(tmp_path / "jdk", "java", "")
    _tool(tmp_path / "jdk" / "bin", "java", "echo 'openjdk version \"11\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert "version 11" in str(what_is_missing())


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({}, None),
        ({"OPENSEARCH": "0"}, None),
        ({"OPENSEARCH": "1"}, NodeWanted()),
        ({"OPENSEARCH": "yes", "LETHE_OPENSEARCH_HEAP": "2g"}, NodeWanted(heap="2g")),
        ({"OPENSEARCH": "http://127.0.0.1:9200/"}, NodeWanted("http://127.0.0.1:9200")),
    ],
)
def test_what_the_user_asks_for(asked: dict[str, str], wanted: NodeWanted | None) -> None:
    assert node_wanted(asked) == wanted


@pytest.mark.parametrize("asked", ["maybe", "127.0.0.1:9200", "https://"])
def test_what_makes_no_sense_is_refused(asked: str) -> None:
    with pytest.raises(ValueError, match="OPENSEARCH"):
        node_wanted({"OPENSEARCH": asked})


def test_a_heap_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="heap"):
        OpenSearchNode.start(tmp_path, heap="lots -XX:+Exit")


def test_nobody_answers() -> None:
    with pytest.raises(RuntimeError, match="no OpenSearch answers"):
        version_at("http://127.0.0.1:9")


def test_docker_runs_the_same_version() -> None:
    pom = (SOURCE / "pom.xml").read_text(encoding="utf-8")
    version = re.search(r"<opensearch\.version>(.+?)<", pom)
    assert version is not None
    service = yaml.safe_load((SOURCE / "compose.yaml").read_text(encoding="utf-8"))["services"]["opensearch"]
    assert service["image"] == f"opensearchproject/opensearch:{version[1]}"
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["environment"]["action.auto_create_index"] == "false"


def test_a_process_that_only_has_the_number_is_left_alone(tmp_path: Path) -> None:
    pid_file = tmp_path / "node.pid"
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        pid_file.write_text(str(other.pid))
        end_leftover(pid_file, tmp_path / "data")
        assert other.poll() is None
        assert not pid_file.exists()
        other.kill()


def test_whoever_waits_hears_of_it() -> None:
    said: list[str] = []
    with telling(said.append, "waiting for OpenSearch", every=0.02):
        wait_until(lambda: len(said) >= 3)
    count = len(said)
    assert said[:3] == [f"still waiting for OpenSearch, {seconds} s" for seconds in ("0.02", "0.04", "0.06")]
    with telling(said.append, "waiting for OpenSearch"):
        pass
    assert len(said) == count


@pytest.mark.parametrize("port", ["abc", "70000", "-1", "1.5", "٩٢٠٠", "9_200", "99999999999"])
def test_a_port_that_makes_no_sense_is_refused_in_words(
    port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # this process keeps its own handlers
    monkeypatch.delenv("MAKELEVEL", raising=False)
    monkeypatch.setenv("PORT", port)
    assert main([]) == 1
    told = capsys.readouterr()
    assert told.err == "make opensearch: PORT must be a port number: 0 to 65535, and 0 takes a free one\n"


class Falling:
    """A node that ends whenever it is looked at, and fails to start as often as it is told."""

    def __init__(self, failures: int = 0, up_for: int = 0) -> None:
        self.failures = failures
        self.up_for = up_for
        self.left = 0
        self.starts = 0

    @property
    def runs(self) -> bool:
        self.left -= 1
        return self.left >= 0

    def restart(self, cancelled: Callable[[], bool]) -> None:
        self.starts += 1
        if self.starts <= self.failures:
            raise RuntimeError("no memory")
        self.left = self.up_for


def test_a_node_that_ends_again_and_again_is_given_up_in_words() -> None:
    node, said = Falling(failures=1), list[str]()
    watch = NodeWatch(node, said.append, look_seconds=0.001, seconds=lambda: 0.0)
    watch.start()
    wait_until(lambda: any("is not started again" in line for line in said))
    watch.stop()
    assert node.starts == MOST_STARTS
    assert [line.partition(":")[0] for line in said[:4]] == [
        "OpenSearch ended by itself", "OpenSearch did not come up", "OpenSearch ended by itself",
        "OpenSearch answers again",
    ]  # fmt: skip
    assert said[1] == "OpenSearch did not come up: no memory"


def test_a_node_that_ends_now_and_then_is_always_started_again() -> None:
    node, said, now = Falling(), list[str](), [0.0]

    def seconds() -> float:
        now[0] += WITHIN_SECONDS / MOST_STARTS + 1
        return now[0]

    watch = NodeWatch(node, said.append, look_seconds=0.001, seconds=seconds)
    watch.start()
    wait_until(lambda: node.starts > 3 * MOST_STARTS)
    watch.stop()
    assert not any("is not started again" in line for line in said)


@pytest.fixture
def can_run() -> None:
    missing = why_no_node()
    if missing is not None:
        pytest.skip(f"there is no OpenSearch node: {missing}")


@contextmanager
def _node(home: Path, port: int = 0) -> Iterator[OpenSearchNode]:
    node = OpenSearchNode.start(home, port, heap="512m", say=print)
    try:
        yield node
    finally:
        node.stop()


def _call(method: str, url: str, body: JsonObject | None = None, timeout: float = 30.0) -> urllib3.BaseHTTPResponse:
    return urllib3.request(method, url, json=body, timeout=timeout, retries=False)


@pytest.mark.opensearch
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("can_run")
def test_a_node_keeps_what_it_acknowledged_over_stops_kills_and_pauses(tmp_path: Path) -> None:
    home = tmp_path / "node"
    with _node(home) as node:
        assert version_at(node.url).startswith("2.")
        assert _call("PUT", f"{node.url}/notes").status == 200
        assert _call("PUT", f"{node.url}/notes/_doc/1", {"text": "kept"}).status == 201
        assert _call("POST", f"{node.url}/unknown/_doc", {"a": 1}).status == 404
        with pytest.raises(RuntimeError, match="another OpenSearch node"):
            OpenSearchNode.start(home)
        node.pause()
        with pytest.raises(urllib3.exceptions.TimeoutError):
            _call("GET", node.url, timeout=0.5)
        node.resume()
        assert _call("GET", node.url).status == 200
        os.kill(node.pid, signal.SIGKILL)
        wait_until(lambda: not node.runs)
    node.stop()
    port = int(node.url.rpartition(":")[2])
    with _node(home, port) as node:
        assert node.url.endswith(f":{port}")
        assert _call("GET", f"{node.url}/notes/_doc/1").json()["_source"] == {"text": "kept"}
        node.pause()
    assert not process_runs(node.pid)


@pytest.mark.opensearch
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("can_run")
def test_a_node_that_dies_is_started_again_on_the_same_port_and_data(tmp_path: Path) -> None:
    said: list[str] = []
    with _node(tmp_path / "node") as node:
        watch = NodeWatch(node, said.append)
        watch.start()
        try:
            url, pid = node.url, node.pid
            assert _call("PUT", f"{url}/notes").status == 200
            assert _call("PUT", f"{url}/notes/_doc/1", {"text": "kept"}).status == 201
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: "OpenSearch answers again" in said)
            assert (node.url, node.runs) == (url, True)
            assert node.pid != pid
            assert (tmp_path / "node.pid").read_text() == str(node.pid)
            assert _call("GET", f"{url}/notes/_doc/1").json()["_source"] == {"text": "kept"}
            os.kill(node.pid, signal.SIGKILL)
            wait_until(lambda: sum("ended by itself" in line for line in said) == 2)
        finally:
            watch.stop()
        assert len(said) == 3, "who stops it meanwhile hears of no failure"
    assert not process_runs(node.pid)


@pytest.mark.opensearch
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("can_run")
def test_a_port_that_is_taken_and_a_node_left_behind(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from lethe_local.opensearch_node import OpenSearchNode;"
        "node = OpenSearchNode.start(Path(sys.argv[1]), heap='512m'); print(node.pid, node.url, flush=True);"
        "os._exit(0)"
    )
    home = tmp_path / "node"
    killed = subprocess.run(
        [sys.executable, "-c", script, str(home)], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    pid, url = killed.stdout.split()
    assert process_runs(int(pid))
    with pytest.raises(RuntimeError, match="Address already in use"):
        OpenSearchNode.start(tmp_path / "other", int(url.rpartition(":")[2]), heap="512m")
    with _node(home) as node:
        wait_until(lambda: not process_runs(int(pid)))
        assert _call("GET", node.url).status == 200
