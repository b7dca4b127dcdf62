"""A change of the embedding model, step by step: at every moment a reader of either model finds all by its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from lethe.adapters.scan_index import ScanIndex
from lethe.domain.head import SubjectState
from lethe.domain.identity import Space
from lethe.domain.memory import Embedding, Memory, MemoryFilter
from lethe.domain.search import SearchQuery
from lethe.errors import LetheError, Throttled, Unavailable
from lethe.services.embedding import MemoryEmbedder
from lethe.services.memories import MemoryDesk
from lethe.services.reembedding import PAGE, Reembedded, Reembedder
from lethe.services.storing import Storing, unlimited
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.erasing import FakeHolds
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.memories import FakeMemories, FakeMemoryVectors
from tests.fakes.time_and_ids import START, FixedClock
from tests.support.makers import memory

QUESTIONS = ("Who plays the cello on Monday?", "What does number 17 keep in the cellar?", "Which bird sings at noon?")
PLACES, HABITS = ("cellar", "garden", "kitchen"), ("plays the cello", "keeps a bird", "sings", "sleeps", "paints")
NOBODY: Callable[[Reembedded], None] = lambda done: None  # noqa: E731  # no progress is shown


class Embedder(FakeEmbedder):
    """Does something before it answers: what comes between a read and a write."""

    before: Callable[[], None] = staticmethod(lambda: None)

    def embed(self, texts: Sequence[str], purpose: Literal["memory", "query"]) -> NDArray[np.float32]:
        self.before()
        return super().embed(texts, purpose)

    @property
    def embedded(self) -> int:
        return sum(len(texts) for purpose, texts in self.asked if purpose == "memory")


def statements(count: int) -> list[str]:
    return [
        f"Number {n} {HABITS[n % len(HABITS)]} in the {PLACES[n % len(PLACES)]} on day {n % 31}." for n in range(count)
    ]


class House:
    """Subjects with memories that were written with ``embedder``."""

    def __init__(self, embedder: MemoryEmbedder, subjects: int = 3, each: int = 90) -> None:
        self.heads = FakeSubjectHeads()
        self.memories = FakeMemories(self.heads)
        self.clock = FixedClock()
        self.pauses: list[float] = []
        self.spaces = [self._subject(f"subject{n}") for n in range(subjects)]
        for space in self.spaces:
            self.say(space, embedder, *statements(each))

    def _subject(self, name: str) -> Space:
        return Space("acme", name, self.heads.create("acme", name).epoch)

    def say(self, space: Space, embedder: MemoryEmbedder, *texts: str) -> None:
        new = [memory(text, content_hash=secrets.token_hex(8)) for text in texts]
        with ThreadPoolExecutor(1) as threads:
            Storing(self.memories, embedder, threads).store(lambda: space, new, None, unlimited)

    def desk(self, embedder: MemoryEmbedder) -> MemoryDesk:
        return MemoryDesk(self.memories, embedder, FakeHolds(self.heads), self.clock, b"k" * 32)

    def reembed(self, embedder: MemoryEmbedder, progress: Callable[[Reembedded], None] = NOBODY) -> Reembedded:
        vectors = FakeMemoryVectors(self.memories)
        return Reembedder(self.heads, vectors, embedder, self.pauses.append).run(progress)

    def reader(self) -> ScanIndex:
        return ScanIndex(self.memories, 100_000_000, cache_seconds=1e9)

    def opened(self, space: Space) -> Space:
        head = self.heads.read(space.tenant, space.subject)
        assert head is not None
        return replace(space, revision=head.revision, rewritten=head.rewritten)

    def answers(self, reader: ScanIndex, embedder: FakeEmbedder) -> list[tuple[str, float]]:
        """The best ten of every question in every subject, as a container of that model answers them."""
        found = []
        for space in self.spaces:
            for question in QUESTIONS:
                vector = embedder.embed([question], "query")[0]
                query = SearchQuery(question, Embedding(embedder.model.label, vector))
                result = reader.search(self.opened(space), query, MemoryFilter(), START, 10)
                assert any(leg.name == "vector" for each in result.candidates for leg in each.legs)
                found += [(each.memory.text, round(each.relevance, 4)) for each in result.candidates]
        return found

    def labels(self) -> set[tuple[str | None, str | None]]:
        return {
            (_label(held.memory.embedding), _label(held.memory.second_embedding))
            for held in self.memories.versions_of_all()
        }


def _label(embedding: Embedding | None) -> str | None:
    return embedding.model if embedding is not None else None


@pytest.fixture
def old() -> Embedder:
    return Embedder(64, version="old")


@pytest.fixture
def new() -> Embedder:
    return Embedder(96, version="new")


@pytest.fixture
def house(old: Embedder) -> House:
    return House(MemoryEmbedder(old))


def test_either_model_finds_the_same_at_every_moment(house: House, old: Embedder, new: Embedder) -> None:
    """First both are written, then the new one is filled in, then the readers change one by one, then the old goes."""
    of_old = house.answers(house.reader(), old)
    alone = House(MemoryEmbedder(new))
    of_new = alone.answers(alone.reader(), new)
    old_reader, new_reader, steps = house.reader(), house.reader(), []

    def look(done: Reembedded) -> None:
        steps.append(done.versions)
        assert house.answers(old_reader, old) == of_old

    assert house.reembed(MemoryEmbedder(old, new), look).embedded == 270
    assert len(steps) > 1, "it was looked at midway"
    assert house.answers(new_reader, new) == of_new
    assert house.answers(old_reader, old) == of_old, "some containers still run with the old settings"

    def look_again(done: Reembedded) -> None:
        assert house.answers(new_reader, new) == of_new

    assert house.reembed(MemoryEmbedder(new, old), look_again).embedded == 270, "vectors change places"
    assert house.answers(old_reader, old) == of_old
    assert house.reembed(MemoryEmbedder(new), look_again).embedded == 270
    assert house.labels() == {(new.model.label, None)}
    assert (old.embedded, new.embedded) == (270, 540), "each text once a model, here and in the house of the new one"


def test_a_second_run_changes_nothing(house: House, old: Embedder, new: Embedder) -> None:
    both = MemoryEmbedder(old, new)
    house.reembed(both)
    revisions = [house.opened(space).revision for space in house.spaces]
    asked = new.embedded
    assert house.reembed(both) == Reembedded(versions=270)
    assert [house.opened(space).revision for space in house.spaces] == revisions
    assert new.embedded == asked


def test_a_run_that_was_ended_goes_on_where_it_was(house: House, old: Embedder, new: Embedder) -> None:
    class Killed(BaseException):
        pass

    def kill() -> None:
        if new.embedded:
            raise Killed

    new.before = kill
    with pytest.raises(Killed):
        house.reembed(MemoryEmbedder(old, new))
    assert new.embedded == PAGE
    new.before = lambda: None
    assert house.reembed(MemoryEmbedder(old, new)).embedded == 270 - PAGE
    assert house.labels() == {(old.model.label, new.model.label)}


def test_writers_beside_it_bring_both_vectors_and_lose_nothing(house: House, old: Embedder, new: Embedder) -> None:
    both, space = MemoryEmbedder(old, new), house.spaces[0]
    desk = house.desk(both)
    victim, pinned = house.memories.all(space)[:2]
    changed: list[Memory] = []

    def meddle() -> None:
        if changed:
            return
        changed.append(victim)  # only once: what is written below embeds as well
        desk.update(space, victim.id, 1, lambda seen: replace(seen, text="Number 0 now plays the flute."))
        desk.update(space, pinned.id, 1, lambda seen: replace(seen, pinned=True))
        house.say(space, both, "A heron sings at noon.")

    new.before = meddle
    done = house.reembed(both)
    assert (done.changed, done.fenced) == (2, 0), "they were read at version 1"
    standing = house.memories.get_many(space, [victim.id, pinned.id])
    assert (standing[victim.id].text, standing[pinned.id].pinned) == ("Number 0 now plays the flute.", True)
    wanted = both.embedded([replace(standing[victim.id], embedding=None, second_embedding=None)])[0]
    for label in (old.model.label, new.model.label):
        held, made = standing[victim.id].embedding_of(label), wanted.embedding_of(label)
        assert held is not None
        assert made is not None
        np.testing.assert_allclose(held.vector, made.vector, atol=1e-6)
    house.reembed(both)
    assert house.labels() == {(old.model.label, new.model.label)}, "old versions too, which as_of reads"
    assert any("heron" in text for text, _ in house.answers(house.reader(), new))


def test_what_is_deleted_or_erased_meanwhile_stays_gone(house: House, old: Embedder, new: Embedder) -> None:
    kept, fenced, erased_before = house.spaces
    victims = house.memories.all(kept)[:5]
    before = house.heads.read(erased_before.tenant, erased_before.subject)
    assert before is not None
    house.heads.put(replace(before, epoch=2, state=SubjectState.ERASING))

    def meddle() -> None:
        house.memories.delete(kept, [each.id for each in victims])
        head = house.heads.read(fenced.tenant, fenced.subject)
        assert head is not None
        house.heads.put(replace(head, epoch=2, state=SubjectState.ERASING))

    new.before = meddle
    done = house.reembed(MemoryEmbedder(old, new))
    assert (done.embedded, done.changed, done.fenced) == (85, 5, 180)
    assert house.memories.get_many(kept, [each.id for each in victims]) == {}
    for space in (fenced, erased_before):
        assert {_label(each.second_embedding) for each in house.memories.all(space)} == {None}
    texts = [text for _, batch in new.asked for text in batch]
    assert len(texts) < 270, "nothing of the subject that was erased before is sent to a model"


@pytest.mark.parametrize("error", [Throttled, Unavailable])
def test_a_model_that_takes_no_more_now_is_waited_for(
    house: House, old: Embedder, new: Embedder, error: type[LetheError]
) -> None:
    failures = [error(), error(), error()]

    def fail() -> None:
        if failures:
            raise failures.pop()

    new.before = fail
    assert house.reembed(MemoryEmbedder(old, new)).embedded == 270
    assert house.pauses == [1.0, 2.0, 4.0]
    new.failing = error()
    with pytest.raises(error):
        House(MemoryEmbedder(old)).reembed(MemoryEmbedder(old, new))


def test_a_change_of_text_takes_the_second_vector_along(old: Embedder, new: Embedder) -> None:
    both = MemoryEmbedder(old, new)
    house = House(both, subjects=1, each=1)
    (space,) = house.spaces
    (seen,) = house.memories.all(space)
    house.desk(both).update(space, seen.id, 1, lambda found: replace(found, text="Entirely something else."))
    (changed,) = house.memories.all(space)
    assert seen.second_embedding is not None
    assert changed.second_embedding is not None
    assert changed.second_embedding.model == new.model.label
    assert float(changed.second_embedding.vector @ seen.second_embedding.vector) < 0.9
    asked = new.embedded
    house.desk(both).update(space, seen.id, 2, lambda found: replace(found, pinned=True))
    assert new.embedded == asked, "a change of anything else embeds nothing"
