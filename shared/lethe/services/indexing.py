"""Keeping the search index in step with the table of memories.

What the table's stream tells is only a hint that something changed: each memory is read again, consistently, and its
entry put or removed as the memory stands now. So it does not matter how often a hint comes, or in which order. Only the
space's mark rests on order: it is written when everything before it was applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from lethe.domain.identity import Space
from lethe.domain.indexing import Change, Mark, Outcome, Put, Remove, memories_marked
from lethe.domain.memory import Memory
from lethe.ports import IndexWriter, Memories, SubjectHeads


@dataclass(frozen=True, slots=True)
class Hint:
    """A record of the stream: a memory was written or removed.

    ``written`` is the mark of the write, for one that wrote; ``changed_at`` the time of what it wrote. Of a removal no
    more is known: the stream shows no old images. ``sequence`` is the record's place in its shard.
    """

    sequence: str
    space: Space
    memory_id: str
    written: str | None = None
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a batch: how many entries were put or removed, which hints must come again, and which the index
    will never take.
    """

    applied: int
    again: tuple[Hint, ...]
    refused: tuple[Hint, ...]


class Indexer:
    """Applies hints to the index. ``within`` is how many seconds a request to the index may take."""

    def __init__(
        self, heads: SubjectHeads, memories: Memories, writer: IndexWriter, threads: Executor, within: float
    ) -> None:
        self._heads = heads
        self._memories = memories
        self._writer = writer
        self._threads = threads
        self._within = within

    def apply(self, hints: Sequence[Hint]) -> Applied:
        """Apply a batch, oldest hint first. Raises Unavailable or Throttled: then all of it must come again."""
        by_space: dict[Space, list[Hint]] = {}
        for hint in hints:
            by_space.setdefault(hint.space, []).append(hint)
        planned = list(self._threads.map(self._plan, by_space, by_space.values()))
        read = {space for space, plan in zip(by_space, planned, strict=True) if plan.read}
        changes: list[Change] = list(chain.from_iterable(plan.changes for plan in planned))
        outcomes = self._writer.apply(changes, self._within)
        became = {_entry(change): outcome for change, outcome in zip(changes, outcomes, strict=True)}
        refused = tuple(hint for hint in _last(hints) if became.get(_entry(hint)) is Outcome.REFUSED)
        # From the first hint on whose memory must come again: what follows in its shard comes again with it.
        again = tuple(hint for hint in hints if became.get(_entry(hint)) is Outcome.RETRY)
        held_back = {hint.space for hint in (*again, *refused)}
        marks = [mark for space in read - held_back if (mark := _mark(space, by_space[space]))]
        if marks:
            self._writer.apply(marks, self._within)
        return Applied(sum(outcome is Outcome.APPLIED for outcome in outcomes), again, refused)

    def _plan(self, space: Space, hints: Sequence[Hint]) -> _Plan:
        """What the entries of these memories shall be. A fenced space has none, and no mark."""
        newest = {hint.memory_id: hint for hint in hints}
        head = self._heads.read(space.tenant, space.subject)
        read = head is not None and head.reads(space)
        standing = self._memories.get_many(space, list(newest)) if read else {}
        return _Plan(read, [_change(space, hint, standing) for hint in newest.values()])


@dataclass(frozen=True, slots=True)
class _Plan:
    """Whether a space is the one that is read, and what its entries shall be."""

    read: bool
    changes: Sequence[Change]


def _change(space: Space, hint: Hint, standing: Mapping[str, Memory]) -> Change:
    memory = standing.get(hint.memory_id)
    return Put(space, memory) if memory is not None else Remove(space, hint.memory_id)


def _mark(space: Space, hints: Iterable[Hint]) -> Mark | None:
    """The mark of the newest write that is whole among the hints; a removal has none.

    The memories of one write may come in two batches: then the index has not come as far as their mark.
    """
    found = None
    carried: dict[str, set[str]] = {}
    for hint in hints:
        if hint.written is None or hint.changed_at is None:
            continue
        carriers = carried.setdefault(hint.written, set())
        carriers.add(hint.memory_id)
        if len(carriers) >= memories_marked(hint.written):
            found = Mark(space, hint.written, hint.changed_at)
    return found


def _entry(of: Change | Hint) -> tuple[Space, str]:
    return (of.space, "" if isinstance(of, Mark) else of.memory_id)


def _last(hints: Iterable[Hint]) -> Iterable[Hint]:
    """The newest hint of each memory."""
    return {(hint.space, hint.memory_id): hint for hint in hints}.values()
