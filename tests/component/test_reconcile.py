"""Divergences of every kind, injected, found, mended; a second run changes nothing; safe while both are written to."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace

import pytest

from lethe.adapters.opensearch.administration import IndexAdministration
from lethe.adapters.opensearch.flavours import Flavour
from lethe.domain.head import SubjectHead, SubjectState
from lethe.domain.identity import Space
from lethe.domain.indexing import Indexed, Outcome, Put, Remove
from lethe.ports import Page
from lethe.services.reconcile import PAGE, PATIENCE, Findings, Reconciler
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.memories import FakeMemoryTable
from tests.fakes.opensearch.failures import Refusal
from tests.support.search_worlds import EMBEDDER, PATIENT_SECONDS, World, fake_world, texts

NOBODY = lambda findings: None  # noqa: E731  # no progress is shown


@pytest.fixture(params=list(Flavour), ids=lambda flavour: flavour.value)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with ThreadPoolExecutor(8) as threads:
        yield fake_world(request.param, threads)


def reconciler(world: World, threads: Executor | None = None) -> Reconciler:
    assert world.on is not None
    table = FakeMemoryTable(world.memories)
    indexes = IndexAdministration(world.on.cluster, world.on.alias, EMBEDDER.model)
    return Reconciler(
        world.heads,
        world.memories,
        table,
        world.writer,
        indexes,
        world.clock,
        PATIENT_SECONDS,
        sleep=lambda seconds: world.clock.pass_by(seconds),
        threads=threads,
    )


def apply(world: World, *changes: Put | Remove) -> None:
    assert set(world.writer.apply(changes, PATIENT_SECONDS)) <= {Outcome.APPLIED}


def in_step(world: World) -> None:
    """Every readable memory has its entry, of its version, and there is no other."""
    heads = {space: world.heads.read(space.tenant, space.subject) for space, _ in spaces(world)}
    expected = {
        (each.space, each.memory_id, each.version)
        for each in world.memories.newest_of_all()
        if (head := heads[each.space]) and head.epoch == each.space.epoch and head.state is SubjectState.ACTIVE
    }
    world.show()
    entries = world.writer.page(10_000, None).items
    assert {(each.space, each.memory_id, each.version) for each in entries} == expected
    assert len(entries) == len(expected)


def spaces(world: World) -> list[tuple[Space, int]]:
    return list(Counter(each.space for each in world.memories.newest_of_all()).items())


def test_five_hundred_of_five_hundred_divergences_are_mended(world: World) -> None:
    chance = random.Random(11)
    whole = [world.subject(f"tenant-{n % 3}") for n in range(20)]
    fenced = [world.subject() for _ in range(5)]
    for space in (*whole, *fenced):
        world.say(space, *(f"fact {n} of {space.subject}" for n in range(40)))
    world.catch_up()
    victims = [(space, memory) for space in whole for memory in world.memories.all(space)]
    chance.shuffle(victims)
    missing, stale, orphans = victims[:150], victims[150:300], victims[300:400]
    apply(world, *(Remove(space, memory.id, memory.version) for space, memory in missing))
    for space, memory in stale:
        world.change(space, memory, text=f"{memory.text}, later")
    for space, memory in orphans:
        world.memories.delete(space, [memory.id])
    cut = [(space, memory) for space in fenced[:3] for memory in world.memories.all(space)[:40]]
    for space in fenced[:3]:
        head = world.heads.read(space.tenant, space.subject)
        assert head is not None
        world.heads.put(replace(head, epoch=2, state=SubjectState.ERASED))
    world.show()
    # Tombstones of what was removed refuse old versions for a while; an operator comes later than that.
    world.clock.pass_by(120)

    found = reconciler(world).check(NOBODY)
    assert (found.missing, found.stale, found.orphans, found.fenced) == (150, 150, 100, len(cut))
    assert found.divergences == found.left == 520
    assert found.mended == 0

    mended = reconciler(world).repair(NOBODY)
    assert (mended.divergences, mended.mended, mended.refused, mended.later, mended.left) == (520, 520, 0, 0, 0)
    in_step(world)

    world.show()
    again = reconciler(world).repair(NOBODY)
    assert (again.divergences, again.mended, again.left) == (0, 0, 0)


def test_a_rebuild_fills_an_index_that_is_not_there_and_lets_searches_see_it(world: World) -> None:
    assert world.on is not None
    space = world.subject()
    world.say(space, "Ann plays the cello", *(f"fact {n}" for n in range(150)))
    IndexAdministration(world.on.cluster, world.on.alias, EMBEDDER.model).drop()
    seen: list[Findings] = []
    findings = reconciler(world).rebuild(lambda found: seen.append(replace(found)))
    assert (findings.memories, findings.mended, findings.entries) == (151, 151, 151)
    assert seen[0].memories <= seen[-1].memories == 151
    in_step(world)
    world.show()
    result = world.search(space, "Who plays the cello?")
    assert (result.degraded, texts(result)[0], result.stored) == (False, "Ann plays the cello", 151)


def test_a_repair_beside_writers_undoes_nothing(world: World) -> None:
    """Memories change between the page that is compared and the entry that is written: the later version stays."""
    space = world.subject()
    world.say(space, *(f"fact {n}" for n in range(60)))
    world.catch_up()

    class Meddling(FakeMemoryTable):
        def page(self, limit: int, start: str | None) -> Page[Indexed]:
            page = super().page(limit, start)
            for memory in world.memories.all(space)[:20]:
                world.change(space, memory, text=f"{memory.text} again")
            world.delete(space, *world.memories.all(space)[40:45])
            world.say(space, f"a new fact beside the page {start}")
            world.catch_up()
            return page

    assert world.on is not None
    indexes = IndexAdministration(world.on.cluster, world.on.alias, EMBEDDER.model)
    table = Meddling(world.memories)
    Reconciler(world.heads, world.memories, table, world.writer, indexes, world.clock, PATIENT_SECONDS).repair(NOBODY)
    in_step(world)


def test_a_space_of_which_something_was_refused_is_not_marked(world: World) -> None:
    """A mark would say that the index shows it, and no reader would look for it in the table."""
    assert world.on is not None
    assert world.on.fake is not None
    space = world.subject()
    said = world.say(space, *(f"fact number {n}" for n in range(30)))
    world.clock.pass_by(600)
    poisoned = f"{space.subject}-1-{said[17].id}"
    world.on.fake.item_failures[poisoned] = deque([Refusal(400, "mapper_parsing_exception", "failed to parse")])
    refusing = reconciler(world).repair(NOBODY)
    assert (refusing.missing, refusing.mended, refusing.refused, refusing.left) == (30, 29, 1, 1)
    world.show()
    assert said[17].text in texts(world.search(space, "Which fact is number 17?"))
    assert (found := reconciler(world).repair(NOBODY)).missing == found.mended == 1
    in_step(world)


def test_an_entry_that_was_deleted_a_moment_ago_is_waited_for_and_its_space_marked(world: World) -> None:
    """Its tombstone refuses the old version for a minute, where there are versions."""
    space, other = world.subject(), world.subject()
    said = world.say(space, *(f"fact number {n}" for n in range(5)))
    world.say(other, "Ann plays the cello")
    world.catch_up()
    world.clock.pass_by(600)
    apply(world, Remove(space, said[2].id, said[2].version + 7))
    assert world.on is not None
    assert world.on.fake is not None
    busy = f"{space.subject}-1-{said[3].id}"
    world.on.fake.item_failures[busy] = deque([Refusal(429, "es_rejected_execution_exception", "busy")])
    apply(world, Remove(space, said[4].id))
    world.change(space, said[3], text="fact number 3, later")
    began = world.clock.now()
    shown: list[Findings] = []
    mended = reconciler(world).repair(lambda found: shown.append(replace(found)))
    assert (mended.missing, mended.stale, mended.mended, mended.later, mended.left) == (2, 1, 3, 0, 0)
    assert max(found.later for found in shown) >= 1
    assert world.clock.now() - began <= PATIENCE
    in_step(world)
    world.show()
    result = world.search(space, "Which fact is number 2?")
    assert (result.degraded, texts(result)[0]) == (False, "fact number 2")


def test_what_the_index_does_not_take_in_time_is_left_for_later(world: World) -> None:
    space = world.subject()
    (said,) = world.say(space, "Ann plays the cello")
    assert world.on is not None
    assert world.on.fake is not None
    busy = Refusal(429, "es_rejected_execution_exception", "busy")
    world.on.fake.item_failures[f"{space.subject}-1-{said.id}"] = deque([busy] * 100)
    left = reconciler(world).repair(NOBODY)
    assert (left.missing, left.mended, left.refused, left.later, left.left) == (1, 0, 0, 1, 1)
    world.show()
    assert texts(world.search(space, "Who plays the cello?")) == [said.text], "it is not marked, so the table is asked"


def test_many_subjects_are_worked_on_side_by_side(world: World) -> None:
    subjects = [world.subject(f"tenant-{n % 3}") for n in range(60)]
    for n, space in enumerate(subjects):
        world.say(space, *(f"fact {m} of {n}" for m in range(1 + n % 4)))
    world.say(subjects[0], *(f"fact number {n}" for n in range(PAGE)))
    with ThreadPoolExecutor(8) as threads:
        mended = reconciler(world, threads).repair(NOBODY)
        expected = sum(1 + n % 4 for n in range(60)) + PAGE
        assert (mended.memories, mended.missing, mended.mended, mended.left) == (expected,) * 3 + (0,)
        in_step(world)
        assert reconciler(world, threads).check(NOBODY).divergences == 0


def test_a_space_of_several_pages_is_compared_whole_and_marked(world: World) -> None:
    space = world.subject()
    world.say(space, *(f"fact number {n}" for n in range(PAGE + 130)))
    mended = reconciler(world).repair(NOBODY)
    assert (mended.memories, mended.missing, mended.entries) == (PAGE + 130,) * 3
    in_step(world)
    world.show()
    result = world.search(space, "Which fact is number 600?")
    assert (result.degraded, texts(result)[0]) == (False, "fact number 600"), "without a mark the scan would answer"


def test_a_repair_puts_nothing_into_a_space_that_was_fenced_since_it_looked(world: World) -> None:
    """It is run by hand, and no time-out ends it: an erasure may have come and gone between two of its steps."""
    assert world.on is not None
    space = world.subject()
    world.say(space, *(f"fact {n}" for n in range(60)))

    class FencedAfterOneLook(FakeSubjectHeads):
        def read(self, tenant: str, subject: str) -> SubjectHead | None:
            head = world.heads.read(tenant, subject)
            world.heads.fence(tenant, subject, "er_1", space.epoch)
            return head

    indexes = IndexAdministration(world.on.cluster, world.on.alias, EMBEDDER.model)
    table, heads = FakeMemoryTable(world.memories), FencedAfterOneLook()
    repairing = Reconciler(heads, world.memories, table, world.writer, indexes, world.clock, PATIENT_SECONDS)
    found = repairing.repair(NOBODY)

    assert (found.missing, found.mended, found.fenced) == (60, 0, 0)
    assert world.writer.clear(space) == 0
