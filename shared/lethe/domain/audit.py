"""The audit trail: entries without content, chained by hash, so that whoever changes one breaks all that follow.

An entry says who (the keyed hash of an API key) did what (the operation's name) to whom (the keyed hash of a subject)
and to which things (ids that Lethe made; sessions and entity keys as keyed hashes), when, and in which request. It is
written beside the operation, so it tells what was begun and not how that ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final

from lethe.domain.chain import NOTHING, ChainEnd, hash_of
from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonObject, JsonValue
from lethe.domain.times import parse_rfc3339, to_rfc3339

EMPTY: Final = ChainEnd(0, NOTHING)
"""The end of a chain without entries."""


class Admission(StrEnum):
    """Whether the caller's key allowed the request."""

    ADMITTED = "admitted"
    REFUSED = "refused"


@immutable
class AuditEvent:
    """What is to be recorded. ``key`` and ``subject`` are keyed hashes; ``targets`` are ids that Lethe made, or
    ``session:`` and ``entity:`` with a keyed hash.
    """

    tenant: str
    at: datetime
    key: str
    action: str
    admission: Admission
    subject: str | None
    targets: tuple[str, ...]
    request_id: str


@immutable
class AuditEntry:
    """An event in its place: the ``n``-th of its tenant (counted from 1), after the entry with hash ``previous``."""

    n: int
    event: AuditEvent
    previous: str
    hash: str

    @property
    def end(self) -> ChainEnd:
        """The chain's end when this is its last entry."""
        return ChainEnd(self.n, self.hash)


def linked(event: AuditEvent, after: ChainEnd) -> AuditEntry:
    """The entry that follows ``after``."""
    n = after.length + 1
    return AuditEntry(n, event, after.hash, hash_of(_content(n, event, after.hash)))


def document(entry: AuditEntry) -> JsonObject:
    """The entry as JSON, its hash included: what is stored, exported and shown."""
    return {**_content(entry.n, entry.event, entry.previous), "hash": entry.hash}


def _content(n: int, event: AuditEvent, previous: str) -> dict[str, JsonValue]:
    """What the hash is of."""
    return {
        "n": n,
        "tenant": event.tenant,
        "at": to_rfc3339(event.at),
        "key": event.key,
        "action": event.action,
        "admission": event.admission.value,
        "subject": event.subject,
        "targets": list(event.targets),
        "request_id": event.request_id,
        "previous": previous,
    }


def entry_of(stored: JsonObject) -> AuditEntry:
    """Undoes ``document``; does not look whether the hash is right. Raises ValueError on anything else."""
    try:
        subject, targets, n = stored["subject"], stored["targets"], stored["n"]
        if not isinstance(targets, list) or not isinstance(n, int):
            raise ValueError("targets or number")
        event = AuditEvent(
            tenant=_text(stored["tenant"]),
            at=parse_rfc3339(_text(stored["at"])),
            key=_text(stored["key"]),
            action=_text(stored["action"]),
            admission=Admission(_text(stored["admission"])),
            subject=None if subject is None else _text(subject),
            targets=tuple(_text(target) for target in targets),
            request_id=_text(stored["request_id"]),
        )
        return AuditEntry(n, event, _text(stored["previous"]), _text(stored["hash"]))
    except (KeyError, ValueError) as error:
        raise ValueError("not an entry of an audit trail") from error


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


class Wrong(StrEnum):
    """What is wrong with the first entry that is."""

    ALTERED = "altered"
    """Its content is not what its hash was taken of."""
    MISPLACED = "misplaced"
    """Another entry stands in its place: it is missing, was moved, or one before it stands there twice."""
    UNLINKED = "unlinked"
    """It does not follow the entry before it: one of the two was replaced."""
    REPLACED = "replaced"
    """Another entry stood here when the chain's end was noted."""
    TRUNCATED = "truncated"
    """It was there when the chain's end was noted, and no entry stands here now."""


@immutable
class Fault:
    """The first place where a chain is not what it was. ``n`` counts from 1."""

    n: int
    wrong: Wrong


@immutable
class Checked:
    """How far a chain is sound, and what ends it; None when all of it is."""

    end: ChainEnd
    fault: Fault | None


def check(documents: Iterable[JsonObject], known: Iterable[ChainEnd] = ()) -> Checked:
    """Walk a whole chain from its first entry, in its order, and stop at the first fault.

    ``known`` are ends that were noted elsewhere, as in receipts: only they can show that the chain was cut behind its
    last entry, or written anew from some entry on.
    """
    noted: dict[int, set[str]] = {}
    for each in known:
        noted.setdefault(each.length, set()).add(each.hash)
    end = EMPTY
    if noted.pop(0, {NOTHING}) != {NOTHING}:
        return Checked(end, Fault(1, Wrong.REPLACED))
    for stored in documents:
        wrong = _wrong(stored, end) or _noted_otherwise(stored, noted.pop(end.length + 1, set()))
        if wrong is not None:
            return Checked(end, Fault(end.length + 1, wrong))
        end = ChainEnd(end.length + 1, str(stored["hash"]))
    return Checked(end, Fault(end.length + 1, Wrong.TRUNCATED) if noted else None)


def _wrong(stored: JsonObject, end: ChainEnd) -> Wrong | None:
    content = {name: value for name, value in stored.items() if name != "hash"}
    try:
        intact = stored.get("hash") == hash_of(content)
    except ValueError:  # such as NaN, which no document of ours holds
        intact = False
    if not intact:
        return Wrong.ALTERED
    if stored.get("n") != end.length + 1 or isinstance(stored.get("n"), bool):
        return Wrong.MISPLACED
    return Wrong.UNLINKED if stored.get("previous") != end.hash else None


def _noted_otherwise(stored: JsonObject, hashes: set[str]) -> Wrong | None:
    return Wrong.REPLACED if hashes - {str(stored["hash"])} else None


def noted_end(receipt: JsonObject) -> ChainEnd | None:
    """The end of the audit trail that a receipt carries: ``{"audit": {"length": n, "hash": "…"}}``; None without.

    Raises ValueError when it is there and is no such thing.
    """
    noted = receipt.get("audit")
    if noted is None:
        return None
    if isinstance(noted, dict):
        length, last = noted.get("length"), noted.get("hash")
        if isinstance(length, int) and not isinstance(length, bool) and length >= 0 and isinstance(last, str):
            return ChainEnd(length, last)
    raise ValueError("the end of the audit trail must be a length and a hash")
