"""Comparing the search index with the table, and bringing it in step; safe while both are written to.

Two passes. The table's memories, page by page: an entry that is missing or older is put. The index's entries, page by
page: one whose memory is gone, or whose space is fenced, is removed. What is to be done is decided on what was read
some moments ago, so each change is made by reading the memory again and carries its version: a change that somebody
else made meanwhile wins.

A space's mark is set when all of it is done and the index took everything: its head is read, then what was written or
changed since shortly before the run began, and put; whatever is older the pages have listed. So everything up to the
head's newest write is in the index then.

What the index does not take yet is tried again for a while: an entry that was deleted a moment ago leaves a tombstone,
which refuses older versions for a minute.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, groupby, islice
from typing import Final

from lethe.domain import ids
from lethe.domain.identity import Space
from lethe.domain.indexing import Indexed, Mark, Outcome, Put, Remove
from lethe.ports import Clock, Indexes, IndexUpkeep, Memories, MemoryTable, Page, SubjectHeads

PAGE: Final = 500
PATIENCE: Final = timedelta(seconds=90)
"""How long a repair tries again what the index will take later: it forgets deletions after 60 seconds, and looks for
such every 15.
"""
PAUSE: Final = 5.0
_MOST_AT_ONCE: Final = 16


@dataclass(slots=True)
class Findings:
    """What was compared, found, mended, and is left.

    Attributes:
        memories, entries: how many were compared.
        missing, stale: memories whose entry was not there, or older.
        orphans, fenced: entries without a memory, and entries of an erased or erasing subject.
        mended: changes that the index took.
        refused: those that it does not take as they are.
        later: those that it does not take yet: it still remembers their deletion, for a minute, or is too busy.
        left: divergences that are there now; of a check all that it found.
    """

    memories: int = 0
    entries: int = 0
    missing: int = 0
    stale: int = 0
    orphans: int = 0
    fenced: int = 0
    mended: int = 0
    refused: int = 0
    later: int = 0
    left: int = 0

    @property
    def divergences(self) -> int:
        """How many entries were not as their memories are, when they were compared."""
        return self.missing + self.stale + self.orphans + self.fenced


Watcher = Callable[[Findings], None]
"""Is told the counts so far."""


@dataclass(slots=True)
class _Run:
    """One run over both sides. ``began`` is None for a check; the rest is written by several threads, under ``lock``.

    ``later`` is what the index did not take yet, by space; ``unmarked`` are the spaces that were compared without being
    marked, ``spoilt`` those of which it refused something.
    """

    watcher: Watcher
    began: datetime | None
    findings: Findings = field(default_factory=Findings)
    later: dict[Space, list[Put | Remove]] = field(default_factory=dict)
    unmarked: set[Space] = field(default_factory=set)
    spoilt: set[Space] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def mends(self) -> bool:
        return self.began is not None

    def compared(self, memories: int, missing: int, stale: int) -> None:
        with self.lock:
            self.findings.memories += memories
            self.findings.missing += missing
            self.findings.stale += stale

    def seen(self, entries: int, gone: int, readable: bool) -> None:
        """Note entries of a space, and how many of them have no memory that can be read."""
        with self.lock:
            self.findings.entries += entries
            if readable:
                self.findings.orphans += gone
            else:
                self.findings.fenced += gone

    def told(self) -> None:
        with self.lock:
            self.watcher(self.findings)

    def changed(self, space: Space, changes: Sequence[Put | Remove], outcomes: Sequence[Outcome]) -> None:
        """Note what became of ``changes``."""
        later = [change for change, outcome in zip(changes, outcomes, strict=True) if outcome is Outcome.RETRY]
        with self.lock:
            self.findings.mended += outcomes.count(Outcome.APPLIED)
            self.findings.refused += outcomes.count(Outcome.REFUSED)
            self.findings.later += len(later)
            if later:
                self.later.setdefault(space, []).extend(later)
            if Outcome.REFUSED in outcomes:
                self.spoilt.add(space)

    def to_try_again(self) -> dict[Space, list[Put | Remove]]:
        """What is to be tried again, which is nobody's concern from now on."""
        later, self.later = self.later, {}
        self.findings.later = 0
        return later


