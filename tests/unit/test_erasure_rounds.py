"""The first verification sends the deleting steps round again as often as it found something, however many stretches
its looks take.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import pytest

from lethe.domain.erasure import Erasure, ErasureState, StepName, WholeSubject
from lethe.domain.holds import Hold
from lethe.domain.identity import Caller, Space
from lethe.ports import Search, Seen, TimeLeft, Verifier
from lethe.services.erasure.worker import ROUNDS, LeftBehind
from tests.support.erasing import ORDER, ErasingInMemory
from tests.support.makers import said

STRETCHES = 5


class InStretches:
    """A verifier that is asked five times before it has seen all."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self.method = verifier.method

    def look(self, search: Search, holds: Sequence[Hold], cursor: str | None, time_left: TimeLeft) -> Seen:
        number = int(cursor or 0) + 1
        return self._verifier.look(search, holds, None, time_left) if number == STRETCHES else Seen((), (), str(number))


class SlowHouse(ErasingInMemory):
    def _open_stores(self) -> None:
        super()._open_stores()
        self.verifier = InStretches(self.verifier)


@pytest.fixture
def house() -> SlowHouse:
    return SlowHouse()


def probed(house: SlowHouse, caller: Caller, times: int) -> tuple[Erasure, list[StepName | None]]:
    """An erasure up to the end of its first verification; before each of the first looks somebody writes late."""
    space = house.write(caller, "ann")
    begun = house.begin(caller, "ann", WholeSubject())
    came_next: list[StepName | None] = []
    for number in range(times + 1):
        for task in ORDER[: ORDER.index(StepName.PROBE)]:
            assert house.worker.run(task, begun.tenant, begun.id, lambda: inf).done
        if number < times:
            write_late(house, space)
        for _ in range(STRETCHES):
            done = house.worker.run(StepName.PROBE, begun.tenant, begun.id, lambda: inf)
        came_next.append(done.following)
    return begun, came_next


def write_late(house: SlowHouse, space: Space) -> None:
    house.sessions.append(space, "late", [said("late")], house.clock.now(), 3_600)


@pytest.mark.parametrize("times", range(ROUNDS))
def test_what_is_found_is_deleted_in_another_round(house: SlowHouse, times: int) -> None:
    begun, came_next = probed(house, house.caller("acme"), times)
    assert came_next == [StepName.INDEX] * times + [None]
    assert house.drive(begun).state is ErasureState.COMPLETED


def test_it_ends_when_there_is_always_something(house: SlowHouse) -> None:
    with pytest.raises(LeftBehind):
        probed(house, house.caller("acme"), ROUNDS)
