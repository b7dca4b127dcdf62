"""What the verifier says of parts: what is left of them, what was begun anew, what holds keep."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import inf

import pytest

from lethe.domain.erasure import Erasure, ErasureState, MemoriesWithin, StepName, TheseMemories, WholeSubject
from lethe.domain.idempotency import StoredAnswer, about_session
from lethe.domain.identity import Caller, Space
from lethe.domain.memory import MemoryKind
from lethe.errors import Throttled
from lethe.ports import Search
from lethe.services.erasure.requests import NamedSession, Wanted
from lethe.services.erasure.worker import LeftBehind
from tests.component.erasure.leftovers import Leftover
from tests.support.erasing import ORDER, Erasing
from tests.support.makers import entity, memory, said
from tests.support.subjects import WEEK, Filled, fill

pytestmark = pytest.mark.dynoxide

EARLY = "2026-01-01T00:00:00Z"


def look(house: Erasing, erasure: Erasure) -> dict[str, int]:
    search = Search(erasure.tenant, erasure.subject, erasure.scope, erasure.epochs, erasure.epoch, erasure.requested_at)
    holds = house.held.of_subject(erasure.tenant, erasure.subject or "")
    return dict(house.verifier.look(search, holds, None, lambda: inf).remaining)


def left_of_memory(filled: Filled) -> list[Leftover]:
    """Of the memory with which ``fill`` begins."""
    space, memory_id = filled.space, filled.memories[0].id
    pk, beside = f"{space.tenant}#{space.subject}#1", f"{space.tenant}#{space.subject}"
    stated = {"kind": "fact", "created_at": EARLY}
    return [
        Leftover("memory", "memories", pk, f"MEM#{memory_id}", stated, True),
        Leftover("old version", "memories", pk, f"OLD#{memory_id}#v0000000001", stated, False),
        Leftover("hash", "memories", pk, "HASH#0", {"memory_id": memory_id}, False),
        Leftover("note", "memories", pk, f"CHANGED#0#{memory_id}", {"memory_id": memory_id}, False),
        Leftover("derived", "memories", pk, "MEM#mem_y", stated | {"derived_from": f'["{memory_id}"]'}, True),
        Leftover("answer", "answers", beside, "IDEMPOTENCY#1#d#0000000000", {"about": f'["{memory_id}"]'}, True),
    ]


def left_of_session(filled: Filled) -> list[Leftover]:
    space, name = filled.space, filled.session.id
    pk, beside = f"{space.tenant}#{space.subject}#1", f"{space.tenant}#{space.subject}"
    stated = {"kind": "fact", "created_at": EARLY, "session_id": name}
    return [
        Leftover("head", "sessions", pk, f"SESSION#{name}", {"created_at": EARLY}, True),
        Leftover("message", "sessions", pk, f"S#{name}#MSG#0000000009", {}, True),
        Leftover("client", "sessions", pk, f"S#{name}#CLIENT#0", {}, True),
        Leftover("summary", "sessions", pk, f"S#{name}#SUMMARY#0000000001", {}, True),
        Leftover("value", "entities", pk, f"CURRENT#session:{name}#k", {}, True),
        Leftover("old value", "entities", pk, f"OLD#session:{name}#k#v0000000001", {}, True),
        Leftover("memory", "memories", pk, "MEM#mem_x", stated, True),
        Leftover("old version", "memories", pk, "OLD#mem_x#v0000000001", stated, False),
        Leftover("answer", "answers", beside, "IDEMPOTENCY#1#d#0000000000", {"about": f'["session:{name}"]'}, True),
    ]


@pytest.mark.parametrize("of", ["memory", "session"])
def test_no_receipt_is_signed_over_what_is_left_of_a_part(house: Erasing, caller: Caller, of: str) -> None:
    filled = fill(house, house.write(caller, "alice"), "word")
    wanted = TheseMemories((filled.memories[0].id,)) if of == "memory" else NamedSession(filled.session.id)
    begun = house.begin(caller, "alice", wanted)
    for task in ORDER[: ORDER.index(StepName.SWEEP) + 1]:
        house.worker.run(task, begun.tenant, begun.id, lambda: inf)
    planted = left_of_memory(filled) if of == "memory" else left_of_session(filled)
    for each in planted:
        each.plant(house.inspected, house)
        assert look(house, begun) == {each.store: 1}, each.kind
        with pytest.raises(LeftBehind):
            house.worker.run(StepName.VERIFY, begun.tenant, begun.id, lambda: inf)
        each.remove(house.inspected, house)
    assert house.signer.signed == []
    for task in (StepName.VERIFY, StepName.RECEIPT):
        house.worker.run(task, begun.tenant, begun.id, lambda: inf)
    assert house.read(begun).state is ErasureState.COMPLETED


def test_a_session_that_is_begun_anew_stays_and_is_not_counted(house: Erasing, caller: Caller) -> None:
    space = house.write(caller, "alice")
    filled = fill(house, space, "old")
    begun = house.begin(caller, "alice", NamedSession(filled.session.id))
    house.clock.move(timedelta(seconds=1))
    now = house.clock.now()
    anew = house.sessions.append(space, filled.session.id, [said("new words")], now, WEEK)
    taken = replace(memory("new statement", now), source=replace(filled.memories[0].source))
    house.memories.add(space, [taken], anew.session)
    house.entities.put(space, entity("new", session_id=filled.session.id), None)

    done = house.drive(begun)

    assert done.state is ErasureState.COMPLETED
    assert house.sessions.get(space, filled.session.id, now) is not None
    assert [each.content for each in house.sessions.newest(space, filled.session.id, now, 5)] == ["new words"]
    assert house.memories.get(space, taken.id) is not None
    assert house.memories.get(space, filled.memories[0].id) is None


def test_a_session_of_which_only_values_are_left_is_found(house: Erasing, caller: Caller) -> None:
    space = house.write(caller, "alice")
    house.entities.put(space, entity("size", session_id="gone"), None)
    house.entities.put(space, entity("size"), None)
    done = house.erase(caller, "alice", NamedSession("gone"))
    assert done.state is ErasureState.COMPLETED
    assert [each.session_id for each in house.entities.list(space, house.clock.now())] == [None]


def test_an_answer_that_came_after_its_session_was_deleted_is_forgotten(house: Erasing, caller: Caller) -> None:
    space = house.write(caller, "alice")
    filled = fill(house, space, "word")
    begun = house.begin(caller, "alice", NamedSession(filled.session.id))
    late = StoredAnswer(201, "late", frozenset({about_session(filled.session.id)}))
    house.at_drain = lambda: house.answers.store(space, space.tenant, "late", late, house.clock.now())
    assert house.drive(begun).state is ErasureState.COMPLETED
    assert house.answers.answer(space, "late", house.clock.now()) is None


def test_the_notes_of_a_memory_go_with_it(house: Erasing, caller: Caller) -> None:
    space = house.write(caller, "alice")
    filled = fill(house, space, "word")
    changed = next(each for each in filled.memories if each.version == 2)
    assert house.memories.changed_since(space, house.clock.now() - timedelta(days=1)) == (changed.id,)
    assert house.erase(caller, "alice", TheseMemories((changed.id,))).state is ErasureState.COMPLETED
    assert changed.id not in house.memories.changed_since(space, house.clock.now() - timedelta(days=1))


def scopes(filled: Filled) -> list[Wanted]:
    ids = tuple(each.id for each in filled.memories)
    return [TheseMemories(ids), MemoriesWithin(), MemoriesWithin(tuple(MemoryKind)), NamedSession(filled.session.id)]


@pytest.mark.parametrize("number", range(4))
def test_what_a_hold_keeps_of_a_part_is_explained_with_all_that_rests_on_it(
    house: Erasing, caller: Caller, number: int
) -> None:
    filled = fill(house, house.write(caller, "alice"), "word")
    held = filled.memories[0].id
    house.holds.place(caller, "alice", "court", TheseMemories((held,)))
    house.holds.place(caller, "alice", "idle", TheseMemories(("mem_" + "0" * 26,)))
    wanted = scopes(filled)[number]
    done = house.erase(caller, "alice", wanted)
    assert (done.state, done.holds) == (ErasureState.COMPLETED_WITH_HOLDS, ("court",))
    assert done.held == 2  # the memory and its hash
    assert house.memories.get(filled.space, held) is not None
    house.holds.release(caller, "court")
    house.clock.move(timedelta(minutes=5))
    assert house.tick.run() == 1
    assert house.drive(done).state is ErasureState.COMPLETED
    assert house.memories.get(filled.space, held) is None


def test_a_part_of_who_is_being_erased_waits_and_is_judged_by_its_epoch(house: Erasing, caller: Caller) -> None:
    space = house.write(caller, "alice")
    filled = fill(house, space, "word")
    part = house.erase(caller, "alice", TheseMemories((filled.memories[0].id,)))
    whole = house.begin(caller, "alice", WholeSubject())
    with pytest.raises(Throttled):
        look(house, part)
    house.drive(whole)
    house.requests.admit(caller, "alice")
    fill(house, house.write(caller, "alice"), "again")
    assert look(house, part) == {}
    planted(space).plant(house.inspected, house)
    assert look(house, part) == {"memories": 1}


def planted(space: Space) -> Leftover:
    return Leftover("any", "memories", f"{space.tenant}#{space.subject}#{space.epoch}", "MEM#mem_x", {}, True)
