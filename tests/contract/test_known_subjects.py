"""Subjects that a container answers from its own view: the index's answers, never old ones, within limits."""

from __future__ import annotations

import random
from concurrent.futures import Executor
from dataclasses import replace

import pytest

from lethe.adapters.opensearch.engine import OpenSearchIndex
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.known import FEW_WRITES, KnownSubjects
from lethe.domain.identity import Space
from lethe.domain.memory import MemoryFilter
from lethe.ports import SearchResult
from tests.fakes.opensearch.failures import Refusal
from tests.support import corpora
from tests.support.search_worlds import MANY, PATIENT_SECONDS, World, container, fake_world, query, texts

_QUESTION = "What does Ana play?"


@pytest.fixture
def known(search_threads: Executor) -> World:
    return fake_world(Flavour.MANAGED, search_threads, known=KnownSubjects)


def _asked(world: World) -> int:
    """How many questions the index was asked so far: each asks for the mark once."""
    assert world.on is not None
    assert world.on.fake is not None
    return sum("marked_at" in str(body.get("docvalue_fields")) for body in world.on.fake.searches)


def _search(world: World, engine: OpenSearchIndex, space: Space) -> SearchResult:
    return engine.search(world.opened(space), query(_QUESTION), MemoryFilter(), world.clock.now(), MANY)


def _songs(world: World, count: int) -> Space:
    space = world.subject()
    world.say(space, *(f"Ana sings song {number}." for number in range(count)))
    world.catch_up()
    return space


def _told(result: SearchResult) -> list[tuple[object, ...]]:
    return [(c.memory.id, c.memory.version, c.memory.text, c.legs) for c in result.candidates]


@pytest.mark.parametrize("seed", range(12))
def test_a_view_answers_what_the_index_answers(known: World, search_threads: Executor, seed: int) -> None:
    chance = random.Random(seed)
    assert known.on is not None
    index = OpenSearchIndex(
        known.memories, known.on.cluster, known.on.searched, known.scan, search_threads, PATIENT_SECONDS
    )
    for _ in range(5):
        space, now = known.subject(), known.clock.now()
        sentences = [corpora.sentence(chance) for _ in range(chance.randint(1, 40))]
        known.add(space, *(known.memory(text, **corpora.fields(chance, text, now)) for text in sentences))
        known.catch_up()
        before = _asked(known)
        for _ in range(4):
            _assert_alike(known, index, space, chance)
        assert _asked(known) == before + 4 + 1, "and of those with views the first alone"


def _assert_alike(known: World, index: OpenSearchIndex, space: Space, chance: random.Random) -> None:
    asked, filters = query(corpora.question(chance)), corpora.filters(chance, known.clock.now())
    by_view = known.search(space, asked, filters)
    by_index = index.search(known.opened(space), asked, filters, known.clock.now(), MANY)
    assert _told(by_view) == _told(by_index)
    assert (by_view.considered, by_view.stored, by_view.degraded) == (by_index.considered, by_index.stored, False)
    assert [c.relevance for c in by_view.candidates] == pytest.approx([c.relevance for c in by_index.candidates])


def test_what_another_container_wrote_is_seen_at_once(known: World) -> None:
    space = known.subject()
    kept, changed, gone = known.say(space, "Ana plays the guitar.", "Ana plays the harp.", "Ana plays the drum.")
    known.catch_up()
    for _ in range(2):
        assert len(texts(known.search(space, _QUESTION))) == 3
    before = _asked(known)
    known.say(space, "Ana plays the flute.")
    assert set(texts(known.search(space, _QUESTION))) == {kept.text, changed.text, gone.text, "Ana plays the flute."}
    known.change(space, changed, text="Ana plays the lute.")
    assert set(texts(known.search(space, _QUESTION))) == {
        kept.text, gone.text, "Ana plays the lute.", "Ana plays the flute.",
    }  # fmt: skip
    known.delete(space, gone)
    assert set(texts(known.search(space, _QUESTION))) == {kept.text, "Ana plays the lute.", "Ana plays the flute."}
    assert _asked(known) == before, "and the index, which was told nothing of it, was not asked"