class Reconciler:
    """Compares and mends. ``within`` is how many seconds a request to the index may take. With ``threads`` the subjects
    of one page each are worked on side by side: each costs some ten waits in turn, for the table and the index.
    """

    def __init__(
        self,
        heads: SubjectHeads,
        memories: Memories,
        table: MemoryTable,
        writer: IndexUpkeep,
        indexes: Indexes,
        clock: Clock,
        within: float = 30.0,
        threads: Executor | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._heads = heads
        self._memories = memories
        self._table = table
        self._writer = writer
        self._indexes = indexes
        self._clock = clock
        self._within = within
        self._threads = threads
        self._sleep = sleep

    def check(self, watcher: Watcher) -> Findings:
        """Count divergences and change nothing."""
        return self._run(_Run(watcher, None))

    def repair(self, watcher: Watcher) -> Findings:
        """Mend every divergence. What the index will take a moment later is waited for, up to ``PATIENCE``."""
        return self._run(_Run(watcher, self._clock.now()))

    def rebuild(self, watcher: Watcher) -> Findings:
        """Make the index if it is not there, put what it lacks, and let searches see it.

        An index of another model or schema is seen until this one is whole.
        """
        self._indexes.make()
        findings = self.repair(watcher)
        self._indexes.show()
        return findings

    def _run(self, run: _Run) -> Findings:
        self._writer.refresh()
        self._compare_table(run)
        if run.mends:
            self._writer.refresh()
        for page in _pages(self._writer.page):
            self._compare_page(page, run)
            run.told()
        if run.mends:
            self._try_again(run)
            self._writer.refresh()
        findings = run.findings
        findings.left = findings.refused + findings.later if run.mends else findings.divergences
        return findings

    def _compare_table(self, run: _Run) -> None:
        """Subject by subject; those of more than a page, whose listing goes on, by themselves."""
        working: deque[Future[None]] = deque()
        for space, own in _by_space(_all(self._table.page)):
            first = list(islice(own, PAGE))
            if self._threads is None or len(first) == PAGE:
                self._compare_memories(space, chain(first, own), run)
                continue
            if len(working) == _MOST_AT_ONCE:
                working.popleft().result()
            working.append(self._threads.submit(self._compare_memories, space, iter(first), run))
        for each in working:
            each.result()

    def _compare_memories(self, space: Space, own: Iterator[Indexed], run: _Run) -> None:
        """Compare the memories of one space with their entries, and mend these where the run does."""
        head = self._heads.read(space.tenant, space.subject)
        if head is None or not head.reads(space):
            return  # its entries, if any, are found in the second pass
        whole = True
        while part := list(islice(own, PAGE)):
            held = self._writer.versions(space, [memory.memory_id for memory in part])
            missing = [memory.memory_id for memory in part if memory.memory_id not in held]
            stale = [memory.memory_id for memory in part if held.get(memory.memory_id, memory.version) < memory.version]
            run.compared(len(part), len(missing), len(stale))
            if run.mends:
                whole &= self._put(space, [*missing, *stale], run)
            run.told()
        if run.began is not None and whole:
            self._mark(space, run.began - ids.WRITER_LIVES)
        elif run.mends:
            with run.lock:
                run.unmarked.add(space)

    def _put(self, space: Space, memory_ids: Sequence[str], run: _Run) -> bool:
        """Put the memories as they are now; whether the index has all of them then.

        The head is read anew each time: no time-out ends this program, so an erasure may have come since the last look.
        """
        head = self._heads.read(space.tenant, space.subject) if memory_ids else None
        standing = self._memories.get_many(space, memory_ids) if head is not None and head.reads(space) else {}
        return self._apply(space, [Put(space, memory) for memory in standing.values()], run)

    def _mark(self, space: Space, earlier: datetime) -> None:
        """Note that the index shows everything of ``space`` up to the newest write that its head knows now; what was
        written before ``earlier`` it shows already.
        """
        now, head = self._clock.now(), self._heads.read(space.tenant, space.subject)
        if head is None or head.written is None or not head.reads(space):
            return
        recent = {memory.id: memory for memory in self._memories.since(space, ids.first_memory(earlier))}
        changed = [memory_id for memory_id in self._memories.changed_since(space, earlier) if memory_id not in recent]
        others = self._memories.get_many(space, changed) if changed else {}
        puts = [Put(space, memory) for memory in (recent | others).values()]
        if not set(self._writer.apply(puts, self._within)) & {Outcome.REFUSED, Outcome.RETRY}:
            self._writer.apply([Mark(space, head.written, now)], self._within)

    def _compare_page(self, page: Sequence[Indexed], run: _Run) -> None:
        """Compare one page of entries with their memories, and mend them where the run does."""
        by_space = [(space, list(entries)) for space, entries in _by_space(page)]
        if self._threads is None:
            for space, own in by_space:
                self._compare_entries(space, own, run)
            return
        for each in [self._threads.submit(self._compare_entries, space, own, run) for space, own in by_space]:
            each.result()

    def _compare_entries(self, space: Space, own: Sequence[Indexed], run: _Run) -> None:
        head = self._heads.read(space.tenant, space.subject)
        readable = head is not None and head.reads(space)
        standing = self._memories.get_many(space, [entry.memory_id for entry in own]) if readable else {}
        gone = [entry for entry in own if entry.memory_id not in standing]
        run.seen(len(own), len(gone), readable)
        if run.mends:
            self._apply(space, [Remove(space, entry.memory_id, entry.version) for entry in gone], run)

    def _apply(self, space: Space, changes: Sequence[Put | Remove], run: _Run) -> bool:
        """Make the changes; whether the index has all of them then."""
        outcomes = self._writer.apply(changes, self._within)
        run.changed(space, changes, outcomes)
        return not {Outcome.REFUSED, Outcome.RETRY} & set(outcomes)

    def _try_again(self, run: _Run) -> None:
        """What the index did not take yet, until it does; then the marks that waited for it."""
        ends = self._clock.now() + PATIENCE
        while run.later and self._clock.now() < ends:
            run.told()
            self._sleep(PAUSE)
            for space, changes in run.to_try_again().items():
                self._put(space, [change.memory.id for change in changes if isinstance(change, Put)], run)
                self._apply(space, [change for change in changes if isinstance(change, Remove)], run)
        for space in run.unmarked - run.later.keys() - run.spoilt:
            assert run.began is not None
            self._mark(space, run.began - ids.WRITER_LIVES)


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
