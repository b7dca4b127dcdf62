"""One call of the function does all up to the last deletion, while it has time: each step in order, and noted."""

from __future__ import annotations

from math import inf

import pytest

from lethe.adapters.dynamodb import Database
from lethe.domain.erasure import Erasure, ErasureState, StepName, StepState, WholeSubject
from lethe.domain.identity import Caller
from lethe.errors import Unavailable
from lethe.services.erasure.worker import TO_RUN_ON
from lethe.services.spaces import ended_spaces
from tests.support.erasing import ORDER, Erasing
from tests.support.faulty import LOST, FaultyClient, after
from tests.support.subjects import fill

pytestmark = pytest.mark.dynoxide

AHEAD = list(ORDER[: ORDER.index(StepName.ARCHIVE)])


def begun(house: Erasing, caller: Caller) -> Erasure:
    fill(house, house.write(caller, "alice"), "W")
    return house.begin(caller, "alice", WholeSubject())


def done_steps(erasure: Erasure) -> list[StepName]:
    return [step.name for step in erasure.steps if step.state is StepState.DONE]


def records_left(house: Erasing, erasure: Erasure) -> int:
    assert erasure.subject is not None
    (space,) = ended_spaces(erasure.tenant, erasure.subject, erasure.epochs)
    stock = house.purge.count(space)
    return stock.memories + stock.entities + stock.sessions + stock.answers


def found_and_deleted(erasure: Erasure) -> tuple[int, int]:
    steps = [erasure.step(name) for name in AHEAD]
    return sum(step.found for step in steps), sum(step.deleted for step in steps)


def test_the_first_task_deletes_everything_and_the_others_find_it_done(house: Erasing, caller: Caller) -> None:
    erasure = begun(house, caller)
    stored = records_left(house, erasure)

    answer = house.worker.run(StepName.LEDGER, erasure.tenant, erasure.id, lambda: TO_RUN_ON)

    row = house.read(erasure)
    assert (answer.done, answer.following) == (True, None)
    assert done_steps(row) == AHEAD
    assert records_left(house, erasure) == 0
    assert found_and_deleted(row) == (stored, stored)
    ended = house.drive(erasure)
    assert ended.state is ErasureState.COMPLETED
    assert [ended.step(name).attempts for name in AHEAD] == [1] * len(AHEAD)
    assert found_and_deleted(ended) == (stored, stored)


def test_without_time_each_task_does_its_own(house: Erasing, caller: Caller) -> None:
    erasure = begun(house, caller)
    for number, task in enumerate(AHEAD, 1):
        assert house.worker.run(task, erasure.tenant, erasure.id, lambda: TO_RUN_ON - 1).done
        assert done_steps(house.read(erasure)) == AHEAD[:number]


@pytest.mark.parametrize("deletion", range(1, 5))
def test_where_one_fails_the_next_call_goes_on(house: Erasing, caller: Caller, deletion: int) -> None:
    erasure = begun(house, caller)
    stored = records_left(house, erasure)
    client = FaultyClient(house.inspected, {("batch_write_item", deletion): after(LOST)})
    database = Database(client.as_client(), house.database.models)
    failing = Erasing(database, house.inspected, clock=house.clock)

    with pytest.raises(Unavailable):
        failing.worker.run(StepName.LEDGER, erasure.tenant, erasure.id, lambda: inf)
    database.end_threads()

    assert done_steps(house.read(erasure)) == AHEAD[: AHEAD.index(StepName.DERIVED) + deletion - 1]
    assert house.worker.run(StepName.LEDGER, erasure.tenant, erasure.id, lambda: inf).done
    ended = house.drive(erasure)
    assert ended.state is ErasureState.COMPLETED
    assert found_and_deleted(ended) == (stored, stored)
    assert records_left(house, erasure) == 0


def test_a_step_beyond_the_last_deletion_goes_alone(house: Erasing, caller: Caller) -> None:
    erasure = begun(house, caller)
    house.worker.run(StepName.LEDGER, erasure.tenant, erasure.id, lambda: inf)
    house.worker.run(StepName.ARCHIVE, erasure.tenant, erasure.id, lambda: inf)
    assert done_steps(house.read(erasure)) == [*AHEAD, StepName.ARCHIVE]
