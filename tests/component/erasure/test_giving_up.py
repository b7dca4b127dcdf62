"""An erasure that fails says where, how often it was tried and when it is tried again; asking again does not wait."""

from __future__ import annotations

from datetime import timedelta
from math import inf

import pytest

from lethe.adapters.dynamodb import Database
from lethe.domain.access import Tenant
from lethe.domain.erasure import (
    LONGEST_REST,
    Erasure,
    ErasureState,
    StepName,
    StepState,
    TheseMemories,
    WholeSubject,
    WholeTenant,
    rests_until,
)
from lethe.domain.identity import Caller
from lethe.errors import Unavailable
from lethe.services.erasure.requests import Wanted
from tests.support.erasing import Erasing
from tests.support.faulty import LOST, FaultyClient, before
from tests.support.makers import memory
from tests.support.subjects import fill

pytestmark = pytest.mark.dynoxide

TRIES = 3


def states(erasure: Erasure) -> dict[str, str]:
    return {step.name.value: step.state.value for step in erasure.steps if step.state is not StepState.PENDING}


def given_up(house: Erasing, caller: Caller, wanted: Wanted) -> Erasure:
    """An erasure whose batches of deletions never arrive, until the machine has had enough."""
    house.access.put_tenant(Tenant(caller.tenant, house.clock.now()))
    fill(house, house.write(caller, "alice"), "W")
    erasure = house.begin(caller, None if isinstance(wanted, WholeTenant) else "alice", wanted)
    database = Database(
        FaultyClient(house.inspected, {("batch_write_item", 0): before(LOST)}).as_client(), house.database.models
    )
    failing = Erasing(database, house.inspected, clock=house.clock)
    for task in (StepName.LEDGER, *[StepName.DERIVED] * (TRIES - 1)):
        with pytest.raises(Unavailable):
            failing.worker.run(task, erasure.tenant, erasure.id, lambda: inf)
    database.end_threads()
    house.worker.fail(erasure.tenant, erasure.id, "unavailable")
    return house.read(erasure)


def test_a_failure_names_its_step_and_every_attempt(house: Erasing, caller: Caller) -> None:
    failed = given_up(house, caller, WholeSubject())
    assert (failed.state, failed.failure) == (ErasureState.FAILED, "unavailable")
    assert states(failed) == {"ledger": "done", "fence": "done", "index": "done", "derived": "failed"}
    assert failed.step(StepName.DERIVED).attempts == TRIES
    assert rests_until(failed) == house.clock.now() + timedelta(minutes=5)


@pytest.mark.parametrize("wanted", [WholeSubject(), WholeTenant()], ids=["user", "tenant"])
def test_asking_again_starts_a_failed_one_at_once(house: Erasing, caller: Caller, wanted: Wanted) -> None:
    failed = given_up(house, caller, wanted)
    user = None if isinstance(wanted, WholeTenant) else "alice"

    again = house.begin(caller, user, wanted)

    assert (again.id, again.state, again.failure, rests_until(again)) == (failed.id, ErasureState.ACCEPTED, None, None)
    assert again.unreadable_since == failed.unreadable_since
    assert states(again) == {"ledger": "done"}
    assert house.executions.started == [(again.tenant, again.id, 1), (again.tenant, again.id, 2)]
    assert house.begin(caller, user, wanted).version == again.version, "it runs: nothing is to be done"
    assert house.drive(again).state is ErasureState.COMPLETED


def test_each_further_failure_rests_twice_as_long(house: Erasing, caller: Caller) -> None:
    erasure, rests = given_up(house, caller, WholeSubject()), []
    for _ in range(9):
        due = rests_until(erasure)
        assert due is not None
        rests.append(due - house.clock.now())
        house.clock.move(rests[-1] - timedelta(seconds=1))
        assert house.tick.run() == 0
        house.clock.move(timedelta(seconds=1))
        assert house.tick.run() == 1
        house.worker.fail(erasure.tenant, erasure.id, "unavailable")
        erasure = house.read(erasure)
    assert rests == [min(timedelta(minutes=5) * 2**n, LONGEST_REST) for n in range(9)]


def test_the_first_answer_says_what_has_begun(house: Erasing, caller: Caller) -> None:
    space = house.write(caller, "alice")
    ours = memory()
    house.memories.add(space, [ours])
    part = house.begin(caller, "alice", TheseMemories((ours.id,)))
    assert states(part) == {"ledger": "done", "fence": "running"} | dict.fromkeys(
        ("index", "derived", "memories", "entities", "sessions", "archive"), "running"
    )
    assert (part.step(StepName.MEMORIES).found, part.step(StepName.MEMORIES).deleted) == (1, 1)
    whole = house.begin(caller, "alice", WholeSubject())
    assert states(whole) == {"ledger": "done", "fence": "running"}
    assert {step.attempts for step in whole.steps if step.name is not StepName.LEDGER} == {0}
