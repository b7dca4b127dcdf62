"""Every request leaves an entry in the audit trail, written beside the operation: no answer goes out without it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future

from lethe.domain import ids
from lethe.domain.audit import AuditEntry
from lethe.domain.identity import Permission
from lethe.entry.call import Call
from lethe.entry.events import HttpResponse
from lethe.entry.routes import Route
from lethe.entry.settings import Audited
from lethe.errors import Throttled, Unavailable
from lethe.services.auditing import AuditBook, Named

_OURS = (ids.MEMORY, ids.ERASURE, ids.RECEIPT)


class Auditor:
    """Runs operations with an entry beside them."""

    def __init__(self, book: AuditBook, threads: Executor, audited: Audited) -> None:
        self._book = book
        self._threads = threads
        self._audited = audited

    def beside(self, route: Route, call: Call, request_id: str, run: Callable[[], HttpResponse]) -> HttpResponse:
        """What ``run`` gives or raises, once the entry stands. Both go on at once, so that the entry adds no wait.

        Raises Unavailable in place of either when the entry cannot be written: what was done stays done, and the
        client, which does not learn of it, sends the request again.
        """
        if self._audited == "off" or (self._audited == "writes" and Permission.READ in route.permissions):
            return run()
        permitted = any(call.caller.may(permission) for permission in route.permissions)
        entry = self._threads.submit(
            self._book.record, call.caller, route.operation, request_id, named_in(call), permitted
        )
        try:
            return run()
        finally:
            _stands(entry)


def _stands(entry: Future[AuditEntry]) -> None:
    try:
        entry.result()
    except (Throttled, Unavailable) as error:
        raise Unavailable("the audit trail cannot be written now, and nothing is answered without it") from error


def named_in(call: Call) -> Named:
    """What the request names, in its path, its body or its query."""
    given = call.body if call.body is not None else call.query
    scope = getattr(given, "scope", None)
    of_path = call.path.get("id", "")
    memory_ids = getattr(scope, "memory_ids", None) or ()
    session_ids = (call.path.get("session_id"), getattr(given, "session_id", None), getattr(scope, "session_id", None))
    return Named(
        user_id=call.user_id,
        ids=((of_path,) if any(ids.is_id(of_path, prefix) for prefix in _OURS) else ()) + tuple(memory_ids),
        session_id=next((each for each in session_ids if isinstance(each, str)), None),
        entity_key=call.path.get("key"),
        hold=call.path.get("name"),
    )
