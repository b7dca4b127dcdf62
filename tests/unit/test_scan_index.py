"""The scan engine's views: what they keep, for how long, and that a kept selection never answers wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import timedelta

import pytest

from lethe.adapters.scan_index import ScanIndex
from lethe.domain.identity import Space
from lethe.domain.memory import Embedding, Memory, MemoryFilter, MemoryKind, MemoryStatus
from lethe.domain.search import SearchQuery
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.memories import FakeMemories
from tests.fakes.time_and_ids import START
from tests.support.makers import full_memory, memory

_SPACE = Space("acme", "subject", 1, 1)
_QUESTION = SearchQuery("What does Ana play?")
_DAY = timedelta(days=1)


def _index(memories: Sequence[Memory], cache_bytes: int = 1_000_000) -> ScanIndex:
    heads = FakeSubjectHeads()
    heads.create(_SPACE.tenant, _SPACE.subject)
    store = FakeMemories(heads)
    store.add(_SPACE, memories)
    return ScanIndex(store, cache_bytes, cache_seconds=1e9)


def _texts(index: ScanIndex, days: float = 0.0, filters: MemoryFilter | None = None) -> set[str]:
    found = index.search(_SPACE, _QUESTION, filters or MemoryFilter(), START + days * _DAY, limit=10)
    return {candidate.memory.text for candidate in found.candidates}


def test_a_memory_comes_out_as_it_went_in_but_for_its_vector() -> None:
    full = replace(full_memory("Ben sings."), content_hash="other", superseded_at=START, version=3)
    full = replace(full, second_embedding=replace(embedding_of(full), model="test/other@2"))
    usual = memory()
    assert [f.name for f in fields(Memory) if getattr(full, f.name) == getattr(usual, f.name)] == ["embedding"]
    (found,) = _index([full]).search(_SPACE, _QUESTION, MemoryFilter(statuses=()), START, limit=10).candidates
    assert found.memory == replace(full, embedding=None, second_embedding=None)


def embedding_of(made: Memory) -> Embedding:
    assert made.embedding is not None
    return made.embedding


def test_a_kept_selection_ends_when_a_memory_does() -> None:
    index = _index(
        [
            memory("Ana plays the guitar."),
            memory("Ana plays the harp.", valid_until=START + _DAY),
            memory("Ana plays the flute.", valid_until=START + 2 * _DAY),
        ]
    )
    assert len(_texts(index)) == 3
    assert len(_texts(index, 0.999)) == 3
    assert _texts(index, 1) == {"Ana plays the guitar.", "Ana plays the flute."}
    assert _texts(index, 2) == {"Ana plays the guitar."}
    assert len(_texts(index, 0.5)) == 3, "and a clock that goes back sees what it saw"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (MemoryFilter(), {"guitar", "harp"}),
        (MemoryFilter(kinds=(MemoryKind.PREFERENCE,)), {"harp"}),
        (MemoryFilter(statuses=(MemoryStatus.PENDING,)), {"drum"}),
        (MemoryFilter(metadata={"room": 1}), {"harp"}),
        (MemoryFilter(metadata={"room": True}), set()),
        (MemoryFilter(created_after=START - _DAY), {"guitar", "harp"}),
        (MemoryFilter(created_after=START), set()),
    ],
)
def test_each_filter_has_a_selection_of_its_own(filters: MemoryFilter, expected: set[str]) -> None:
    index = _index(
        [
            memory("guitar"),
            memory("harp", kind=MemoryKind.PREFERENCE, metadata={"room": 1}),
            memory("drum", status=MemoryStatus.PENDING),
        ]
    )
    assert _texts(index) == {"guitar", "harp"}
    assert _texts(index, filters=filters) == expected
    assert _texts(index) == {"guitar", "harp"}


class _Clock:
    """Seconds that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def _several(count: int, cache_bytes: int, clock: _Clock) -> tuple[ScanIndex, list[Space]]:
    """An index over subjects of one memory each, and their spaces."""
    heads = FakeSubjectHeads()
    store = FakeMemories(heads)
    spaces = [Space("acme", f"subject-{number}", 1, 1) for number in range(count)]
    for space in spaces:
        heads.create(space.tenant, space.subject)
        store.add(space, [memory("Ana plays the guitar.")])
    return ScanIndex(store, cache_bytes, cache_seconds=100.0, seconds=clock), spaces


def _held(index: ScanIndex, spaces: Sequence[Space]) -> list[bool]:
    return [index.holds(space, None) for space in spaces]


def _search_each(index: ScanIndex, spaces: Sequence[Space]) -> None:
    for space in spaces:
        assert len(index.search(space, _QUESTION, MemoryFilter(), START, limit=10).candidates) == 1


def test_the_subjects_served_longest_ago_make_room() -> None:
    index, spaces = _several(40, 30_000, _Clock())
    _search_each(index, spaces)
    held = _held(index, spaces)
    assert 2 < sum(held) < 20
    assert held == sorted(held), "those served last"
    kept = [space for space, is_held in zip(spaces, held, strict=True) if is_held]
    _search_each(index, kept * 3)
    assert _held(index, kept) == [True] * len(kept), "to search them again takes no more room"
    _search_each(index, [*kept[:1], *spaces[:1]])
    assert _held(index, kept[:2]) == [True, False]


def test_views_end_with_their_time_whichever_subject_is_searched() -> None:
    clock = _Clock()
    index, spaces = _several(3, 1_000_000, clock)
    _search_each(index, spaces[:1])
    clock.now = 60.0
    _search_each(index, spaces[1:2])
    clock.now = 100.0
    _search_each(index, spaces[2:])
    assert _held(index, spaces) == [False, True, True]
    clock.now = 160.0
    assert _held(index, spaces) == [False, False, True]
