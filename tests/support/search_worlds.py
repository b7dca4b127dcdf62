"""Memory and a search index over it, as recall and the indexer see them together; over each engine."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
from opensearchpy import Connection

from lethe.adapters.opensearch.administration import IndexAdministration
from lethe.adapters.opensearch.connection import Cluster, make_client
from lethe.adapters.opensearch.engine import OpenSearchIndex
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.known import KnownSubjects
from lethe.adapters.opensearch.mapping import IndexShape
from lethe.adapters.opensearch.writer import OpenSearchWriter
from lethe.adapters.scan_index import ScanIndex
from lethe.domain import ids
from lethe.domain.identity import Space
from lethe.domain.indexing import Change, Mark, Outcome, Put, Remove
from lethe.domain.memory import Embedding, Memory, MemoryFilter, content_hash
from lethe.domain.relevance.documents import embedding_text
from lethe.domain.search import SearchQuery
from lethe.ports import IndexUpkeep, SearchIndex, SearchResult
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.memories import FakeMemories
from tests.fakes.opensearch.cluster import FakeOpenSearch
from tests.fakes.opensearch.connection import connected_to
from tests.fakes.time_and_ids import FixedClock
from tests.support.makers import memory

DIMENSIONS = 64
EMBEDDER = FakeEmbedder(DIMENSIONS)
LABEL = EMBEDDER.model.label
KnownSubjectsOver = Callable[[ScanIndex], KnownSubjects]

MANY = 200
"""Candidates asked for where all memories of a test are to be ranked."""

PATIENT_SECONDS = 30.0
"""What a search waits for the index: the machine that tests run on may be slow."""


def embedded(text: str, model: str = LABEL) -> Embedding:
    """The vector of ``text``, as exact as the table keeps it."""
    vector = EMBEDDER.embed([text], "memory")[0]
    return Embedding(model, vector.astype(np.float16).astype(np.float32))


def entries_of(writer: IndexUpkeep, space: Space) -> int:
    """How many entries searches see of ``space``; marks are none."""
    found = 0
    start: str | None = None
    while True:
        page = writer.page(1_000, start)
        found += sum((each.space.subject, each.space.epoch) == (space.subject, space.epoch) for each in page.items)
        start = page.next_key
        if start is None:
            return found


def query(text: str, *, vector: bool = True, name: str | None = None) -> SearchQuery:
    """A question with its vector, or of words alone."""
    return SearchQuery(text, embedded(text) if vector else None, name)


@dataclass(slots=True)
class OnCluster:
    """What there is beside the index where the engine is OpenSearch."""

    cluster: Cluster
    alias: str
    searched: str
    index: str
    writer: OpenSearchWriter
    fake: FakeOpenSearch | None


@dataclass(slots=True)
class World:
    """Stores in memory, an engine that searches them, and the indexer's part, which a test plays when it wants to.

    ``behind`` holds what the index was not told yet.
    """

    name: str
    clock: FixedClock
    heads: FakeSubjectHeads
    memories: FakeMemories
    index: SearchIndex
    scan: ScanIndex
    on: OnCluster | None
    behind: dict[tuple[Space, str], int | None] = field(default_factory=dict)
    _made: int = 0

    @property
    def writer(self) -> OpenSearchWriter:
        assert self.on is not None, "the scan has no index"
        return self.on.writer

    def subject(self, tenant: str = "acme", epoch: int = 1) -> Space:
        """A new subject's space; reopen it to search."""
        subject = secrets.token_hex(16)
        head = self.heads.create(tenant, subject)
        if epoch != 1:
            self.heads.put(replace(head, epoch=epoch))
        return Space(tenant, subject, epoch)

    def opened(self, space: Space) -> Space:
        """``space`` as a request opens it now."""
        head = self.heads.read(space.tenant, space.subject)
        assert head is not None
        return replace(space, revision=head.revision, rewritten=head.rewritten, written=head.written)

    def memory(self, text: str, **others: object) -> Memory:
        """A memory made now, with the vector that the embedder gives its text."""
        self._made += 1
        now = self.clock.now()
        fields: dict[str, object] = {
            "id": ids.MEMORY + ids.ulid(now, self._made),
            "content_hash": content_hash(text, None, None) + str(self._made),
            "embedding": embedded(embedding_text("", None, text, "")),
        }
        return memory(text, now, **{**fields, **others})

    def add(self, space: Space, *new: Memory) -> tuple[Memory, ...]:
        """Acknowledge new memories; the index hears of them by ``catch_up``."""
        self.memories.add(space, new)
        self.behind |= {(space, each.id): None for each in new}
        return new

    def say(self, space: Space, *texts: str) -> tuple[Memory, ...]:
        """``add`` memories with these texts."""
        return self.add(space, *map(self.memory, texts))

    def change(self, space: Space, seen: Memory, **fields: object) -> Memory:
        """Acknowledge a new version, made now."""
        if "text" in fields:
            fields.setdefault("embedding", embedded(str(fields["text"])))
            fields.setdefault("content_hash", secrets.token_hex(16))
        changed = replace(seen, updated_at=self.clock.now(), **fields)  # type: ignore[arg-type]  # fields by name
        self.behind[space, seen.id] = None
        return self.memories.update(space, seen, changed)

    def delete(self, space: Space, *gone: Memory) -> None:
        """Acknowledge that memories are deleted."""
        self.memories.delete(space, [each.id for each in gone])
        self.behind |= {(space, each.id): each.version for each in gone}

    def catch_up(self, *, show: bool = True) -> tuple[Outcome, ...]:
        """Tell the index everything that it was not told, in any order, and the marks last."""
        if self.on is None:
            return ()
        changes = [self._change(space, memory_id, known) for (space, memory_id), known in self.behind.items()]
        random.Random(len(changes)).shuffle(changes)
        outcomes = self.writer.apply(changes, PATIENT_SECONDS)
        self.writer.apply(list(self._marks()), PATIENT_SECONDS)
        self.behind.clear()
        if show:
            self.show()
        return outcomes

    def _change(self, space: Space, memory_id: str, version: int | None) -> Change:
        standing = self.memories.get(space, memory_id)
        return Put(space, standing) if standing is not None else Remove(space, memory_id, version)

    def _marks(self) -> Iterable[Mark]:
        for space in dict.fromkeys(space for space, _ in self.behind):
            written = self.opened(space).written
            if written is not None:
                yield Mark(space, written, self.clock.now())

    def show(self) -> None:
        """Whatever the index was told shows in searches afterwards."""
        shown_at = self.clock.now() + self.shows_after
        self.writer.refresh()
        self.clock.move(shown_at - self.clock.now())

    @property
    def shows_after(self) -> timedelta:
        """By how much ``show`` moves the clock: until all is known to show."""
        if self.on is None:
            return timedelta()
        return timedelta(seconds=2 * self.on.cluster.abilities.refresh_seconds + 1)

    def search(
        self,
        space: Space,
        asked: SearchQuery | str,
        filters: MemoryFilter | None = None,
        limit: int = MANY,
        as_of: datetime | None = None,
    ) -> SearchResult:
        """Search the subject as it stands now."""
        question = query(asked) if isinstance(asked, str) else asked
        return self.index.search(
            self.opened(space), question, filters or MemoryFilter(), self.clock.now(), limit, as_of
        )

    def scanned(self, space: Space, asked: SearchQuery, filters: MemoryFilter, limit: int = MANY) -> SearchResult:
        """What the scan answers over the same memories."""
        return self.scan.search(self.opened(space), asked, filters, self.clock.now(), limit)


