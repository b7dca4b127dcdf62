"""One erasure and one bare deletion of as much, each on a subject of its own, measured from outside."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import inf
from statistics import median
from typing import Final

from bench.erasure.world import Filled, World, batches
from lethe.adapters.dynamodb.database import WORKERS
from lethe.domain.erasure import Erasure, StepName, WholeSubject

DELETING: Final = (StepName.INDEX, StepName.DERIVED, StepName.MEMORIES, StepName.ENTITIES, StepName.SESSIONS)
WORKING: Final = (StepName.LEDGER, StepName.FENCE, *DELETING)
"""The tasks up to the last deletion."""


@dataclass
class Run:
    """Seconds from the call to its answer, of all tasks up to the last deletion, and from the call to the last deletion
    without what the state machine adds; how often the machine called a task until then; calls to the store.
    """

    answered: float = 0.0
    work: float = 0.0
    deleted_after: float = 0.0
    tasks: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    requested: Counter[str] = field(default_factory=Counter)


@dataclass
class Measured:
    """All runs of one size, and the floors that were run in turn with them, in seconds."""

    records: int
    runs: list[Run] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)

    @property
    def work(self) -> float:
        """Of the median run."""
        return median(run.work for run in self.runs)

    @property
    def floor(self) -> float:
        """Of the median run."""
        return median(self.floors)

    @property
    def ratio(self) -> float:
        """The median of the pairs' ratios: what ran one after the other had the same neighbours on the machine."""
        return median(run.work / floor for run, floor in zip(self.runs, self.floors, strict=True))


def measure(world: World, records: int, repetitions: int) -> Measured:
    """Erasures and floors alternating, each of them first in turn."""
    measured = Measured(records)
    for number in range(repetitions):
        for which in (number % 2, 1 - number % 2):
            filled = world.fill(records)
            if which:
                measured.floors.append(floor(world, filled))
            else:
                measured.runs.append(erase(world, filled, 0.0))
    return measured


def floor(world: World, filled: Filled) -> float:
    """Seconds to delete keys that are known beforehand, by batch calls alone, as many at once as the product sends."""
    calls = [
        (table, [{"DeleteRequest": {"Key": {"pk": {"S": pk}, "sk": {"S": sk}}}} for pk, sk in stretch])
        for table, places in filled.places.items()
        for stretch in batches(places)
    ]
    client = world.client.as_client()

    def delete(call: tuple[str, list[dict[str, object]]]) -> None:
        table, left = call
        answer = client.batch_write_item(RequestItems={table: left})  # type: ignore[dict-item]  # made above
        if answer["UnprocessedItems"]:
            raise RuntimeError("the store did not take a whole batch, so this is no floor")

    with ThreadPoolExecutor(WORKERS) as threads:
        list(threads.map(time.sleep, [0.001] * WORKERS))  # the product's threads stand too
        world.client.reset(0.0)
        began = time.perf_counter()
        list(threads.map(delete, calls))
        return time.perf_counter() - began


def erase(world: World, filled: Filled, delay: float) -> Run:
    """The request, then the tasks as the state machine calls them up to the last deletion, with ``delay`` seconds added
    to each call; then, without the clock, a look whether every record went. Raises RuntimeError when one did not: a
    benchmark of half an erasure means nothing.
    """
    house, run = world.house, Run()
    world.client.reset(delay)
    began = time.perf_counter()
    begun = house.begin(filled.caller, filled.user, WholeSubject())
    run.answered = time.perf_counter() - began
    run.requested = world.client.calls
    world.client.calls = Counter()
    worked, tasks = 0.0, 0
    for task in WORKING:
        done = False
        while not done:
            last, started = world.client.last_deletion, time.perf_counter()
            done = house.worker.run(task, begun.tenant, begun.id, lambda: inf).done
            worked, tasks = worked + time.perf_counter() - started, tasks + 1
            if world.client.last_deletion > last:  # a task that finds itself done is none of the deleting work
                run.work, run.tasks, run.calls = worked, tasks, world.client.calls.copy()
                run.deleted_after = world.client.last_deletion - began
    world.client.reset(0.0)
    _check(house.read(begun), sum(map(len, filled.places.values())))
    return run


def _check(erasure: Erasure, records: int) -> None:
    for count in ("found", "deleted"):
        if sum(getattr(erasure.step(name), count) for name in DELETING) != records:
            raise RuntimeError(f"the erasure has {count} something else than there was")
