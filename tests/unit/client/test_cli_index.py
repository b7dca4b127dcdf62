"""`lethe index …`: which settings a command works on, what it prints, how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from lethe.domain.identity import Space
from lethe.domain.memory import Memory
from lethe.errors import Unavailable
from lethe.services.embedding import MemoryEmbedder
from lethe.services.reconcile import Findings, Progress, Reconciler
from lethe.services.reembedding import Reembedder
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.memories import FakeMemories, FakeMemoryVectors
from tests.support.makers import memory
from tests.unit.client.command_line import World

SEARCH = {"LETHE_OPENSEARCH_URL": "https://search.test", "LETHE_EMBEDDER": "local", "LETHE_MEMORIES_TABLE": "memories"}
SECOND = {"LETHE_SECOND_EMBEDDER": "openai:m?dimensions=8", "LETHE_SECOND_EMBEDDER_URL": "https://models.test"}


class Compared:
    """A Reconciler that finds what it is told to."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> object:
        def act(progress: Progress) -> Findings:
            self.asked.append(name)
            progress(self.findings)
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
    assert (world.answer()["memories"], world.answer()["divergences"]) == (3, 0)  # type: ignore[index]  # an object
    assert world.index_settings == SEARCH


def test_a_difference_is_a_failure_of_a_check_alone(world: World) -> None:
    comparing(world, Findings(missing=1, mended=1))
    assert [world.run("index", action) for action in ("check", "repair", "rebuild")] == [1, 0, 0]
    comparing(world, Findings(refused=1))
    assert world.run("index", "repair") == 1


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
    assert world.run("--json", "index", "reembed") == 0
    assert world.answer() == {"versions": 2, "embedded": 0, "changed": 0, "fenced": 0}


def test_a_model_that_is_away_is_said_in_words(world: World) -> None:
    embedder = FakeEmbedder(failing=Unavailable("the model does not answer"))
    reembedding(world, [replace(memory("one"), embedding=None)], embedder)
    assert world.run("index", "reembed") == 1
    assert "the model does not answer" in world.err
