"""Search indexes while one model takes the other's place: two, each searched by functions of its own model."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, replace

import pytest

from lethe.adapters.opensearch.administration import IndexAdministration
from lethe.adapters.opensearch.engine import OpenSearchIndex
from lethe.adapters.opensearch.two_indexes import TwoIndexes
from lethe.adapters.opensearch.writer import OpenSearchWriter
from lethe.domain.embedding import EmbeddingModel
from lethe.domain.identity import Space
from lethe.domain.indexing import Mark, Outcome, Put, Remove
from lethe.domain.memory import Embedding, Memory, MemoryFilter
from lethe.domain.search import SearchQuery
from lethe.ports import IndexWriter, SearchResult
from lethe.services.embedding import MemoryEmbedder
from lethe.services.reconcile import Reconciler
from lethe.services.reembedding import Reembedder
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.memories import FakeMemoryTable, FakeMemoryVectors
from tests.support.search_worlds import EMBEDDER, PATIENT_SECONDS, World, entries_of, texts

NEW = FakeEmbedder(96, version="new")
OLDEST = EmbeddingModel("fake/words", "oldest", 32)


@dataclass
class Change:
    """A world whose index is the old model's, and what a change needs beside."""

    world: World
    threads: Executor

    def indexes(self, model: EmbeddingModel, beside: EmbeddingModel | None = None) -> IndexAdministration:
        assert self.world.on is not None
        return IndexAdministration(self.world.on.cluster, self.world.on.alias, model, beside=beside)

    def writer(self, model: EmbeddingModel) -> OpenSearchWriter:
        assert self.world.on is not None
        return OpenSearchWriter(
            self.world.on.cluster, self.indexes(model).name, model.label, self.world.clock, self.world.clock.pass_by
        )

    def rebuild(self, model: EmbeddingModel, beside: EmbeddingModel | None) -> None:
        world = self.world
        table, indexes = FakeMemoryTable(world.memories), self.indexes(model, beside)
        reconciler = Reconciler(
            world.heads, world.memories, table, self.writer(model), indexes, world.clock, PATIENT_SECONDS
        )
        reconciler.rebuild(lambda findings: None)

    def reembed(self, *embedders: FakeEmbedder) -> int:
        vectors = FakeMemoryVectors(self.world.memories)
        return (
            Reembedder(self.world.heads, vectors, MemoryEmbedder(*embedders), self.world.clock.pass_by)
            .run(lambda done: None)
            .embedded
        )

    def ask(self, embedder: FakeEmbedder, space: Space, question: str) -> SearchResult:
        """What a recall function of this model answers."""
        world = self.world
        assert world.on is not None
        searched = self.indexes(embedder.model).searched
        engine = OpenSearchIndex(world.memories, world.on.cluster, searched, world.scan, self.threads, PATIENT_SECONDS)
        vector = Embedding(embedder.model.label, embedder.embed([question], "query")[0])
        now = world.clock.now()
        return engine.search(world.opened(space), SearchQuery(question, vector), MemoryFilter(), now, 5)

    def follow(self, writer: IndexWriter, space: Space, memories: tuple[Memory, ...]) -> tuple[Outcome, ...]:
        """What the indexer does with the stream's records of these memories, and with their mark."""
        outcomes = writer.apply([Put(space, each) for each in memories], PATIENT_SECONDS)
        written = self.world.opened(space).written
        assert written is not None
        writer.apply([Mark(space, written, self.world.clock.now())], PATIENT_SECONDS)
        return outcomes


@pytest.fixture
def change(faked: World, search_threads: Executor) -> Change:
    return Change(faked, search_threads)


def vectors_shown(change: Change, model: EmbeddingModel) -> int:
    """How many entries of a model's index have a vector."""
    assert change.world.on is not None
    assert change.world.on.fake is not None
    index = change.world.on.fake.indexes[change.indexes(model).name + "-index"]
    visible = [document for shard in index.shards for document in shard.visible.values()]
    return sum("embedding" in document.source for document in visible)


