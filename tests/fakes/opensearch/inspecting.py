"""The searches of the verifier, over every index of a pattern: counts by subject and epoch, and pages of one epoch.

They are the only ones that may ask for more than one space, and nothing but these two forms is answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final, cast

from lethe.domain.json_values import JsonValue
from tests.fakes.opensearch.documents import Document
from tests.fakes.opensearch.failures import Json, NotInTheContract, allowed
from tests.fakes.opensearch.store import Index

_BY_SPACE: Final = [
    {"subject": {"terms": {"field": "subject", "missing_bucket": True}}},
    {"epoch": {"terms": {"field": "epoch", "missing_bucket": True}}},
]
_PAGE: Final = ("size", "query", "sort", "_source", "stored_fields", "docvalue_fields", "search_after")


def is_pattern(name: str) -> bool:
    """Whether a request is about every index of a pattern."""
    return name.endswith("*")


def matching(indexes: Iterable[Index], pattern: str) -> list[Index]:
    """The indexes whose names match."""
    return [index for index in indexes if fnmatchcase(index.name, pattern)]


def inspect(found: Sequence[Index], body: Json) -> Json:
    """Answer a search of the verifier over these indexes. Raises NotInTheContract."""
    documents = [
        document
        for index in found
        for shard in index.shards
        for document in shard.visible.values()
        if _accepted(document, cast(Json, body["query"]))
    ]
    shards: Json = {"total": len(found), "successful": len(found), "skipped": 0, "failed": 0}
    answer: Json = {"took": 1, "timed_out": False, "_shards": shards}
    if "aggs" in body:
        allowed("a count by space", body, "size", "query", "aggs")
        return answer | {"aggregations": {"spaces": _groups(documents, body)}}
    allowed("a page of an epoch", body, *_PAGE)
    return answer | {"hits": {"hits": _hits(documents, body)}}


def _accepted(document: Document, query: Json) -> bool:
    allowed("a query of the verifier", query, "bool")
    allowed("it", cast(Json, query["bool"]), "filter")
    clauses = cast("list[dict[str, Json]]", cast(Json, query["bool"])["filter"])
    terms = [next(iter(clause["term"].items())) for clause in clauses]
    if terms[0][0] != "tenant":
        raise NotInTheContract("the verifier stays within a tenant")
    return all(document.source.get(name) == value for name, value in terms)


def _groups(documents: Sequence[Document], body: Json) -> Json:
    composite = cast(Json, cast(Json, cast(Json, body["aggs"])["spaces"])["composite"])
    allowed("a composite", composite, "size", "sources", "after")
    if composite["sources"] != _BY_SPACE or body["size"] != 0:
        raise NotInTheContract("entries are counted by subject and epoch")
    counted = Counter((str(each.source["subject"]), cast(int, each.source["epoch"])) for each in documents)
    after = cast("dict[str, JsonValue] | None", composite.get("after"))
    behind = ("", 0) if after is None else (str(after["subject"]), cast(int, after["epoch"]))
    keys = [key for key in sorted(counted) if key > behind][: cast(int, composite["size"])]
    buckets: list[JsonValue] = [
        {"key": {"subject": subject, "epoch": epoch}, "doc_count": counted[subject, epoch]} for subject, epoch in keys
    ]
    last: Json = {} if not keys else {"after_key": {"subject": keys[-1][0], "epoch": keys[-1][1]}}
    return {"buckets": buckets, **last}


def _hits(documents: Sequence[Document], body: Json) -> list[JsonValue]:
    if body["sort"] != [{"memory_id": "asc"}] or body["_source"] is not False or body["stored_fields"] != "_none_":
        raise NotInTheContract("a page of an epoch is sorted by memory and shows columns alone")
    after = str(cast("list[JsonValue]", body.get("search_after", [""]))[0])
    ordered = sorted(documents, key=lambda each: str(each.source["memory_id"]))
    behind = [each for each in ordered if str(each.source["memory_id"]) > after][: cast(int, body["size"])]
    columns = cast("list[str]", body["docvalue_fields"])
    return [
        {
            "fields": {name: [each.source[name]] for name in columns if name in each.source},
            "sort": [each.source["memory_id"]],
        }
        for each in behind
    ]
