"""One subject's memories as a container keeps them decoded: texts analysed, vectors as one matrix."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lethe.adapters.ranked import vector_rows
from lethe.domain.immutable import immutable
from lethe.domain.json_values import canonical
from lethe.domain.memory import Memory, MemoryFilter, MemoryStatus
from lethe.domain.relevance.analysis import Analysed, analyse
from lethe.domain.relevance.candidates import Candidates
from lethe.domain.relevance.documents import memory_document

_MEMORY_OVERHEAD: Final = 2_200
"""Bytes that a decoded and analysed memory costs beside its texts, by measurement of a thousand of them."""
_SELECTIONS: Final = 4
# ``dataclasses.replace`` takes four times as long, which shows at thousands of memories.
_all_but_embeddings: Final = attrgetter(*(f.name for f in fields(Memory) if not f.name.endswith("embedding")))


@immutable
class Selection:
    """The rows of a view that a filter accepts, prepared for ranking.

    A filter asks the time only of ``valid_until``, so the rows stay the same from ``since`` until the first
    memory of the view ends after it.
    """

    rows: NDArray[np.intp]
    candidates: Candidates
    since: datetime
    until: datetime | None
    nbytes: int

    def holds_at(self, now: datetime) -> bool:
        """Whether the rows are still those that the filter accepts."""
        return self.since <= now and (self.until is None or now < self.until)


@immutable
class Decoded:
    """Memories without their vectors, their analysed texts, and the vectors of one model: zeros stand for another's."""

    memories: tuple[Memory, ...]
    analysed: tuple[Analysed, ...]
    vectors: NDArray[np.float16]

    @classmethod
    def of(cls, memories: Sequence[Memory], label: str | None) -> Decoded:
        """Decode ``memories``, keeping the vectors of the model ``label``."""
        bare = tuple(Memory(*_all_but_embeddings(memory)) for memory in memories)
        return cls(bare, analyse([memory_document(memory) for memory in bare]), vector_rows(memories, label))

    def rows(self, chosen: Sequence[int]) -> Decoded:
        """Some of them."""
        return Decoded(
            tuple(self.memories[row] for row in chosen),
            tuple(self.analysed[row] for row in chosen),
            self.vectors[np.asarray(chosen, np.intp)],
        )

    def __add__(self, other: Decoded) -> Decoded:
        """Both, in this order."""
        size = max(self.vectors.shape[1], other.vectors.shape[1])
        return Decoded(
            self.memories + other.memories,
            self.analysed + other.analysed,
            np.concatenate([_widened(self.vectors, size), _widened(other.vectors, size)]),
        )


@dataclass(slots=True)
class View:
    """A subject at one revision. ``loaded`` is when all of it was read last, ``read_at`` when anything was.

    ``selections`` holds the filters used last.
    """

    revision: int
    loaded: float
    read_at: datetime
    label: str | None
    content: Decoded
    selections: OrderedDict[tuple[object, ...], Selection] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    loaded_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        memories = self.content.memories
        texts = sum(2 * (len(memory.text) + len(memory.context or "")) for memory in memories)
        self.loaded_bytes = self.content.vectors.nbytes + texts + _MEMORY_OVERHEAD * len(memories)

    @property
    def memories(self) -> tuple[Memory, ...]:
        """All memories, in the order of rows."""
        return self.content.memories

    @property
    def nbytes(self) -> int:
        """Bytes held, estimated."""
        with self.lock:
            return self.loaded_bytes + sum(selection.nbytes for selection in self.selections.values())

    def select(self, filters: MemoryFilter, now: datetime) -> Selection:
        """What ``filters`` accepts at ``now``; the few selections used last are kept."""
        key = _key(filters)
        with self.lock:
            found = self.selections.get(key)
            if found is None or not found.holds_at(now):
                found = self.selections[key] = self._selection(filters, now)
                while len(self.selections) > _SELECTIONS:
                    self.selections.popitem(last=False)
            self.selections.move_to_end(key)
            return found

    def _selection(self, filters: MemoryFilter, now: datetime) -> Selection:
        rows = np.flatnonzero([filters.accepts(memory, now) for memory in self.memories])
        ends = [memory.valid_until for memory in self.memories if memory.valid_until is not None]
        candidates = Candidates.of([self.content.analysed[row] for row in rows], self.content.vectors[rows])
        until = min((end for end in ends if end > now), default=None)
        return Selection(rows, candidates, now, until, candidates.nbytes)

    def extended(self, revision: int, read_at: datetime, newest: Iterable[Memory]) -> View:
        """The view of a later revision: this one and those of ``newest`` that it does not hold yet."""
        held = {memory.id for memory in self.memories}
        new = [memory for memory in newest if memory.id not in held]
        content = self.content + Decoded.of(new, self.label) if new else self.content
        view = View(revision, self.loaded, read_at, self.label, content)
        if not new:  # an entity changed: rows and candidates are the same
            with self.lock:
                view.selections.update(self.selections)
        return view

    def at(self, moment: datetime, old: Iterable[Memory]) -> View:
        """What held at ``moment``, of newest and ``old`` versions alike. Not kept: the past is asked for rarely."""
        newest = [
            row
            for row, memory in enumerate(self.memories)
            if memory.was_current_at(moment) and memory.status is not MemoryStatus.PENDING
        ]
        earlier = Decoded.of([memory for memory in old if memory.was_current_at(moment)], self.label)
        return View(self.revision, self.loaded, self.read_at, self.label, self.content.rows(newest) + earlier)


def _key(filters: MemoryFilter) -> tuple[object, ...]:
    named = (getattr(filters, f.name) for f in fields(filters) if f.name != "metadata")
    return (*named, canonical(filters.metadata))


def _widened(matrix: NDArray[np.float16], size: int) -> NDArray[np.float16]:
    """A matrix without vectors takes the width of the other one; two models never meet in one view."""
    return matrix if matrix.shape[1] == size else np.zeros((len(matrix), size), np.float16)
