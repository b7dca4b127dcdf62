"""What no search may be without, and what none may hold: the recorder's judgement of every search body ever sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from lethe.domain.json_values import JsonValue
from tests.fakes.opensearch.failures import Json, NotInTheContract

SCOPE: Final = ("tenant", "subject", "epoch", "entry")
"""The fields that every search pins to one value each."""

PARSED: Final = frozenset(
    """
    query_string simple_query_string script script_score script_fields scripted_metric runtime_mappings regexp wildcard
    prefix fuzzy match_phrase_prefix span_multi intervals function_score percolate more_like_this template terms_set
    """.split()
)
"""Forms in which a value would be read as a pattern, a program or a query."""

_EVERY_ENTRY: Final[Json] = {"bool": {"filter": [{"term": {"entry": "memory"}}]}}


def scope_of(body: Json) -> dict[str, JsonValue] | None:
    """The values that ``body`` is pinned to; None for the reconciler's page over all entries.

    Raises NotInTheContract for a body that is not kept inside one space, or holds what would be parsed.
    """
    parsed = sorted(PARSED & set(_names(body)))
    if parsed:
        raise NotInTheContract(f"a search holds {parsed}")
    query = cast(Json, body.get("query", {}))
    if query == _EVERY_ENTRY and body.get("sort") == [{"subject": "asc"}, {"epoch": "asc"}, {"memory_id": "asc"}]:
        return None
    if set(query) == {"knn"}:
        (clause,) = cast("dict[str, Json]", query["knn"]).values()
        return _pinned(cast(Json, clause.get("filter", {})))
    return _pinned(query)


def _pinned(query: Json) -> dict[str, JsonValue]:
    """The scope's terms among those that *all* hits must match. A ``should`` beside them would change nothing."""
    clauses = cast("list[Json]", cast(Json, query.get("bool", {})).get("filter", []))
    terms = [next(iter(cast(Json, clause["term"]).items())) for clause in clauses if set(clause) == {"term"}]
    pinned = [(name, value) for name, value in terms if name in SCOPE]
    if sorted(name for name, _ in pinned) != sorted(SCOPE):
        raise NotInTheContract("a search is not kept inside one space")
    return dict(pinned)


def _names(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _names(each)
    elif isinstance(value, list):
        for each in value:
            yield from _names(each)
