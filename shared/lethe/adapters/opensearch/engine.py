"""``SearchIndex`` on OpenSearch: the index proposes, DynamoDB confirms, Lethe's own ranking decides.

One request to the index brings the nearest entries, the best by words, and the counts that make scores of a few
candidates those that all of them together would give. Then the candidates are read from DynamoDB, and at the same time
whatever the index does not show yet. So

- what was acknowledged is found, however late the index is: the head names the newest write, the index the newest that
  it shows with all before it. Where the two are not the same, additions are found by their ids and changes by their
  notes, from the time of the shown write on, less ``WRITER_LIVES`` for writers that were on their way then;
- what was changed or deleted is answered as it is now, or not at all;
- an entry of another space, should one ever come, is not answered and not even read.

A subject that this container has in view is answered from there, as the scan would (``known``). Whenever the index
gives no whole answer the scan engine does too, and the result says ``degraded``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, zip_longest
from typing import Final, Literal

from lethe.adapters.opensearch import questions
from lethe.adapters.opensearch.breaker import Breaker
from lethe.adapters.opensearch.connection import Cluster, Json
from lethe.adapters.opensearch.known import SEARCH_READS, KnownSubjects
from lethe.adapters.opensearch.pulse import Pulse
from lethe.adapters.ranked import ranked_candidates, vector_rows
from lethe.domain import ids
from lethe.domain.identity import Space
from lethe.domain.memory import Embedding, Memory, MemoryFilter, Vector
from lethe.domain.relevance.analysis import Analysed, analyse
from lethe.domain.relevance.candidates import Candidates
from lethe.domain.relevance.documents import memory_document
from lethe.domain.relevance.features import MOST_TERMS
from lethe.domain.relevance.fitted import relevance_model
from lethe.domain.relevance.ranking import query_terms, rank
from lethe.domain.search import SearchQuery
from lethe.domain.text import QueryText, analyse_query, without_name
from lethe.errors import Throttled, Unavailable
from lethe.ports import Memories, SearchIndex, SearchResult

_log = logging.getLogger(__name__)

_LEAST_PROPOSED: Final = SEARCH_READS
"""How many memories are ranked at least, which one BatchGetItem reads. Of the ten that a scan ranks best, 20, 40, 60,
100 and 200 proposals hold 72, 87, 93, 97 and 99 % on LoCoMo (76, 93, 98, 100 and 100 on BEAM), and R@10 there is 78.2,
79.7, 79.9, 80.5 and 80.7 against the scan's 81.0 (every third question).
"""


class OpenSearchIndex:
    """``SearchIndex`` for millions of memories; ``scan`` answers what the index cannot.

    ``alias`` is what searches are sent to; ``within`` the seconds that a search waits for the index. With ``known``,
    made over the same scan, that scan also answers where it costs no more; without it the index is always asked.
    """

    engine: Literal["scan", "opensearch"] = "opensearch"

    def __init__(
        self,
        memories: Memories,
        cluster: Cluster,
        alias: str,
        scan: SearchIndex,
        threads: Executor,
        within: float,
        breaker: Breaker | None = None,
        known: KnownSubjects | None = None,
    ) -> None:
        self._memories = memories
        self._cluster = cluster
        self._alias = alias
        self._scan = scan
        self._threads = threads
        self._within = within
        self._breaker = breaker or Breaker()
        self._known = known
        self._pulse = Pulse(cluster, alias, self._breaker)

    def answers(self) -> bool:
        """Whether the index does; recall answers without it too."""
        return self._pulse.beats()

    def search(
        self,
        space: Space,
        query: SearchQuery,
        filters: MemoryFilter,
        now: datetime,
        limit: int,
        as_of: datetime | None = None,
    ) -> SearchResult:
        """The most relevant of what the index proposes and of what it does not show yet.

        The past (``as_of``) is asked of the table, which alone holds old versions.
        """
        if space.revision == 0:
            return SearchResult((), 0, 0)
        if as_of is not None:
            return self._scan.search(space, query, filters, now, limit, as_of)
        label = query.embedding.model if query.embedding is not None else None
        if self._known is not None and self._known.whole(space, label):
            return self._by_scan(space, query, filters, now, limit)
        found = self._by_index(space, query, filters, now, limit)
        if found is None:
            return replace(self._by_scan(space, query, filters, now, limit), degraded=True)
        if self._known is not None:
            self._known.asked_index(space, found.stored)
        return found

    def _by_scan(
        self, space: Space, query: SearchQuery, filters: MemoryFilter, now: datetime, limit: int
    ) -> SearchResult:
        found = self._scan.search(space, query, filters, now, limit)
        if self._known is not None:
            self._known.read_whole(space, found.stored)
        return found

    def _by_index(
        self, space: Space, query: SearchQuery, filters: MemoryFilter, now: datetime, limit: int
    ) -> SearchResult | None:
        """None when the index gives no whole answer, or hardly anything that still stands."""
        asked = _Asked.of(query, filters, now)
        most = max(limit, _LEAST_PROPOSED)
        for k in sorted({min(many, questions.MOST_HITS) for many in (most, 4 * most, 16 * most)}):
            answer = self._ask(space, asked, k)
            read = self._read(space, asked, answer, most) if answer is not None else None
            if answer is None or read is None:
                return None
            # What was deleted or changed since takes places in the answer; there may be more behind it.
            if len(read.accepted) >= min(limit, answer.matching) or not answer.may_have_more(k):
                return _ranked(asked, answer, read, limit)
        return None

    def _ask(self, space: Space, asked: _Asked, k: int) -> _Answer | None:
        """The index's answer, or None when it gives none that can be used."""
        if not self._breaker.allows():
            return None
        searches = asked.searches(space, k)
        try:
            found = self._cluster.multi_search(self._alias, list(searches.values()), self._within, space.subject)
            answer = _Answer.of(dict(zip(searches, found, strict=True)), space, asked)
        except (Throttled, Unavailable) as error:
            # Recall goes on without the index; why it had to is for whoever looks at the log. No text of a cluster's.
            _log.warning("the search index: %s %s", type(error).__name__, " ".join(getattr(error, "__notes__", ())))
            answer = None
        if answer is None:
            self._breaker.failed()
        else:
            self._breaker.worked()
        return answer

    def _read(self, space: Space, asked: _Asked, answer: _Answer, most: int) -> _Read | None:
        """Proposed and unseen memories as the table has them; None when too many are unseen: then the index is far
        behind, and to read the whole partition at once is better.
        """
        unseen = self._unseen(space, answer.shown, asked.now)
        current = self._memories.get_many(space, answer.proposed(most))
        added, changed = unseen()
        if len(added) > questions.NEWEST:
            return None
        current |= added
        others = [memory_id for memory_id in changed if memory_id not in current]
        if others:
            current |= self._memories.get_many(space, others)
        known = set(answer.newest)
        return _Read(
            accepted=[memory for _, memory in sorted(current.items()) if asked.filters.accepts(memory, asked.now)],
            added=[memory_id for memory_id in added if memory_id not in known],
        )

    def _unseen(
        self, space: Space, shown: questions.Shown | None, now: datetime
    ) -> Callable[[], tuple[dict[str, Memory], tuple[str, ...]]]:
        """Begin to read what the index may not show: additions by id, and ids of what was changed; call for them."""
        if shown is not None and shown.written == space.written and self._settled(shown, now):
            return lambda: ({}, ())
        start = shown.changed_at - ids.WRITER_LIVES if shown is not None else None
        first = ids.first_memory(start) if start is not None else ids.MEMORY
        added = self._threads.submit(self._memories.since, space, first)
        changed = self._threads.submit(self._memories.changed_since, space, start) if start is not None else None

        def read() -> tuple[dict[str, Memory], tuple[str, ...]]:
            return {memory.id: memory for memory in added.result()}, changed.result() if changed is not None else ()

        return read

    def _settled(self, shown: questions.Shown, now: datetime) -> bool:
        """Whether the searches beside the one that found the mark saw what was applied before it.

        They run one by one, maybe on several copies of a shard, and a refresh may come in between. Some time after the
        mark was noted the last refresh that matters is over everywhere.
        """
        return now - shown.marked_at > timedelta(seconds=2 * self._cluster.abilities.refresh_seconds)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, prepared."""

    query: SearchQuery
    filters: MemoryFilter
    now: datetime
    text: QueryText
    terms: tuple[str, ...]

    @classmethod
    def of(cls, query: SearchQuery, filters: MemoryFilter, now: datetime) -> _Asked:
        text = analyse_query(without_name(query.text, query.subject_name))
        return cls(query, filters, now, text, query_terms(text)[:MOST_TERMS])

    @property
    def label(self) -> str | None:
        """The model of the question's vector."""
        return self.query.embedding.model if self.query.embedding is not None else None

    def searches(self, space: Space, k: int) -> dict[str, Json]:
        searches: dict[str, Json] = {}
        if self.query.embedding is not None:
            vector = self.query.embedding.vector
            searches["vector"] = questions.vector_search(space, self.filters, self.now, vector, k)
        searches["words"] = questions.words_search(space, self.filters, self.now, self.text.text, k)
        searches["counts"] = questions.counts_search(space, self.filters, self.now, self.terms)
        searches["newest"] = questions.newest_search(space)
        searches["mark"] = questions.mark_search(space)
        return searches


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the index found."""

    legs: tuple[list[str], ...]
    whole: bool
    counts: questions.Counts
    newest: list[str]
    stored: int
    shown: questions.Shown | None

    @classmethod
    def of(cls, found: dict[str, Json], space: Space, asked: _Asked) -> _Answer | None:
        """None without counts, which nothing can stand for; a leg may be missing."""
        counts, newest, mark = found["counts"], found["newest"], found["mark"]
        legs = [found[name] for name in ("vector", "words") if name in found]
        answered = [leg for leg in legs if questions.whole(leg)]
        if not answered or not all(questions.whole(each) for each in (counts, newest, mark)):
            return None
        return cls(
            legs=tuple(questions.hits(leg, space) for leg in answered),
            whole=len(answered) == len(legs),
            counts=questions.counts(counts, asked.terms),
            newest=questions.hits(newest, space),
            stored=questions.total(newest),
            shown=questions.mark(mark, space),
        )

    @property
    def matching(self) -> int:
        """How many entries the filter lets through."""
        return self.counts.entries

    def may_have_more(self, k: int) -> bool:
        """Whether a leg was cut at ``k``."""
        return any(len(leg) >= k for leg in self.legs)

    def proposed(self, most: int) -> list[str]:
        """Ids, the best of each leg in turn, then the newest: so a small memory is ranked whole."""
        in_turn = chain.from_iterable(zip_longest(*self.legs))
        ordered = dict.fromkeys(found for found in chain(in_turn, self.newest) if found is not None)
        longest = max((len(leg) for leg in self.legs), default=0)
        return list(ordered)[: max(most, longest)]


@dataclass(frozen=True, slots=True)
class _Read:
    """What the table says: memories that the filter accepts, by id; and the ids that the index did not count yet."""

    accepted: Sequence[Memory]
    added: Sequence[str]


def _ranked(asked: _Asked, answer: _Answer, read: _Read, limit: int) -> SearchResult:
    stored = answer.stored + len(read.added)
    analysed = analyse([memory_document(memory) for memory in read.accepted])
    added = set(read.added)
    unseen = [each for memory, each in zip(read.accepted, analysed, strict=True) if memory.id in added]
    considered = answer.matching + len(unseen)
    vectors = vector_rows(read.accepted, asked.label)
    if not read.accepted:
        return SearchResult((), considered, stored, degraded=not answer.whole)
    ranking = rank(
        asked.text,
        _comparable(asked.query.embedding, vectors.shape[1]),
        Candidates.of(analysed, vectors),
        relevance_model(asked.label),
        answer.counts.with_documents([_lengths(each) for each in unseen]),
    )
    places = ranking.order[:limit]
    best = [read.accepted[place] for place in places.tolist()]
    found = ranked_candidates(best, places, ranking)
    return SearchResult(found, considered, stored, degraded=not answer.whole)


def _comparable(embedding: Embedding | None, length: int) -> Vector | None:
    """The question's vector, if it is as long as those that it is compared with."""
    if embedding is None or len(embedding.vector) != length:
        return None
    return embedding.vector


def _lengths(document: Analysed) -> tuple[frozenset[str], int, int]:
    own, context = document.own, document.context
    return frozenset((*own, *context)), len(own) + len(context), len(own)
