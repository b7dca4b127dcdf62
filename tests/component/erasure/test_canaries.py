"""Words that were put into every input: after an erasure they are nowhere, and on the way they were in no log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3

from lethe_local.dynoxide import HOW_TO_GET, find_binary
from lethe_local.opensearch_node import NodeWanted
from lethe_local.stack import LocalStack, StackOptions
from tests.component.api.test_silence import listening
from tests.support.api import ROOT, Api, ApiStack
from tests.support.canaries import (
    AUTHOR,
    CHANGED,
    CONTENT,
    CONTEXT,
    FACT,
    KEPT,
    NOTED,
    QUERY,
    REASON,
    SESSION,
    TEXT,
    TOLD,
    USER,
    VALUE,
    Canaries,
    answers,
    compact,
    executions,
    files_with,
    in_memory,
    none_of,
    stored,
    tell_everything,
)
from tests.support.embedding_servers import EmbeddingServer
from tests.support.real_node import why_no_node
from tests.support.waiting import wait_until

pytestmark = pytest.mark.dynoxide

CACHED = 1
"""Seconds for which a container uses what it has read."""

LEASE = 31.0
"""Seconds after which the laptop's node lets a merge drop what was deleted: docs/opensearch.md."""
ROUNDS = 5
"""A node on a busy machine moves its leases later than it means to."""


@contextmanager
def running(state: Path, opensearch: NodeWanted | None = None) -> Iterator[ApiStack]:
    """A stack whose files nobody else writes, on dynoxide: moto's file is another one."""
    if (find_binary(ROOT) or find_binary(ROOT / ".lethe" / "tools")) is None:
        pytest.skip(f"there is no dynoxide, the strict DynamoDB: {HOW_TO_GET}")
    with EmbeddingServer() as embeddings:
        settings = {
            "LETHE_EMBEDDER": "openai:words?dimensions=48",
            "LETHE_EMBEDDER_URL": embeddings.url + "/v1",
            "LETHE_CACHE_SECONDS": str(CACHED),
        }
        options = StackOptions(ROOT, state, settings=settings, say=print, most_pause=0, opensearch=opensearch)
        with LocalStack.start(options) as local:
            stack = ApiStack(local, embeddings)
            try:
                yield stack
            finally:
                stack.wire.close()


def ended(stack: ApiStack, api: Api, where: str) -> dict[str, Any]:
    """The erasure, whose machine has come to a good end."""
    assert stack.local.wait_until_erased(150)
    erasure: dict[str, Any] = api.get(where).ok()
    assert (erasure["state"], erasure["failure"]) == ("completed", None)
    return erasure


def forget(stack: ApiStack, api: Api, words: Canaries) -> list[str]:
    """Erase the user; everything that is told of it afterwards, the receipt first."""
    body = {"user_id": words[USER], "scope": {"subject": True}, "reason": f"because of {words[REASON]}"}
    where = api.post("/v1/erasures", body).headers["location"]
    ended(stack, api, where)
    trail = api.get("/v1/audit", user_id=words[USER], limit=200)
    trail.ok()
    told = [api.get(f"{where}/receipt"), api.get(where), api.get("/v1/erasures"), trail]
    return [reply.text for reply in told]


def others_come(stack: ApiStack, api: Api) -> None:
    """What the containers read is over its time, and the next request is somebody else's."""
    time.sleep(CACHED + 0.2)
    api.remember("I live in Oslo", "somebody.else")
    for path in ("/v1/recall", "/v1/memories/search"):
        api.post(path, {"user_id": "somebody.else", "query": "Oslo"}).ok()
    stack.embeddings.asked.clear()