def test_a_new_epoch_never_shows_old_memories(known: World) -> None:
    space = known.subject()
    known.say(space, "Ana plays the guitar.")
    known.catch_up()
    for _ in range(3):
        assert texts(known.search(space, _QUESTION)) == ["Ana plays the guitar."]
    head = known.heads.read(space.tenant, space.subject)
    assert head is not None
    known.heads.put(replace(head, epoch=2))
    new = replace(space, epoch=2)
    assert texts(known.search(new, _QUESTION)) == []
    known.say(new, "Ana plays the harp.")
    known.catch_up()
    for _ in range(3):
        assert texts(known.search(new, _QUESTION)) == ["Ana plays the harp."]


def test_a_subject_is_read_whole_once_its_searches_have_read_as_much(known: World) -> None:
    space = _songs(known, 300)
    asked = []
    for _ in range(5):
        before = _asked(known)
        found = known.search(space, _QUESTION, limit=10)
        assert (found.stored, found.degraded) == (300, False)
        asked.append(_asked(known) - before)
    assert asked == [1, 1, 0, 0, 0]


def test_a_subject_that_is_too_large_is_always_asked_of_the_index(known: World, search_threads: Executor) -> None:
    engine = container(known, search_threads, lambda scan: KnownSubjects(scan, most_memories=30))
    small, large = _songs(known, 30), _songs(known, 31)
    for space, asked in ((small, 1), (large, 4)):
        before = _asked(known)
        for _ in range(4):
            assert not _search(known, engine, space).degraded
        assert _asked(known) - before == asked
    known.say(small, "Ana plays the harp.")
    assert texts(_search(known, engine, small))[0] == "Ana plays the harp."
    before = _asked(known)
    assert texts(_search(known, engine, small))[0] == "Ana plays the harp."
    assert _asked(known) == before + 1, "it has grown"


@pytest.mark.parametrize(("cache_bytes", "expected"), [(10_000, [1, 0, 1, 0, 1, 0]), (10_000_000, [1, 0, 0, 0, 0, 0])])
def test_what_the_cache_has_no_room_for_is_not_read_whole_again_and_again(
    known: World, search_threads: Executor, cache_bytes: int, expected: list[int]
) -> None:
    space, engine = _songs(known, 150), container(known, search_threads, cache_bytes=cache_bytes)
    asked = []
    for _ in expected:
        before = _asked(known)
        assert not _search(known, engine, space).degraded
        asked.append(_asked(known) - before)
    assert asked == expected


def test_after_many_writes_the_index_is_asked_how_large_the_subject_is(known: World) -> None:
    space = _songs(known, 20)
    for _ in range(2):
        known.search(space, _QUESTION)
    for number in range(FEW_WRITES + 1):
        known.say(space, f"Ana plays piece {number}.")
    before = _asked(known)
    assert known.search(space, _QUESTION).stored == 20 + FEW_WRITES + 1
    assert known.search(space, _QUESTION).stored == 20 + FEW_WRITES + 1
    assert _asked(known) == before + 1


def test_without_its_vector_a_question_has_no_subject_read_whole(known: World) -> None:
    space = _songs(known, 20)
    words = query(_QUESTION, vector=False)
    for asked in (1, 2):
        known.search(space, words)
        assert _asked(known) == asked
    known.search(space, query(_QUESTION))
    found = known.search(space, words)
    assert _asked(known) == 2
    assert texts(found) == texts(known.scanned(space, words, MemoryFilter()))


def test_a_known_subject_is_answered_whole_while_the_index_is_away(known: World) -> None:
    seen, unseen = _songs(known, 20), _songs(known, 20)
    for _ in range(2):
        known.search(seen, _QUESTION)
    assert known.on is not None
    assert known.on.fake is not None
    known.on.fake.failures.append(Refusal(503, "unavailable", "away"))
    assert known.search(unseen, _QUESTION).degraded
    found = known.search(seen, _QUESTION)
    assert (len(found.candidates), found.degraded) == (20, False)
    assert not known.search(unseen, _QUESTION).degraded, "the scan has read it meanwhile"
