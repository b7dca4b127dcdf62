"""Reading the audit trail."""

from __future__ import annotations

from collections.abc import Callable

from lethe.entry.api.audit import AuditEntryOut, AuditOut, ListAudit
from lethe.entry.call import Answer, Call
from lethe.entry.cursor import Cursors
from lethe.ports import AuditTrail
from lethe.services.spaces import Spaces

Operations = dict[str, Callable[[Call], Answer]]


class AuditReads:
    """Operations of the function ``govern``."""

    def __init__(self, spaces: Spaces, trail: AuditTrail, cursors: Cursors) -> None:
        self._spaces = spaces
        self._trail = trail
        self._cursors = cursors

    def operations(self) -> Operations:
        """By the names that the routes use."""
        return {"list_audit": self.list}

    def list(self, call: Call) -> Answer:
        """Entries about a user, whatever became of that user's data."""
        query = call.query_as(ListAudit)
        subject = self._spaces.subject(call.caller, call.user_id)
        binding = {"list": "audit", "subject": subject, "after": str(query.after), "before": str(query.before)}
        start = self._cursors.read(query.cursor, call.caller, binding)
        page = self._trail.of_subject(
            call.caller.tenant, subject, query.limit, start, after=query.after, before=query.before
        )
        entries = [AuditEntryOut.of(entry) for entry in page.items]
        return Answer(
            200, AuditOut(entries=entries, next_cursor=self._cursors.write(page.next_key, call.caller, binding))
        )
