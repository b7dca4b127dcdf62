"""The audit trail: entries without content, chained by hash, so that whoever changes one breaks all that follow.

A tenant's trail has up to ``STRANDS`` chains, its strands. A chain takes one writer at a time, and a tenant has many
containers that write: each keeps to a strand as long as nobody else is there. Times order the whole, strands prove it.

An entry says who (the keyed hash of an API key) did what (the operation's name) to whom (the keyed hash of a subject)
and to which things (ids that Lethe made; sessions, entity keys and holds as keyed hashes), when, and in which request.
It is written beside the operation, so it tells what was begun and not how that ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias, TypeGuard

from lethe.domain.chain import EMPTY, NOTHING, ChainEnd, hash_of
from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonObject, JsonValue
from lethe.domain.times import parse_rfc3339, to_rfc3339

STRANDS: Final = 16
"""Chains of a tenant at most. It may be raised at any time; chains that stand stay what they are."""


class Verdict(StrEnum):
    """Whether the key allowed the request; keys of an erased tenant allow only what is answered all the same."""

    ALLOWED = "allowed"
    REFUSED = "refused"


@immutable
class AuditEvent:
    """What is to be recorded. ``key`` and ``subject`` are keyed hashes; ``targets`` are ids that Lethe made, or
    ``session:``, ``entity:`` and ``hold:`` with a keyed hash.
    """

    tenant: str
    at: datetime
    key: str
    action: str
    verdict: Verdict
    subject: str | None
    targets: tuple[str, ...]
    request_id: str


@immutable
class AuditEntry:
    """An event in its place: the ``n``-th of a strand (counted from 1), after the entry with hash ``previous``."""

    strand: int
    n: int
    event: AuditEvent
    previous: str
    hash: str

    @property
    def end(self) -> ChainEnd:
        """The chain's end when this is its last entry."""
        return ChainEnd(self.n, self.hash)


def linked(event: AuditEvent, strand: int, after: ChainEnd) -> AuditEntry:
    """The entry that follows ``after`` in a strand."""
    n = after.length + 1
    return AuditEntry(strand, n, event, after.hash, hash_of(_content(strand, n, event, after.hash)))


def document(entry: AuditEntry) -> JsonObject:
    """The entry as JSON, its hash included: what is stored, exported and shown."""
    return {**_content(entry.strand, entry.n, entry.event, entry.previous), "hash": entry.hash}


def _content(strand: int, n: int, event: AuditEvent, previous: str) -> dict[str, JsonValue]:
    """What the hash is of."""
    return {
        "tenant": event.tenant,
        "strand": strand,
        "n": n,
        "at": to_rfc3339(event.at),
        "key": event.key,
        "action": event.action,
        "verdict": event.verdict.value,
        "subject": event.subject,
        "targets": list(event.targets),
        "request_id": event.request_id,
        "previous": previous,
    }


def entry_of(stored: JsonObject) -> AuditEntry:
    """Undoes ``document``; does not look whether the hash is right. Raises ValueError on anything else."""
    try:
        subject, targets, strand, n = stored["subject"], stored["targets"], stored["strand"], stored["n"]
        if not isinstance(targets, list) or not isinstance(strand, int) or not isinstance(n, int):
            raise ValueError("targets, strand or number")
        event = AuditEvent(
            tenant=_text(stored["tenant"]),
            at=parse_rfc3339(_text(stored["at"])),
            key=_text(stored["key"]),
            action=_text(stored["action"]),
            verdict=Verdict(_text(stored["verdict"])),
            subject=None if subject is None else _text(subject),
            targets=tuple(_text(target) for target in targets),
            request_id=_text(stored["request_id"]),
        )
        return AuditEntry(strand, n, event, _text(stored["previous"]), _text(stored["hash"]))
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
class StrandFault:
    """The first place where a strand is not what it was. ``n`` counts from 1."""

    n: int
    wrong: Wrong


@immutable
class StrandChecked:
    """How far a strand is sound, and what ends it; None when all of it is."""

    end: ChainEnd
    fault: StrandFault | None


def check_strand(
    documents: Iterable[JsonObject], tenant: str, strand: int, known: Iterable[ChainEnd] = ()
) -> StrandChecked:
    """Walk a whole strand from its first entry, in its order, and stop at the first fault.

    ``known`` are ends that were noted elsewhere, as in receipts: only they can show that the strand was cut behind its
    last entry, or written anew from some entry on.
    """
    noted: dict[int, set[str]] = {}
    for each in known:
        noted.setdefault(each.length, set()).add(each.hash)
    end = EMPTY
    if noted.pop(0, {NOTHING}) != {NOTHING}:
        return StrandChecked(end, StrandFault(1, Wrong.REPLACED))
    for stored in documents:
        place: JsonObject = {"tenant": tenant, "strand": strand, "n": end.length + 1}
        wrong = _wrong(stored, place, end) or _noted_otherwise(stored, noted.pop(end.length + 1, set()))
        if wrong is not None:
            return StrandChecked(end, StrandFault(end.length + 1, wrong))
        end = ChainEnd(end.length + 1, str(stored["hash"]))
    return StrandChecked(end, StrandFault(end.length + 1, Wrong.TRUNCATED) if noted else None)


def _wrong(stored: JsonObject, place: JsonObject, end: ChainEnd) -> Wrong | None:
    content = {name: value for name, value in stored.items() if name != "hash"}
    try:
        intact = stored.get("hash") == hash_of(content)
        in_place = hash_of(place) == hash_of({name: content.get(name) for name in place})
    except ValueError:  # such as NaN, which no document of ours holds
        return Wrong.ALTERED
    if not intact:
        return Wrong.ALTERED
    if not in_place:
        return Wrong.MISPLACED
    return Wrong.UNLINKED if stored.get("previous") != end.hash else None


def _noted_otherwise(stored: JsonObject, hashes: set[str]) -> Wrong | None:
    return Wrong.REPLACED if hashes - {str(stored["hash"])} else None


Ends: TypeAlias = "Mapping[int, ChainEnd]"
"""Where each strand ends, by strand; those without an entry are not named."""


def ends_json(ends: Ends) -> list[JsonObject]:
    """The ends as JSON, for receipts and exports: ``[{"strand": 3, "length": 17, "hash": "…"}]``, by strand."""
    return [{"strand": strand, "length": end.length, "hash": end.hash} for strand, end in sorted(ends.items())]


def ends_of(noted: JsonValue) -> Ends:
    """Undoes ``ends_json``. Raises ValueError on anything else."""
    ends: dict[int, ChainEnd] = {}
    for each in noted if isinstance(noted, list) else [None]:
        end: JsonObject = each if isinstance(each, dict) else {}
        strand, length, last = end.get("strand"), end.get("length"), end.get("hash")
        if not _is_count(strand) or not _is_count(length) or not isinstance(last, str) or strand in ends:
            raise ValueError("the ends of an audit trail must be a list of strand, length and hash")
        ends[strand] = ChainEnd(length, last)
    return ends


def _is_count(value: JsonValue) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
