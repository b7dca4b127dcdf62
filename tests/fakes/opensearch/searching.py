"""One search over the documents that are visible: filters, exact cosine, BM25, counts, sorted pages.

BM25 is Lucene's: k1 1.2, b 0.75, idf over all documents of a shard, whoever's they are. Lucene keeps a field's length
in one byte, which this does not, and counts documents that are deleted but not merged away, which this does not have:
the order of a words search is that of a node but for near ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np

from lethe.domain.json_values import JsonValue
from tests.fakes.opensearch.analysis import ANALYZERS, is_pair
from tests.fakes.opensearch.documents import Document, IndexMapping
from tests.fakes.opensearch.failures import Json, NotInTheContract, Refusal, allowed, no_query

Test = Callable[[Document], bool]
Scored = list[tuple[float, Document]]

_K1: Final = 1.2
_B: Final = 0.75
_MOST_CLAUSES: Final = 1_024
_LARGEST_PAGE: Final = 10_000
_ORDER: Final = {"gt": "__gt__", "gte": "__ge__", "lt": "__lt__", "lte": "__le__"}


@dataclass(frozen=True, slots=True)
class Found:
    """Hits, best first, as ``(score, document)``; ``total`` counts all that matched."""

    hits: Scored
    total: int
    aggregations: Json | None
    sort: tuple[str, ...]


_PARTS = (
    "size",
    "_source",
    "stored_fields",
    "docvalue_fields",
    "query",
    "sort",
    "search_after",
    "track_total_hits",
    "aggs",
)


def search(mapping: IndexMapping, shards: Sequence[Sequence[Document]], body: Json) -> Found:
    """Answer ``body`` over the documents of ``shards``. Raises Refusal or NotInTheContract."""
    allowed("a search", body, *_PARTS)
    size = cast(int, body["size"])
    if not 0 <= size <= _LARGEST_PAGE:
        reason = f"Result window is too large, from + size must be less than or equal to: [{_LARGEST_PAGE}]"
        raise Refusal(400, "search_phase_execution_exception", reason)
    query = cast(Json, body["query"])
    matched = [hit for shard in shards for hit in _matched(mapping, shard, query)]
    sort = _sort_fields(mapping, body)
    hits = _sorted(matched, body) if sort else sorted(matched, key=lambda hit: -hit[0])
    if "knn" in query:
        hits = hits[: cast(int, _knn(mapping, query)["k"])]
    aggregations = _aggregations(mapping, [document for _, document in matched], body) if "aggs" in body else None
    return Found(hits[:size], len(matched), aggregations, sort)


def brought(document: Document, body: Json) -> Json:
    """What a hit brings of its document: its id and parts of the source, or columns alone, each a list."""
    columns = cast("list[str]", body.get("docvalue_fields", []))
    if columns:
        if body["_source"] is not False or body.get("stored_fields") != "_none_":
            raise NotInTheContract("columns are asked for instead of the source and the stored fields")
        return {"fields": {name: [document.source[name]] for name in columns if name in document.source}}
    keep = cast("list[str]", body.get("_source", []))
    return {"_id": document.id, "_source": {name: document.source[name] for name in keep if name in document.source}}


def _matched(mapping: IndexMapping, documents: Sequence[Document], query: Json) -> Scored:
    (kind,) = query
    if kind == "knn":
        return _nearest(mapping, documents, _knn(mapping, query))
    if kind != "bool":
        raise NotInTheContract(f"searches are of knn or bool, not {kind}")
    clauses = cast(Json, query["bool"])
    if "must" not in clauses:
        accepts = _test(mapping, query)
        return [(0.0, document) for document in documents if accepts(document)]
    allowed("a scored search", clauses, "must", "filter")
    (must,) = cast("list[Json]", clauses["must"])
    allowed("a scored clause", must, "multi_match")
    scores = _bm25(mapping, documents, cast(Json, must["multi_match"]))
    accepts = _test(mapping, {"bool": {"filter": clauses["filter"]}})
    return [(scores[place], documents[place]) for place in scores if accepts(documents[place])]


def _knn(mapping: IndexMapping, query: Json) -> Json:
    knn = cast(Json, query["knn"])
    allowed("knn", knn, mapping.vector)
    clause = cast(Json, knn[mapping.vector])
    allowed("knn", clause, "vector", "k", "filter")
    if "filter" not in clause:
        raise NotInTheContract("a knn clause without a filter inside")
    return clause


def _nearest(mapping: IndexMapping, documents: Iterable[Document], clause: Json) -> Scored:
    vector = np.asarray(clause["vector"], np.float32).astype(np.float64)
    if len(vector) != mapping.dimension:
        raise no_query(f"Query vector has invalid dimension: {len(vector)}. Dimension should be: {mapping.dimension}")
    if not vector.any():
        raise no_query("Cannot normalize a zero-length vector")
    k = cast(int, clause["k"])
    if not 1 <= k <= _LARGEST_PAGE:
        raise Refusal(400, "illegal_argument_exception", "[knn] requires k to be in the range (0, 10000]")
    vector /= np.linalg.norm(vector)
    accepts = _test(mapping, cast(Json, clause["filter"]))
    inside = [document for document in documents if document.vector is not None and accepts(document)]
    if not inside:
        return []
    scores = (
        1 + np.stack([cast("np.ndarray[tuple[int], np.dtype[np.float64]]", d.vector) for d in inside]) @ vector
    ) / 2
    best = np.argsort(-scores, kind="stable")[:k].tolist()
    return [(float(np.float32(scores[place])), inside[place]) for place in best]


def _bm25(mapping: IndexMapping, documents: Sequence[Document], match: Json) -> dict[int, float]:
    """Scores by place of the documents that hold any word; the sum over fields."""
    allowed("multi_match", match, "query", "type", "fields", "lenient")
    if match["type"] != "most_fields":
        raise NotInTheContract("words are matched in most_fields")
    scores: dict[int, float] = {}
    clauses = 0
    for field in cast("list[str]", match["fields"]):
        terms = dict.fromkeys(ANALYZERS[mapping.analyzers[field]](str(match["query"])))
        # A pair stands at the place of its first character, and what stands at one place is one clause.
        clauses += sum(not is_pair(term) for term in terms)
        if clauses > _MOST_CLAUSES:
            raise Refusal(500, "search_phase_execution_exception", "maxClauseCount is set to 1024")
        holders = [place for place, document in enumerate(documents) if document.lengths.get(field)]
        if holders:
            _add_field(scores, [(place, documents[place]) for place in holders], field, terms)
    return scores


def _add_field(
    scores: dict[int, float], holders: Sequence[tuple[int, Document]], field: str, terms: Iterable[str]
) -> None:
    average = sum(document.lengths[field] for _, document in holders) / len(holders)
    for term in terms:
        found = [(place, document) for place, document in holders if term in document.tokens[field]]
        idf = math.log1p((len(holders) - len(found) + 0.5) / (len(found) + 0.5))
        for place, document in found:
            frequency = document.tokens[field][term]
            norm = _K1 * (1 - _B + _B * document.lengths[field] / average)
            scores[place] = scores.get(place, 0.0) + idf * frequency / (frequency + norm)


def _test(mapping: IndexMapping, clause: Json) -> Test:
    """A filter as a function."""
    (kind,) = clause
    inner = cast(Json, clause[kind])
    if kind == "bool":
        return _bool(mapping, inner)
    if kind not in ("term", "terms", "range"):
        raise NotInTheContract(f"filters are of bool, term, terms and range, not {kind}")
    ((field, value),) = inner.items()
    if field not in mapping.types:
        raise NotInTheContract(f"there is no field {field} to filter by")
    if kind == "range":
        return _range(mapping, field, cast(Json, value))
    wanted = list(cast("Sequence[JsonValue]", value)) if kind == "terms" else [value]
    return _one_of(mapping, field, wanted)


def _bool(mapping: IndexMapping, clauses: Json) -> Test:
    allowed("a filter", clauses, "filter", "must_not", "should", "minimum_should_match")
    all_of = [_test(mapping, each) for each in cast("list[Json]", clauses.get("filter", []))]
    none_of = [_test(mapping, each) for each in cast("list[Json]", clauses.get("must_not", []))]
    any_of = [_test(mapping, each) for each in cast("list[Json]", clauses.get("should", []))]
    if any_of and clauses.get("minimum_should_match") != 1:
        raise NotInTheContract("should in a filter says minimum_should_match: 1")

    def accepts(document: Document) -> bool:
        return (
            all(test(document) for test in all_of)
            and not any(test(document) for test in none_of)
            and (not any_of or any(test(document) for test in any_of))
        )

    return accepts


def _one_of(mapping: IndexMapping, field: str, wanted: Sequence[JsonValue]) -> Test:
    kind = mapping.types[field]
    if kind == "keyword":
        if not all(isinstance(each, str) for each in wanted):
            raise NotInTheContract(f"{field} is compared with texts")
        texts = frozenset(cast("Sequence[str]", wanted))
        return lambda document: not texts.isdisjoint(document.keywords.get(field, ()))
    if kind not in ("long", "integer"):
        raise NotInTheContract(f"{field} is no field to compare")
    for each in wanted:
        if isinstance(each, bool) or not isinstance(each, int):
            raise no_query(f'For input string: "{each}"', "number_format_exception")
    numbers = frozenset(cast("Sequence[int]", wanted))
    return lambda document: not numbers.isdisjoint(document.numbers.get(field, ()))


def _range(mapping: IndexMapping, field: str, bounds: Mapping[str, JsonValue]) -> Test:
    if mapping.types[field] not in ("long", "integer"):
        raise NotInTheContract(f"{field} has no order")
    allowed("a range", dict(bounds), *_ORDER)
    if not all(type(bound) is int for bound in bounds.values()):
        raise NotInTheContract(f"{field} is compared with whole numbers")

    def accepts(document: Document) -> bool:
        values = document.numbers.get(field, ())
        return any(all(getattr(value, _ORDER[name])(bound) for name, bound in bounds.items()) for value in values)

    return accepts


def _sort_fields(mapping: IndexMapping, body: Json) -> tuple[str, ...]:
    fields = []
    for each in cast("list[Json]", body.get("sort", [])):
        ((field, order),) = each.items()
        if mapping.types.get(field) not in ("keyword", "long", "integer") or order not in ("asc", "desc"):
            raise NotInTheContract(f"no sorting by {field}")
        fields.append(field)
    if "search_after" in body and len(cast("list[JsonValue]", body["search_after"])) != len(fields):
        raise Refusal(400, "illegal_argument_exception", "search_after has not one value a sort field")
    return tuple(fields)


def sort_values(document: Document, fields: Sequence[str]) -> list[JsonValue]:
    """What a hit is sorted by."""
    return [document.source[field] for field in fields]


def _sorted(matched: Scored, body: Json) -> Scored:
    orders = [next(iter(each.items())) for each in cast("list[Json]", body["sort"])]
    fields = [field for field, _ in orders]
    directions = {order for _, order in orders}
    if len(directions) != 1:
        raise NotInTheContract("all fields are sorted in one direction")
    backwards = directions == {"desc"}
    hits = sorted(matched, key=lambda hit: cast("list[str]", sort_values(hit[1], fields)), reverse=backwards)
    after = cast("list[str] | None", body.get("search_after"))
    if after is None:
        return hits
    if backwards:
        raise NotInTheContract("pages go forwards")
    return [hit for hit in hits if cast("list[str]", sort_values(hit[1], fields)) > after]


def _aggregations(mapping: IndexMapping, documents: Sequence[Document], body: Json) -> Json:
    answer: Json = {}
    for name, each in cast("dict[str, Json]", body["aggs"]).items():
        ((kind, inner),) = each.items()
        if kind == "sum":
            field = str(cast(Json, inner)["field"])
            if mapping.types.get(field) not in ("long", "integer"):
                raise NotInTheContract(f"no sum of {field}")
            answer[name] = {"value": float(sum(sum(document.numbers.get(field, ())) for document in documents))}
        elif kind == "filters":
            tests = cast("dict[str, Json]", cast(Json, inner)["filters"])
            buckets: Json = {
                key: {"doc_count": sum(map(_test(mapping, test), documents))} for key, test in tests.items()
            }
            answer[name] = {"buckets": buckets}
        else:
            raise NotInTheContract(f"counts are sum and filters, not {kind}")
    return answer
