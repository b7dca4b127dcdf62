"""Storing in chunks: what there is no time for is left, and what was done before is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from lethe.domain.identity import Space
from lethe.domain.memory import Memory
from lethe.errors import Throttled, Unavailable
from lethe.ports import Memories, Stored
from lethe.services.embedding import MemoryEmbedder
from lethe.services.storing import CHUNK_CHARACTERS, CHUNK_MEMORIES, TO_BEGIN, Storing, unlimited
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.memories import FakeMemories
from tests.support.makers import memory
from tests.support.stores import fake_stores

PER_CHUNK = 15
LONG = CHUNK_CHARACTERS // PER_CHUNK


class Embedder(FakeEmbedder):
    """Takes a second of the house's time for each chunk."""

    def __init__(self, house: House) -> None:
        super().__init__()
        self.house = house

    def embed(self, texts: Sequence[str], purpose: Literal["memory", "query"]) -> NDArray[np.float32]:
        self.house.embedded += len(texts)
        self.house.left -= 1.0
        if self.house.embedder_away:
            raise Unavailable
        return super().embed(texts, purpose)


class House:
    """A Storing over fakes, with a clock that only embedding moves."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        stores = fake_stores()
        assert isinstance(stores.heads, FakeSubjectHeads)
        self.heads, self.threads = stores.heads, threads
        self.memories: Memories = stores.memories
        self.space: Space = stores.new_space()
        self.left = 29.0
        self.embedded = 0
        self.embedder_away = False
        self.storing = Storing(self.memories, MemoryEmbedder(Embedder(self)), threads)

    def store(self, new: Sequence[Memory]) -> str:
        """A letter for each: new, duplicate, or - for what was not reached."""
        kept = self.storing.store(lambda: self.space, new, None, lambda: self.left)
        assert all(k is None or k.memory is not None for k in kept)
        return "".join("-" if k is None else "n" if k.new else "d" for k in kept)


@pytest.fixture
def house() -> Iterator[House]:
    with ThreadPoolExecutor(1) as threads:
        yield House(threads)


def long_ones(count: int) -> list[Memory]:
    return [memory(f"{n:04}".ljust(LONG, "x")) for n in range(count)]


def test_what_there_is_no_time_for_is_left_and_can_be_sent_again(house: House) -> None:
    new = long_ones(10 * PER_CHUNK)
    house.left = TO_BEGIN + 3.5
    first = house.store(new)

    stored = first.count("n")
    assert first == "n" * stored + "-" * (len(new) - stored)
    assert 3 * PER_CHUNK <= stored <= 5 * PER_CHUNK
    assert house.memories.count(house.space) == stored

    house.left, house.embedded = 1e6, 0
    assert house.store(new) == "d" * stored + "n" * (len(new) - stored)
    assert house.embedded == len(new) - stored


def test_a_first_chunk_is_always_begun(house: House) -> None:
    house.left = TO_BEGIN - 0.5

    assert house.store(long_ones(2 * PER_CHUNK)) == "n" * PER_CHUNK + "-" * PER_CHUNK


def test_repetition_ends(house: House) -> None:
    new = long_ones(5 * PER_CHUNK)
    answers = []
    for _ in range(5):
        house.left = TO_BEGIN - 0.5
        answers.append(house.store(new))
    assert [answer.count("n") for answer in answers] == [PER_CHUNK] * 5
    assert answers[-1].count("-") == 0


@pytest.mark.parametrize("count", [1, CHUNK_MEMORIES, CHUNK_MEMORIES + 1, 1_000])
def test_short_ones_are_stored_in_few_chunks(house: House, count: int) -> None:
    new = [memory(str(n)) for n in range(count)]

    assert house.store(new) == "n" * count
    assert house.embedded == count
    assert house.left == 29.0 - (count - 1) // CHUNK_MEMORIES - 1
    stored = house.memories.get_many(house.space, [m.id for m in new])
    assert all(m.embedding is not None for m in stored.values())
    assert len(stored) == count


def test_duplicates_within_a_request_and_across_chunks(house: House) -> None:
    new = long_ones(PER_CHUNK + 1)

    assert house.store([*new, memory(new[0].text), memory(new[-1].text)]) == "n" * len(new) + "dd"


class Vanishing(FakeMemories):
    """Deletes what a statement is the duplicate of, between the write that finds that and the read of it."""

    def __init__(self, house: House) -> None:
        super().__init__(house.heads)
        self.house = house
        self.deletions = 0
        self.takes_the_embedder_away = False

    def get_many(self, space: Space, memory_ids: Sequence[str]) -> dict[str, Memory]:
        if self.deletions:
            self.deletions -= 1
            self.house.embedder_away = self.takes_the_embedder_away
            self.delete(space, memory_ids)
        return super().get_many(space, memory_ids)


@pytest.mark.parametrize("count", [1, 3, CHUNK_MEMORIES + 5])
def test_a_statement_whose_double_is_deleted_at_the_same_moment_is_stored_again(house: House, count: int) -> None:
    memories = vanishing(house)
    known = [memory(f"I like tea {n}") for n in range(1 + count // 2)]
    assert house.store(known) == "n" * len(known)
    memories.deletions = 1
    assert house.store([memory(f"I like tea {n}") for n in range(count)]) == "n" * count
    assert memories.count(house.space) == count


def test_doubles_within_the_request_follow_the_one_that_is_stored_again(house: House) -> None:
    memories = vanishing(house)
    assert house.store([memory("I like tea")]) == "n"
    memories.deletions = 1
    kept = house.storing.store(lambda: house.space, [memory("I like tea"), memory("I like tea")], None, unlimited)
    assert [(one.new, one.memory is not None) for one in kept if one is not None] == [(True, True), (False, True)]


def test_other_items_are_kept_when_one_cannot_be_stored_again(house: House) -> None:
    memories = vanishing(house)
    assert house.store([memory("I like tea")]) == "n"
    memories.deletions, memories.takes_the_embedder_away = 1, True
    assert house.store([memory("I like tea"), memory("I like ale")]) == "-n"
    house.embedder_away = False
    assert house.store([memory("I like ale")]) == "d"


def test_when_nothing_else_can_be_said_the_failure_is(house: House) -> None:
    memories = vanishing(house)
    assert house.store([memory("I like tea")]) == "n"
    memories.deletions, memories.takes_the_embedder_away = 1, True
    with pytest.raises(Unavailable):
        house.store([memory("I like tea")])


def vanishing(house: House) -> Vanishing:
    memories = Vanishing(house)
    house.memories, house.storing = memories, Storing(memories, MemoryEmbedder(Embedder(house)), house.threads)
    return memories


def test_when_the_embedder_goes_away_the_rest_is_left(house: House) -> None:
    house.embedder_away = True
    for count in (1, 3 * PER_CHUNK):
        with pytest.raises(Unavailable):
            house.store(long_ones(count))
    house.embedder_away = False

    class Going(FakeMemories):
        def add(self, *given: object) -> tuple[Stored, ...]:
            house.embedder_away = True
            raise Throttled

    with ThreadPoolExecutor(1) as threads:
        throttled = Storing(Going(FakeSubjectHeads()), MemoryEmbedder(Embedder(house)), threads)
        with pytest.raises(Throttled):
            throttled.store(lambda: house.space, long_ones(2 * PER_CHUNK), None, unlimited)


def test_an_embedder_that_hangs_is_not_waited_for_until_the_gateway_gives_up(house: House) -> None:
    wake = Event()

    class Hanging(FakeEmbedder):
        def embed(self, texts: Sequence[str], purpose: Literal["memory", "query"]) -> NDArray[np.float32]:
            if texts[0].count("0000"):
                return super().embed(texts, purpose)
            wake.wait(30)
            raise Unavailable

    with ThreadPoolExecutor(1) as threads:
        storing = Storing(house.memories, MemoryEmbedder(Hanging()), threads)
        left = iter([1e6, 1e6, 0.0])
        kept = storing.store(lambda: house.space, long_ones(3 * PER_CHUNK), None, lambda: next(left))
        wake.set()
    assert [k is not None for k in kept] == [True] * PER_CHUNK + [False] * 2 * PER_CHUNK
