"""What several operations share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from lethe.domain.identity import Caller, Permission
from lethe.domain.memory import Memory, MemoryStatus, Origin
from lethe.domain.search import Candidate
from lethe.entry.api.known import KnownMemoryOut
from lethe.entry.api.memories import (
    MemoryOut,
    OutcomeOut,
    RememberedOut,
    ScoredMemoryOut,
    SourceOut,
)
from lethe.entry.call import Call
from lethe.errors import Forbidden, InvalidInput
from lethe.services.remember import DUPLICATE, Remembered, StatementOutcome


def _memory_fields(memory: Memory, user_id: str | None, status: MemoryStatus) -> dict[str, object]:
    """The fields of an answered memory."""
    return {
        "id": memory.id,
        "user_id": user_id,
        "text": memory.text,
        "kind": memory.kind,
        "speaker": memory.speaker,
        "occurred_at": memory.occurred_at,
        "status": status,
        "confidence": memory.confidence,
        "language": memory.language,
        "metadata": memory.metadata,
        "source": SourceOut(
            session_id=memory.source.session_id,
            message_ids=list(memory.source.message_ids),
            actor=memory.source.actor,
            origin=memory.source.origin,
        ),
        "valid_from": memory.valid_from,
        "valid_until": memory.valid_until,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "version": memory.version,
        "heat": memory.heat,
        "pinned": memory.pinned,
        "frozen": memory.frozen,
        "derived_from": list(memory.derived_from),
    }


def _outcome_out(outcome: StatementOutcome, memory: MemoryOut | KnownMemoryOut | None) -> OutcomeOut:
    """One outcome as it is answered."""
    return OutcomeOut.model_validate(
        {
            "event": outcome.event,
            "reason": outcome.reason,
            "detail": outcome.detail,
            "memory": memory,
            "replaces": list(outcome.replaces),
        }
    )


def memory_out(memory: Memory, user_id: str | None, now: datetime) -> MemoryOut:
    """A memory as it is answered. A superseded version is obsolete, whatever it was."""
    status = memory.status_at(now) if memory.superseded_at is None else MemoryStatus.OBSOLETE
    return MemoryOut.model_validate(_memory_fields(memory, user_id, status))


def known_out(memory: Memory, user_id: str | None, now: datetime, said: Mapping[str, object]) -> KnownMemoryOut:
    """What a key without ``read`` may know of a memory: ``said`` are the fields that its own request has set."""
    state = {"id": memory.id, "user_id": user_id, "status": memory.status_at(now), "version": memory.version}
    return KnownMemoryOut.model_validate({**said, **state})


def scored_out(candidate: Candidate, user_id: str | None, now: datetime) -> ScoredMemoryOut:
    """A candidate that is answered."""
    fields = _memory_fields(candidate.memory, user_id, candidate.memory.status_at(now))
    return ScoredMemoryOut.model_validate(fields | {"score": candidate.score})


def outcomes_out(remembered: Remembered, call: Call, now: datetime) -> list[OutcomeOut]:
    """All outcomes as they are answered. A duplicate's memory may be somebody else's: only who may read sees it."""
    reads = call.caller.may(Permission.READ)

    def shown(outcome: StatementOutcome) -> MemoryOut | KnownMemoryOut | None:
        if outcome.memory is None:
            return None
        if outcome.event == DUPLICATE and not reads:
            return known_out(outcome.memory, call.user_id, now, {})
        return memory_out(outcome.memory, call.user_id, now)

    return [_outcome_out(outcome, shown(outcome)) for outcome in remembered.outcomes]


def remembered_out(remembered: Remembered, call: Call, now: datetime) -> RememberedOut:
    """What became of a request's statements."""
    return RememberedOut(results=outcomes_out(remembered, call, now), notice=remembered.notice)


def require_vouched(caller: Caller, origin: Origin) -> None:
    """Raises Forbidden when the key says what only an administrator's key may: that an administrator said it."""
    if origin is Origin.ADMIN and not caller.may(Permission.GOVERN):
        raise Forbidden("origin: admin is for keys with the permission govern or admin")


def version_seen(body: int | None, header: int | None) -> int | None:
    """The version that the caller saw, from the body or If-Match. Raises InvalidInput when they disagree."""
    if body is not None and header is not None and body != header:
        raise InvalidInput.of("version", "must agree with If-Match")
    return header if body is None else body
