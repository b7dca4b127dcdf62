"""Every request that a key may send leaves an entry in the audit trail, written beside the operation: no answer goes
out without it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Final

from lethe.domain import ids
from lethe.domain.audit import AuditEntry, Verdict
from lethe.domain.identity import EVERY_USER, Permission
from lethe.entry.call import Call
from lethe.entry.events import HttpResponse
from lethe.entry.routes import Route
from lethe.entry.settings import Audited
from lethe.errors import Forbidden, Throttled, Unavailable
from lethe.services.auditing import AuditBook, Named

_OURS: Final = (ids.MEMORY, ids.ERASURE, ids.RECEIPT)
_ERASING: Final = frozenset(("begin_erasure", "erase_subject", "delete_memory", "delete_session"))
"""Operations that may come to an erasure, which their entry names."""


class Auditor:
    """Runs operations with an entry beside them."""

    def __init__(self, book: AuditBook, threads: Executor, audited: Audited) -> None:
        self._book = book
        self._threads = threads
        self._audited = audited

    def refused(self, route: Route, call: Call, request_id: str) -> None:
        """The entry of a request that no operation gets to see, once it stands: ``call`` is what could be read of it.

        Raises Unavailable as ``beside`` does.
        """
        if self._records(route):
            self._entry(route, call, request_id, permitted=False).stand()

    def beside(self, route: Route, call: Call, request_id: str, run: Callable[[Call], HttpResponse]) -> HttpResponse:
        """What ``run`` gives or raises, once the entry stands. Both go on at once, so that the entry adds no wait.

        Where a request names a thing and not whose it is, or may come to an erasure, the entry is begun when ``run``
        tells whose, or which: before anything is done with the thing, and before anything is deleted.

        Whatever is Forbidden has an entry that says so: a second one, where it showed after the first was begun.

        Raises Unavailable in place of either when the entry cannot be written: what was done stays done, and the
        client, which does not learn of it, sends the request again.
        """
        if not self._records(route):
            return run(call)
        entry = self._entry(route, call, request_id, permitted=True)
        if route.operation not in _ERASING and not hides_whose(route):
            entry.begin()
        try:
            answer = run(replace(call, about=entry.about, erasing=entry.erasing))
            _tell_again(answer, entry)
            return answer
        except Forbidden:
            entry.refuse()
            raise
        finally:
            entry.stand()

    def _records(self, route: Route) -> bool:
        return self._audited == "all" or (self._audited == "writes" and Permission.READ not in route.permissions)

    def _entry(self, route: Route, call: Call, request_id: str, permitted: bool) -> _Entry:
        def record(named: Named, allowed: bool) -> AuditEntry:
            return self._book.record(call.caller, route.operation, request_id, named, allowed)

        return _Entry(self._threads, record, named_in(call), permitted)


class _Entry:
    """The entry of one request, on its way into the trail."""

    def __init__(
        self, threads: Executor, record: Callable[[Named, bool], AuditEntry], named: Named, permitted: bool
    ) -> None:
        self._threads = threads
        self._record = record
        self._named = named
        self._permitted = permitted
        self._begun: Future[AuditEntry] | None = None

    def about(self, owner: str) -> None:
        """Begin to write it, unless that was done; ``owner`` as ``Named`` has it."""
        if self._begun is None:
            self._named = replace(self._named, owner=owner)
            self.begin()

    def erasing(self, erasure: str) -> None:
        """Begin to write it, unless that was done; ``erasure`` as ``Named`` has it."""
        if self._begun is None:
            self._named = replace(self._named, erasure=erasure)
            self.begin()

    def begin(self) -> None:
        """Begin to write it, unless that was done."""
        if self._begun is None:
            self._begun = self._threads.submit(self._record, self._named, self._permitted)

    def refuse(self) -> None:
        """See to it that an entry says refused."""
        if self._begun is not None and self.stand().event.verdict is Verdict.ALLOWED:
            self._begun = None
        self._permitted = False

    def stand(self) -> AuditEntry:
        """The entry, once it is written. Raises Unavailable."""
        self.begin()
        assert self._begun is not None  # it is begun now, if it was not before
        try:
            return self._begun.result()
        except (Throttled, Unavailable) as error:
            raise Unavailable("the audit trail cannot be written now, and nothing is answered without it") from error


def _tell_again(answer: HttpResponse, entry: _Entry) -> None:
    """A repetition by an idempotency key runs nothing that tells: its answer names the erasure of the first request."""
    erasure = answer["headers"].get("location", "").rpartition("/")[2]
    if ids.is_id(erasure, ids.ERASURE):
        entry.erasing(erasure)


def hides_whose(route: Route) -> bool:
    """Whether a request names one thing, and cannot name the user that it is of: only the store knows."""
    given = [model.model_fields for model in (route.body, route.query) if model is not None]
    return "{" in route.path and not any("user_id" in names for names in (route.path, *given))


def named_in(call: Call) -> Named:
    """What the request names, in its path, its body or its query."""
    given = call.body if call.body is not None else call.query
    scope = getattr(given, "scope", None)
    ours = (call.path.get("id"), getattr(given, "receipt_id", None))
    memory_ids = getattr(scope, "memory_ids", None) or ()
    session_ids = (call.path.get("session_id"), getattr(given, "session_id", None), getattr(scope, "session_id", None))
    return Named(
        user_id=call.user_id,
        owner=EVERY_USER if getattr(scope, "tenant", None) else None,
        ids=tuple(each for each in ours if each and any(ids.is_id(each, prefix) for prefix in _OURS))
        + tuple(memory_ids),
        session_id=next((each for each in session_ids if isinstance(each, str)), None),
        entity_key=call.path.get("key"),
        hold=call.path.get("name"),
    )