def test_a_change_of_models_leaves_no_reader_without_a_whole_index(change: Change) -> None:
    """As docs/models.md tells it: both are written, the vectors, the second index, the exchange, the end."""
    world = change.world
    space = world.subject()
    world.say(space, *(f"fact number {n} of many" for n in range(150)), "Ann plays the cello")
    world.catch_up()
    world.clock.pass_by(600)
    question = "Who plays the cello?"

    def whole(embedder: FakeEmbedder) -> bool:
        found = change.ask(embedder, space, question)
        return (texts(found)[0], found.degraded, found.stored) == ("Ann plays the cello", False, len(all_of_it()))

    def all_of_it() -> tuple[Memory, ...]:
        return world.memories.all(space)

    assert whole(EMBEDDER)
    assert change.reembed(EMBEDDER, NEW) == 151
    assert whole(EMBEDDER)
    change.rebuild(NEW.model, beside=EMBEDDER.model)
    world.clock.pass_by(60)
    assert vectors_shown(change, NEW.model) == 151
    assert whole(EMBEDDER)
    assert whole(NEW)

    both = TwoIndexes(change.writer(EMBEDDER.model), change.writer(NEW.model))
    for text in ("Ben plays the horn", "Cleo paints"):
        memory = world.memory(text)
        (embedded,) = MemoryEmbedder(EMBEDDER, NEW).embedded([memory])
        world.add(space, embedded)
        assert change.follow(both, space, (embedded,)) == (Outcome.APPLIED,)
        world.show()
        world.clock.pass_by(60)
        assert whole(EMBEDDER)
        assert whole(NEW)

    assert change.reembed(NEW) == 153
    change.rebuild(NEW.model, beside=None)
    world.clock.pass_by(60)
    assert whole(NEW)
    assert world.on is not None
    assert not world.on.cluster.exists(change.indexes(EMBEDDER.model).name), "what is erased must not stay there"


def test_a_second_index_that_is_not_there_holds_nobody_up(change: Change) -> None:
    world = change.world
    space = world.subject()
    (said,) = world.say(space, "Ann plays the cello")
    both = TwoIndexes(world.writer, change.writer(NEW.model))
    assert both.apply([Put(space, said), Remove(space, "mem_gone", 1)], PATIENT_SECONDS) == (Outcome.APPLIED,) * 2
    world.show()
    assert entries_of(world.writer, space) == 1
    assert both.clear(space) == 1
    assert entries_of(world.writer, space) == 0


def test_an_erased_space_leaves_both_indexes(change: Change) -> None:
    world = change.world
    space = world.subject()
    (said,) = world.say(space, "Ann plays the cello")
    second = change.writer(NEW.model)
    change.indexes(NEW.model).make()
    both = TwoIndexes(world.writer, second)
    both.apply([Put(space, said)], PATIENT_SECONDS)
    assert both.clear(space) == 2
    assert (entries_of(world.writer, space), entries_of(second, space)) == (0, 0)


def test_a_vector_comes_to_an_entry_without_a_new_version_and_is_not_lost_to_a_late_writer(change: Change) -> None:
    world = change.world
    space = world.subject()
    (said,) = world.say(space, "Ann plays the cello")
    change.indexes(NEW.model).make()
    writer = change.writer(NEW.model)
    assert writer.apply([Put(space, said)], PATIENT_SECONDS) == (Outcome.APPLIED,)
    (embedded,) = MemoryEmbedder(EMBEDDER, NEW).embedded([said])
    assert writer.apply([Put(space, embedded)], PATIENT_SECONDS) == (Outcome.APPLIED,)
    if world.on is not None and world.on.cluster.abilities.external_versions:
        assert writer.apply([Put(space, said)], PATIENT_SECONDS) == (Outcome.SUPERSEDED,)
    else:
        assert writer.apply([Put(space, embedded)], PATIENT_SECONDS) == (Outcome.APPLIED,)
    writer.refresh()
    world.clock.pass_by(60)
    assert entries_of(writer, space) == 1
    assert vectors_shown(change, NEW.model) == 1
    later = replace(said, version=2, embedding=None)
    assert writer.apply([Put(space, later)], PATIENT_SECONDS) == (Outcome.APPLIED,), "a later version always wins"


def test_indexes_that_nobody_writes_to_go_when_another_is_shown(change: Change) -> None:
    assert change.world.on is not None
    exists = change.world.on.cluster.exists
    names = {model: change.indexes(model).name for model in (EMBEDDER.model, NEW.model, OLDEST)}
    for model in names:
        change.indexes(model).make()
    assert not change.indexes(NEW.model).shown()
    change.indexes(NEW.model, beside=EMBEDDER.model).show()
    assert change.indexes(NEW.model).shown()
    assert change.indexes(EMBEDDER.model).shown(), "it was shown before, and is still written to"
    assert [exists(name) for name in names.values()] == [True, True, False]
    change.indexes(NEW.model).show()
    assert [exists(name) for name in names.values()] == [False, True, False]
