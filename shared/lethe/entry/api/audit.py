"""The audit trail: queries and answers."""

from __future__ import annotations

from typing import Literal

from lethe.domain.audit import AuditEntry
from lethe.entry.api.types import Cursor, Limit, Out, Query, Time, TimeOut, UserId


class ListAudit(Query):
    """Whose entries to list, of times after ``after`` and before ``before``."""

    user_id: UserId | None = None
    after: Time | None = None
    before: Time | None = None
    limit: Limit = 50
    cursor: Cursor | None = None


class AuditEntryOut(Out):
    """An entry as it is kept: ``hash`` is the SHA-256 of all other members as canonical JSON, ``previous`` the hash of
    the entry before it in its strand. ``key``, ``subject`` and names in ``targets`` are keyed hashes.
    """

    tenant: str
    strand: int
    n: int
    at: TimeOut
    key: str
    action: str
    verdict: Literal["allowed", "refused"]
    subject: str | None
    targets: list[str]
    request_id: str
    previous: str
    hash: str

    @classmethod
    def of(cls, entry: AuditEntry) -> AuditEntryOut:
        """The entry as it is answered."""
        event = entry.event
        return cls(
            tenant=event.tenant,
            strand=entry.strand,
            n=entry.n,
            at=event.at,
            key=event.key,
            action=event.action,
            verdict=event.verdict.value,
            subject=event.subject,
            targets=list(event.targets),
            request_id=event.request_id,
            previous=entry.previous,
            hash=entry.hash,
        )


class AuditOut(Out):
    """A page of entries, newest first."""

    entries: list[AuditEntryOut]
    next_cursor: str | None
