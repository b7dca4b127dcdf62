"""Many writers at once, on dynoxide: moto loses writes by itself, and would be green or red by chance."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

import pytest

from lethe.domain.identity import Space
from lethe.domain.memory import Memory
from lethe.domain.session import Role
from lethe.errors import Erased, VersionConflict
from tests.fakes.time_and_ids import START
from tests.support.makers import entity, memory, said
from tests.support.stores import Stores

THREADS = 8
Result = TypeVar("Result")


def at_once(work: Callable[[int], Result], count: int) -> list[Result]:
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(work, range(count)))


def test_appends_to_one_session_leave_no_gap(strict_stores: Stores) -> None:
    space = strict_stores.new_space()

    def append(number: int) -> list[int]:
        role = Role.USER if number % 2 else Role.ASSISTANT
        result = strict_stores.sessions.append(space, "s", [said(str(number), role)], START, 3600)
        return [message.sequence for message, _ in result.messages]

    given = at_once(append, THREADS * 40)
    assert sorted(sequence for sequences in given for sequence in sequences) == list(range(1, 321))
    messages = strict_stores.sessions.newest(space, "s", START, 1000)
    assert [m.sequence for m in messages][-160:] == list(range(161, 321))
    stored = strict_stores.sessions.page(space, "s", START, 1000, None).items
    assert [m.sequence for m in stored] == list(range(1, 321))
    assert sorted(int(m.content) for m in stored) == list(range(320))
    turn = 0
    for message in stored:
        turn += message.role is Role.USER
        assert message.turn == turn
    session = strict_stores.sessions.get(space, "s", START)
    assert session is not None
    assert (session.messages, session.turns) == (320, 160)


def test_a_client_id_from_many_devices_is_appended_once(strict_stores: Stores) -> None:
    space = strict_stores.new_space()

    def append(number: int) -> list[tuple[int, bool]]:
        new = [said(f"{n}", client_id=f"c{n}") for n in range(number % 3, 6)]
        result = strict_stores.sessions.append(space, "s", new, START, 3600)
        return [(message.sequence, old) for message, old in result.messages]

    results = [placed for placed_all in at_once(append, 24) for placed in placed_all]
    assert sorted(sequence for sequence, old in results if not old) == list(range(1, 7))
    assert sorted(m.content for m in strict_stores.sessions.page(space, "s", START, 50, None).items) == list("012345")


@pytest.mark.parametrize("begun", [False, True], ids=["new session", "session that stands"])
def test_appends_that_share_a_first_client_id_lose_none_of_the_others(strict_stores: Stores, begun: bool) -> None:
    """Each device begins with the same message, by the same id: only whose write it was may take it for its own."""
    for round_ in range(6):
        space = strict_stores.new_space()
        if begun:
            strict_stores.sessions.append(space, "s", [said("before")], START, 3600)

        def append(number: int, space: Space = space) -> tuple[datetime, list[tuple[str, int, bool]]]:
            new = [said("shared", client_id="first", id="first"), said(f"own {number}", client_id=f"own{number}")]
            moment = START + timedelta(microseconds=number)
            result = strict_stores.sessions.append(space, "s", new, moment, 3600)
            return result.session.created_at, [(m.content, m.sequence, old) for m, old in result.messages]

        results = at_once(append, 16)
        session = strict_stores.sessions.get(space, "s", START)
        assert session is not None
        assert {created for created, _ in results} == {session.created_at}, round_
        stored = {m.sequence: m.content for m in strict_stores.sessions.page(space, "s", START, 50, None).items}
        assert sorted(stored.values()) == sorted(["shared", *(f"own {n}" for n in range(16)), *["before"] * begun])
        placed = [place for _, places in results for place in places]
        assert all(stored[sequence] == content for content, sequence, _ in placed)
        assert [content for content, _, old in placed if not old].count("shared") == 1


def test_the_same_statement_from_many_is_stored_once(strict_stores: Stores) -> None:
    space = strict_stores.new_space()

    def add(number: int) -> tuple[str, str | None]:
        new = memory(f"statement {number // THREADS}")
        (result,) = strict_stores.memories.add(space, [new])
        return new.id, result.duplicate_of

    results = at_once(add, THREADS * 20)
    stored = {m.id for m in strict_stores.memories.all(space)}
    winners = {memory_id for memory_id, holder in results if holder is None}
    assert winners == stored
    assert len(stored) == 20
    for n in range(20):
        of_one = results[n * THREADS : (n + 1) * THREADS]
        (winner,) = [memory_id for memory_id, holder in of_one if holder is None]
        assert {holder for memory_id, holder in of_one if memory_id != winner} == {winner}
    assert 20 <= strict_stores.revision(space) <= 40


def test_overlapping_batches_store_each_statement_once(strict_stores: Stores) -> None:
    space = strict_stores.new_space()

    def add(number: int) -> list[tuple[Memory, str | None]]:
        batch = [memory(f"statement {n}") for n in range(number * 10, number * 10 + 80)]
        return [(result.memory, result.duplicate_of) for result in strict_stores.memories.add(space, batch)]

    results = [result for batch in at_once(add, 6) for result in batch]
    stored = {m.text: m.id for m in strict_stores.memories.all(space)}
    assert len(stored) == 130
    assert strict_stores.memories.count(space) == 130
    for new, holder in results:
        assert stored[new.text] == (new.id if holder is None else holder)
    assert sorted(new.text for new, holder in results if holder is None) == sorted(stored)


def test_versioned_updates_lose_nothing(strict_stores: Stores) -> None:
    space, first = strict_stores.new_space(), memory("0", metadata={"count": 0})
    strict_stores.memories.add(space, [first])

    def increment(_: int) -> None:
        while True:
            seen = strict_stores.memories.get(space, first.id)
            assert seen is not None
            count = seen.metadata["count"]
            assert isinstance(count, int)
            try:
                strict_stores.memories.update(space, seen, replace(seen, metadata={"count": count + 1}))
            except VersionConflict:
                continue
            return

    at_once(increment, THREADS * 25)
    history = strict_stores.memories.history(space, first.id)
    assert [m.metadata["count"] for m in history] == list(range(201))
    assert [m.version for m in history] == list(range(1, 202))
    assert strict_stores.revision(space) == 201


def test_the_last_writer_of_an_entity_wins_and_nobody_is_lost(strict_stores: Stores) -> None:
    space = strict_stores.new_space()
    versions = at_once(lambda n: strict_stores.entities.put(space, entity("k", n), None).version, THREADS * 10)
    assert sorted(versions) == list(range(1, 81))
    history = strict_stores.entities.history(space, "k", None, START)
    assert [e.version for e in history] == list(range(1, 81))
    assert sorted(e.value for e in history) == list(range(80))  # type: ignore[type-var]  # numbers, all of them
    assert len({e.id for e in history}) == 1


def test_one_of_many_makes_a_new_entity(strict_stores: Stores) -> None:
    space = strict_stores.new_space()

    def put(number: int) -> int:
        try:
            return strict_stores.entities.put(space, entity(f"k{number // THREADS}", number), 0).version
        except VersionConflict as refused:
            return -refused.current_version

    outcomes = at_once(put, THREADS * 5)
    for key in range(5):
        assert sorted(outcomes[key * THREADS : (key + 1) * THREADS]) == [-1] * 7 + [1]


def test_deletes_and_adds_at_once_end_in_order(strict_stores: Stores) -> None:
    """Whatever comes first: a statement is either stored and findable by its hash, or gone and free."""
    space = strict_stores.new_space()

    def work(number: int) -> None:
        if number % 2:
            strict_stores.memories.add(space, [memory(f"statement {number // 8}")])
        else:
            strict_stores.memories.delete(space, [m.id for m in strict_stores.memories.all(space)])

    at_once(work, 80)
    stored = strict_stores.memories.all(space)
    assert strict_stores.memories.count(space) == len(stored)
    assert len({m.content_hash for m in stored}) == len(stored)
    for kept in stored:
        (result,) = strict_stores.memories.add(space, [memory(kept.text)])
        assert result.duplicate_of == kept.id


def test_nothing_is_acknowledged_to_an_erased_epoch(strict_stores: Stores) -> None:
    space = strict_stores.new_space()

    def work(number: int) -> bool:
        if number == 20:
            strict_stores.begin_erasure(space)
        try:
            strict_stores.memories.add(space, [memory(f"statement {number}")])
        except Erased:
            return False
        return True

    acknowledged = at_once(work, 60)
    assert not acknowledged[20]
    assert not any(acknowledged[-THREADS:])
    assert strict_stores.memories.all(replace(space, epoch=2)) == ()
    assert strict_stores.memories.count(space) == sum(acknowledged)
