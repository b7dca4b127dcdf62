"""Erasures and scopes as JSON and back: how the ledger keeps them and how receipts quote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from lethe.domain.erasure import (
    Erasure,
    ErasureState,
    MemoriesWithin,
    OneSession,
    Scope,
    Step,
    StepName,
    StepState,
    TheseMemories,
    Verification,
    WholeSubject,
    WholeTenant,
)
from lethe.domain.json_values import JsonObject, JsonValue
from lethe.domain.memory import MemoryKind
from lethe.domain.times import parse_rfc3339, to_rfc3339


def scope_json(scope: Scope) -> JsonObject:
    """One member names the scope, as in the API; a session by its keyed hash."""
    match scope:
        case WholeTenant():
            return {"tenant": True}
        case WholeSubject():
            return {"subject": True}
        case OneSession(session):
            return {"session": session}
        case TheseMemories(memory_ids):
            return {"memory_ids": list(memory_ids)}
        case MemoriesWithin(kinds, after, before):
            return {
                "kinds": [kind.value for kind in kinds],
                "created_after": _text(after),
                "created_before": _text(before),
            }


def scope_of(value: JsonObject) -> Scope:
    """Undoes ``scope_json``. Raises ValueError on anything else."""
    if value.get("tenant") is True:
        return WholeTenant()
    if value.get("subject") is True:
        return WholeSubject()
    if "session" in value:
        return OneSession(str(value["session"]))
    if "memory_ids" in value:
        return TheseMemories(tuple(map(str, _list(value["memory_ids"]))))
    if "kinds" in value:
        kinds = tuple(MemoryKind(str(kind)) for kind in _list(value["kinds"]))
        return MemoriesWithin(kinds, _time(value["created_after"]), _time(value["created_before"]))
    raise ValueError("not a scope")


def erasure_json(erasure: Erasure) -> JsonObject:
    """All of it but its version."""
    return {
        "id": erasure.id,
        "tenant": erasure.tenant,
        "subject": erasure.subject,
        "scope": scope_json(erasure.scope),
        "requested_at": to_rfc3339(erasure.requested_at),
        "actor": erasure.actor,
        "reason": erasure.reason,
        "state": erasure.state.value,
        "epochs": erasure.epochs,
        "epoch": erasure.epoch,
        "known": erasure.known,
        "unreadable_since": _text(erasure.unreadable_since),
        "steps": [_step_json(step) for step in erasure.steps],
        "holds": list(erasure.holds),
        "held": erasure.held,
        "owed": list(erasure.owed),
        "verified": [verification_json(each) for each in erasure.verified],
        "receipts": list(erasure.receipts),
        "ended_at": _text(erasure.ended_at),
        "failure": erasure.failure,
        "failures": erasure.failures,
        "starts": erasure.starts,
        "touched_at": _text(erasure.touched_at),
    }


def erasure_of(value: JsonObject, version: int) -> Erasure:
    """Undoes ``erasure_json``."""
    return Erasure(
        id=str(value["id"]),
        tenant=str(value["tenant"]),
        subject=_optional(value["subject"]),
        scope=scope_of(cast("JsonObject", value["scope"])),
        requested_at=parse_rfc3339(str(value["requested_at"])),
        actor=str(value["actor"]),
        reason=_optional(value["reason"]),
        state=ErasureState(str(value["state"])),
        epochs=_int(value["epochs"]),
        epoch=_int(value["epoch"]),
        known=value["known"] is True,
        unreadable_since=_time(value["unreadable_since"]),
        steps=tuple(_step_of(cast("JsonObject", step)) for step in _list(value["steps"])),
        holds=tuple(map(str, _list(value["holds"]))),
        held=_int(value["held"]),
        owed=tuple(map(str, _list(value["owed"]))),
        verified=tuple(verification_of(cast("JsonObject", each)) for each in _list(value["verified"])),
        receipts=tuple(map(str, _list(value["receipts"]))),
        ended_at=_time(value["ended_at"]),
        failure=_optional(value["failure"]),
        failures=_int(value["failures"]),
        starts=_int(value["starts"]),
        touched_at=_time(value["touched_at"]),
        version=version,
    )


def _step_json(step: Step) -> JsonObject:
    return {
        "name": step.name.value,
        "state": step.state.value,
        "found": step.found,
        "deleted": step.deleted,
        "attempts": step.attempts,
        "cursor": step.cursor,
    }


def _step_of(value: JsonObject) -> Step:
    return Step(
        StepName(str(value["name"])),
        StepState(str(value["state"])),
        _int(value["found"]),
        _int(value["deleted"]),
        _int(value["attempts"]),
        _optional(value["cursor"]),
    )


def verification_json(seen: Verification) -> JsonObject:
    """Counts by store, and when."""
    return {"at": to_rfc3339(seen.at), "remaining": dict(seen.remaining), "held": dict(seen.held)}


def verification_of(value: JsonObject) -> Verification:
    """Undoes ``verification_json``."""
    return Verification(parse_rfc3339(str(value["at"])), _counts(value["remaining"]), _counts(value["held"]))


def _counts(value: JsonValue) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((str(name), _int(count)) for name, count in cast("Mapping[str, JsonValue]", value).items()))


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else to_rfc3339(moment)


def _time(value: JsonValue) -> datetime | None:
    return None if value is None else parse_rfc3339(str(value))


def _optional(value: JsonValue) -> str | None:
    return None if value is None else str(value)


def _int(value: JsonValue) -> int:
    return int(cast("int", value))


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return cast("Sequence[JsonValue]", value)
