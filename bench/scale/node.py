"""The index under measurement: made, filled and asked through the product's own adapter."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from bench.scale.world import MODEL, WRITTEN, Subject, Table
from lethe.adapters.opensearch import questions
from lethe.adapters.opensearch.administration import IndexAdministration
from lethe.adapters.opensearch.connection import Cluster, Json, make_client
from lethe.adapters.opensearch.engine import OpenSearchIndex
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.known import KnownSubjects
from lethe.adapters.opensearch.mapping import IndexShape
from lethe.adapters.opensearch.writer import OpenSearchWriter
from lethe.adapters.scan_index import ScanIndex
from lethe.adapters.system import SystemClock
from lethe.domain.indexing import Change, Mark, Outcome, Put
from lethe.domain.json_values import JsonValue
from lethe.domain.memory import Embedding, Memory, MemoryFilter
from lethe.domain.search import SearchQuery
from lethe.ports import Memories, SearchIndex

CANDIDATES: Final = 40
"""What a search for the best five asks of the index (``services.recall.Question``)."""
_BATCH: Final = 500
_WRITERS: Final = 2
_PATIENCE: Final = 60.0
_CACHE_BYTES: Final = 128 * 1024 * 1024
_CACHE_SECONDS: Final = 300.0
"""As the template gives them to the function ``recall``."""
_NOW: Final = datetime.now(UTC) + timedelta(minutes=10)
"""Later than every mark that a run notes: what was filled is settled."""


class _Counting(Cluster):
    """Counts the questions that it is asked."""

    asked = 0

    def multi_search(
        self, index: str, searches: Sequence[Mapping[str, JsonValue]], within: float, routing: str
    ) -> list[Json]:
        """As the base."""
        self.asked += 1
        return super().multi_search(index, searches, within, routing)


@dataclass(frozen=True)
class Size:
    """What the node says of itself."""

    entries: int
    bytes: int
    segments: int
    heap: int


class Index:
    """One index on one node."""

    def __init__(self, url: str, alias: str, shape: IndexShape) -> None:
        self._cluster = _Counting(make_client(url, Flavour.LOCAL, "us-east-1"), Flavour.LOCAL)
        self._administration = IndexAdministration(self._cluster, alias, MODEL, shape)
        self.name = self._administration.name
        self._writer = OpenSearchWriter(self._cluster, self.name, MODEL.label, SystemClock())
        self._threads = ThreadPoolExecutor(32)

    def make(self) -> None:
        """Drop what is there and begin anew."""
        self._administration.drop()
        self._administration.make()
        self._administration.show()

    def drop(self) -> None:
        """Leave nothing behind."""
        self._administration.drop()

    def fill(self, subjects: Iterable[Subject]) -> float:
        """Put the memories of all; seconds. Refreshes rest meanwhile, as a rebuild would let them."""
        self._setting("refresh_interval", "-1")
        began = time.perf_counter()
        with ThreadPoolExecutor(_WRITERS) as writers:
            batches = _batches(change for subject in subjects for change in _changes(subject))
            while ahead := list(islice(batches, _WRITERS)):
                list(writers.map(self.write, ahead))
        seconds = time.perf_counter() - began
        self._setting("refresh_interval", "1s")
        self._writer.refresh()
        return seconds

    def write(self, changes: list[Change]) -> None:
        """Put a batch. Raises RuntimeError when an entry was not taken."""
        if set(self._writer.apply(changes, _PATIENCE)) - {Outcome.APPLIED, Outcome.SUPERSEDED}:
            raise RuntimeError("the index did not take everything")

    def engine(self, table: Table) -> SearchIndex:
        """The product's engine over it, which always asks the index; ``container`` is the one that keeps views."""
        scan = cast(SearchIndex, None)
        memories = cast(Memories, table)
        return OpenSearchIndex(memories, self._cluster, self._administration.searched, scan, self._threads, _PATIENCE)

    def container(self, table: Table) -> SearchIndex:
        """The product's engine as a new container has it: it knows no subject yet."""
        memories = cast(Memories, table)
        views = ScanIndex(memories, _CACHE_BYTES, _CACHE_SECONDS)
        cluster, name = self._cluster, self._administration.searched
        return OpenSearchIndex(memories, cluster, name, views, self._threads, _PATIENCE, known=KnownSubjects(views))

    @property
    def asked(self) -> int:
        """How many questions the index was asked."""
        return self._cluster.asked

    def nearest(self, subject: Subject, vector: NDArray[np.float32], k: int) -> list[str]:
        """The k-NN leg alone: ids, nearest first."""
        search = questions.vector_search(subject.space, MemoryFilter(), _NOW, vector, k)
        (answer,) = self._cluster.multi_search(
            self._administration.searched, [search], _PATIENCE, subject.space.subject
        )
        return questions.hits(answer, subject.space)

    def size(self) -> Size:
        """Entries, bytes on disk, segments, heap in use."""
        stats = self._cluster.call("GET", f"/{self.name}/_stats/store,docs,segments")
        total = cast(Json, cast(Json, stats["_all"])["primaries"])
        nodes = cast(Json, self._cluster.call("GET", "/_nodes/stats/jvm")["nodes"])
        (node,) = nodes.values()
        heap = cast(Json, cast(Json, cast(Json, node)["jvm"])["mem"])["heap_used_in_bytes"]
        return Size(
            entries=cast(int, cast(Json, total["docs"])["count"]),
            bytes=cast(int, cast(Json, total["store"])["size_in_bytes"]),
            segments=cast(int, cast(Json, total["segments"])["count"]),
            heap=cast(int, heap),
        )

    def _setting(self, name: str, value: str) -> None:
        self._cluster.call("PUT", f"/{self.name}/_settings", {"index": {name: value}}, 120.0)


def ask(engine: SearchIndex, subject: Subject, text: str, vector: NDArray[np.float32]) -> float:
    """One search; seconds. Raises RuntimeError when the index did not answer it."""
    query = SearchQuery(text, Embedding(MODEL.label, vector))
    began = time.perf_counter()
    found = engine.search(subject.space, query, MemoryFilter(), _NOW, CANDIDATES)
    seconds = time.perf_counter() - began
    if found.degraded or found.stored != subject.size:
        raise RuntimeError(f"a whole answer over {subject.size} memories was due, not {found.stored}")
    return seconds


def exact(subject: Subject, memories: list[Memory], vector: NDArray[np.float32], k: int) -> list[str]:
    """The nearest by brute force."""
    order = np.argsort(-(subject.vectors() @ vector), kind="stable")[:k]
    return [memories[place].id for place in order.tolist()]


def _changes(subject: Subject) -> Iterator[Change]:
    space = subject.space
    memories = subject.memories()
    yield from (Put(space, memory) for memory in memories)
    yield Mark(space, WRITTEN, memories[-1].updated_at)


def _batches(changes: Iterator[Change]) -> Iterator[list[Change]]:
    while batch := list(islice(changes, _BATCH)):
        yield batch