def test_nothing_of_a_user_is_left(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = Canaries()
    with listening(capfd) as heard, running(tmp_path) as stack:
        tenant = stack.tenant()
        api = tenant.api("read", "write", "erase", "govern")
        tell_everything(api, words)
        assert words.of(KEPT, stored(stack)) == set(KEPT)
        assert words.of((USER, QUERY), stored(stack)) == set()
        assert f"My {words[TEXT]} is" in answers(stack), "stored answers are unpacked"
        assert in_memory(words.mark), "what is searched for can be found"

        told = forget(stack, api, words)

        assert none_of(words.mark, [stored(stack)]) == []
        assert none_of(words.mark, told) == []
        assert none_of(words.mark, [executions(stack)]) == []
        surfaces = {each["surface"]: each["carries"] for each in json.loads(told[0])["receipt"]["residuals"]}
        assert (surfaces["table_file"], surfaces["process_memory"]) == ("content", "content")
        others_come(stack, api)
        assert in_memory(words.mark) == []
    assert none_of(words.mark, heard) == []
    assert "POST /v1/erasures" in "".join(heard), "the functions' own log lines were heard"
    assert set(files_with(words.mark, tmp_path)) <= {"dynoxide.db", "dynoxide.db-wal"}
    compact(tmp_path / "dynoxide.db")
    assert files_with(words.mark, tmp_path) == {}


def test_nothing_of_a_part_is_left(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = Canaries()
    of_memory, of_session = (TOLD, CHANGED), (CONTENT, AUTHOR, NOTED, TEXT, CONTEXT, VALUE, SESSION)
    with listening(capfd) as heard, running(tmp_path) as stack:
        api = stack.tenant().api("read", "write", "erase", "govern")
        made = tell_everything(api, words)
        told = []
        paths = (f"/v1/memories/{made['beside']}", f"/v1/sessions/{words[SESSION]}")
        for path, gone in zip(paths, (of_memory, of_session), strict=True):
            assert words.of(gone, stored(stack)) == set(gone)
            where = api.delete(path, user_id=words[USER]).headers["location"]
            assert words.of(gone, stored(stack)) == set(), "when the answer arrives"
            ended(stack, api, where)
            assert words.of(gone, stored(stack)) == set()
            told += [api.get(where).text, api.get(f"{where}/receipt").text]
        assert words[FACT] in stored(stack), "what is no part of them stays"
        assert none_of(words.mark, [*told, executions(stack)]) == []
    assert none_of(words.mark, heard) == []
    compact(tmp_path / "dynoxide.db")
    content = (tmp_path / "dynoxide.db").read_bytes().decode("latin-1")
    assert words.of((*of_memory, *of_session), content) == set()
    assert words.of((FACT,), content) == {FACT}


@pytest.mark.opensearch
@pytest.mark.timeout(600)
def test_nothing_of_a_user_is_left_in_the_files_of_the_index(tmp_path: Path) -> None:
    missing = why_no_node()
    if missing is not None:
        pytest.skip(f"there is no OpenSearch node: {missing}")
    words = Canaries()
    with running(tmp_path, NodeWanted(heap="512m")) as stack:
        search = stack.local.search
        assert search is not None
        api = stack.tenant().api("read", "write", "erase", "govern")
        tell_everything(api, words)
        api.remember("I live in Oslo", "somebody.else")
        assert stack.local.wait_until_indexed()
        _post(f"{search.url}/_flush?force=true&wait_if_ongoing=true")
        in_index = _of_index(words, tmp_path)
        assert in_index, "what is searched for can be found"

        told = forget(stack, api, words)

        assert stack.local.wait_until_indexed()
        assert none_of(words.mark, told) == []
        surfaces = {each["surface"]: each["carries"] for each in json.loads(told[0])["receipt"]["residuals"]}
        assert surfaces["index_segments"] == "content"
        stack.local.tick()
        for _ in range(ROUNDS):
            time.sleep(LEASE)
            stack.local.tick()
            wait_until(lambda: not _merges(search.url))
            _post(f"{search.url}/_refresh")  # the files of before go when no search reads them any more
            if not _of_index(words, tmp_path):
                break
        assert _of_index(words, tmp_path) == {}
    assert not [name for name in files_with(words.mark, tmp_path) if not name.startswith("dynoxide.db")]


def _post(url: str) -> None:
    assert urllib3.request("POST", url, timeout=60, retries=False).status == 200


def _merges(url: str) -> bool:
    """Whether a merge that was asked for still runs."""
    answer = urllib3.request("GET", f"{url}/_tasks?actions=indices:admin/forcemerge*", timeout=60, retries=False)
    return bool(answer.json()["nodes"])


def _of_index(words: Canaries, state: Path) -> dict[str, int]:
    return {name: count for name, count in files_with(words.mark, state).items() if not name.startswith("dynoxide")}
