"""Doing all erasures again after tables were restored from a backup, which knows nothing of them.

The ledger is not restored with the data: it knows what was erased since. First every fence is put back, so that nothing
erased can be read; then every erasure is opened again, and the machine deletes what the backup brought back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lethe.domain.erasure import ABSENT_FOR, Erasure, WholeSubject, WholeTenant, restarted
from lethe.domain.immutable import immutable
from lethe.errors import NotFound, VersionConflict
from lethe.ports import AccessStore, Clock, Ledger, SubjectHeads

_PAGE: Final = 500
BEFORE: Final = timedelta(hours=1)
"""An erasure that ended less than this before the moment of the backup is done again, too: clocks differ."""


@immutable
class Replayed:
    """How many erasures were looked at, subjects fenced, tenants fenced, and erasures opened again."""

    erasures: int = 0
    subjects: int = 0
    tenants: int = 0
    opened: int = 0


@immutable
class _Fence:
    """The last epoch of a subject that was erased, by which erasure, and until when it stays so."""

    epochs: int
    erasure_id: str
    until: datetime


Watcher = Callable[[Replayed], None]
"""Is told the counts so far."""


class Replay:
    """Replays the ledger over restored tables. Again changes nothing but that what has ended meanwhile runs again."""

    def __init__(self, ledger: Ledger, heads: SubjectHeads, access: AccessStore, clock: Clock) -> None:
        self._ledger = ledger
        self._heads = heads
        self._access = access
        self._clock = clock

    def run(self, watcher: Watcher, backup_of: datetime | None = None) -> Replayed:
        """Fence, then open again. With ``backup_of``, the moment that the tables were restored to, what had ended well
        before it is left alone: the backup is from after it. Raises what the ports raise.
        """
        done = self._fence(watcher, backup_of)
        for erasure in self._all(backup_of):
            if self._open(erasure):
                done = replace(done, opened=done.opened + 1)
                watcher(done)
        return done

    def _all(self, backup_of: datetime | None) -> Iterator[Erasure]:
        start = None
        while True:
            page = self._ledger.everything(_PAGE, start)
            for erasure in page.items:
                if backup_of is None or erasure.ended_at is None or erasure.ended_at >= backup_of - BEFORE:
                    yield erasure
            start = page.next_key
            if start is None:
                return

    def _fence(self, watcher: Watcher, backup_of: datetime | None) -> Replayed:
        """The last fence of every subject, and only that: one between would show what a later one ended."""
        done = Replayed()
        last: dict[tuple[str, str], _Fence] = {}
        for erasure in self._all(backup_of):
            done = replace(done, erasures=done.erasures + 1)
            if isinstance(erasure.scope, WholeTenant) and self._fences_tenant(erasure):
                done = replace(done, tenants=done.tenants + 1)
            until = (erasure.ended_at or self._clock.now()) + ABSENT_FOR
            for subject, epochs in self._ended(erasure):
                place = erasure.tenant, subject
                if place not in last or last[place].epochs < epochs:
                    last[place] = _Fence(epochs, erasure.id, until)
        for (tenant, subject), fence in last.items():
            admitted = self._ledger.admitted(tenant, subject) > fence.epochs
            until_then = None if admitted else fence.until
            self._heads.restore(tenant, subject, fence.epochs + 1, fence.erasure_id, until_then)
            done = replace(done, subjects=done.subjects + 1)
            watcher(done)
        return done

    def _ended(self, erasure: Erasure) -> Iterator[tuple[str, int]]:
        """The subjects that it fenced, and the last epoch that it ended of each; none for parts."""
        if isinstance(erasure.scope, WholeSubject) and erasure.subject is not None:
            yield erasure.subject, erasure.epochs
        elif isinstance(erasure.scope, WholeTenant):
            yield from self._ledger.ended(erasure.tenant, erasure.id)

    def _fences_tenant(self, erasure: Erasure) -> bool:
        """Put the fence of a tenant back that nobody has admitted since; whether it stands."""
        if self._ledger.admitted(erasure.tenant, erasure.id):
            return False
        try:
            return self._access.fence_tenant(erasure.tenant, erasure.id) == erasure.id
        except NotFound:
            return False  # the tenant was made after the backup of the access table: it has no key either

    def _open(self, erasure: Erasure) -> bool:
        """Whether it was opened again; one that is open runs anyhow."""
        now = self._clock.now()
        if not erasure.state.is_end:
            return False
        anew = replace(restarted(erasure, now), unreadable_since=now if erasure.is_whole else None)
        try:
            self._ledger.reopen(anew)
        except VersionConflict:
            return False  # somebody has just started it
        return True
