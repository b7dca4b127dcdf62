"""Entries that an erasure left in the index, of any epoch and of any model's index: none is signed over."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

import pytest

from lethe.adapters.dynamodb import Database, build_models
from lethe.adapters.inspection.index import Entries
from lethe.adapters.opensearch.administration import IndexAdministration
from lethe.adapters.opensearch.connection import Cluster, make_client
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.writer import OpenSearchWriter
from lethe.domain.embedding import EmbeddingModel
from lethe.domain.erasure import ErasureState, OneSession, StepName, TheseMemories, WholeSubject
from lethe.domain.identity import Space, session_of
from lethe.domain.indexing import Mark, Put
from lethe.domain.memory import Memory, Origin, Source
from lethe.errors import Throttled, Unavailable
from lethe.ports import Search
from lethe.services.erasure.worker import LeftBehind
from tests.conftest import Shared
from tests.fakes.opensearch.cluster import FakeOpenSearch
from tests.fakes.opensearch.connection import connected_to
from tests.fakes.opensearch.failures import Refusal
from tests.fakes.time_and_ids import FixedClock
from tests.support.erasing import KEY, ORDER, Erasing
from tests.support.makers import memory
from tests.support.stores import REGION, drop_tables, new_tables

pytestmark = pytest.mark.dynoxide

IN_INDEX = 40
MODELS = (EmbeddingModel("test/one", "1", 64), EmbeddingModel("test/two", "1", 32))


@dataclass
class Indexed:
    """A house with the indexes of two models; it writes and deletes in the first alone."""

    house: Erasing
    fake: FakeOpenSearch
    writers: tuple[OpenSearchWriter, ...]

    def put(self, number: int, space: Space, *memories: Memory) -> None:
        self.writers[number].apply([Put(space, each) for each in memories], 10.0)

    def mark(self, number: int, space: Space) -> None:
        self.writers[number].apply([Mark(space, "mark", self.house.clock.now())], 10.0)

    def clear(self) -> None:
        """Every entry out of both indexes."""
        for index in self.fake.indexes.values():
            for shard in index.shards:
                shard.standing.clear()
                shard.visible.clear()
                shard.waiting.clear()

    def left(self, search: Search) -> dict[str, int]:
        return dict(self.house.verifier.look(search, (), None, lambda: inf).remaining)


@pytest.fixture(params=[Flavour.MANAGED, Flavour.SERVERLESS])
def indexed(request: pytest.FixtureRequest, dynoxide: str, shared: Shared) -> Iterator[Indexed]:
    client = shared.client("dynoxide", dynoxide)
    tables = new_tables(client)
    database = Database(client, build_models(tables, REGION))
    clock, flavour = FixedClock(), request.param
    fake = FakeOpenSearch(flavour, clock)
    search_client = make_client("https://search.test", flavour, REGION, connected_to(fake))
    cluster = Cluster(search_client, flavour)
    writers = []
    for model in MODELS:
        indexes = IndexAdministration(cluster, "lethe-memories", model, beside=MODELS[0])
        indexes.make()
        indexes.show()
        writers.append(OpenSearchWriter(cluster, indexes.name, model.label, clock, sleep=clock.pass_by))
    settles = None if cluster.abilities.refreshes else 2.0 * cluster.abilities.refresh_seconds
    entries = Entries(search_client, "lethe-memories-v", settles, sleep=clock.pass_by)
    yield Indexed(Erasing(database, client, writers[0], entries, clock), fake, tuple(writers))
    database.end_threads()
    drop_tables(client, tables)


def stated(house: Erasing, session_id: str | None = None) -> Memory:
    return replace(
        memory("left", house.clock.now()), id=house.ids.new("mem_"), source=Source("t", Origin.USER, session_id)
    )


def test_no_receipt_is_signed_over_an_entry(indexed: Indexed) -> None:
    house = indexed.house
    caller = house.caller(f"t-{secrets.token_hex(4)}")
    house.write(caller, "alice")
    house.erase(caller, "alice", WholeSubject())
    house.requests.admit(caller, "alice")
    space = house.write(caller, "alice")
    indexed.put(0, house.write(caller, "bob"), stated(house))
    begun = house.begin(caller, "alice", WholeSubject())
    for task in ORDER[: ORDER.index(StepName.SWEEP) + 1]:
        house.worker.run(task, begun.tenant, begun.id, lambda: inf)
    chance, signed = random.Random(5), len(house.signer.signed)
    for number in range(IN_INDEX):
        place, entries = replace(space, epoch=chance.randint(1, 4)), chance.randint(1, 3)
        for _ in range(entries):
            indexed.put(chance.randrange(2), place, stated(house))
        if chance.random() < 0.3:
            indexed.mark(chance.randrange(2), place)
            entries += 1
        with pytest.raises(LeftBehind):
            house.worker.run(StepName.VERIFY, begun.tenant, begun.id, lambda: inf)
        assert dict(house.read(begun).verified[-1].remaining) == {"index": entries}, number
        indexed.clear()
    assert len(house.signer.signed) == signed
    print(f"{IN_INDEX} leftovers in two indexes, {IN_INDEX} refusals to sign")
    for task in (StepName.VERIFY, StepName.RECEIPT):
        house.worker.run(task, begun.tenant, begun.id, lambda: inf)
    assert house.read(begun).state is ErasureState.COMPLETED


def test_entries_of_others_and_of_later_epochs_stay_and_are_not_counted(indexed: Indexed) -> None:
    house = indexed.house
    caller = house.caller(f"t-{secrets.token_hex(4)}")
    space = house.write(caller, "alice")
    indexed.put(0, space, *(stated(house) for _ in range(3)))
    done = house.erase(caller, "alice", WholeSubject())
    assert done.state is ErasureState.COMPLETED
    house.requests.admit(caller, "alice")
    anew = house.write(caller, "alice")
    for number in (0, 1):
        indexed.put(number, anew, stated(house))
        indexed.mark(number, anew)
        indexed.put(number, house.write(caller, "bob"), stated(house))
        indexed.put(number, house.write(house.caller("elsewhere"), "alice"), stated(house))
    search = Search(done.tenant, done.subject, done.scope, done.epochs, 0, done.requested_at)
    assert indexed.left(search) == {}
    indexed.put(1, space, stated(house))
    assert indexed.left(search) == {"index": 1}


def test_entries_of_a_part_are_found_in_both_indexes(indexed: Indexed) -> None:
    house = indexed.house
    caller = house.caller(f"t-{secrets.token_hex(4)}")
    space = house.write(caller, "alice")
    gone, kept, said = stated(house), stated(house), stated(house, "s1")
    for number in (0, 1):
        indexed.put(number, space, gone, kept, said)
        indexed.mark(number, space)
    until = house.clock.now()
    these = Search(space.tenant, space.subject, TheseMemories((gone.id,)), 0, space.epoch, until)
    assert indexed.left(these) == {"index": 2}
    session = OneSession(session_of(space.tenant, space.subject, "s1", KEY))
    assert indexed.left(replace(these, scope=session)) == {"index": 2}
    assert indexed.left(replace(these, scope=OneSession("0" * 32))) == {}


def test_pages_of_an_epoch_lose_no_copy(indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lethe.adapters.inspection.index._PAGE", 5)
    house = indexed.house
    space = house.write(house.caller(f"t-{secrets.token_hex(4)}"), "alice")
    memories = [stated(house) for _ in range(23)]
    for number in (0, 1):
        indexed.put(number, space, *memories)
    ids = tuple(each.id for each in memories)
    search = Search(space.tenant, space.subject, TheseMemories(ids), 0, space.epoch, house.clock.now())
    assert indexed.left(search) == {"index": 46}


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (Refusal(503, "x", "all shards failed"), Unavailable),
        (Refusal(429, "x", "too many"), Throttled),
        (Refusal(400, "index_closed_exception", "closed"), Unavailable),
    ],
)
def test_an_index_that_does_not_answer_is_no_proof(indexed: Indexed, failure: Refusal, raised: type[Exception]) -> None:
    house = indexed.house
    space = house.write(house.caller(f"t-{secrets.token_hex(4)}"), "alice")
    indexed.fake.failures.append(failure)
    with pytest.raises(raised):
        indexed.left(Search(space.tenant, space.subject, WholeSubject(), 1, 0, house.clock.now()))
