"""Erasing a whole subject: everything of it goes, nothing else is touched, and nothing comes back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lethe.domain.erasure import ABSENT_FOR, ErasureState, StepName, StepState, WholeSubject
from lethe.domain.head import SubjectState
from lethe.domain.identity import Caller
from lethe.errors import Erased, NotFound
from tests.support.erasing import Erasing, rows
from tests.support.makers import memory, said
from tests.support.subjects import fill

pytestmark = pytest.mark.dynoxide


def everything(house: Erasing) -> dict[tuple[str, str, str], object]:
    models = house.database.models
    names = [row.Meta.table_name for row in (models.head, models.session, models.entity, models.memory)]
    return dict(rows(house.inspected, names))


def of(house: Erasing, tenant: str, subject: str) -> set[tuple[str, str]]:
    """Partition and sort keys of everything that is the subject's."""
    own = f"{tenant}#{subject}"
    return {(pk, sk) for _, pk, sk in everything(house) if pk == own or pk.startswith(own + "#")}


def test_all_of_the_subject_goes_and_all_else_stays(house: Erasing, caller: Caller) -> None:
    filled = fill(house, house.write(caller, "alice"), "ALICEWORD")
    fill(house, house.write(caller, "bob"), "BOBWORD")
    fill(house, house.write(house.caller("other"), "alice"), "OTHERWORD")
    space = filled.space
    before = everything(house)
    mine = of(house, space.tenant, space.subject)

    done = house.erase(caller, "alice", WholeSubject())

    assert done.state is ErasureState.COMPLETED
    assert of(house, space.tenant, space.subject) == {(f"{space.tenant}#{space.subject}", "HEAD")}
    after = everything(house)
    others = {place: item for place, item in before.items() if (place[1], place[2]) not in mine}
    assert {place: item for place, item in after.items() if (place[1], place[2]) not in mine} == others
    counted = {step.name: (step.found, step.deleted) for step in done.steps}
    stored = len(mine) - 1
    deleting = (StepName.DERIVED, StepName.MEMORIES, StepName.ENTITIES, StepName.SESSIONS)
    assert sum(counted[name][0] for name in deleting) == stored
    assert sum(counted[name][1] for name in deleting) == stored
    assert counted[StepName.SWEEP] == (0, 0)
    assert all(step.state is StepState.DONE for step in done.steps)
    assert len(done.verified) == 2
    assert done.verified[1].at - done.verified[0].at >= timedelta(seconds=60)
    assert "ALICEWORD" not in str(after)


def test_from_the_answer_on_readers_find_nothing_and_writers_are_refused(house: Erasing, caller: Caller) -> None:
    fill(house, house.write(caller, "alice"), "W")
    begun = house.begin(caller, "alice", WholeSubject())
    assert begun.unreadable_since == house.clock.now()
    for _ in range(2):
        with pytest.raises(NotFound):
            house.spaces.for_reading(caller, "alice")
        with pytest.raises(Erased):
            house.spaces.for_writing(caller, "alice")
        with pytest.raises(Erased):
            house.spaces.for_changing(caller, "alice")
        house.drive(begun)


def test_asking_again_gives_the_erasure_that_runs(house: Erasing, caller: Caller) -> None:
    house.write(caller, "alice")
    begun = house.begin(caller, "alice", WholeSubject())
    again = house.begin(caller, "alice", WholeSubject())
    assert again.id == begun.id
    assert house.executions.started == [(begun.tenant, begun.id, 1)]
    assert [erasure.id for erasure in house.requests.list(caller, 10, None).items] == [begun.id]


def test_what_is_unknown_or_erased_is_erased_with_zero_counts(house: Erasing, caller: Caller) -> None:
    for _ in range(2):
        done = house.erase(caller, "nobody", WholeSubject())
        assert done.state is ErasureState.COMPLETED
        assert {step.found + step.deleted for step in done.steps} == {0}
        assert done.receipt_id is not None
    assert len(house.requests.list(caller, 10, None).items) == 2


def test_whoever_is_admitted_starts_empty_also_while_the_eraser_works(house: Erasing, caller: Caller) -> None:
    old = fill(house, house.write(caller, "alice"), "OLDWORD")
    begun = house.begin(caller, "alice", WholeSubject())
    house.requests.admit(caller, "alice")
    space = house.write(caller, "alice")
    assert space.epoch == old.space.epoch + 1
    assert house.memories.all(space) == ()
    new = fill(house, space, "NEWWORD")

    done = house.drive(begun)

    assert done.state is ErasureState.COMPLETED
    kept = {found.id for found in house.memories.all(space)}
    assert kept == {made.id for made in new.memories} | {new.derived.id}
    head = house.heads.read(space.tenant, space.subject)
    assert head is not None
    assert head.state is SubjectState.ACTIVE
    assert "OLDWORD" not in str(everything(house))


def test_a_writer_that_saw_the_old_head_brings_nothing_back(house: Erasing, caller: Caller) -> None:
    late = house.write(caller, "alice")
    fill(house, late, "W")

    def write_late() -> None:
        house.sessions.append(late, "late", [said("LATEWORD")], house.clock.now(), 3_600)
        fill(house, replace(late, revision=0), "LATEWORD", memories=60)

    def write_until_erased() -> None:
        with pytest.raises(Erased):
            write_late()

    house.at_drain = write_until_erased
    done = house.erase(caller, "alice", WholeSubject())
    assert done.state is ErasureState.COMPLETED
    assert done.step(StepName.SWEEP).deleted > 0
    assert "LATEWORD" not in str(everything(house))


def test_after_its_days_an_erased_subject_may_be_written_to(house: Erasing, caller: Caller) -> None:
    house.write(caller, "alice")
    house.erase(caller, "alice", WholeSubject())
    house.clock.move(ABSENT_FOR - timedelta(seconds=1))
    with pytest.raises(Erased):
        house.spaces.for_writing(caller, "alice")
    house.clock.move(timedelta(seconds=1))
    assert house.memories.all(house.spaces.for_reading(caller, "alice")) == ()
    space = house.spaces.for_writing(caller, "alice")
    house.memories.add(space, [memory()])
    assert space.epoch == 2
    assert len(house.memories.all(house.spaces.for_reading(caller, "alice"))) == 1


def test_who_is_erased_again_loses_all_epochs(house: Erasing, caller: Caller) -> None:
    for _ in range(3):
        fill(house, house.spaces.for_writing(caller, "alice"), "W")
        house.erase(caller, "alice", WholeSubject())
        house.requests.admit(caller, "alice")
    head = house.spaces.head(caller, "alice")
    assert head is not None
    assert head.epoch == 4
    assert sorted(sk for _, _, sk in everything(house)) == ["HEAD"] + ["IDEMPOTENCY"] * 3


def test_steps_work_in_stretches(house: Erasing, caller: Caller) -> None:
    fill(house, house.write(caller, "alice"), "W", memories=30)
    done = house.drive(house.begin(caller, "alice", WholeSubject()), time_left=lambda: 0.0)
    assert done.state is ErasureState.COMPLETED
    assert done.step(StepName.MEMORIES).attempts >= 1
    assert [sk for _, pk, sk in everything(house) if pk.count("#") == 1] == ["HEAD"]
