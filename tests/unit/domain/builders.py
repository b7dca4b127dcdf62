"""Small domain objects for unit tests; every field has a harmless value unless it is named."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from lethe.domain.memory import Memory, MemoryKind, MemoryStatus, Origin, Source, content_hash
from lethe.domain.search import Candidate
from lethe.domain.session import Session

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

_MEMORY = Memory(
    id="mem_01ARZ3NDEKTSV4RRFFQ69G5FAV",
    text="I ski",
    kind=MemoryKind.FACT,
    status=MemoryStatus.CURRENT,
    confidence=1.0,
    language="en",
    source=Source("key:1", Origin.USER),
    occurred_at=NOON,
    valid_from=NOON,
    created_at=NOON,
    updated_at=NOON,
    content_hash=content_hash("I ski", None, None),
)


def memory(**fields: Any) -> Memory:  # noqa: ANN401 - the fields of a dataclass, checked by `replace`
    return replace(_MEMORY, **fields)


def candidate(relevance: float = 0.8, **fields: Any) -> Candidate:  # noqa: ANN401 - as above
    return Candidate(memory(**fields), relevance, relevance)


def session(**fields: Any) -> Session:  # noqa: ANN401 - as above
    return replace(Session("s", NOON, NOON, NOON, messages=2, turns=1), **fields)
