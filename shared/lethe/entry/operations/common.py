"""What several operations share."""

from __future__ import annotations

from datetime import datetime

from lethe.domain.memory import Memory, MemoryStatus
from lethe.domain.search import Candidate
from lethe.entry.api.memories import (
    MemoryOut,
    OutcomeOut,
    RememberedOut,
    ScoredMemoryOut,
    memory_fields,
    outcome_out,
)
from lethe.errors import InvalidInput
from lethe.services.remember import Remembered


def memory_out(memory: Memory, user_id: str | None, now: datetime) -> MemoryOut:
    """A memory as it is answered. A superseded version is obsolete, whatever it was."""
    status = memory.status_at(now) if memory.superseded_at is None else MemoryStatus.OBSOLETE
    return MemoryOut.model_validate(memory_fields(memory, user_id, status))


def scored_out(candidate: Candidate, user_id: str | None, now: datetime) -> ScoredMemoryOut:
    """A candidate that is answered."""
    fields = memory_fields(candidate.memory, user_id, candidate.memory.status_at(now))
    return ScoredMemoryOut.model_validate(fields | {"score": candidate.score})


def outcomes_out(remembered: Remembered, user_id: str | None, now: datetime) -> list[OutcomeOut]:
    """All outcomes as they are answered."""
    return [
        outcome_out(outcome, memory_out(outcome.memory, user_id, now) if outcome.memory else None)
        for outcome in remembered.outcomes
    ]


def remembered_out(remembered: Remembered, user_id: str | None, now: datetime) -> RememberedOut:
    """What became of a request's statements."""
    return RememberedOut(results=outcomes_out(remembered, user_id, now), notice=remembered.notice)


def version_seen(body: int | None, header: int | None) -> int | None:
    """The version that the caller saw, from the body or If-Match. Raises InvalidInput when they disagree."""
    if body is not None and header is not None and body != header:
        raise InvalidInput.of("version", "must agree with If-Match")
    return header if body is None else body
