"""Comparing the search index with the table, and bringing it in step; safe while both are written to.

Two passes. The table's memories, page by page: an entry that is missing or older is put. The index's entries, page by
page: one whose memory is gone, or whose space is fenced, is removed. What is to be done is decided on what was read
some moments ago, so each change is made by reading the memory again (``services.indexing``) and carries its version: a
change that somebody else made meanwhile wins.

A space's mark is set when its last page is done: its head is read, then what was written or changed since shortly
before the run began, and put; whatever is older the pages have listed. So everything up to the head's newest write is
in the index then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from lethe.domain import ids
from lethe.domain.head import SubjectHead, SubjectState
from lethe.domain.identity import Space
from lethe.domain.indexing import Change, Indexed, Mark, Outcome, Put, Remove
from lethe.ports import Clock, Indexes, IndexWriter, Memories, MemoryTable, Page, SubjectHeads

PAGE = 500
_LOOKS_BACK = timedelta(seconds=90)
"""Longer than a writer lives: what was made earlier stands in the table when the run begins, or never will."""


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
        return self._run(progress, mend=False, all_anew=False)

    def repair(self, progress: Progress) -> Findings:
        """Mend every divergence."""
        return self._run(progress, mend=True, all_anew=False)

    def rebuild(self, progress: Progress) -> Findings:
        """Make the index if it is not there, put every memory's entry, also where one stands, and let searches see it.

        An index of another model or schema is seen until this one is whole.
        """
        self._indexes.make()
        findings = self._run(progress, mend=True, all_anew=True)
        self._indexes.show()
        return findings

    def _run(self, progress: Progress, mend: bool, all_anew: bool) -> Findings:
        findings = Findings()
        began = self._clock.now()
        self._writer.refresh()
        last: Space | None = None
        for page in _pages(self._table.page):
            for space, own in _by_space(page):
                if mend and last is not None and last != space:
                    self._mark(last, began)
                last = space if self._compare_memories(space, own, findings, mend, all_anew) else None
            progress(findings)
        if mend and last is not None:
            self._mark(last, began)
        if mend:
            self._writer.refresh()
        for page in _pages(self._writer.page):
            self._compare_entries(page, findings, mend)
            progress(findings)
        if mend:
            self._writer.refresh()
        return findings

    def _compare_memories(
        self, space: Space, own: Sequence[Indexed], findings: Findings, mend: bool, all_anew: bool
    ) -> bool:
        """Compare some memories of one space with their entries; whether the space is one that is read."""
        if not _readable(self._heads.read(space.tenant, space.subject), space):
            return False  # its entries, if any, are found in the second pass
        held = self._writer.versions(space, [memory.memory_id for memory in own])
        findings.memories += len(own)
        missing = [memory for memory in own if memory.memory_id not in held]
        stale = [memory for memory in own if held.get(memory.memory_id, memory.version) < memory.version]
        findings.missing += len(missing)
        findings.stale += len(stale)
        if mend:
            wrong = own if all_anew else (*missing, *stale)
            self._mend(space, [memory.memory_id for memory in wrong], findings)
        return True

    def _mark(self, space: Space, began: datetime) -> None:
        """Note that the index shows everything of ``space`` up to the newest write that its head knows now."""
        now, head = self._clock.now(), self._heads.read(space.tenant, space.subject)
        if head is None or head.written is None or not _readable(head, space):
            return
        earlier = began - _LOOKS_BACK
        recent = [memory.id for memory in self._memories.since(space, ids.MEMORY + ids.ulid(earlier, 0))]
        wanted = [*recent, *self._memories.changed_since(space, earlier)]
        standing = self._memories.get_many(space, wanted) if wanted else {}
        outcomes = self._writer.apply([Put(space, memory) for memory in standing.values()], self._within)
        if not set(outcomes) & {Outcome.REFUSED, Outcome.RETRY}:
            self._writer.apply([Mark(space, head.written, now)], self._within)

    def _compare_entries(self, page: Sequence[Indexed], findings: Findings, mend: bool) -> None:
        for space, own in _by_space(page):
            findings.entries += len(own)
            readable = _readable(self._heads.read(space.tenant, space.subject), space)
            standing = self._memories.get_many(space, [entry.memory_id for entry in own]) if readable else {}
            gone = [entry for entry in own if entry.memory_id not in standing]
            if readable:
                findings.orphans += len(gone)
            else:
                findings.fenced += len(gone)
            if mend:
                self._apply([Remove(space, entry.memory_id, entry.version) for entry in gone], findings)

    def _mend(self, space: Space, memory_ids: Sequence[str], findings: Findings) -> None:
        standing = self._memories.get_many(space, memory_ids) if memory_ids else {}
        self._apply([Put(space, memory) for memory in standing.values()], findings)

    def _apply(self, changes: Sequence[Change], findings: Findings) -> None:
        if not changes:
            return
        outcomes = self._writer.apply(changes, self._within)
        findings.mended += sum(outcome is Outcome.APPLIED for outcome in outcomes)
        findings.refused += sum(outcome in (Outcome.REFUSED, Outcome.RETRY) for outcome in outcomes)


def _readable(head: SubjectHead | None, space: Space) -> bool:
    return head is not None and head.epoch == space.epoch and head.state is SubjectState.ACTIVE


def _by_space(page: Iterable[Indexed]) -> Iterator[tuple[Space, list[Indexed]]]:
    """Neighbours of one space, as both sides list them."""
    for space, own in groupby(page, key=lambda each: each.space):
        yield space, list(own)


def _pages(page: Callable[[int, str | None], Page[Indexed]]) -> Iterator[Sequence[Indexed]]:
    start: str | None = None
    while True:
        found = page(PAGE, start)
        yield found.items
        if found.next_key is None:
            return
        start = found.next_key
