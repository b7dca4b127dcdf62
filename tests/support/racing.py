"""What races of erasure run on: requests that are under way, an index beside the tables, a count of what is left."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lethe.adapters.inspection.index import Entries
from lethe.adapters.opensearch.administration import IndexAdministration
from lethe.adapters.opensearch.connection import Cluster, make_client
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.writer import OpenSearchWriter
from lethe.domain.embedding import EmbeddingModel
from lethe.domain.identity import Space
from tests.fakes.opensearch.cluster import FakeOpenSearch
from tests.fakes.opensearch.connection import connected_to
from tests.fakes.time_and_ids import FixedClock
from tests.support.makers import MODEL
from tests.support.stores import REGION
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_TAG = re.compile(r"under epoch (\d+)")


class Underway:
    """Requests that have begun and have not ended."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: set[int] = set()
        self.begun = 0

    @contextmanager
    def request(self) -> Iterator[None]:
        """One request, from before it reads the head to its end."""
        with self._changed:
            self.begun += 1
            number = self.begun
            self._running.add(number)
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._running.remove(number)
                self._changed.notify_all()

    def wait_for_begun(self, number: int) -> None:
        """Return when so many requests have begun."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.begun >= number, PATIENCE), "nobody begins a request"

    def drain(self) -> None:
        """Return when all requests that are under way now have ended, as a wait for their time-outs does."""
        with self._changed:
            before = set(self._running)
            assert self._changed.wait_for(lambda: not before & self._running, PATIENCE), "a request does not end"


@dataclass(frozen=True)
class IndexBeside:
    """An index of OpenSearch in memory, with the writer and the inspection that the product has for it."""

    fake: FakeOpenSearch
    writer: OpenSearchWriter
    entries: Entries

    @classmethod
    def make(cls, clock: FixedClock) -> IndexBeside:
        """An empty one, whose time is that of ``clock``."""
        flavour, fake = Flavour.MANAGED, FakeOpenSearch(Flavour.MANAGED, clock)
        client = make_client("https://search.test", flavour, REGION, connected_to(fake))
        cluster = Cluster(client, flavour)
        name, version = MODEL.split("@")
        indexes = IndexAdministration(cluster, "lethe-memories", EmbeddingModel(name, version, 64))
        indexes.make()
        indexes.show()
        writer = OpenSearchWriter(cluster, indexes.name, MODEL, clock, sleep=clock.pass_by)
        return cls(fake, writer, Entries(client, "lethe-memories-v", None, sleep=clock.pass_by))

    def ids(self) -> set[str]:
        """The ``_id`` of every entry that stands or that searches see."""
        found: set[str] = set()
        for index in self.fake.indexes.values():
            for shard in index.shards:
                found |= {name for name, standing in shard.standing.items() if standing.document is not None}
                found |= shard.visible.keys()
        return found

    def of_ended(self, subject: str, last: int) -> list[str]:
        """Entries of epochs up to ``last``."""
        parts = [(name, name.split("-")) for name in self.ids()]
        return [name for name, (of, epoch, *_) in parts if of == subject and int(epoch) <= last]

    def memories(self, space: Space) -> set[str]:
        """The memories that have an entry in this space."""
        parts = [name.split("-") for name in self.ids()]
        here = {rest[0] for of, epoch, *rest in parts if (of, int(epoch)) == (space.subject, space.epoch)}
        return {name for name in here if name.startswith("mem_")}


def tagged(what: str, epoch: int) -> str:
    """A text that says under which epoch it was written."""
    return f"{what} under epoch {epoch}"


def tags(text: str) -> list[int]:
    """The epochs of all texts that ``text`` is, or repeats."""
    return [int(epoch) for epoch in _TAG.findall(text)]


def left_of(client: DynamoDBClient, tables: Sequence[str], last: dict[tuple[str, str], int]) -> list[tuple[str, str]]:
    """Places of items whose key or text is of an ended epoch; ``last`` is the last one of a tenant and subject."""
    found: list[tuple[str, str]] = []
    for table in tables:
        for page in client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
            for item in page["Items"]:
                partition, sort = str(item["pk"]["S"]), str(item["sk"]["S"])
                tenant, subject, *rest = [*partition.split("#"), ""]
                ended = last.get((tenant, subject), 0)
                if any(epoch <= ended for epoch in _epochs(rest[0], sort, _text(item))):
                    found.append((partition, sort))
    return found


def _text(item: Mapping[str, Any]) -> str:
    """Everything in an item; the body of a stored answer is packed."""
    body = item.get("body", {}).get("B")
    return str(item) + ("" if body is None else zlib.decompress(body).decode())


def _epochs(partition: str, sort: str, text: str) -> list[int]:
    """Every epoch that an item names."""
    of_answer = [int(sort.split("#")[1])] if sort.startswith("IDEMPOTENCY#") else []
    return [*([int(partition)] if partition.isdecimal() else []), *of_answer, *tags(text)]
