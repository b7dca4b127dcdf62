"""The scan engine: exact search over a subject's own memories, with the subjects served lately kept decoded.

Reading and decoding some hundred items is what a search costs; so a container keeps a *view* of each subject that it
served: its memories, vectors and word index. A view is valid only while the head's revision is not above the one
it was loaded at. The order that makes this safe: a writer writes its item first, raises the revision next (or both in
one transaction) and answers last; a reader reads the head first and loads after it, consistently. So a view loaded at
revision r holds everything acknowledged up to r, and what a dead writer left unacknowledged shows at the next
revision or time limit at the latest.

An agent writes and recalls in turn, so a view is mostly stale by one addition. When the head says that memories were
only added since (``rewritten``), the view is extended by the memories with ids from a little before it was read on,
instead of being loaded anew. Ids begin with the time at which their request made them, and a request is acknowledged
at most a function's time-out later: whatever was acknowledged after the view was read has an id that is younger than
``read_at`` less that time-out (29 s) and what clocks may differ (a minute, where Lambda's differ by milliseconds).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from math import inf
from time import monotonic
from typing import Literal

import numpy as np

from lethe.adapters.ranked import ranked_candidates
from lethe.adapters.scan_view import Decoded, View
from lethe.domain import ids
from lethe.domain.identity import Space
from lethe.domain.memory import MemoryFilter
from lethe.domain.relevance.fitted import relevance_model
from lethe.domain.relevance.ranking import rank
from lethe.domain.search import SearchQuery
from lethe.domain.text import analyse_query, without_name
from lethe.ports import Memories, SearchResult


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
        self._sizes: dict[Space, int] = {}
        self._held_bytes = 0
        self._first_loaded = inf
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
        view = kept = self._view(space, label, now)
        if as_of is None:
            selection = view.select(filters, now)
        else:
            view = view.at(as_of, self._memories.old_versions(space))
            selection = view.select(replace(filters, statuses=()), as_of)
        candidates = selection.candidates
        self._trim(space, kept)
        if not len(candidates):
            return SearchResult((), 0, len(view.memories))
        ranking = rank(
            analyse_query(without_name(query.text, query.subject_name)),
            np.asarray(query.embedding.vector, np.float32) if query.embedding is not None else None,
            candidates,
            relevance_model(label),
        )
        places = ranking.order[:limit]
        best = [view.memories[row] for row in selection.rows[places].tolist()]
        return SearchResult(ranked_candidates(best, places, ranking), len(candidates), len(view.memories))

    def answers(self) -> bool:
        """It has no server: it answers when the table does."""
        return True

    def holds(self, space: Space, label: str | None) -> bool:
        """Whether a search of ``space`` would be answered without reading it whole: from its view, or with what was
        added since. ``label`` as in a search.
        """
        with self._lock:
            view = self._usable(space, label)
            return view is not None and space.rewritten <= view.revision

    def _view(self, space: Space, label: str | None, now: datetime) -> View:
        with self._lock:
            view = self._usable(space, label)
            if view is not None and view.revision >= space.revision:
                return view
            loading = self._loading.setdefault(space, threading.Lock())
        with loading:  # one load a subject, however many requests wait for it
            with self._lock:
                view = self._usable(space, label)
            if view is None or view.revision < space.revision:
                view = self._read(space, label, now, view)
                with self._lock:
                    self._views[space] = view
                    self._first_loaded = min(self._first_loaded, view.loaded)
                    self._loading.pop(space, None)
            return view

    def _read(self, space: Space, label: str | None, now: datetime, stale: View | None) -> View:
        """The view at the space's revision: the stale one with what was added, or all of it anew."""
        if stale is not None and space.rewritten <= stale.revision:
            added = self._memories.since(space, ids.first_memory(stale.read_at - ids.WRITER_LIVES))
            return stale.extended(space.revision, now, added)
        loaded = self._seconds()
        return View(space.revision, loaded, now, label, Decoded.of(self._memories.all(space), label))

    def _usable(self, space: Space, label: str | None) -> View | None:
        """The cached view, fresh or stale, if it is in time and of this model; called with the lock held."""
        view = self._views.get(space)
        if view is None:
            return None
        if self._seconds() - view.loaded >= self._cache_seconds:
            self._forget(space)
            return None
        if label is not None and view.label != label:
            return None
        self._views.move_to_end(space)
        return view

    def _trim(self, space: Space, view: View) -> None:
        """Forget whatever is over its time, and the subjects served longest ago until the cache fits.

        Only ``view``, which was just used, may have grown: a search must not cost more the more subjects there are.
        """
        with self._lock:
            now = self._seconds()
            if now - self._first_loaded >= self._cache_seconds:
                for each in [s for s, kept in self._views.items() if now - kept.loaded >= self._cache_seconds]:
                    self._forget(each)
                self._first_loaded = min((kept.loaded for kept in self._views.values()), default=inf)
            if self._views.get(space) is view:
                size = view.nbytes
                self._held_bytes += size - self._sizes.get(space, 0)
                self._sizes[space] = size
            while self._views and self._held_bytes > self._cache_bytes:
                self._forget(next(iter(self._views)))

    def _forget(self, space: Space) -> None:
        """Drop the view of ``space``; called with the lock held."""
        del self._views[space]
        self._held_bytes -= self._sizes.pop(space, 0)
