"""Subjects of any size on a strict DynamoDB, with items of every kind, written by bare batch calls."""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias, TypeVar

from bench.erasure.client import CountingClient
from bench.speed.rig import ROOT, process_variables
from lethe.adapters.dynamodb import Database, Timeouts, build_models, make_client
from lethe.adapters.dynamodb.memory_items import memory_item
from lethe.domain import keys
from lethe.domain.identity import Caller, Space
from lethe_local.backends import choose_binary
from lethe_local.dynoxide import HOW_TO_GET, Dynoxide
from tests.fakes.time_and_ids import START
from tests.support.erasing import Erasing
from tests.support.makers import memory
from tests.support.search_worlds import embedded
from tests.support.stores import REGION, drop_tables, new_tables

Item: TypeAlias = "dict[str, object]"
Key: TypeAlias = "tuple[str, str]"
Value = TypeVar("Value")

BATCH, WRITERS = 25, 4
_PATIENT = Timeouts(connect=5, read=120, attempts=2)


@dataclass(frozen=True)
class Filled:
    """A subject with something in every store, and all keys of it by table."""

    caller: Caller
    user: str
    places: Mapping[str, Sequence[Key]]


@dataclass
class World:
    """One house of erasure over a client that counts."""

    house: Erasing
    client: CountingClient
    tables: tuple[str, str, str, str]

    def fill(self, records: int) -> Filled:
        """A new subject of a new tenant: of every five records one is a memory with its vector, one the pointer from
        its statement, one a message, one a value and one a stored answer.
        """
        self.client.reset(0.0)
        caller, user = self.house.caller(f"t-{secrets.token_hex(4)}"), "alice"
        space = self.house.write(caller, user)
        items = _items(self.house, space, records, self.tables)
        with ThreadPoolExecutor(WRITERS) as threads:
            for table, some in items.items():
                list(threads.map(lambda stretch, to=table: self._put(to, stretch), batches(some)))
        places = {table: [_key(item) for item in some] for table, some in items.items()}
        return Filled(caller, user, places)

    def _put(self, table: str, items: Sequence[Item]) -> None:
        left: object = [{"PutRequest": {"Item": item}} for item in items]
        while left:
            answer = self.client.as_client().batch_write_item(RequestItems={table: left})  # type: ignore[dict-item]  # made here
            left = answer["UnprocessedItems"].get(table)


@contextmanager
def open_world() -> Iterator[World]:
    """The template's tables, empty, on a dynoxide in memory. Raises RuntimeError without one."""
    os.environ.update(process_variables())
    binary = choose_binary("auto", ROOT, ROOT / ".lethe" / "tools", lambda line: None)
    if binary is None:
        raise RuntimeError(f"there is no dynoxide, and other stores have other speeds: {HOW_TO_GET}")
    with ExitStack() as resources:
        server = Dynoxide.start(binary)
        resources.callback(server.stop)
        bare = make_client(REGION, server.url, _PATIENT)
        resources.callback(bare.close)
        names = new_tables(bare)
        client = CountingClient(bare)
        database = Database(client.as_client(), build_models(names, REGION))
        resources.callback(database.end_threads)
        house = Erasing(database, client.as_client(), whole_tables=False)
        yield World(house, client, (names.subjects, names.sessions, names.entities, names.memories))
        drop_tables(bare, names)


def batches(items: Sequence[Value]) -> list[Sequence[Value]]:
    """Stretches of what one call takes."""
    return [items[n : n + BATCH] for n in range(0, len(items), BATCH)]


def _items(house: Erasing, space: Space, records: int, tables: tuple[str, str, str, str]) -> dict[str, list[Item]]:
    subjects, sessions, entities, memories = tables
    partition, beside = keys.space_partition(space), keys.subject_partition(space.tenant, space.subject)
    vector = embedded("statement")
    text = {"S": "said " * 40}
    items: dict[str, list[Item]] = {table: [] for table in tables}
    for n in range(records // 5):
        made = memory(f"statement {n}", START + timedelta(microseconds=n), id=house.ids.new("mem_"))
        made = replace(made, embedding=vector, content_hash=f"{space.subject}{made.id}")
        held: Item = {"pk": {"S": partition}, "sk": {"S": keys.content(made.content_hash)}, "memory_id": {"S": made.id}}
        items[memories] += [dict(memory_item(space, made)), held]
        items[sessions].append({"pk": {"S": partition}, "sk": {"S": keys.message(f"s{n % 7}", n)}, "text": text})
        items[entities].append({"pk": {"S": partition}, "sk": {"S": keys.entity(f"k{n}", None)}, "json": text})
        answer = keys.answer(space.epoch, f"d{n}", 0)
        items[subjects].append({"pk": {"S": beside}, "sk": {"S": answer}, "body": {"B": b"x" * 200}})
    return items


def _key(item: Item) -> Key:
    pk, sk = item["pk"], item["sk"]
    assert isinstance(pk, dict)
    assert isinstance(sk, dict)
    return str(pk["S"]), str(sk["S"])
