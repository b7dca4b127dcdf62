"""The whole stack on a real OpenSearch: what is written reaches the index, whatever happens to stream and process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import urllib3

from lethe_local.opensearch_node import NodeWanted
from lethe_local.stack import LocalStack, StackOptions
from lethe_local.stream_modes import StreamMode
from tests.support.api import ROOT, Api, ApiStack
from tests.support.embedding_servers import EmbeddingServer
from tests.support.real_node import why_no_node
from tests.support.waiting import PATIENCE, dev_facts, process_runs, wait_until

pytestmark = [pytest.mark.opensearch, pytest.mark.timeout(600)]


@pytest.fixture
def runs(tmp_path: Path, opensearch: str) -> Iterator[Runs]:
    """A stack on the node that the tests share, with an index of its own: the model's name is this test's."""
    with EmbeddingServer() as embeddings:
        settings = _settings(embeddings, f"words-{os.getpid()}-{time.monotonic_ns()}")
        wanted = NodeWanted(url=opensearch)
        yield Runs(StackOptions(ROOT, tmp_path / "state", settings=settings, say=print, opensearch=wanted), embeddings)


def _settings(embeddings: EmbeddingServer, model: str) -> dict[str, str]:
    return {"LETHE_EMBEDDER": f"openai:{model}?dimensions=48", "LETHE_EMBEDDER_URL": embeddings.url + "/v1"}


class Runs:
    """One state folder, run again and again, with one key."""

    def __init__(self, options: StackOptions, embeddings: EmbeddingServer) -> None:
        self.options = options
        self._embeddings = embeddings
        self._presented: str | None = None

    @contextmanager
    def run(self, options: StackOptions | None = None) -> Iterator[tuple[ApiStack, Api]]:
        with LocalStack.start(options or self.options) as local:
            stack = ApiStack(local, self._embeddings)
            try:
                if self._presented is None:
                    stack.access.create_tenant("acme")
                    _, self._presented = stack.access.create_key("acme", ("read", "write"))
                yield stack, Api(stack.wire, self._presented)
            finally:
                stack.wire.close()


def _entries(stack: ApiStack) -> list[str]:
    """The ids of the memories that the index shows, after a refresh."""
    search = stack.local.search
    assert search is not None
    alias = f"{search.url}/lethe-memories"
    urllib3.request("POST", f"{alias}/_refresh", retries=False)
    body = {"size": 1000, "query": {"term": {"entry": "memory"}}}
    answer = urllib3.request("POST", f"{alias}/_search", json=body, retries=False).json()
    return sorted(hit["_source"]["memory_id"] for hit in answer["hits"]["hits"])


def _found(api: Api, query: str) -> tuple[list[str], bool]:
    body = api.post("/v1/memories/search", {"user_id": "ann", "query": query, "threshold": 0}).ok()
    return [memory["id"] for memory in body["memories"]], body["degraded"]


TEXTS = [f"The {animal} of my neighbour number {number} is fond of {food}." for number, (animal, food) in enumerate(
    [("parrot", "grapes"), ("tortoise", "lettuce"), ("hamster", "walnuts"), ("donkey", "carrots")] * 5
)]  # fmt: skip


def test_writes_changes_and_deletions_reach_the_index(runs: Runs) -> None:
    with runs.run() as (stack, api):
        assert stack.stranger.get("/v1/health").ok()["engine"] == "opensearch"
        ids = [api.remember(text)["id"] for text in TEXTS]
        assert stack.local.wait_until_indexed(PATIENCE)
        assert _entries(stack) == sorted(ids)
        found, degraded = _found(api, "Who is fond of lettuce, which tortoise?")
        assert not degraded
        assert found[0] in ids[1::4]
        for memory_id in ids[:5]:
            api.delete(f"/v1/memories/{memory_id}", user_id="ann").ok(204)
        assert stack.local.wait_until_indexed(PATIENCE)
        assert _entries(stack) == sorted(ids[5:])
    with runs.run() as (stack, api):
        more = api.remember("The heron of my neighbour is fond of trout.")["id"]
        assert _found(api, "What is the heron fond of?")[0][0] == more
        assert stack.local.wait_until_indexed(PATIENCE)
        assert _entries(stack) == sorted([*ids[5:], more])


def test_copies_in_any_order_end_in_the_same_index(runs: Runs) -> None:
    hostile = replace(runs.options, stream_mode=StreamMode(copies=3, shards=4, seed=7))
    with runs.run(hostile) as (stack, api):
        ids = [api.remember(text)["id"] for text in TEXTS]
        for memory_id in ids[::3]:
            api.delete(f"/v1/memories/{memory_id}", user_id="ann").ok(204)
        assert stack.local.wait_until_indexed(PATIENCE)
        assert _entries(stack) == sorted(set(ids) - set(ids[::3]))
        found, degraded = _found(api, "hamster walnuts")
        assert not degraded
        assert found
        assert set(found) <= set(ids) - set(ids[::3])


def test_a_folder_that_had_no_index_and_another_model_fill_one(runs: Runs) -> None:
    without = replace(runs.options, opensearch=None)
    with runs.run(without) as (stack, api):
        assert stack.stranger.get("/v1/health").ok()["engine"] == "scan"
        ids = [api.remember(text)["id"] for text in TEXTS[:4]]
        assert stack.local.wait_until_indexed(1.0)
    with runs.run() as (stack, api):
        assert _entries(stack) == sorted(ids)
        assert not _found(api, "parrot grapes")[1]
        ids.append(api.remember("The heron of my neighbour is fond of trout.")["id"])
        assert stack.local.wait_until_indexed(PATIENCE)
        assert _entries(stack) == sorted(ids)
    other = {
        **runs.options.settings,
        "LETHE_EMBEDDER": runs.options.settings["LETHE_EMBEDDER"].replace("words-", "other-"),
    }
    with runs.run(replace(runs.options, settings=other)) as (stack, api):
        assert _entries(stack) == sorted(ids)
        ids.append(api.remember("The stork of my neighbour is fond of frogs.")["id"])
        assert stack.local.wait_until_indexed(PATIENCE)
    with runs.run() as (stack, api):
        assert _entries(stack) == sorted(ids)


def test_an_opensearch_that_is_not_there_is_said(runs: Runs) -> None:
    with pytest.raises(RuntimeError, match="no OpenSearch answers"):
        LocalStack.start(replace(runs.options, opensearch=NodeWanted(url="http://127.0.0.1:9")))


@contextmanager
def _dev(state: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    output = state.parent / "log"
    with output.open("ab") as log:
        command = [sys.executable, "-m", "lethe_local.dev", "--root", str(ROOT), "--state-dir", str(state)]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        wait_until(lambda: dev_facts(state).get("pid") == process.pid or process.poll() is not None)
        assert process.poll() is None, output.read_text()
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_make_dev_runs_a_node_of_its_own_and_finds_it_again_after_a_kill(tmp_path: Path) -> None:
    missing = why_no_node()
    if missing is not None:
        pytest.skip(f"there is no OpenSearch node: {missing}")
    state = tmp_path / "state"
    with EmbeddingServer() as embeddings:
        path = os.pathsep.join(str(ROOT / folder) for folder in ("shared", "local", "client"))
        around = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        more = {"PYTHONPATH": path, "PORT": "0", "OPENSEARCH": "1", "LETHE_OPENSEARCH_HEAP": "512m"}
        environment = {**around, **more, **_settings(embeddings, "words")}
        with _dev(state, environment) as process:
            assert "search on OpenSearch 2." in (tmp_path / "log").read_text()
            facts = dev_facts(state)
            assert urllib3.request("GET", f"{facts['url']}/v1/health").json()["engine"] == "opensearch"
            node, answer = _node_pid(state), _remember(facts, "I keep two parrots.")
            process.kill()
            process.wait(PATIENCE)
            assert process_runs(node)
        with _dev(state, environment) as process:
            assert not process_runs(node)
            assert _node_pid(state) != node
            body = {"user_id": "ann", "query": "How many parrots do I keep?", "threshold": 0}
            found = _post(dev_facts(state), "/v1/memories/search", body)
            assert ([memory["id"] for memory in found["memories"]], found["degraded"]) == ([answer], False)
            node, url = _node_pid(state), dev_facts(state)["environment"]["LETHE_OPENSEARCH_URL"]
            os.kill(node, signal.SIGKILL)
            wait_until(lambda: "OpenSearch answers again" in (tmp_path / "log").read_text())
            assert (tmp_path / "log").read_text().count("OpenSearch ended by itself: starting it again") == 1
            assert _node_pid(state) != node
            assert urllib3.request("GET", url).status == 200
            wait_until(lambda: not _post(dev_facts(state), "/v1/memories/search", body)["degraded"])
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
            assert not process_runs(_node_pid(state))


def _node_pid(state: Path) -> int:
    return int((state / "opensearch.pid").read_text())


def _post(facts: Mapping[str, Any], path: str, body: Mapping[str, object]) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {facts['api_key']}"}
    answer = urllib3.request("POST", facts["url"] + path, json=body, headers=headers, timeout=60, retries=False)
    assert answer.status < 300, answer.data
    return cast("dict[str, Any]", answer.json())


def _remember(facts: Mapping[str, Any], text: str) -> str:
    result = _post(facts, "/v1/memories", {"user_id": "ann", "text": text})["results"][0]
    return str(result["memory"]["id"])
