"""`lethe index …`: which settings a command works on, what it prints, how it ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import cast

import pytest

from lethe.domain.identity import Space
from lethe.domain.memory import Memory
from lethe.errors import Unavailable
from lethe.services.embedding import MemoryEmbedder
from lethe.services.reconcile import Findings, Reconciler, Watcher
from lethe.services.reembedding import Reembedder
from lethe_client.cli.progress import Progress
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.memories import FakeMemories, FakeMemoryVectors
from tests.support.makers import memory
from tests.unit.client.command_line import Terminal, World

SEARCH = {"LETHE_OPENSEARCH_URL": "https://search.test", "LETHE_EMBEDDER": "local", "LETHE_MEMORIES_TABLE": "memories"}
SECOND = {"LETHE_SECOND_EMBEDDER": "openai:m?dimensions=8", "LETHE_SECOND_EMBEDDER_URL": "https://models.test"}


class Compared:
    """A Reconciler that finds what it is told to."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> object:
        def act(watcher: Watcher) -> Findings:
            self.asked.append(name)
            watcher(self.findings)
            return self.findings

        return act


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, environment=dict(SEARCH))


def comparing(world: World, findings: Findings) -> Compared:
    compared = Compared(findings)
    world.reconciler = cast(Reconciler, compared)
    return compared


def reembedding(world: World, memories: Sequence[Memory], embedder: FakeEmbedder) -> FakeMemories:
    heads = FakeSubjectHeads()
    store = FakeMemories(heads)
    for number, each in enumerate(memories):
        head = heads.create("acme", f"subject{number}")
        store.add(Space("acme", head.subject, head.epoch), [each])
    world.reembedder = Reembedder(heads, FakeMemoryVectors(store), MemoryEmbedder(embedder), lambda seconds: None)
    return store


@pytest.mark.parametrize("action", ["check", "repair", "rebuild"])
def test_counts_are_printed(world: World, action: str) -> None:
    compared = comparing(world, Findings(memories=3, entries=3))
    assert world.run("--json", "index", action) == 0
    assert compared.asked == [action]
    assert (world.answer()["memories"], world.answer()["found"]) == (3, 0)  # type: ignore[index]  # an object
    assert world.index_settings == SEARCH


def test_a_difference_is_a_failure_of_a_check_alone(world: World) -> None:
    comparing(world, Findings(missing=1, left=1))
    assert world.run("index", "check") == 1
    assert "not in step with the table: 1 left" in world.err
    comparing(world, Findings(missing=1, mended=1))
    assert [world.run("index", action) for action in ("repair", "rebuild")] == [0, 0]


def test_what_was_found_and_what_is_left_are_two_counts(world: World) -> None:
    comparing(
        world,
        Findings(memories=5, entries=4, missing=2, stale=1, orphans=1, fenced=1, mended=3, refused=1, later=1, left=2),
    )
    assert world.run("--json", "index", "repair") == 1
    assert world.answer() == {
        "memories": 5, "entries": 4, "missing": 2, "stale": 1, "orphans": 1, "fenced": 1, "found": 5,
        "mended": 3, "refused": 1, "later": 1, "left": 2,
    }  # fmt: skip
    assert "2 left; 1 refused" in world.err
    assert "1 later: the index still remembers that these entries were deleted" in world.err
    assert "run this again after a minute" in world.err
    comparing(world, Findings(memories=5, entries=5, stale=5, left=5))
    assert world.run("--json", "index", "check") == 1
    assert world.answer() == {
        "memories": 5, "entries": 5, "missing": 0, "stale": 5, "orphans": 0, "fenced": 0, "found": 5, "left": 5
    }  # fmt: skip


