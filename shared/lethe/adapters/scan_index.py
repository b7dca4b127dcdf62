"""The scan engine: exact search over a subject's own memories, with the subjects served lately kept decoded.

Reading and decoding some hundred items is what a search costs; so a container keeps a *view* of each subject that it
served: its memories, vectors and word index. A view is valid only while the head's revision is not above the one
it was loaded at. The order that makes this safe: a writer writes its item first, raises the revision next (or both in
one transaction) and answers last; a reader reads the head first and loads after it, consistently. So a view loaded at
revision r holds everything acknowledged up to r, and what a dead writer left unacknowledged shows at the next
revision or time limit at the latest.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from operator import attrgetter
from time import monotonic
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from lethe.domain.identity import Space
from lethe.domain.json_values import canonical
from lethe.domain.memory import Memory, MemoryFilter, MemoryStatus
from lethe.domain.relevance.candidates import Candidates
from lethe.domain.relevance.documents import Document, is_agent
from lethe.domain.relevance.features import FEATURE_NAMES
from lethe.domain.relevance.fitted import relevance_model
from lethe.domain.relevance.ranking import Ranking, rank
from lethe.domain.search import Candidate, Leg, SearchQuery
from lethe.domain.text import analyse_query
from lethe.ports import Memories, SearchResult

_MEMORY_OVERHEAD: Final = 1_500
"""Bytes that a decoded memory costs beside its texts, by measurement of a thousand of them."""
_SELECTIONS: Final = 4
# ``dataclasses.replace`` takes four times as long, which shows at thousands of memories.
_all_but_embedding: Final = attrgetter(*(f.name for f in fields(Memory) if f.name != "embedding"))


@dataclass(frozen=True, slots=True)
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
        """Whether the same rows are accepted at ``now``."""
        return self.since <= now and (self.until is None or now < self.until)


@dataclass(slots=True)
class View:
    """One subject as a container remembers it. ``selections`` holds the filters used last."""

    revision: int
    loaded: float
    label: str | None
    memories: tuple[Memory, ...]
    vectors: NDArray[np.float16]
    selections: OrderedDict[tuple[object, ...], Selection] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    loaded_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        texts = sum(2 * (len(memory.text) + len(memory.context or "")) for memory in self.memories)
        self.loaded_bytes = self.vectors.nbytes + texts + _MEMORY_OVERHEAD * len(self.memories)

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
        candidates = Candidates.build([_document(self.memories[row]) for row in rows], self.vectors[rows])
        until = min((end for end in ends if end > now), default=None)
        return Selection(rows, candidates, now, until, candidates.nbytes)


def _key(filters: MemoryFilter) -> tuple[object, ...]:
    named = (getattr(filters, f.name) for f in fields(filters) if f.name != "metadata")
    return (*named, canonical(filters.metadata))


class ScanIndex:
    """``SearchIndex`` without a server. Right up to some thousands of memories a subject."""

    engine: Literal["scan", "opensearch"] = "scan"

    def __init__(
        self, memories: Memories, cache_bytes: int, cache_seconds: float, seconds: Callable[[], float] = monotonic
    ) -> None:
        self._memories = memories
        self._cache_bytes = cache_bytes
        self._cache_seconds = cache_seconds
        self._seconds = seconds
        self._views: OrderedDict[Space, View] = OrderedDict()
        self._loading: dict[Space, threading.Lock] = {}
        self._lock = threading.Lock()

    def search(
        self,
        space: Space,
        query: SearchQuery,
        filters: MemoryFilter,
        now: datetime,
        limit: int,
        as_of: datetime | None = None,
    ) -> SearchResult:
        """The ``limit`` most relevant memories that ``filters`` accepts, by exact comparison with all of them."""
        label = query.embedding.model if query.embedding is not None else None
        if space.revision == 0:
            return SearchResult((), 0, 0)
        view = self._view(space, label)
        if as_of is None:
            selection = view.select(filters, now)
        else:
            view = _view_at(as_of, view, self._memories.old_versions(space), label)
            selection = view.select(replace(filters, statuses=()), as_of)
        candidates = selection.candidates
        self._trim()
        if not len(candidates):
            return SearchResult((), 0, len(view.memories))
        ranking = rank(
            analyse_query(query.text),
            np.asarray(query.embedding.vector, np.float32) if query.embedding is not None else None,
            candidates,
            relevance_model(label),
        )
        found = tuple(
            _candidate(view.memories[selection.rows[place]], place, ranking) for place in ranking.order[:limit].tolist()
        )
        return SearchResult(found, len(candidates), len(view.memories))

    def _view(self, space: Space, label: str | None) -> View:
        with self._lock:
            view = self._valid(space, label)
            if view is not None:
                return view
            loading = self._loading.setdefault(space, threading.Lock())
        with loading:  # one load a subject, however many requests wait for it
            with self._lock:
                view = self._valid(space, label)
            if view is None:
                view = _load(space, self._memories.all(space), label, self._seconds())
                with self._lock:
                    self._views[space] = view
                    self._loading.pop(space, None)
            return view

    def _valid(self, space: Space, label: str | None) -> View | None:
        """The cached view if it may still be used; called with the lock held."""
        view = self._views.get(space)
        if view is None:
            return None
        if view.revision < space.revision or self._seconds() - view.loaded >= self._cache_seconds:
            del self._views[space]
            return None
        if label is not None and view.label != label:
            return None
        self._views.move_to_end(space)
        return view

    def _trim(self) -> None:
        """Forget the subjects served longest ago until the cache fits, and whatever is over its time."""
        with self._lock:
            now = self._seconds()
            for space in [s for s, view in self._views.items() if now - view.loaded >= self._cache_seconds]:
                del self._views[space]
            sizes = {space: view.nbytes for space, view in self._views.items()}
            while self._views and sum(sizes.values()) > self._cache_bytes:
                oldest, _ = self._views.popitem(last=False)
                del sizes[oldest]


def _load(space: Space, memories: Sequence[Memory], label: str | None, loaded: float) -> View:
    return View(space.revision, loaded, label, *_split(memories, label))


def _split(memories: Sequence[Memory], label: str | None) -> tuple[tuple[Memory, ...], NDArray[np.float16]]:
    """Memories without their vectors, and the vectors of the model ``label`` as one matrix, zeros elsewhere."""
    embedded = [m.embedding if m.embedding is not None and m.embedding.model == label else None for m in memories]
    size = max((len(embedding.vector) for embedding in embedded if embedding is not None), default=0)
    matrix = np.zeros((len(memories), size), np.float16)
    for row, embedding in enumerate(embedded):
        if embedding is not None:
            matrix[row] = embedding.vector
    return tuple(Memory(*_all_but_embedding(memory)) for memory in memories), matrix


def _view_at(moment: datetime, view: View, old: Sequence[Memory], label: str | None) -> View:
    """What held at ``moment``: newest versions and old ones alike. Not kept: the past is asked for rarely."""
    newest = [
        row
        for row, memory in enumerate(view.memories)
        if memory.was_current_at(moment) and memory.status is not MemoryStatus.PENDING
    ]
    earlier, vectors = _split([memory for memory in old if memory.was_current_at(moment)], label)
    mine = view.vectors[newest]
    if mine.shape[1] != vectors.shape[1] and len(vectors):
        size = max(mine.shape[1], vectors.shape[1])
        mine, vectors = _widened(mine, size), _widened(vectors, size)
    stacked = np.concatenate([mine, vectors]) if len(vectors) else mine
    return View(view.revision, view.loaded, label, (*(view.memories[row] for row in newest), *earlier), stacked)


def _widened(matrix: NDArray[np.float16], size: int) -> NDArray[np.float16]:
    return matrix if matrix.shape[1] == size else np.zeros((len(matrix), size), np.float16)


def _document(memory: Memory) -> Document:
    speaker = memory.speaker or ""
    return Document(
        text=memory.text,
        speaker=speaker,
        context=memory.context or "",
        occurred_on=memory.occurred_at.date(),
        from_agent=is_agent(memory.source.origin, speaker),
    )


def _candidate(memory: Memory, place: int, ranking: Ranking) -> Candidate:
    relevance = float(ranking.relevance[place])
    return Candidate(
        memory=memory,
        relevance=relevance,
        score=relevance,
        legs=(
            Leg("words", int(ranking.words.ranks[place]), float(ranking.words.scores[place])),
            Leg("vector", int(ranking.vectors.ranks[place]), float(ranking.vectors.scores[place])),
        ),
        features={name: float(getattr(ranking.features, name)[place]) for name in FEATURE_NAMES},
    )
