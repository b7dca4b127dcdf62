"""Comparing the search index with the table, and bringing it in step; safe while both are written to.

Two passes. The table's memories, page by page: an entry that is missing or older is put. The index's entries, page by
page: one whose memory is gone, or whose space is fenced, is removed. What is to be done is decided on what was read
some moments ago, so each change is made by reading the memory again and carries its version: a change that somebody
else made meanwhile wins.

A space's mark is set when all of it is done and the index took everything: its head is read, then what was written or
changed since shortly before the run began, and put; whatever is older the pages have listed. So everything up to the
head's newest write is in the index then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, groupby, islice

from lethe.domain import ids
from lethe.domain.identity import Space
from lethe.domain.indexing import Change, Indexed, Mark, Outcome, Put, Remove
from lethe.ports import Clock, Indexes, IndexWriter, Memories, MemoryTable, Page, SubjectHeads

PAGE = 500
_NOT_TAKEN = frozenset((Outcome.REFUSED, Outcome.RETRY))


@dataclass(slots=True)
class Findings:
    """What was compared, found and mended. ``refused`` is what the index did not take."""

    memories: int = 0
    entries: int = 0
    missing: int = 0
    stale: int = 0
    orphans: int = 0
    fenced: int = 0
    mended: int = 0
    refused: int = 0

    @property
    def divergences(self) -> int:
        """How many entries were not as their memories are."""
        return self.missing + self.stale + self.orphans + self.fenced


Progress = Callable[[Findings], None]


class Reconciler:
    """Compares and mends. ``within`` is how many seconds a request to the index may take."""

    def __init__(
        self,
        heads: SubjectHeads,
        memories: Memories,
        table: MemoryTable,
        writer: IndexWriter,
        indexes: Indexes,
        clock: Clock,
        within: float = 30.0,
    ) -> None:
        self._heads = heads
        self._memories = memories
        self._table = table
        self._writer = writer
        self._indexes = indexes
        self._clock = clock
        self._within = within

    def check(self, progress: Progress) -> Findings:
        """Count divergences and change nothing."""
        return self._run(progress, mend=False)

    def repair(self, progress: Progress) -> Findings:
        """Mend every divergence."""
        return self._run(progress, mend=True)

    def rebuild(self, progress: Progress) -> Findings:
        """Make the index if it is not there, put what it lacks, and let searches see it.

        Those of other models and schemas that nobody writes to any more are deleted then.
        """
        self._indexes.make()
        findings = self.repair(progress)
        self._indexes.show()
        return findings

    def _run(self, progress: Progress, mend: bool) -> Findings:
        findings = Findings()
        began = self._clock.now()
        self._writer.refresh()
        for space, own in _by_space(_all(self._table.page)):
            self._compare_memories(space, own, findings, progress, began if mend else None)
        if mend:
            self._writer.refresh()
        for page in _pages(self._writer.page):
            self._compare_entries(page, findings, mend)
            progress(findings)
        if mend:
            self._writer.refresh()
        return findings

    def _compare_memories(
        self, space: Space, own: Iterator[Indexed], findings: Findings, progress: Progress, began: datetime | None
    ) -> None:
        """Compare the memories of one space with their entries, and mend these when ``began``, the run's, is given."""
        head = self._heads.read(space.tenant, space.subject)
        if head is None or not head.reads(space):
            return  # its entries, if any, are found in the second pass
        refused = findings.refused
        while part := list(islice(own, PAGE)):
            held = self._writer.versions(space, [memory.memory_id for memory in part])
            missing = [memory.memory_id for memory in part if memory.memory_id not in held]
            stale = [memory.memory_id for memory in part if held.get(memory.memory_id, memory.version) < memory.version]
            findings.memories += len(part)
            findings.missing += len(missing)
            findings.stale += len(stale)
            if began is not None:
                standing = self._memories.get_many(space, [*missing, *stale])
                self._apply([Put(space, memory) for memory in standing.values()], findings)
            progress(findings)
        if began is not None and findings.refused == refused:
            self._mark(space, began - ids.WRITER_LIVES)

    def _mark(self, space: Space, earlier: datetime) -> None:
        """Note that the index shows everything of ``space`` up to the newest write that its head knows now; what was
        written before ``earlier`` it shows already.
        """
        now, head = self._clock.now(), self._heads.read(space.tenant, space.subject)
        if head is None or head.written is None or not head.reads(space):
            return
        recent = {memory.id: memory for memory in self._memories.since(space, ids.first_memory(earlier))}
        changed = [memory_id for memory_id in self._memories.changed_since(space, earlier) if memory_id not in recent]
        puts = [Put(space, memory) for memory in (recent | self._memories.get_many(space, changed)).values()]
        if not set(self._writer.apply(puts, self._within)) & _NOT_TAKEN:
            self._writer.apply([Mark(space, head.written, now)], self._within)

    def _compare_entries(self, page: Sequence[Indexed], findings: Findings, mend: bool) -> None:
        findings.entries += len(page)
        for space, entries in _by_space(page):
            own = list(entries)
            head = self._heads.read(space.tenant, space.subject)
            readable = head is not None and head.reads(space)
            standing = self._memories.get_many(space, [entry.memory_id for entry in own]) if readable else {}
            gone = [entry for entry in own if entry.memory_id not in standing]
            if readable:
                findings.orphans += len(gone)
            else:
                findings.fenced += len(gone)
            if mend:
                self._apply([Remove(space, entry.memory_id, entry.version) for entry in gone], findings)

    def _apply(self, changes: Sequence[Change], findings: Findings) -> None:
        outcomes = self._writer.apply(changes, self._within)
        findings.mended += sum(outcome is Outcome.APPLIED for outcome in outcomes)
        findings.refused += sum(outcome in _NOT_TAKEN for outcome in outcomes)


def _by_space(listed: Iterable[Indexed]) -> Iterator[tuple[Space, Iterator[Indexed]]]:
    """Neighbours of one space, as both sides list them."""
    return groupby(listed, key=lambda each: each.space)


def _all(page: Callable[[int, str | None], Page[Indexed]]) -> Iterator[Indexed]:
    return chain.from_iterable(_pages(page))


def _pages(page: Callable[[int, str | None], Page[Indexed]]) -> Iterator[Sequence[Indexed]]:
    start: str | None = None
    while True:
        found = page(PAGE, start)
        yield found.items
        if found.next_key is None:
            return
        start = found.next_key