@pytest.mark.parametrize(
    ("stream", "shown"),
    [(StringIO(), "3 seen\n5 seen\n"), (Terminal(), "\r1 seen\x1b[K\r3 seen\x1b[K\r4 seen\x1b[K\r5 seen\x1b[K\n")],
    ids=["no terminal", "terminal"],
)
def test_progress_is_shown_on_one_line_of_a_terminal_and_every_second_elsewhere(stream: StringIO, shown: str) -> None:
    now = [0.0]
    progress = Progress(stream, lambda: now[0])
    for moment, seen in ((0.5, 1), (1.0, 3), (1.9, 4), (2.1, 5)):
        now[0] = moment
        progress.show(f"{seen} seen")
    progress.end()
    assert stream.getvalue() == shown


@pytest.mark.parametrize(
    ("findings", "shown"),
    [
        (Findings(memories=4, entries=2), "\r4 memories, 2 entries\x1b[K\n"),
        (
            Findings(memories=5, entries=2, later=1),
            "\r5 memories, 2 entries, 1 to be tried again in a moment\x1b[K\n",
        ),
    ],
)
def test_a_terminal_shows_how_far_a_comparison_is(world: World, findings: Findings, shown: str) -> None:
    world.err_stream = Terminal
    comparing(world, findings)
    assert world.run("index", "repair") == 0
    assert world.err == shown


def test_no_stack_and_a_stack_without_an_index_are_told_apart(world: World) -> None:
    del world.environment["LETHE_OPENSEARCH_URL"]
    for action in ("check", "repair", "rebuild"):
        assert world.run("index", action) == 2
        assert "no stack runs here: start the laptop stack with `make dev`" in world.err
    (world.folder / ".lethe").mkdir()
    facts = {"url": "http://127.0.0.1:1", "api_key": "lk_a_b", "environment": {"LETHE_SEARCH_ENGINE": "scan"}}
    (world.folder / ".lethe" / "dev.json").write_text(json.dumps(facts))
    for action in ("check", "repair", "rebuild"):
        assert world.run("index", action) == 2
        assert "the stack searches by scan; on a laptop start it with `make dev OPENSEARCH=1`" in world.err
        assert "no stack runs here" not in world.err


def test_the_second_index_is_that_of_the_second_model(world: World) -> None:
    comparing(world, Findings())
    assert world.run("index", "rebuild", "--second") == 2
    assert "no second embedder" in world.err
    world.environment |= SECOND
    assert world.run("index", "rebuild", "--second") == 0
    assert world.index_settings == {
        **SEARCH,
        "LETHE_EMBEDDER": SECOND["LETHE_SECOND_EMBEDDER"],
        "LETHE_EMBEDDER_URL": SECOND["LETHE_SECOND_EMBEDDER_URL"],
        "LETHE_SECOND_EMBEDDER": "local",
        "LETHE_SECOND_EMBEDDER_URL": "",
    }


def test_a_stack_without_an_index_reembeds_too(world: World) -> None:
    del world.environment["LETHE_OPENSEARCH_URL"]
    assert world.run("index", "check") == 2
    embedder = FakeEmbedder(32, version="next")
    store = reembedding(world, [memory("one"), memory("two")], embedder)
    assert world.run("--json", "index", "reembed") == 0
    assert world.answer() == {"versions": 2, "embedded": 2, "changed": 0, "fenced": 0}
    assert {held.memory.embedding.model for held in store.versions_of_all() if held.memory.embedding} == {
        embedder.model.label
    }
    world.err_stream = Terminal
    assert world.run("--json", "index", "reembed") == 0
    assert world.answer() == {"versions": 2, "embedded": 0, "changed": 0, "fenced": 0}
    assert world.err == "\r2 versions of memories, 0 embedded\x1b[K\n"


def test_a_model_that_is_away_is_said_in_words(world: World) -> None:
    embedder = FakeEmbedder(failing=Unavailable("the model does not answer"))
    reembedding(world, [replace(memory("one"), embedding=None)], embedder)
    assert world.run("index", "reembed") == 1
    assert "the model does not answer" in world.err
