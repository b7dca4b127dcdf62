"""Legal holds: what they cover stays, unseen where its subject is erased; when they end, it goes within one tick."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import inf

import pytest

from lethe.domain.erasure import ErasureState, MemoriesWithin, TheseMemories, WholeSubject
from lethe.domain.identity import Caller
from lethe.domain.memory import MemoryKind
from lethe.errors import Conflict, Erased, NotFound
from lethe.services.erasure.requests import NamedSession, Wanted
from tests.support.erasing import Erasing, rows
from tests.support.subjects import Filled, fill

pytestmark = pytest.mark.dynoxide

HOLDS = ("everything", "one memory", "a session", "a kind")
SCOPES = ("everything", "one memory", "a session", "a kind")


@pytest.fixture
def filled(house: Erasing, caller: Caller) -> Filled:
    return fill(house, house.write(caller, "alice"), "W")


def named(name: str, filled: Filled) -> Wanted:
    scopes: dict[str, Wanted] = {
        "everything": WholeSubject(),
        "one memory": TheseMemories((filled.memories[1].id,)),
        "a session": NamedSession("s-W"),
        "a kind": MemoriesWithin((MemoryKind.PREFERENCE,)),
    }
    return scopes[name]


def kept(name: str, filled: Filled) -> set[str]:
    """The memories that a hold of this name covers."""
    everyone = [*filled.memories, filled.derived]
    return {
        "everything": {memory.id for memory in everyone},
        "one memory": {filled.memories[1].id},
        "a session": {memory.id for memory in everyone if memory.source.session_id == "s-W"},
        "a kind": {memory.id for memory in everyone if memory.kind is MemoryKind.PREFERENCE},
    }[name]


def stored(house: Erasing, filled: Filled) -> set[str]:
    """The memories of the epoch that was filled, whoever may read it."""
    return {memory.id for memory in house.memories.all(filled.space)}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("hold", HOLDS)
def test_what_a_hold_covers_stays_until_it_ends(
    house: Erasing, caller: Caller, filled: Filled, hold: str, scope: str
) -> None:
    before = stored(house, filled)
    house.holds.place(caller, "alice", "case-7", named(hold, filled))
    wanted = named(scope, filled)
    asked = before if scope == "everything" else kept(scope, filled)
    if scope == "one memory":
        asked = {filled.memories[1].id}
    rests_on_it = {filled.derived.id} if filled.memories[0].id in asked else set[str]()
    if not rests_on_it or filled.memories[0].id not in kept(hold, filled):
        asked = asked | rests_on_it

    done = house.erase(caller, "alice", wanted)

    held = asked & kept(hold, filled)
    keeps_session = scope in ("everything", "a session") and hold in ("everything", "a session")
    assert stored(house, filled) == (before - asked) | held
    keeps = bool(held) or keeps_session
    assert done.state is (ErasureState.COMPLETED_WITH_HOLDS if keeps else ErasureState.COMPLETED)
    assert done.holds == (("case-7",) if keeps else ())
    assert (done.held > 0) is keeps
    receipt = house.receipt(done)["receipt"]
    assert isinstance(receipt, dict)
    assert [each["name"] for each in receipt["holds"]] == list(done.holds)

    house.tick.run()
    assert len(house.executions.started) == 1
    house.holds.release(caller, "case-7")
    house.tick.run()
    assert len(house.executions.started) == (2 if keeps else 1)
    if keeps:
        again = house.drive(house.read(done))
        assert again.state is ErasureState.COMPLETED
        assert len(again.receipts) == 2
    assert stored(house, filled) == before - asked - rests_on_it


def test_nobody_sees_what_is_held_of_an_erased_subject(house: Erasing, caller: Caller, filled: Filled) -> None:
    house.holds.place(caller, "alice", "case-7", WholeSubject())
    done = house.erase(caller, "alice", WholeSubject())
    assert done.state is ErasureState.COMPLETED_WITH_HOLDS
    with pytest.raises(NotFound):
        house.spaces.for_reading(caller, "alice")
    house.requests.admit(caller, "alice")
    space = house.spaces.for_writing(caller, "alice")
    assert house.memories.all(space) == ()
    assert house.sessions.ids(space) == ()
    assert house.answers.forget(filled.space, {filled.memories[0].id}) == 0
    assert "W answered" not in str(rows(house.inspected, [house.database.models.head.Meta.table_name]))


def test_a_held_memory_or_session_is_not_deleted(house: Erasing, caller: Caller, filled: Filled) -> None:
    house.holds.place(caller, "alice", "case-7", NamedSession("s-W"))
    for wanted in (TheseMemories((filled.memories[0].id,)), NamedSession("s-W")):
        with pytest.raises(Conflict):
            house.requests.delete(caller, "alice", wanted, None, lambda: inf)
    other = TheseMemories((filled.memories[1].id,))
    assert house.requests.delete(caller, "alice", other, None, lambda: inf) is not None
    assert house.requests.list(caller, 10, None).items[-1].holds == ()


def test_a_hold_comes_too_late_once_the_subject_is_fenced(house: Erasing, caller: Caller, filled: Filled) -> None:
    begun = house.begin(caller, "alice", WholeSubject())
    with pytest.raises(Conflict):
        house.holds.place(caller, "alice", "late", WholeSubject())
    house.drive(begun)
    with pytest.raises(Erased):
        house.holds.place(caller, "alice", "late", WholeSubject())
    with pytest.raises(NotFound):
        house.holds.place(caller, "nobody", "late", WholeSubject())


def test_a_name_is_one_hold(house: Erasing, caller: Caller, filled: Filled) -> None:
    first, new = house.holds.place(caller, "alice", "case-7", NamedSession("s-W"))
    house.clock.move(timedelta(seconds=1))
    assert new
    assert house.holds.place(caller, "alice", "case-7", NamedSession("s-W")) == (first, False)
    with pytest.raises(Conflict):
        house.holds.place(caller, "alice", "case-7", WholeSubject())
    house.holds.place(caller, "alice", "case-8", WholeSubject())
    assert [hold.name for hold in house.holds.list(caller, 1, None).items] == ["case-7"]
    assert [hold.name for hold in house.holds.list(caller, 5, "case-7").items] == ["case-8"]
    house.holds.release(caller, "case-7")
    house.holds.release(caller, "case-7")
    with pytest.raises(NotFound):
        house.holds.get(caller, "case-7")


def test_a_key_for_other_users_sees_no_hold(house: Erasing, caller: Caller, filled: Filled) -> None:
    house.holds.place(caller, "alice", "case-7", WholeSubject())
    bobs = replace(house.caller(caller.tenant, "bob"), key_id="K2")
    with pytest.raises(NotFound):
        house.holds.get(bobs, "case-7")
    assert house.holds.list(bobs, 5, None).items == ()
    house.holds.release(bobs, "case-7")
    assert house.holds.get(caller, "case-7").name == "case-7"


def test_of_two_holds_the_one_that_ended_is_done_with(house: Erasing, caller: Caller, filled: Filled) -> None:
    house.holds.place(caller, "alice", "a", TheseMemories((filled.memories[1].id,)))
    house.holds.place(caller, "alice", "b", TheseMemories((filled.memories[2].id,)))
    done = house.erase(caller, "alice", WholeSubject())
    assert done.holds == ("a", "b")
    house.holds.release(caller, "b")
    for _ in range(3):
        if house.tick.run():
            house.drive(house.read(done))
    again = house.read(done)
    assert (again.state, again.holds) == (ErasureState.COMPLETED_WITH_HOLDS, ("a",))
    assert len(again.receipts) == 2
    assert stored(house, filled) == {filled.memories[1].id}


def test_a_hold_that_keeps_nothing_is_not_named(house: Erasing, caller: Caller, filled: Filled) -> None:
    house.holds.place(caller, "alice", "idle", TheseMemories((house.ids.new("mem_"),)))
    house.holds.place(caller, "alice", "busy", TheseMemories((filled.memories[1].id,)))
    assert house.erase(caller, "alice", WholeSubject()).holds == ("busy",)


def test_a_name_that_was_given_to_another_hold_keeps_nothing_any_more(
    house: Erasing, caller: Caller, filled: Filled
) -> None:
    house.holds.place(caller, "alice", "case-7", WholeSubject())
    done = house.erase(caller, "alice", WholeSubject())
    house.holds.release(caller, "case-7")
    house.clock.move(timedelta(seconds=1))
    house.write(caller, "bob")
    house.holds.place(caller, "bob", "case-7", WholeSubject())
    assert house.tick.run() == 1
    again = house.drive(house.read(done))
    assert again.state is ErasureState.COMPLETED
    receipt = house.receipt(again)["receipt"]
    assert isinstance(receipt, dict)
    assert receipt["holds"] == []
    assert stored(house, filled) == set()


def test_what_rests_on_an_erased_memory_can_be_held(house: Erasing, caller: Caller, filled: Filled) -> None:
    house.holds.place(caller, "alice", "case-7", TheseMemories((filled.derived.id,)))
    done = house.erase(caller, "alice", TheseMemories((filled.memories[0].id,)))
    assert (done.state, done.holds) == (ErasureState.COMPLETED_WITH_HOLDS, ("case-7",))
    assert filled.derived.id in stored(house, filled)
    house.holds.release(caller, "case-7")
    assert house.tick.run() == 1
    again = house.drive(house.read(done))
    assert again.state is ErasureState.COMPLETED
    assert filled.derived.id not in stored(house, filled)


def test_a_context_is_a_copy_which_no_hold_keeps(house: Erasing, caller: Caller, filled: Filled) -> None:
    beside = filled.memories[-1]
    house.holds.place(caller, "alice", "case-7", TheseMemories((beside.id,)))
    done = house.erase(caller, "alice", TheseMemories((filled.memories[0].id,)))
    assert (done.state, done.holds) == (ErasureState.COMPLETED, ())
    kept_one = house.memories.get(filled.space, beside.id)
    assert kept_one is not None
    assert (kept_one.text, kept_one.context) == (beside.text, None)


def test_a_hold_outlives_a_restored_head(house: Erasing, caller: Caller, filled: Filled) -> None:
    """The ledger is not restored with the tables: what it holds is held, whatever the head says; and can be released,
    also when the backup is from before the user.
    """
    house.holds.place(caller, "alice", "case-7", WholeSubject())
    row = house.database.models.head
    place = (f"{filled.space.tenant}#{filled.space.subject}", "HEAD")
    house.database.put(row(*place, epoch=1, state="active", revision=0))
    with pytest.raises(Conflict):
        house.requests.delete(caller, "alice", TheseMemories((filled.memories[0].id,)), None, lambda: inf)
    house.database.delete(row(*place))
    house.holds.release(caller, "case-7")
    with pytest.raises(NotFound):
        house.holds.get(caller, "case-7")
