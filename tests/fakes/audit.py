"""The audit trail in memory."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from lethe.domain.audit import AuditEntry, AuditEvent, Ends, document, linked
from lethe.domain.chain import EMPTY
from lethe.domain.json_values import JsonObject
from lethe.entry.auditing import Auditor
from lethe.entry.settings import Audited
from lethe.ports import Clock, Page
from lethe.services.auditing import AuditBook


class FakeAuditTrail:
    """One strand. ``error``, when it is set, is what every append raises."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self._lock = threading.Lock()
        self._chains: dict[str, list[AuditEntry]] = {}

    def append(self, event: AuditEvent) -> AuditEntry:
        if self.error is not None:
            raise self.error
        with self._lock:
            entry = linked(event, 0, self.ends(event.tenant).get(0, EMPTY))
            self._chains.setdefault(event.tenant, []).append(entry)
            return entry

    def ends(self, tenant: str) -> Ends:
        chain = self._chains.get(tenant)
        return {0: chain[-1].end} if chain else {}

    def stretch(self, tenant: str, strand: int, after: int, limit: int) -> tuple[JsonObject, ...]:
        chain = self._chains.get(tenant, []) if strand == 0 else []
        return tuple(map(document, chain[after : after + limit]))

    def of_subject(
        self,
        tenant: str,
        subject: str,
        limit: int,
        start: str | None,
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> Page[AuditEntry]:
        known = [
            entry
            for entry in self._chains.get(tenant, [])
            if entry.event.subject == subject
            and (after is None or entry.event.at > after)
            and (before is None or entry.event.at < before)
        ]
        known.sort(key=lambda entry: (entry.event.at, entry.n), reverse=True)
        if start is not None:
            known = known[[entry.n for entry in known].index(int(start)) + 1 :]
        return Page(tuple(known[:limit]), str(known[limit - 1].n) if len(known) > limit else None)


def fake_auditor(trail: FakeAuditTrail, clock: Clock, audited: Audited = "all") -> Auditor:
    """The product's own auditor over a trail in memory."""
    return Auditor(AuditBook(trail, b"k" * 32, clock), ThreadPoolExecutor(2), audited)
