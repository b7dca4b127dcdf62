"""Every call of an erasure to the store fails once in every way; the end is always the same, and no receipt before it.

A run without faults tells which calls there are. Then each of them, in a run of its own, fails before its effect, fails
after it (the answer is lost), is throttled, does a batch in part, or takes the process down before or after it. The
driver does what the state machine does: it calls the task again.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from lethe.adapters.dynamodb import Database, build_models
from lethe.adapters.dynamodb.models import Models
from lethe.adapters.dynamodb.purge import DynamoPurge
from lethe.domain.erasure import Erasure, ErasureState, StepName, WholeSubject
from lethe.domain.identity import Caller, Space
from lethe.errors import Throttled, Unavailable, VersionConflict
from lethe.ports import Stock
from tests.support.erasing import KEY, ORDER, Erasing
from tests.support.faulty import LOST, Answer, Call, FaultyClient, after, before, refused
from tests.support.quick_client import QuickClient
from tests.support.stores import REGION, drop_tables, new_tables
from tests.support.subjects import fill

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

pytestmark = [pytest.mark.dynoxide, pytest.mark.timeout(900)]

MEMORIES = 3


class Killed(BaseException):
    """The process ends here: nothing that runs catches this."""


def killed(first: bool) -> Callable[[Call], Answer]:
    def fault(call: Call) -> Answer:
        if not first:
            call()
        raise Killed

    return fault


FAULTS: Mapping[str, Callable[[Call], Answer]] = {
    "fails before": before(LOST),
    "answer lost": after(LOST),
    "throttled": before(refused("ThrottlingException")),
    "killed before": killed(first=True),
    "killed after": killed(first=False),
}


@dataclass
class Site:
    """One call of a run: which operation, and the how manyeth of it."""

    operation: str
    number: int


class PlannedClient(FaultyClient):
    """Faults one call; and can do a batch in part: the second half comes back as unprocessed."""

    half: Site | None = None
    halved: bool = False

    def __getattr__(self, operation: str) -> Callable[..., Answer]:
        whole = super().__getattr__(operation)
        if operation != "batch_write_item":
            return whole

        def call(**request: object) -> Answer:
            wanted = self.half
            number = self.calls[operation] + 1
            table, items = next(iter(request["RequestItems"].items()))  # type: ignore[attr-defined]
            if wanted is None or wanted.number != number or len(items) < 2:
                return whole(**request)
            self.halved = True
            kept = len(items) // 2
            answer = dict(whole(RequestItems={table: items[:kept]}))
            return answer | {"UnprocessedItems": {table: items[kept:]}}

        return call


@dataclass
class World:
    """Tables that all schedules share; each has a tenant of its own, and the verifier looks at partitions."""

    client: DynamoDBClient
    models: Models

    def house(self, plan: Mapping[tuple[str, int], Callable[[Call], Answer]], half: Site | None = None) -> Erasing:
        faulty = PlannedClient(self.client, plan)
        faulty.half = half
        return Erasing(Database(faulty.as_client(), self.models), faulty.as_client(), whole_tables=False)

    def calm(self) -> Erasing:
        return self.house({})


@pytest.fixture(scope="module")
def world(dynoxide: str) -> Iterator[World]:
    client = QuickClient(dynoxide)
    tables = new_tables(client.as_client())
    yield World(client.as_client(), build_models(tables, REGION))
    drop_tables(client.as_client(), tables)
    client.close()


def filled(world: World) -> tuple[Caller, Space]:
    house = world.calm()
    caller = house.caller(f"t-{secrets.token_hex(6)}")
    space = fill(house, house.write(caller, "alice"), "W", MEMORIES).space
    fill(house, house.write(caller, "bob"), "B", 1)
    house.database.end_threads()
    return caller, space


def machine(house: Erasing, erasure: Erasure, calm: Erasing) -> Erasure:
    """The state machine: a task that failed, or whose process ended, is called again."""
    task: StepName | None = ORDER[0]
    while task is not None:
        for _ in range(8):
            try:
                done = house.worker.run(task, erasure.tenant, erasure.id, lambda: 300.0)
                break
            except (Unavailable, Throttled, VersionConflict, Killed):
                assert task is StepName.RECEIPT or calm.read(erasure).receipt_id is None
        else:
            raise AssertionError(f"{task} never came through")
        task = house.following(task, done)
    return calm.read(erasure)


def request(house: Erasing, caller: Caller) -> Erasure:
    """The client's request, sent again until it is answered."""
    for _ in range(8):
        try:
            return house.begin(caller, "alice", WholeSubject())
        except (Unavailable, Throttled, Killed):
            continue
    raise AssertionError("never answered")


def outcome(world: World, house: Erasing, caller: Caller, space: Space) -> Mapping[str, object]:
    """What an erasure under ``house`` came to, as a house without faults sees it; with what the next ticks find to do:
    a request that was repeated may have left a row that nobody drove.
    """
    calm = world.calm()
    done = machine(house, request(house, caller), calm)
    house.database.end_threads()
    calm.clock.move(timedelta(hours=7))
    calm.tick.run()
    for tenant, erasure_id, _ in calm.executions.started:
        if tenant == space.tenant:
            started = calm.ledger.read(tenant, erasure_id)
            assert started is not None
            assert calm.drive(started).state is ErasureState.COMPLETED
    head = calm.heads.read(space.tenant, space.subject)
    assert head is not None
    erasures = calm.requests.list(caller, 50, None).items
    receipt = calm.receipt(done)["receipt"]
    assert isinstance(receipt, dict)
    stock = DynamoPurge(calm.database, KEY).count(space)
    neighbours = len(calm.memories.all(calm.spaces.for_reading(caller, "bob")))
    chain = calm.receipts.end(space.tenant).length
    calm.database.end_threads()
    return {
        "state": done.state,
        "head": (head.epoch, head.state),
        "left": stock,
        "neighbours": neighbours,
        "all ended with one receipt": [len(erasure.receipts) for erasure in erasures] == [1] * chain,
        "counts": json.dumps(receipt["counts"], sort_keys=True),
    }


def sites(world: World) -> tuple[list[Site], Mapping[str, object]]:
    """The calls of a run without faults, and its outcome."""
    caller, space = filled(world)
    house = world.calm()
    result = outcome(world, house, caller, space)
    client: object = house.inspected
    calls: Mapping[str, int] = client.calls  # type: ignore[attr-defined]  # a PlannedClient
    return [Site(operation, n) for operation, count in sorted(calls.items()) for n in range(1, count + 1)], result


def test_every_call_fails_in_every_way(world: World, record_property: Callable[[str, object], None]) -> None:
    found, expected = sites(world)
    assert expected["state"] is ErasureState.COMPLETED
    assert expected["left"] == Stock(0, 0, 0, 0)
    assert expected["neighbours"] == 3
    schedules = 0
    for site in found:
        for name, fault in FAULTS.items():
            caller, space = filled(world)
            house = world.house({(site.operation, site.number): fault})
            seen = outcome(world, house, caller, space)
            assert seen == expected, f"{name}: {site}"
            schedules += 1
    batches = [site for site in found if site.operation == "batch_write_item"]
    halved = 0
    for site in batches:
        caller, space = filled(world)
        house = world.house({}, half=site)
        assert outcome(world, house, caller, space) == expected, f"in part: {site}"
        halved += house.inspected.halved  # type: ignore[attr-defined]  # a PlannedClient
        schedules += 1
    assert halved > 0
    record_property("schedules", schedules)
    print(f"\n{schedules} schedules over {len(found)} calls")
    assert schedules >= 5 * len(found)