def texts(result: SearchResult) -> list[str]:
    """Texts found, best first."""
    return [candidate.memory.text for candidate in result.candidates]


def scan_world() -> World:
    """The scan alone."""
    clock, heads, memories, scan = _stores()
    return World("scan", clock, heads, memories, scan, scan, None)


def fake_world(
    flavour: Flavour, threads: Executor, shape: IndexShape | None = None, known: KnownSubjectsOver | None = None
) -> World:
    """OpenSearch in memory; with ``known`` its engine answers known subjects from views."""
    clock, heads, memories, scan = _stores()
    fake = FakeOpenSearch(flavour, clock)
    client = make_client("https://search.test", flavour, "eu-central-1", connected_to(fake))
    cluster = Cluster(client, flavour)
    on = _made_index(cluster, fake, clock, shape or IndexShape())
    index = OpenSearchIndex(memories, cluster, on.searched, scan, threads, PATIENT_SECONDS)
    world = World(flavour.value, clock, heads, memories, index, scan, on)
    if known is not None:
        world.index = container(world, threads, known)
    return world


def container(
    world: World, threads: Executor, known: KnownSubjectsOver = KnownSubjects, cache_bytes: int = 100_000_000
) -> OpenSearchIndex:
    """The engine of one more container over the same stores and the same index, which keeps views."""
    assert world.on is not None, "the scan has no index"
    views = ScanIndex(world.memories, cache_bytes, cache_seconds=1e9)
    return OpenSearchIndex(
        world.memories, world.on.cluster, world.on.searched, views, threads, PATIENT_SECONDS, known=known(views)
    )


def node_world(endpoint: str, connection: type[Connection], threads: Executor) -> World:
    """OpenSearch on a real node; an index of its own, which ``dropped`` drops."""
    clock, heads, memories, scan = _stores()
    cluster = Cluster(make_client(endpoint, Flavour.LOCAL, "eu-central-1", connection), Flavour.LOCAL)
    on = _made_index(cluster, None, clock, IndexShape())
    index = OpenSearchIndex(memories, cluster, on.searched, scan, threads, PATIENT_SECONDS)
    return World("node", clock, heads, memories, index, scan, on)


def dropped(world: World) -> None:
    """Delete the index of ``world``."""
    assert world.on is not None
    IndexAdministration(world.on.cluster, world.on.alias, EMBEDDER.model).drop()


def _stores() -> tuple[FixedClock, FakeSubjectHeads, FakeMemories, ScanIndex]:
    heads = FakeSubjectHeads()
    memories = FakeMemories(heads)
    return FixedClock(), heads, memories, ScanIndex(memories, 100_000_000, cache_seconds=0.0)


def _made_index(cluster: Cluster, fake: FakeOpenSearch | None, clock: FixedClock, shape: IndexShape) -> OnCluster:
    alias = f"contract-{secrets.token_hex(6)}"
    indexes = IndexAdministration(cluster, alias, EMBEDDER.model, shape)
    indexes.make()
    indexes.show()
    name = indexes.name
    writer = OpenSearchWriter(cluster, name, LABEL, clock, sleep=lambda seconds: clock.pass_by(seconds))
    return OnCluster(cluster, alias, indexes.searched, name, writer, fake)
