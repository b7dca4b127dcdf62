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
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import monotonic
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from lethe.domain.identity import Space
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


@dataclass(slots=True)
class View:
    """One subject as a container remembers it. ``selections`` holds prepared candidates by chosen rows."""

    revision: int
    loaded: float
    label: str | None
    memories: tuple[Memory, ...]
    vectors: NDArray[np.float16]
    selections: OrderedDict[bytes, Candidates] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def nbytes(self) -> int:
        """Bytes held, estimated."""
        texts = sum(2 * (len(memory.text) + len(memory.context or "")) for memory in self.memories)
        prepared = sum(candidates.nbytes for candidates in self.selections.values())
        return self.vectors.nbytes + texts + _MEMORY_OVERHEAD * len(self.memories) + prepared

    def select(self, chosen: NDArray[np.bool_]) -> Candidates:
        """The chosen rows, prepared for ranking; the few selections used last are kept."""
        key = np.packbits(chosen).tobytes()
        with self.lock:
            found = self.selections.get(key)
            if found is None:
                rows = np.flatnonzero(chosen)
                found = Candidates.build([_document(self.memories[row]) for row in rows], self.vectors[rows])
                self.selections[key] = found
                while len(self.selections) > _SELECTIONS:
                    self.selections.popitem(last=False)
            self.selections.move_to_end(key)
            return found


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
            chosen = np.fromiter((filters.accepts(memory, now) for memory in view.memories), np.bool_)
        else:
            view = _view_at(as_of, view, self._memories.old_versions(space), label)
            past = replace(filters, statuses=())
            chosen = np.fromiter((past.accepts(memory, as_of) for memory in view.memories), np.bool_)
        candidates = view.select(chosen)
        self._trim()
        if not len(candidates):
            return SearchResult((), 0, len(view.memories))
        ranking = rank(
            analyse_query(query.text),
            np.asarray(query.embedding.vector, np.float32) if query.embedding is not None else None,
            candidates,
            relevance_model(label),
        )
        rows = np.flatnonzero(chosen)
        found = tuple(
            _candidate(view.memories[rows[place]], place, ranking) for place in ranking.order[:limit].tolist()
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
    return tuple(replace(memory, embedding=None) for memory in memories), matrix


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
