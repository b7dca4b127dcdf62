"""`lethe remember | search | recall | memories`: over HTTP, for a person and as JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lethe_client.cli.output import display_width, shorten
from tests.unit.client.command_line import World
from tests.unit.client.samples import memory, problem
from tests.unit.client.stub_service import Reply, StubService

FOUND = {"memories": [memory(score=0.91)], "outcome": "found", "degraded": False}
RECALLED: dict[str, object] = {
    "context": "<memory>…</memory>",
    "memories": [],
    "entities": [],
    "summary": None,
    "messages": [],
    "route": {"tiers": [], "reasons": {}, "summary_due": False},
    "outcome": "found",
    "degraded": False,
    "tokens": 9,
}


def world_for(stub: StubService, folder: Path) -> World:
    return World(folder, {"LETHE_URL": stub.url, "LETHE_API_KEY": "lk_env_key"})


def test_remember(tmp_path: Path) -> None:
    result = {"event": "stored", "reason": "stated_by_caller", "detail": "", "memory": memory(), "replaces": []}
    reply = Reply(201, {"results": [result], "notice": "Remembered: I moved to Lisbon."})
    with StubService(reply, reply) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("remember", "alice", "I moved to Lisbon.") == 0
        assert world.out == "stored (stated_by_caller)  mem_1\nRemembered: I moved to Lisbon.\n"
        assert world.run("--json", "remember", "alice", "I moved to Lisbon.") == 0
        assert json.loads(world.out)["results"][0]["event"] == "stored"
    assert stub.asked[0].body == {"user_id": "alice", "text": "I moved to Lisbon."}
    assert stub.asked[0].headers["Authorization"] == "Bearer lk_env_key"


def test_search_for_a_person(tmp_path: Path) -> None:
    with StubService(Reply(200, FOUND)) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("search", "alice", "where?", "--top-k", "3", "--threshold", "0.2") == 0
    assert world.out.splitlines() == [
        "score  date        text",
        "0.91   2026-05-03  I moved to Lisbon.",
    ]
    assert stub.asked[0].body == {"user_id": "alice", "query": "where?", "top_k": 3, "threshold": 0.2}


def test_search_explains(tmp_path: Path) -> None:
    candidate = {
        "id": "mem_2",
        "text": "I like figs.",
        "relevance": 0.31,
        "score": 0.33,
        "kept": False,
        "legs": {"words": {"rank": None, "score": 0.0}, "vector": {"rank": 4, "score": 0.2}},
        "features": {},
        "decisions": [
            {"stage": "gate", "kept": False, "reason": "below_threshold"},
            {"stage": "top_k", "kept": True, "reason": "among_best"},
        ],
    }
    reply = Reply(200, {**FOUND, "explain": [candidate]})
    with StubService(reply, reply) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("search", "alice", "where?", "--explain") == 0
        assert world.out.splitlines()[-1].split() == "0.31 - 4 gate below_threshold I like figs.".split()
        assert world.run("--json", "search", "alice", "where?", "--explain") == 0
        assert json.loads(world.out)["explain"] == [candidate]
    assert stub.asked[0].body["explain"] is True


@pytest.mark.parametrize("outcome", ["nothing_stored", "nothing_relevant"])
def test_search_tells_nothing_stored_from_nothing_relevant(tmp_path: Path, outcome: str) -> None:
    with StubService(Reply(200, {"memories": [], "outcome": outcome, "degraded": False})) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("search", "alice", "where?") == 0
    assert world.out == outcome.replace("_", " ") + "\n"


def test_recall_prints_the_block(tmp_path: Path) -> None:
    with StubService(Reply(200, RECALLED), Reply(200, RECALLED)) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("recall", "alice", "where?") == 0
        assert world.out == "<memory>…</memory>\n"
        assert world.run("recall", "alice", "where?", "--json") == 0
        assert json.loads(world.out)["tokens"] == 9


def test_memories_pages_up_to_its_limit(tmp_path: Path) -> None:
    pages = [
        Reply(200, {"memories": [memory("mem_1"), memory("mem_2", text="我搬到了杭州。")], "next_cursor": "c1"}),
        Reply(200, {"memories": [memory("mem_3"), memory("mem_4")], "next_cursor": "c2"}),
    ]
    with StubService(*pages) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("memories", "alice", "--limit", "3") == 0
    lines = world.out.splitlines()
    assert [line.split()[-1] for line in lines] == ["id", "mem_1", "mem_2", "mem_3"]
    assert len({display_width(line) for line in lines[1:]}) == 1
    assert len(stub.asked) == 2


def test_the_key_of_the_laptop_stack_is_used(tmp_path: Path) -> None:
    with StubService(Reply(200, {"memories": [], "next_cursor": None})) as stub:
        world = World(tmp_path)
        world.start_laptop(stub.url)
        assert world.run("memories", "alice") == 0
    assert world.out == "nothing stored\n"
    assert stub.asked[0].headers["Authorization"] == "Bearer lk_dev_key"


def test_a_refusal_is_status_1(tmp_path: Path) -> None:
    with StubService(Reply(403, problem(403, "forbidden"))) as stub:
        world = world_for(stub, tmp_path)
        assert world.run("memories", "mallory") == 1
    assert (world.out, world.err) == ("", "lethe: 403 forbidden: this is forbidden\n")


@pytest.mark.parametrize(
    "environment",
    [{}, {"LETHE_URL": "http://127.0.0.1:9"}, {"LETHE_API_KEY": "lk"}, {"LETHE_URL": "x", "LETHE_API_KEY": "k"}],
)
def test_no_usable_address_is_status_2(tmp_path: Path, environment: dict[str, str]) -> None:
    world = World(tmp_path, environment)
    assert world.run("memories", "alice") == 2
    assert world.err.startswith("lethe: ")


@pytest.mark.parametrize(
    ("text", "width", "shortened"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("杭州东站", 8, "杭州东站"),
        ("杭州东站", 7, "杭州东…"),
        ("a\n b", 5, "a b"),
    ],
)
def test_texts_are_shortened_to_columns(text: str, width: int, shortened: str) -> None:
    assert shorten(text, width) == shortened
    assert display_width(shortened) <= width


def test_a_reader_that_leaves_is_no_traceback(tmp_path: Path) -> None:
    many = [memory(f"mem_{number}", text="I like figs. " * 40) for number in range(200)]
    with StubService(Reply(200, {"memories": many, "next_cursor": None})) as stub:
        environment = {**os.environ, "LETHE_URL": stub.url, "LETHE_API_KEY": "lk_a_b"}
        command = [sys.executable, "-c", "import sys; from lethe_client.cli import main; sys.exit(main())"]
        process = subprocess.Popen(
            [*command, "--json", "memories", "alice", "--limit", "200"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=tmp_path,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        complaint = process.stderr.read()
        process.stderr.close()
        assert process.wait() == 1
    assert complaint == b""
