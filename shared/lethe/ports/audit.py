"""Where the audit trail is kept."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from lethe.domain.audit import AuditEntry, AuditEvent, Ends
from lethe.domain.json_values import JsonObject
from lethe.ports.common import Page


class AuditTrail(Protocol):
    """The audit trail of each tenant: chains to which entries are added, and in which none is changed."""

    def append(self, event: AuditEvent) -> AuditEntry:
        """Add an entry to one of the strands of the event's tenant; many may do so at once, each gets its place.

        Raises Unavailable, also where the entry may have been written without our knowing, and Throttled.
        """
        ...

    def ends(self, tenant: str) -> Ends:
        """Where each strand ends now, read consistently."""
        ...

    def stretch(self, tenant: str, strand: int, after: int, limit: int) -> tuple[JsonObject, ...]:
        """Up to ``limit`` entries of a strand behind the ``after``-th, in the order of their places, as they are
        stored and without a look at what they say; one that is no JSON object counts as an empty one.
        """
        ...

    def of_subject(
        self,
        tenant: str,
        subject: str,
        limit: int,
        start: str | None,
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> Page[AuditEntry]:
        """Entries about a subject, newest first, at most ``limit``; of times after ``after`` and before ``before``,
        both exclusive. Reads no entries of others.
        """
        ...
