"""Erasing parts of a subject: single memories, a session, kinds and times, with what rests on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from math import inf
from typing import cast

import pytest

from lethe.domain.erasure import Erasure, ErasureState, MemoriesWithin, StepName, TheseMemories, WholeSubject
from lethe.domain.idempotency import about_session
from lethe.domain.identity import Caller
from lethe.domain.indexing import Change, Outcome, Remove
from lethe.domain.memory import MemoryKind
from lethe.errors import Erased, Unavailable, VersionConflict
from lethe.ports import IndexWriter
from lethe.services.erasure.requests import NamedSession
from tests.support.erasing import Erasing
from tests.support.subjects import Filled, fill

pytestmark = pytest.mark.dynoxide


@pytest.fixture
def filled(house: Erasing, caller: Caller) -> Filled:
    fill(house, house.write(caller, "bob"), "BOBWORD")
    return fill(house, house.write(caller, "alice"), "W")


def left(house: Erasing, caller: Caller) -> set[str]:
    return {memory.id for memory in house.memories.all(house.spaces.for_reading(caller, "alice"))}


def test_a_memory_goes_with_what_was_made_of_it(house: Erasing, caller: Caller, filled: Filled) -> None:
    target, *others = filled.memories
    begun = house.requests.delete(caller, "alice", TheseMemories((target.id,)), None, lambda: inf)
    assert begun is not None
    assert begun.unreadable_since is not None
    assert left(house, caller) == {memory.id for memory in others}
    assert house.memories.history(filled.space, target.id) == ()

    done = house.drive(begun)

    assert done.state is ErasureState.COMPLETED
    assert done.step(StepName.MEMORIES).deleted == 1
    assert left(house, caller) == {memory.id for memory in others}
    assert house.answers.forget(filled.space, {target.id}) == 0


def test_a_neighbour_loses_the_context_that_repeats_what_went(house: Erasing, caller: Caller, filled: Filled) -> None:
    target, beside = filled.memories[0], filled.memories[-1]
    assert beside.context is not None
    house.erase(caller, "alice", TheseMemories((target.id,)))
    rebuilt = house.memories.get(filled.space, beside.id)
    assert rebuilt is not None
    assert (rebuilt.text, rebuilt.context, rebuilt.context_from) == (beside.text, None, ())
    assert rebuilt.version > beside.version
    assert rebuilt.embedding is not None
    assert "message 0" not in str(house.memories.history(filled.space, beside.id))


def test_a_session_goes_with_what_was_taken_from_it(house: Erasing, caller: Caller, filled: Filled) -> None:
    done = house.erase(caller, "alice", NamedSession("s-W"))
    now = house.clock.now()
    assert done.state is ErasureState.COMPLETED
    assert house.sessions.get(filled.space, "s-W", now) is None
    assert left(house, caller) == {memory.id for memory in filled.memories[1:]}
    assert [value.key for value in house.entities.list(filled.space, now)] == ["W-own"]
    assert house.answers.forget(filled.space, {about_session("s-W")}) == 0
    assert "s-W" not in str(house.receipt(done))


def test_kinds_and_times(house: Erasing, caller: Caller, filled: Filled) -> None:
    kinds = (MemoryKind.PROFILE, MemoryKind.SUMMARY)
    until = max(memory.created_at for memory in filled.memories)
    expected = {m.id for m in filled.memories if m.kind not in kinds or m.created_at >= until}
    done = house.erase(caller, "alice", MemoriesWithin(kinds, None, until))
    dropped = {filled.derived.id}
    assert done.state is ErasureState.COMPLETED
    assert left(house, caller) == expected - dropped


def test_what_is_written_after_the_request_is_no_business_of_it(house: Erasing, caller: Caller, filled: Filled) -> None:
    begun = house.begin(caller, "alice", MemoriesWithin((MemoryKind.FACT, MemoryKind.PROFILE), None, None))
    house.clock.move(timedelta(seconds=1))
    later = replace(filled.memories[0], id=house.ids.new("mem_"), created_at=house.clock.now(), content_hash="later")
    house.memories.add(filled.space, [replace(later, kind=MemoryKind.PROFILE)])
    done = house.drive(begun)
    assert done.state is ErasureState.COMPLETED
    assert later.id in left(house, caller)


def test_what_is_not_there_is_deleted_without_an_erasure(house: Erasing, caller: Caller, filled: Filled) -> None:
    wanted = TheseMemories((house.ids.new("mem_"),))
    assert house.requests.delete(caller, "alice", wanted, None, lambda: inf) is None
    assert house.requests.delete(caller, "alice", NamedSession("none"), None, lambda: inf) is None
    assert house.requests.delete(caller, "nobody", NamedSession("none"), None, lambda: inf) is None
    assert house.requests.list(caller, 10, None).items == ()
    assert house.erase(caller, "alice", wanted).state is ErasureState.COMPLETED


def test_another_version_is_not_deleted(house: Erasing, caller: Caller, filled: Filled) -> None:
    changed = filled.memories[-2]
    with pytest.raises(VersionConflict) as refused:
        house.requests.delete(caller, "alice", TheseMemories((changed.id,)), 1, lambda: inf)
    assert refused.value.current_version == changed.version == 2
    assert house.requests.delete(caller, "alice", TheseMemories((changed.id,)), 2, lambda: inf) is not None
    assert changed.id not in left(house, caller)


def test_a_part_of_who_is_being_erased_is_part_of_that(house: Erasing, caller: Caller, filled: Filled) -> None:
    part = house.begin(caller, "alice", NamedSession("s-W"))
    whole = house.begin(caller, "alice", WholeSubject())
    assert house.begin(caller, "alice", NamedSession("s-W")).id == whole.id
    with pytest.raises(Erased):
        house.requests.delete(caller, "alice", NamedSession("s-W"), None, lambda: inf)
    assert house.drive(whole).state is ErasureState.COMPLETED
    assert house.drive(part).state is ErasureState.COMPLETED


def test_without_time_the_machine_does_the_rest(house: Erasing, caller: Caller, filled: Filled) -> None:
    everything = MemoriesWithin()
    many = fill(house, house.write(caller, "carol"), "MANY", memories=450)
    begun = house.requests.begin(caller, "carol", everything, None, lambda: 0.0)
    assert begun.unreadable_since is None
    assert 0 < len(house.memories.all(many.space)) < 452
    done = house.drive(begun)
    assert done.state is ErasureState.COMPLETED
    assert done.unreadable_since is not None
    assert house.memories.all(many.space) == ()
    memories = done.step(StepName.MEMORIES)
    assert (memories.found, memories.deleted) == (452, 452)


def test_a_request_that_died_has_counted_what_it_deleted(house: Erasing, caller: Caller, filled: Filled) -> None:
    delete: Callable[..., object] = house.partial.delete

    def dying(erasure: Erasure, step: StepName, *others: object) -> object:
        if step is StepName.ENTITIES:
            raise Unavailable
        return delete(erasure, step, *others)

    house.partial.delete = dying  # type: ignore[method-assign,assignment]  # the process ends between two steps
    with pytest.raises(Unavailable):
        house.begin(caller, "alice", TheseMemories(tuple(memory.id for memory in filled.memories[:2])))
    house.partial.delete = delete  # type: ignore[method-assign,assignment]  # another process
    (begun,) = house.requests.list(caller, 10, None).items
    assert left(house, caller) == {memory.id for memory in filled.memories[2:]}

    done = house.drive(begun)

    assert done.state is ErasureState.COMPLETED
    memories, derived = done.step(StepName.MEMORIES), done.step(StepName.DERIVED)
    assert (memories.found, memories.deleted) == (2, 2)
    assert derived.found == derived.deleted >= 2


class IndexAway:
    """Takes nothing while it is away."""

    def __init__(self) -> None:
        self.away = True
        self.taken: list[Change] = []

    def apply(self, changes: Sequence[Change], within: float) -> tuple[Outcome, ...]:
        if self.away:
            raise Unavailable
        self.taken += changes
        return (Outcome.APPLIED,) * len(changes)


def test_a_memory_goes_also_while_the_index_is_away(house: Erasing, caller: Caller, filled: Filled) -> None:
    index = IndexAway()
    house = Erasing(house.database, house.inspected, writer=cast("IndexWriter", index), clock=house.clock)
    target = filled.memories[1]
    begun = house.requests.delete(caller, "alice", TheseMemories((target.id,)), None, lambda: inf)
    assert begun is not None
    assert begun.unreadable_since is not None
    assert target.id not in left(house, caller)
    index.away = False
    assert house.drive(begun).state is ErasureState.COMPLETED
    assert {change.memory_id for change in index.taken if isinstance(change, Remove)} == {target.id}


def test_what_was_made_of_it_goes_deepest_first(house: Erasing, caller: Caller, filled: Filled) -> None:
    """Cut short anywhere, what is left can still be reached from what is left."""
    made = filled.derived
    chain = [made]
    for number in range(3):
        made = replace(
            made, id=house.ids.new("mem_"), derived_from=(made.id,), content_hash=f"deeper {number}", text=f"{number}"
        )
        chain.append(made)
    house.memories.add(filled.space, chain[1:])
    begun = house.requests.begin(caller, "alice", TheseMemories((filled.memories[0].id,)), None, lambda: 0.0)
    assert begun.unreadable_since is None
    assert {memory.id for memory in chain} & left(house, caller) == {memory.id for memory in chain[:-1]}
    assert house.drive(begun, time_left=lambda: 0.0).state is ErasureState.COMPLETED
    assert {memory.id for memory in [*chain, filled.memories[0]]} & left(house, caller) == set()
