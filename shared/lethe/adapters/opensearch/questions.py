"""What is asked of the index, and what its answers mean. Five searches go out in one request:

1. ``vector``: the nearest entries to the question's vector, filtered inside the k-NN clause;
2. ``words``: the best by BM25, under the same filter;
3. ``counts``: how many entries the filter lets through, their mean lengths, and in how many each of the question's
   terms occurs: what ``rank`` needs to score as if it had seen them all;
4. ``newest``: the subject's newest entries, and how many it has;
5. ``mark``: how far its index has come.

The words' scores of an engine that counts over all tenants are good enough to propose candidates, and for nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from lethe.adapters.opensearch.connection import Json
from lethe.adapters.opensearch.documents import MARK, short_numbers
from lethe.adapters.opensearch.filters import Clause, accepted, inside
from lethe.domain.identity import Space
from lethe.domain.json_values import JsonValue
from lethe.domain.memory import MemoryFilter, Vector
from lethe.domain.relevance.lexical import TermStatistics
from lethe.domain.text import is_unspaced
from lethe.domain.times import from_microseconds
from lethe.errors import Unavailable

MOST_HITS: Final = 10_000
"""How many hits a search may ask for, and how many neighbours: the cluster's own limit."""

NEWEST: Final = 100
"""How many of a subject's newest entries are listed: as many writes may be on their way before a scan is needed."""

_OF_MARKS: Final = ("written", "changed_at", "marked_at")
_FIELDS: Final = ["text", "text.en", "text.cjk", "context.en", "context.cjk"]
_LONGEST: Final = 500
_MOST_WORDS: Final = 180
"""Characters of a question that BM25 is asked, and words. OpenSearch allows 1,024 clauses with those of the filter, and
a word is one in each of the five fields, as is a character of a script without spaces (the pair that it begins shares
its place), or a symbol.
"""
_WORD: Final = re.compile(r"[^\W_]+|[^\x00-\x7f]")


class ForeignEntry(Unavailable):
    """A search was answered with an entry of another space. It is a defect, here or in the cluster."""


@dataclass(frozen=True, slots=True)
class Shown:
    """How far the index of a space has come: the newest write that it shows with all before it, the time of what that
    write brought, and when this was noted.
    """

    written: str
    changed_at: datetime
    marked_at: datetime


@dataclass(frozen=True, slots=True)
class Counts:
    """What the index says of the entries that a filter lets through. Lengths are sums over them."""

    entries: int
    length: float
    own_length: float
    frequencies: Mapping[str, int]

    def with_documents(self, documents: Sequence[tuple[frozenset[str], int, int]]) -> TermStatistics:
        """The statistics of these entries and further documents (their terms, lengths with and without context)."""
        n = self.entries + len(documents)
        length = self.length + sum(length for _, length, _ in documents)
        own = self.own_length + sum(own for _, _, own in documents)
        return TermStatistics(
            documents=n,
            average_length=length / n if n else 0.0,
            average_own_length=own / n if n else 0.0,
            document_frequency={
                term: count + sum(term in terms for terms, _, _ in documents)
                for term, count in self.frequencies.items()
            },
        )


def vector_search(space: Space, filters: MemoryFilter, now: datetime, vector: Vector, k: int) -> Json:
    """The ``k`` nearest entries."""
    clause: Clause = {"bool": {"filter": accepted(space, filters, now)}}
    knn: Json = {"embedding": {"vector": short_numbers(vector), "k": k, "filter": clause}}
    return {"size": k, **_columns("memory_id"), "query": {"knn": knn}}


def words_search(space: Space, filters: MemoryFilter, now: datetime, text: str, k: int) -> Json:
    """The ``k`` best by BM25 over all fields of words."""
    match: Json = {
        "multi_match": {"query": _shortened(text), "type": "most_fields", "fields": _FIELDS, "lenient": True}
    }
    query: Json = {"bool": {"must": [match], "filter": accepted(space, filters, now)}}
    return {"size": k, **_columns("memory_id"), "query": query}


