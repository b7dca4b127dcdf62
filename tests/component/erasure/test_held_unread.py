"""Holds, parts and whole subjects in any order.

What is held in an epoch that nobody reads is told by every receipt that is about it, by the names of all holds that
keep it, until the last of them ends.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from math import inf

import pytest

from lethe.domain.erasure import Erasure, ErasureState, MemoriesWithin, StepName, TheseMemories, WholeSubject
from lethe.domain.idempotency import StoredAnswer
from lethe.domain.identity import Caller
from lethe.domain.memory import MemoryKind
from lethe.entry.erasing import TICK, EraseApplication
from lethe.errors import Throttled
from lethe.services.erasure.requests import NamedSession, Wanted
from lethe.services.erasure.worker import MOST_WAITS
from lethe.services.spaces import ended_spaces
from tests.component.erasure.test_whole_subjects import everything
from tests.support.erasing import Erasing
from tests.support.subjects import Filled, fill

pytestmark = pytest.mark.dynoxide

PARTS: dict[str, Callable[[Filled], Wanted]] = {
    "kinds": lambda filled: MemoriesWithin((filled.memories[0].kind,)),
    "ids": lambda filled: TheseMemories((filled.memories[0].id,)),
    "session": lambda filled: NamedSession(filled.session.id),
}


def said(erasure: Erasure) -> tuple[ErasureState, tuple[str, ...], bool]:
    return erasure.state, erasure.holds, erasure.held > 0


def held_by(*names: str) -> tuple[ErasureState, tuple[str, ...], bool]:
    return ErasureState.COMPLETED_WITH_HOLDS, names, True


ALL_GONE = (ErasureState.COMPLETED, (), False)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_the_whole_user_and_two_holds_that_end_one_after_the_other(
    house: Erasing, caller: Caller, part: str
) -> None:
    filled = fill(house, house.write(caller, "alice"), "W")
    for name in ("one", "two"):
        house.holds.place(caller, "alice", name, WholeSubject())
    erasures = [house.erase(caller, "alice", wanted) for wanted in (PARTS[part](filled), WholeSubject())]
    assert [said(each) for each in erasures] == [held_by("one", "two")] * 2

    house.holds.release(caller, "one")
    assert house.tick.run() == 2
    erasures = [house.drive(each) for each in erasures]
    assert [said(each) for each in erasures] == [held_by("two")] * 2

    house.holds.release(caller, "two")
    assert house.tick.run() == 2
    whole, of_part = house.drive(erasures[1]), house.drive(erasures[0])
    assert [said(whole), said(of_part)] == [ALL_GONE] * 2
    assert [sk for _, pk, sk in everything(house) if pk.count("#") == 1 and "IDEMPOTENCY" not in sk] == ["HEAD"]
    assert [len(each.receipts) for each in (whole, of_part)] == [3, 3]


@pytest.mark.parametrize("admitted", [False, True], ids=["erased", "admitted"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_who_was_erased_tells_what_is_held_of_it(
    house: Erasing, caller: Caller, part: str, admitted: bool
) -> None:
    filled = fill(house, house.write(caller, "alice"), "W")
    house.holds.place(caller, "alice", "court", WholeSubject())
    house.erase(caller, "alice", WholeSubject())
    if admitted:
        house.requests.admit(caller, "alice")
    assert said(house.erase(caller, "alice", PARTS[part](filled))) == held_by("court")
    other = next(kind for kind in MemoryKind if kind not in {each.kind for each in (*filled.memories, filled.derived)})
    assert said(house.erase(caller, "alice", MemoriesWithin((other,)))) == ALL_GONE
    assert said(house.erase(caller, "alice", NamedSession("another"))) == ALL_GONE


def test_every_hold_on_a_record_is_named(house: Erasing, caller: Caller) -> None:
    filled = fill(house, house.write(caller, "alice"), "W")
    memory = filled.memories[0]
    house.holds.place(caller, "alice", "by-kind", MemoriesWithin((memory.kind,)))
    house.holds.place(caller, "alice", "by-id", TheseMemories((memory.id,)))
    house.holds.place(caller, "alice", "session", NamedSession(filled.session.id))
    house.holds.place(caller, "alice", "other", TheseMemories(("mem_" + "0" * 26,)))
    part = house.erase(caller, "alice", TheseMemories((memory.id,)))
    whole = house.erase(caller, "alice", WholeSubject())
    names = ("by-id", "by-kind", "session")
    assert [said(part), said(whole)] == [held_by(*names)] * 2


class Unobserved:
    def worked(self, task: str, done: bool, seconds: float) -> None: ...

    def failed(self, task: str, error: BaseException) -> None: ...


class Context:
    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 300_000


def test_a_part_waits_for_the_erasure_of_its_whole_user(house: Erasing, caller: Caller) -> None:
    filled = fill(house, house.write(caller, "alice"), "W")
    part = house.begin(caller, "alice", TheseMemories((filled.memories[0].id,)))
    whole = house.begin(caller, "alice", WholeSubject())
    erase = EraseApplication(house.worker, {TICK: house.tick.run}, Unobserved(), lambda: 0.0)
    for task in (StepName.LEDGER, StepName.ARCHIVE):
        house.worker.run(task, part.tenant, part.id, lambda: inf)
    answer = erase({"task": "probe", "tenant": part.tenant, "erasure": part.id}, Context())  # type: ignore[arg-type]  # what it asks for
    assert (answer["task"], answer["done"]) == ("probe later", False)
    assert house.read(part).step(StepName.PROBE).attempts == 1
    house.drive(whole)
    assert said(house.drive(part)) == ALL_GONE


def test_it_does_not_wait_for_ever(house: Erasing, caller: Caller) -> None:
    filled = fill(house, house.write(caller, "alice"), "W")
    part = house.begin(caller, "alice", TheseMemories((filled.memories[0].id,)))
    house.begin(caller, "alice", WholeSubject())
    for _ in range(MOST_WAITS):
        assert house.worker.run(StepName.PROBE, part.tenant, part.id, lambda: inf).later
    with pytest.raises(Throttled, match="whole subject"):
        house.worker.run(StepName.PROBE, part.tenant, part.id, lambda: inf)


def test_a_failure_after_a_good_run_is_the_first_in_a_row(house: Erasing, caller: Caller) -> None:
    fill(house, house.write(caller, "alice"), "W")
    house.holds.place(caller, "alice", "court", WholeSubject())
    erasure = house.erase(caller, "alice", WholeSubject())
    house.holds.release(caller, "court")
    for minutes in (5, 10):
        house.clock.move(timedelta(hours=1))
        assert house.tick.run() == 1
        house.worker.fail(erasure.tenant, erasure.id, "unavailable")
        house.clock.move(timedelta(minutes=minutes, seconds=-1))
        assert house.tick.run() == 0
    assert said(house.drive(house.read(erasure)))[0] is ErasureState.COMPLETED
    assert house.read(erasure).failures == 0


@pytest.mark.parametrize("late", [False, True], ids=["alone", "beside a late writer"])
def test_what_a_hold_lets_go_during_the_drain_is_counted_once(house: Erasing, caller: Caller, late: bool) -> None:
    filled = fill(house, house.write(caller, "alice"), "W")
    house.holds.place(caller, "alice", "court", WholeSubject())
    (kept,) = ended_spaces(caller.tenant, filled.space.subject, 1)
    stock = house.purge.count(kept)

    def drained() -> None:
        house.holds.release(caller, "court")
        if late:
            house.answers.store(kept, kept.tenant, "late", StoredAnswer(201, "{}"), house.clock.now())

    house.at_drain = drained
    done = house.erase(caller, "alice", WholeSubject())
    assert said(done) == ALL_GONE
    counted = [done.step(name) for name in (StepName.MEMORIES, StepName.ENTITIES, StepName.SESSIONS)]
    assert [step.found for step in counted] == [stock.memories, stock.entities, stock.sessions]
    assert [step.deleted for step in counted] == [step.found for step in counted]
    assert done.step(StepName.SWEEP).deleted == late
