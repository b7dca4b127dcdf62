"""The contract of ``IndexWriter``: an outcome a change, and an index that ends up as the newest change says."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import numpy as np
import pytest

from lethe.adapters.opensearch.connection import IndexMissing
from lethe.adapters.opensearch.documents import entry_id
from lethe.adapters.opensearch.writer import MOST_BYTES, MOST_CHANGES
from lethe.domain.indexing import Change, Indexed, Mark, Outcome, Put, Remove
from lethe.domain.memory import Embedding, Memory
from lethe.errors import Throttled, Unavailable
from tests.fakes.opensearch.cluster import FakeOpenSearch
from tests.fakes.opensearch.failures import Refusal
from tests.support.makers import unit_vector
from tests.support.search_worlds import DIMENSIONS, LABEL, PATIENT_SECONDS, World, entries_of

APPLIED, SUPERSEDED, RETRY, REFUSED = Outcome


def _apply(world: World, *changes: Change) -> list[Outcome]:
    return list(world.writer.apply(changes, PATIENT_SECONDS))


def _entries(world: World) -> list[tuple[str, int]]:
    """Ids and versions that searches see, after everything was made to show."""
    world.show()
    return [(entry.memory_id, entry.version) for entry in world.writer.page(1_000, None).items]


def _versioned(world: World) -> bool:
    assert world.on is not None
    return world.on.cluster.abilities.external_versions


def _fake(world: World) -> FakeOpenSearch:
    assert world.on is not None
    assert world.on.fake is not None
    return world.on.fake


def test_nothing_is_no_request(faked: World) -> None:
    before = len(_fake(faked).requests)
    assert _apply(faked) == []
    assert len(_fake(faked).requests) == before


def test_changes_are_applied_in_order_and_again(indexed: World) -> None:
    space, first, second = indexed.subject(), indexed.memory("one"), indexed.memory("two")
    changes: list[Change] = [Put(space, first), Put(space, second), Remove(space, first.id, first.version)]
    assert _apply(indexed, *changes) == [APPLIED] * 3
    assert _entries(indexed) == [(second.id, 1)]
    again = _apply(indexed, Put(space, second), Remove(space, first.id, first.version))
    assert again == ([SUPERSEDED, SUPERSEDED] if _versioned(indexed) else [APPLIED, APPLIED])
    assert _entries(indexed) == [(second.id, 1)]


def test_removing_what_never_was_is_done(indexed: World) -> None:
    space = indexed.subject()
    assert _apply(indexed, Remove(space, "mem_0", None), Remove(space, "mem_1", 7)) == [APPLIED, APPLIED]
    assert _entries(indexed) == []


def test_an_older_version_never_takes_the_place_of_a_newer(indexed: World) -> None:
    if not _versioned(indexed):
        # There a writer must read the memory before it writes; the last write wins.
        space, memory = indexed.subject(), indexed.memory("one")
        assert _apply(indexed, Put(space, replace(memory, version=2)), Put(space, memory)) == [APPLIED, APPLIED]
        assert _entries(indexed) == [(memory.id, 1)]
        return
    for order in permutations((1, 2, 3)):
        space, memory = indexed.subject(), indexed.memory("one")
        outcomes = _apply(indexed, *(Put(space, replace(memory, version=version)) for version in order))
        newest = [version == max(order[: place + 1]) for place, version in enumerate(order)]
        assert outcomes == [APPLIED if is_newest else SUPERSEDED for is_newest in newest]
        assert (memory.id, 3) in _entries(indexed)


def test_a_late_write_after_a_removal_must_be_tried_again(indexed: World) -> None:
    """The tombstone may be right or not: the indexer reads the memory again and knows."""
    space, memory = indexed.subject(), indexed.memory("one", version=3)
    removals = [Remove(space, memory.id, 3), Remove(space, memory.id, None)]
    for removal in removals:
        assert _apply(indexed, removal) == [APPLIED]
        outcome = _apply(indexed, Put(space, memory))
        assert outcome == [RETRY if _versioned(indexed) else APPLIED]
        assert _entries(indexed) == ([] if _versioned(indexed) else [(memory.id, 3)])


def test_an_entry_may_come_back_when_the_tombstone_is_forgotten(faked: World) -> None:
    space, memory = faked.subject(), faked.memory("one")
    _apply(faked, Remove(space, memory.id, None))
    faked.clock.move(timedelta(seconds=59))
    assert _apply(faked, Put(space, memory)) == [RETRY if _versioned(faked) else APPLIED]
    faked.clock.move(timedelta(seconds=2))
    assert _apply(faked, Put(space, memory)) == [APPLIED]
    assert _entries(faked) == [(memory.id, 1)]


def test_a_newer_version_after_a_removal_is_applied(indexed: World) -> None:
    space, memory = indexed.subject(), indexed.memory("one")
    assert _apply(indexed, Remove(space, memory.id, 1), Put(space, replace(memory, version=3))) == [APPLIED, APPLIED]
    assert _entries(indexed) == [(memory.id, 3)]


def _of_another_size() -> Embedding:
    return Embedding(LABEL, unit_vector(1, DIMENSIONS + 1))


def test_what_cannot_be_indexed_is_refused_alone(indexed: World) -> None:
    space = indexed.subject()
    good = [indexed.memory(f"number {number}") for number in range(99)]
    bad = indexed.memory("bad", embedding=_of_another_size())
    changes = [Put(space, memory) for memory in (*good[:50], bad, *good[50:])]
    outcomes = _apply(indexed, *changes)
    assert outcomes == [APPLIED] * 50 + [REFUSED] + [APPLIED] * 49
    assert {memory_id for memory_id, _ in _entries(indexed)} == {memory.id for memory in good}


@pytest.mark.parametrize("vector", [[0.0] * DIMENSIONS, [float("nan")] * DIMENSIONS, [float("inf")] + [0.0] * 63])
def test_a_vector_without_direction_is_left_out(indexed: World, vector: list[float]) -> None:
    space = indexed.subject()
    memory = indexed.memory("one", embedding=Embedding(LABEL, np.asarray(vector, np.float32)))
    assert _apply(indexed, Put(space, memory)) == [APPLIED]
    assert _entries(indexed) == [(memory.id, 1)]


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [
        (Refusal(429, "opensearch_rejected_execution_exception", "rejected execution"), RETRY),
        (Refusal(503, "unavailable_shards_exception", "primary shard is not active"), RETRY),
        (Refusal(500, "exception", "something broke"), RETRY),
        (Refusal(404, "index_not_found_exception", "no such index"), RETRY),
        (Refusal(400, "mapper_parsing_exception", "failed to parse"), REFUSED),
        (Refusal(403, "security_exception", "no permissions"), REFUSED),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Refusal) else str(value),
)
def test_an_items_failure_is_its_own(faked: World, failure: Refusal, outcome: Outcome) -> None:
    space = faked.subject()
    memories = [faked.memory(f"number {number}") for number in range(4)]
    for memory in memories[::2]:
        _fake(faked).item_failures[entry_id(space, memory.id)] = deque([failure])
    changes = [Put(space, memory) for memory in memories]
    assert _apply(faked, *changes) == [outcome, APPLIED, outcome, APPLIED]
    assert _apply(faked, *changes[::2]) == [APPLIED, APPLIED]
    assert len(_entries(faked)) == 4


def test_a_request_that_fails_is_sent_again_while_there_is_time(faked: World) -> None:
    space, memory = faked.subject(), faked.memory("one")
    _fake(faked).failures.extend([Refusal(429, "", ""), Refusal(503, "", ""), Refusal(502, "", "")])
    assert _apply(faked, Put(space, memory)) == [APPLIED]


@pytest.mark.parametrize(("status", "error"), [(429, Throttled), (503, Unavailable), (400, Unavailable)])
def test_a_request_that_is_never_taken_raises(faked: World, status: int, error: type[Exception]) -> None:
    space, memory = faked.subject(), faked.memory("one")
    _fake(faked).failures.extend([Refusal(status, "", "secret words")] * 1_000)
    with pytest.raises(error) as raised:
        faked.writer.apply([Put(space, memory)], 0.01)
    assert "secret" not in str(raised.value)
    _fake(faked).failures.clear()
    assert _apply(faked, Put(space, memory)) == [APPLIED]


def test_a_missing_index_is_made_by_no_write(indexed: World) -> None:
    assert indexed.on is not None
    space, memory, on = indexed.subject(), indexed.memory("one"), indexed.on
    on.writer = type(on.writer)(on.cluster, on.index + "-gone", LABEL, indexed.clock)
    with pytest.raises(IndexMissing):
        _apply(indexed, Put(space, memory), Remove(space, memory.id, 5))
    assert not on.cluster.exists(on.index + "-gone")


def _long(world: World, characters: int) -> Memory:
    return world.memory("x" * characters)


def test_no_body_is_larger_than_five_megabytes(faked: World) -> None:
    space, fake = faked.subject(), _fake(faked)
    sizes: list[int] = []
    handle = fake.handle

    def noting(method: str, path: str, params: dict[str, object], body: bytes) -> object:
        sizes.append(len(body))
        return handle(method, path, params, body)

    fake.handle = noting  # type: ignore[method-assign, assignment]  # a fake of our own that is listened to
    memories = [_long(faked, 400_000) for _ in range(14)]
    assert _apply(faked, *(Put(space, memory) for memory in memories)) == [APPLIED] * 14
    assert len(sizes) == 2
    assert max(sizes) <= MOST_BYTES
    sizes.clear()
    assert _apply(faked, Put(space, _long(faked, 5_100_000)), Put(space, _long(faked, 10))) == [APPLIED, APPLIED]
    assert len(sizes) == 2, "one that is larger goes alone"
    assert _entries(faked)[-1][1] == 1


def test_many_changes_are_sent_in_parts_and_answered_in_order(indexed: World) -> None:
    space = indexed.subject()
    memories = [indexed.memory(f"number {number}", embedding=None) for number in range(2 * MOST_CHANGES + 1)]
    bad = {0, MOST_CHANGES, 2 * MOST_CHANGES}
    changes = [
        Put(space, replace(memory, embedding=_of_another_size()) if number in bad else memory)
        for number, memory in enumerate(memories)
    ]
    outcomes = _apply(indexed, *changes)
    assert [number for number, outcome in enumerate(outcomes) if outcome is not APPLIED] == sorted(bad)
    assert {outcomes[number] for number in bad} == {REFUSED}
    indexed.show()
    assert entries_of(indexed.writer, space) == len(memories) - len(bad)


def test_a_page_lists_all_spaces_in_one_order_without_marks(indexed: World) -> None:
    spaces = [indexed.subject(tenant) for tenant in ("acme", "other", "acme")]
    spaces.append(replace(spaces[0], epoch=10))
    spaces.append(replace(spaces[0], epoch=2))
    expected = []
    for space in spaces:
        for number in range(5):
            memory = indexed.memory(f"number {number}", version=number + 1)
            expected.append(Indexed(space, memory.id, memory.version))
            assert _apply(indexed, Put(space, memory)) == [APPLIED]
        assert _apply(indexed, Mark(space, "mark", indexed.clock.now())) == [APPLIED]
    indexed.show()
    expected.sort(key=lambda entry: (entry.space.subject, entry.space.epoch, entry.memory_id))
    found: list[Indexed] = []
    start: str | None = None
    while True:
        page = indexed.writer.page(4, start)
        assert len(page.items) <= 4
        found.extend(page.items)
        start = page.next_key
        if start is None:
            break
    assert found == expected
    assert {entries_of(indexed.writer, space) for space in spaces} == {5}


def test_a_newer_mark_takes_the_place_of_the_older(indexed: World) -> None:
    space = indexed.subject()
    indexed.say(space, "Ana plays the guitar.")
    indexed.catch_up()
    indexed.clock.move(timedelta(days=1))
    indexed.say(space, "Ana plays the harp.")
    indexed.catch_up()
    found = indexed.search(space, "What does Ana play?")
    assert (len(found.candidates), found.stored, found.considered, found.degraded) == (2, 2, 2, False)
    indexed.show()
    assert entries_of(indexed.writer, space) == 2, "marks are no memories"


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_duplicated_hints_ends_the_same(faked: World, seed: int) -> None:
    """As a writer that reads before it writes sees them: what it applies last is the state of that moment."""
    chance = random.Random(seed)
    space = faked.subject()
    standing: dict[str, Memory | None] = {}
    for _ in range(12):
        memory = faked.memory("one")
        standing[memory.id] = memory
    hints = [memory_id for memory_id in standing for _ in range(3)]
    chance.shuffle(hints)
    for memory_id in hints:
        current = standing[memory_id]
        fate = chance.random()
        if current is not None and fate < 0.3:
            standing[memory_id] = replace(current, version=current.version + 1)
        elif current is not None and fate < 0.4:
            _apply(faked, Remove(space, memory_id, current.version))
            standing[memory_id] = None
        for each in chance.sample(sorted(standing), 4):
            seen = standing[each]
            _apply(faked, Put(space, seen) if seen is not None else Remove(space, each, None))
    for memory_id, newest in standing.items():
        _apply(faked, Put(space, newest) if newest is not None else Remove(space, memory_id, None))
    assert _entries(faked) == [(m.id, m.version) for m in standing.values() if m is not None]


def test_a_space_is_cleared_straight_after_writes(indexed: World) -> None:
    """Nothing was shown yet, and some of it was removed already: what a removal by query leaves behind."""
    space, other = indexed.subject(), indexed.subject()
    kept = indexed.say(other, "Ben keeps bees.")
    said = indexed.say(space, *(f"number {number}" for number in range(60)))
    indexed.catch_up(show=False)
    assert _apply(indexed, Remove(space, said[7].id, said[7].version)) == [APPLIED]
    assert indexed.writer.clear(space) == 60, "59 entries and the mark"
    indexed.show()
    assert entries_of(indexed.writer, space) == 0
    assert [entry.memory_id for entry in indexed.writer.page(100, None).items] == [kept[0].id]
    assert indexed.writer.clear(space) == 0
    late = _apply(indexed, Put(space, said[3]))
    assert late in ([APPLIED], [Outcome.RETRY]), "a late writer is told nothing, or to come again"


def test_a_space_of_thousands_is_cleared_whole(faked: World) -> None:
    space = faked.subject()
    memory = faked.memory("one")
    count = 6_000
    puts = [Put(space, replace(memory, id=f"mem_{number:026d}")) for number in range(count)]
    assert set(_apply(faked, *puts)) == {APPLIED}
    assert faked.writer.clear(space) == count
    faked.show()
    assert entries_of(faked.writer, space) == 0
