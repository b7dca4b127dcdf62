"""The one place where a search is kept inside its space. Nothing a caller wrote is ever parsed as a query: values are
compared as keywords and numbers, and there is no query string, script or pattern in any body.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from lethe.adapters.opensearch.documents import MEMORY, facet
from lethe.domain.identity import Space
from lethe.domain.json_values import JsonObject
from lethe.domain.memory import MemoryFilter, MemoryStatus
from lethe.domain.times import microseconds

Clause: TypeAlias = JsonObject


def inside(space: Space, kind: str = MEMORY) -> list[Clause]:
    """Tenant, subject, epoch, and which kind of entries.

    Raises TypeError on anything but a Space, since a filter that lets all through is worse than none.
    """
    if not isinstance(space, Space):
        raise TypeError("a search needs a Space")
    return [
        {"term": {"tenant": space.tenant}},
        {"term": {"subject": space.subject}},
        {"term": {"epoch": space.epoch}},
        {"term": {"entry": kind}},
    ]


def accepted(space: Space, filters: MemoryFilter, now: datetime) -> list[Clause]:
    """What ``filters.accepts`` says, inside ``space``."""
    clauses = inside(space)
    if filters.kinds:
        clauses.append({"terms": {"kind": [kind.value for kind in filters.kinds]}})
    if filters.statuses:
        moment = microseconds(filters.valid_at or now)
        clauses.append(_any([_stands(status, moment) for status in filters.statuses]))
    if filters.origins:
        clauses.append({"terms": {"origin": [origin.value for origin in filters.origins]}})
    if filters.session_id is not None:
        clauses.append({"term": {"session": filters.session_id}})
    if filters.created_after is not None:
        clauses.append({"range": {"created_at": {"gt": microseconds(filters.created_after)}}})
    if filters.created_before is not None:
        clauses.append({"range": {"created_at": {"lt": microseconds(filters.created_before)}}})
    if filters.valid_at is not None:
        moment = microseconds(filters.valid_at)
        clauses.append({"range": {"valid_from": {"lte": moment}}})
        clauses.append({"bool": {"must_not": [_ended(moment)]}})
    clauses.extend({"term": {"facets": facet(key, value)}} for key, value in filters.metadata.items())
    return clauses


def _stands(status: MemoryStatus, moment: int) -> Clause:
    """``Memory.status_at``: a current memory that has ended counts as archived."""
    if status is MemoryStatus.CURRENT:
        return {"bool": {"filter": [{"term": {"status": status.value}}], "must_not": [_ended(moment)]}}
    stands: Clause = {"term": {"status": status.value}}
    if status is not MemoryStatus.ARCHIVED:
        return stands
    return _any([stands, {"bool": {"filter": [{"term": {"status": MemoryStatus.CURRENT.value}}, _ended(moment)]}}])


def _ended(moment: int) -> Clause:
    return {"range": {"valid_until": {"lte": moment}}}


def _any(clauses: list[Clause]) -> Clause:
    return {"bool": {"should": clauses, "minimum_should_match": 1}}
