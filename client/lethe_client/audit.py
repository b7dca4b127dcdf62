"""The audit trail: who did what with a user's memory."""

from collections.abc import Iterator

from lethe_client.audit_models import AuditEntry
from lethe_client.fields import When, time_text
from lethe_client.models import Page
from lethe_client.paging import every, page_of
from lethe_client.transport import Call, Transport


class Audit:
    """Reads the audit trail of a user, also of one who was erased. The key needs `govern`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        user_id: str | None = None,
        after: When | None = None,
        before: When | None = None,
        page_size: int | None = None,
    ) -> Iterator[AuditEntry]:
        """All entries about a user, newest first, fetched page by page as they are taken.

        Only those of times after `after` and before `before`, where these are given. Reading leaves entries, too.

        Raises:
            ForbiddenError: the key does not cover the user.
            ValueError: a time without an offset.
        """
        return every(
            lambda cursor: self.page(user_id=user_id, after=after, before=before, limit=page_size, cursor=cursor)
        )

    def page(
        self,
        *,
        user_id: str | None = None,
        after: When | None = None,
        before: When | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[AuditEntry]:
        """One page of entries, for callers that hand the cursor on; the cursor is for the same user and times."""
        query = {
            "user_id": user_id,
            "after": time_text(after),
            "before": time_text(before),
            "limit": limit,
            "cursor": cursor,
        }
        return page_of(self._transport.send(Call("GET", "/v1/audit", query)).body, "entries", AuditEntry.parse)
