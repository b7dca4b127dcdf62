"""10,000 records of one subject among 40,000 of three tenants: none is left, and no other byte has changed.

Peers stop at the first page and say that all is done (mem0 #6627): here every store has far more than one.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from lethe.adapters.dynamodb import Database, build_models
from lethe.adapters.dynamodb.failures import Item
from lethe.adapters.dynamodb.memory_items import memory_item
from lethe.adapters.inspection.index import Entries
from lethe.adapters.opensearch.administration import IndexAdministration
from lethe.adapters.opensearch.connection import Cluster, make_client
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.mapping import IndexShape, index_name
from lethe.adapters.opensearch.writer import OpenSearchWriter
from lethe.domain import keys
from lethe.domain.erasure import ErasureState, StepName, WholeSubject
from lethe.domain.identity import Space
from lethe.domain.indexing import Put
from lethe.domain.memory import Memory
from tests.conftest import Shared
from tests.fakes.time_and_ids import START
from tests.support.erasing import Erasing, rows
from tests.support.makers import memory
from tests.support.search_worlds import EMBEDDER, embedded, entries_of
from tests.support.stores import REGION, drop_tables, new_tables

pytestmark = [pytest.mark.dynoxide, pytest.mark.timeout(900)]

MINE, OTHERS = 10_000, 30_000
ENTRIES = 2_000
"""Of the 10,000, those that are memories with an entry in the index; as many again are somebody else's."""


@dataclass
class Crowd:
    house: Erasing
    names: tuple[str, ...]

    def fill(self, space: Space, records: int) -> list[Memory]:
        """Items of every kind, most of a page of each store; every fifth is a newest version of a memory."""
        partition, beside = keys.space_partition(space), keys.subject_partition(space.tenant, space.subject)
        made = [
            memory(f"statement {n}", START + timedelta(microseconds=n), id=self.house.ids.new("mem_"))
            for n in range(records // 5)
        ]
        vector = embedded("statement")
        made = [replace(each, embedding=vector, content_hash=f"{space.subject}{each.id}") for each in made]
        subjects, sessions, entities, memories = self.names
        puts: dict[str, list[Item]] = {name: [] for name in self.names}
        for n, each in enumerate(made):
            held = {"pk": {"S": partition}, "sk": {"S": keys.content(each.content_hash)}, "memory_id": {"S": each.id}}
            puts[memories] += [memory_item(space, each), held]
            text = {"S": "said " * 40}
            puts[sessions].append({"pk": {"S": partition}, "sk": {"S": keys.message(f"s{n % 7}", n)}, "text": text})
            puts[entities].append({"pk": {"S": partition}, "sk": {"S": keys.entity(f"k{n}", None)}, "json": text})
            answer: Item = {
                "pk": {"S": beside},
                "sk": {"S": keys.answer(space.epoch, f"d{n}", 0)},
                "body": {"B": b"x" * 200},
            }
            puts[subjects].append(answer)
        with ThreadPoolExecutor(4) as threads:
            for name, items in puts.items():
                stretches = [items[n : n + 25] for n in range(0, len(items), 25)]
                list(threads.map(lambda some, to=name: self._put(to, some), stretches))
        return made

    def _put(self, name: str, items: list[Item]) -> None:
        requests = [{"PutRequest": {"Item": item}} for item in items]
        answer = self.house.inspected.batch_write_item(RequestItems={name: requests})  # type: ignore[dict-item]
        assert not answer["UnprocessedItems"]


@pytest.fixture
def crowd(dynoxide: str, shared: Shared) -> Iterator[Crowd]:
    client = shared.client("dynoxide", dynoxide)
    tables = new_tables(client)
    database = Database(client, build_models(tables, REGION))
    names = (tables.subjects, tables.sessions, tables.entities, tables.memories)
    yield Crowd(Erasing(database, client), names)
    database.end_threads()
    drop_tables(client, tables)


def test_none_is_left_and_all_else_is_the_same_to_the_byte(crowd: Crowd) -> None:
    house = crowd.house
    callers = [house.caller(f"t{n}-{secrets.token_hex(4)}") for n in range(3)]
    mine = house.write(callers[0], "alice")
    crowd.fill(mine, MINE)
    for caller in callers:
        for user in ("bob", "carol"):
            crowd.fill(house.write(caller, user), OTHERS // 6)
    before = rows(house.inspected, crowd.names)
    own = (f"{mine.tenant}#{mine.subject}", f"{mine.tenant}#{mine.subject}#1")
    assert sum(pk in own for _, pk, _ in before) == MINE + 1
    assert len(before) == MINE + OTHERS + 7

    done = house.erase(callers[0], "alice", WholeSubject())

    after = rows(house.inspected, crowd.names)
    assert done.state is ErasureState.COMPLETED
    assert {place: item for place, item in before.items() if place[1] not in own} == {
        place: item for place, item in after.items() if place[1] not in own
    }
    assert [sk for _, pk, sk in after if pk in own] == [keys.HEAD]
    deleting = (StepName.DERIVED, StepName.MEMORIES, StepName.ENTITIES, StepName.SESSIONS)
    assert [sum(getattr(done.step(name), count) for name in deleting) for count in ("found", "deleted")] == [MINE] * 2


@pytest.mark.opensearch
def test_no_entry_of_the_node_is_left_and_others_stay(crowd: Crowd, opensearch: str) -> None:
    alias = f"test-{secrets.token_hex(4)}"
    client = make_client(opensearch, Flavour.LOCAL, REGION)
    cluster = Cluster(client, Flavour.LOCAL)
    administration = IndexAdministration(cluster, alias, EMBEDDER.model, IndexShape())
    administration.make()
    writer = OpenSearchWriter(cluster, index_name(alias, EMBEDDER.model), EMBEDDER.model.label, crowd.house.clock)
    house = Erasing(
        crowd.house.database, crowd.house.inspected, writer=writer, entries=Entries(client, f"{alias}-v", None)
    )
    caller = house.caller(f"t-{secrets.token_hex(4)}")
    mine, other = house.write(caller, "alice"), house.write(caller, "bob")
    for space in (mine, other):
        made = crowd.fill(space, 5 * ENTRIES)
        for start in range(0, ENTRIES, 500):
            writer.apply([Put(space, each) for each in made[start : start + 500]], 60.0)
    # Straight after the writes: what was not yet shown is what deletion by query passes over.
    done = house.erase(caller, "alice", WholeSubject())

    writer.refresh()
    assert done.state is ErasureState.COMPLETED
    assert done.step(StepName.INDEX).deleted + done.step(StepName.SWEEP).deleted == ENTRIES
    assert (entries_of(writer, mine), entries_of(writer, other)) == (0, ENTRIES)
    client.indices.delete(index=f"{alias}-v*")
    client.close()
