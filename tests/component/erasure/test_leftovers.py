"""Leftovers of every kind, in all stores: no receipt is signed over any of them."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from math import inf

import pytest

from lethe.domain.erasure import Erasure, ErasureState, StepName, StepState, WholeSubject
from lethe.domain.identity import Caller, Space
from lethe.errors import LetheError
from lethe.ports import Search
from lethe.services.erasure.worker import LeftBehind
from tests.component.erasure.leftovers import Leftover, leftover
from tests.support.erasing import ORDER, Erasing
from tests.support.subjects import fill

pytestmark = pytest.mark.dynoxide

IN_TABLES = 160
"""In the index there are 40 more (``test_leftovers_of_the_index``)."""


def second_epoch(house: Erasing, caller: Caller) -> Space:
    """A subject in its second epoch, all of whose first one is gone."""
    fill(house, house.write(caller, "alice"), "first")
    house.erase(caller, "alice", WholeSubject())
    house.requests.admit(caller, "alice")
    return house.write(caller, "alice")


def through(house: Erasing, erasure: Erasure, last: StepName) -> None:
    """Every task up to ``last``, once: there is time enough for each."""
    for task in ORDER[: ORDER.index(last) + 1]:
        assert house.worker.run(task, erasure.tenant, erasure.id, lambda: inf).done


def test_no_receipt_is_signed_over_what_is_left_in_a_table(house: Erasing, caller: Caller) -> None:
    space = second_epoch(house, caller)
    fill(house, space, "second")
    fill(house, house.write(caller, "bob"), "other")
    begun = house.begin(caller, "alice", WholeSubject())
    through(house, begun, StepName.SWEEP)
    chance, kinds, signed = random.Random(20261130), Counter[str](), len(house.signer.signed)
    for number in range(IN_TABLES):
        planted = leftover(chance, space)
        kinds[planted.kind] += 1
        planted.plant(house.inspected, house)
        with pytest.raises(LeftBehind):
            house.worker.run(StepName.VERIFY, begun.tenant, begun.id, lambda: inf)
        with pytest.raises(LetheError):  # were it asked for by mistake
            house.worker.run(StepName.RECEIPT, begun.tenant, begun.id, lambda: inf)
        assert dict(house.read(begun).verified[-1].remaining) == {planted.store: 1}, (number, planted)
        planted.remove(house.inspected, house)
    assert len(house.signer.signed) == signed
    assert house.read(begun).receipts == ()
    print(f"{IN_TABLES} leftovers in tables, {len(kinds)} kinds, {IN_TABLES} refusals to sign")
    assert len(kinds) > 15

    for task in (StepName.VERIFY, StepName.RECEIPT):
        house.worker.run(task, begun.tenant, begun.id, lambda: inf)
    assert house.read(begun).state is ErasureState.COMPLETED
    assert len(house.signer.signed) == signed + 1


@pytest.mark.parametrize("seed", range(12))
def test_the_first_verification_mends_what_can_be_deleted(house: Erasing, caller: Caller, seed: int) -> None:
    space = house.write(caller, "alice")
    fill(house, space, "word")
    planted = leftover(random.Random(seed), space)
    begun = house.begin(caller, "alice", WholeSubject())
    through(house, begun, StepName.ARCHIVE)
    planted.plant(house.inspected, house)
    done = house.drive(begun)

    if planted.repaired:
        assert done.state is ErasureState.COMPLETED
        assert dict(done.verified[0].remaining) == {planted.store: 1}
        assert [each.is_clean for each in done.verified] == [False, True, True]
        return
    assert (done.state, done.failure, done.receipts) == (ErasureState.FAILED, "left_behind", ())
    ended_by_hand(house, done, planted)


def ended_by_hand(house: Erasing, failed: Erasure, planted: Leftover) -> None:
    """An operator removes it, and the tick starts the erasure again."""
    planted.remove(house.inspected, house)
    house.clock.move(timedelta(hours=1))
    assert house.tick.run() == 1
    assert house.drive(failed).state is ErasureState.COMPLETED


@pytest.mark.parametrize("whole_tables", [True, False])
def test_what_is_none_of_its_business_is_not_counted(house: Erasing, caller: Caller, whole_tables: bool) -> None:
    house.whole_tables = whole_tables
    house.__post_init__()
    fill(house, house.write(caller, "alice"), "before")
    done = house.erase(caller, "alice", WholeSubject())
    house.requests.admit(caller, "alice")
    fill(house, house.write(caller, "alice"), "after")
    fill(house, house.write(caller, "bob"), "other")
    fill(house, house.write(house.caller(f"{caller.tenant}-2"), "alice"), "elsewhere")
    search = Search(done.tenant, done.subject, done.scope, done.epochs, 0, done.requested_at)

    seen = house.verifier.look(search, (), None, lambda: inf)

    assert (seen.remaining, seen.held, seen.cursor) == ((), (), None)


def test_what_was_written_into_an_epoch_that_nobody_was_let_into_is_found(house: Erasing, caller: Caller) -> None:
    space = house.write(caller, "alice")
    done = house.erase(caller, "alice", WholeSubject())
    stray = Leftover("stray", "memories", f"{space.tenant}#{space.subject}#2", "MEM#x", {}, False)
    stray.plant(house.inspected, house)
    search = Search(done.tenant, done.subject, done.scope, done.epochs, 0, done.requested_at)
    assert dict(house.verifier.look(search, (), None, lambda: inf).remaining) == {"memories": 1}
    house.requests.admit(caller, "alice")
    assert dict(house.verifier.look(search, (), None, lambda: inf).remaining) == {}


def test_without_time_the_look_goes_on_where_it_was(house: Erasing, caller: Caller) -> None:
    fill(house, house.write(caller, "alice"), "word")
    begun = house.begin(caller, "alice", WholeSubject())
    search = Search(begun.tenant, begun.subject, begun.scope, begun.epochs, 0, begun.requested_at)
    whole = house.verifier.look(search, (), None, lambda: inf)
    remaining, cursor, calls = Counter[str](), None, 0
    while calls == 0 or cursor is not None:
        seen = house.verifier.look(search, (), cursor, lambda: 0.0)
        remaining.update(dict(seen.remaining))
        cursor, calls = seen.cursor, calls + 1
    assert calls > 3
    assert dict(remaining) == dict(whole.remaining)
    assert set(remaining) == {"answers", "entities", "memories", "sessions"}


def test_a_step_that_ended_is_not_run_again(house: Erasing, caller: Caller) -> None:
    begun = house.begin(caller, "alice", WholeSubject())
    done = house.drive(begun)
    assert all(step.state is StepState.DONE for step in done.steps)
    assert house.worker.run(StepName.VERIFY, begun.tenant, begun.id, lambda: inf).done
    assert len(house.read(begun).verified) == len(done.verified)