def _shortened(text: str) -> str:
    """As much of the beginning as may be asked, without lone surrogates, which UTF-8 has no place for."""
    text = text[:_LONGEST].encode("utf-8", "replace").decode()
    words = 0
    for found in _WORD.finditer(text):
        word = found.group()
        words += 1 if word.isascii() or not any(map(is_unspaced, word)) else len(word)
        if words > _MOST_WORDS:
            return text[: max(found.start(), found.end() - (words - _MOST_WORDS))]
    return text


def counts_search(space: Space, filters: MemoryFilter, now: datetime, terms: Sequence[str]) -> Json:
    """Counts over the entries that ``filters`` lets through."""
    aggregations: Json = {"length": {"sum": {"field": "length"}}, "own_length": {"sum": {"field": "own_length"}}}
    if terms:
        each: Json = {str(number): {"term": {"terms": term}} for number, term in enumerate(terms)}
        aggregations["terms"] = {"filters": {"filters": each}}
    return {
        "size": 0,
        "track_total_hits": True,
        "query": {"bool": {"filter": accepted(space, filters, now)}},
        "aggs": aggregations,
    }


def newest_search(space: Space) -> Json:
    """The newest entries by id, and the number of all."""
    return {
        "size": NEWEST,
        "sort": [{"memory_id": "desc"}],
        **_columns("memory_id"),
        "track_total_hits": True,
        "query": {"bool": {"filter": inside(space)}},
    }


def mark_search(space: Space) -> Json:
    """The space's mark."""
    return {"size": 1, **_columns(*_OF_MARKS), "query": {"bool": {"filter": inside(space, MARK)}}}


def _columns(*names: str) -> Json:
    """What a search brings of each hit, read from columns and nothing else. The source would be parsed for each, with
    its vector, which was half of a search's time; and for the ``_id`` alone what is stored of it would be unpacked,
    which was half of the rest.
    """
    return {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["tenant", "subject", "epoch", *names]}


def whole(answer: Json) -> bool:
    """Whether a search was answered by every shard in time."""
    shards = cast(Json, answer.get("_shards", {}))
    return "error" not in answer and not answer.get("timed_out") and not shards.get("failed")


def hits(answer: Json, space: Space) -> list[str]:
    """The memories found, by id. Raises ForeignEntry."""
    return [str(found["memory_id"]) for found in _found(answer, space)]


def mark(answer: Json, space: Space) -> Shown | None:
    """How far the index has come; None when it was never said. Raises ForeignEntry."""
    for found in _found(answer, space):
        times = (from_microseconds(int(cast(int, found[name]))) for name in ("changed_at", "marked_at"))
        return Shown(str(found["written"]), *times)
    return None


def _found(answer: Json, space: Space) -> list[Json]:
    """The columns of the hits, checked once more. Raises ForeignEntry when one is of another space: the filter failed,
    and nothing of this answer can be trusted.
    """
    columns = [
        cast("dict[str, list[JsonValue]]", hit["fields"])
        for hit in cast("list[Json]", cast(Json, answer["hits"])["hits"])
    ]
    found: list[Json] = [{name: values[0] for name, values in each.items()} for each in columns]
    own = (space.tenant, space.subject, space.epoch)
    if any((each["tenant"], each["subject"], each["epoch"]) != own for each in found):
        raise ForeignEntry
    return found


def total(answer: Json) -> int:
    """How many entries matched."""
    return cast(int, cast(Json, cast(Json, answer["hits"])["total"])["value"])


def counts(answer: Json, terms: Sequence[str]) -> Counts:
    """What ``counts_search`` brought."""
    aggregations = cast("dict[str, Json]", answer["aggregations"])
    buckets = cast("dict[str, Json]", aggregations["terms"]["buckets"]) if terms else {}
    return Counts(
        entries=total(answer),
        length=float(cast(float, aggregations["length"]["value"])),
        own_length=float(cast(float, aggregations["own_length"]["value"])),
        frequencies={term: cast(int, buckets[str(n)]["doc_count"]) for n, term in enumerate(terms)},
    )
