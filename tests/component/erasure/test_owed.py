"""What a hold keeps goes when it ends, also where nothing left tells why: what it was made of has gone before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import inf

import pytest

from lethe.domain.erasure import ErasureState, MemoriesWithin, StepName, TheseMemories
from lethe.domain.identity import Caller, Space
from lethe.domain.memory import Memory, MemoryKind, Origin, Source
from lethe.services.erasure.requests import NamedSession, Wanted
from tests.support.erasing import Erasing
from tests.support.makers import memory

pytestmark = pytest.mark.dynoxide

SESSION = "s1"
WANTED: dict[str, Wanted | None] = {
    "session": NamedSession(SESSION),
    "kind": MemoriesWithin((MemoryKind.EPISODE,)),
    "ids": None,
}


def kept(house: Erasing, caller: Caller) -> tuple[Space, list[Memory]]:
    """An episode of a session, a summary of it that a hold keeps, and a fact that was made of that."""
    space = house.write(caller, "alice")
    episode = memory(
        "Ana came to Oslo.", source=Source("key_1", Origin.USER, session_id=SESSION), kind=MemoryKind.EPISODE
    )
    summary = memory("She travels.", derived_from=(episode.id,), kind=MemoryKind.SUMMARY)
    fact = memory("She likes it.", derived_from=(summary.id,))
    memories = [replace(each, content_hash=each.id) for each in (episode, summary, fact)]
    house.memories.add(space, memories)
    house.holds.place(caller, "alice", "court", TheseMemories((summary.id,)))
    return space, memories


def wanted_of(name: str, episode: Memory) -> Wanted:
    return WANTED[name] or TheseMemories((episode.id,))


def there(house: Erasing, space: Space, memories: list[Memory]) -> list[bool]:
    return [house.memories.get(space, each.id) is not None for each in memories]


@pytest.mark.parametrize("name", WANTED)
def test_a_held_memory_outlives_what_it_was_made_of_and_goes_with_its_hold(
    house: Erasing, caller: Caller, name: str
) -> None:
    space, memories = kept(house, caller)
    done = house.erase(caller, "alice", wanted_of(name, memories[0]))
    assert there(house, space, memories) == [False, True, False]
    assert (done.state, done.holds, done.held) == (ErasureState.COMPLETED_WITH_HOLDS, ("court",), 2)

    house.clock.move(timedelta(hours=1))
    assert house.tick.run() == 0
    house.holds.release(caller, "court")
    assert house.tick.run() == 1
    last = house.drive(done)
    assert (last.state, last.holds, last.held) == (ErasureState.COMPLETED, (), 0)
    assert there(house, space, memories) == [False, False, False]
    assert last.step(StepName.MEMORIES).deleted + last.step(StepName.DERIVED).deleted == len(memories)


@pytest.mark.parametrize("name", WANTED)
def test_it_is_known_before_anything_goes(house: Erasing, caller: Caller, name: str) -> None:
    space, memories = kept(house, caller)
    begun = house.begin(caller, "alice", wanted_of(name, memories[0]))
    row = house.read(begun)
    assert row.owed == (memories[1].id,)
    house.holds.release(caller, "court")
    assert house.drive(row).state is ErasureState.COMPLETED
    assert there(house, space, memories) == [False, False, False]


def test_the_verifier_finds_what_is_owed(house: Erasing, caller: Caller) -> None:
    _, memories = kept(house, caller)
    done = house.erase(caller, "alice", NamedSession(SESSION))
    house.holds.release(caller, "court")
    house.clock.move(timedelta(hours=1))
    assert house.tick.run() == 1
    begun = house.read(done)
    assert not house.worker.run(StepName.PROBE, begun.tenant, begun.id, lambda: inf).done
    assert dict(house.read(done).verified[-1].remaining) == {"memories": 2}, "the memory and its hash"
    assert memories[1].id in house.read(done).owed
