"""The one way in: every deletion of memories, sessions, subjects and tenants begins here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from lethe.domain import ids
from lethe.domain.erasure import (
    DELETING,
    Erasure,
    ErasureState,
    MemoriesWithin,
    OneSession,
    Scope,
    StepName,
    StepState,
    TheseMemories,
    WholeSubject,
    WholeTenant,
    all_steps,
)
from lethe.domain.head import FIRST_EPOCH, SubjectHead, SubjectState
from lethe.domain.identity import EVERY_USER, Caller, hidden, session_of
from lethe.domain.immutable import immutable
from lethe.errors import Forbidden, Held, InvalidInput, NotFound, Throttled, Unavailable, VersionConflict
from lethe.ports import (
    About,
    AccessStore,
    Clock,
    Executions,
    Ids,
    Ledger,
    Page,
    SubjectHeads,
    TellErasure,
    TimeLeft,
    untold,
)
from lethe.services.erasure.partial import PartialDeletion
from lethe.services.erasure.starting import start_again
from lethe.services.erasure.stretch import Counted
from lethe.services.pages import accepted_pages
from lethe.services.spaces import Spaces


@immutable
class NamedSession:
    """A session by the id that its client chose, which goes no further than this module."""

    session_id: str


Wanted: TypeAlias = "WholeTenant | WholeSubject | NamedSession | TheseMemories | MemoriesWithin"
"""What a caller asks to erase."""


class ErasureRequests:
    """Begins erasures, and answers what became of them."""

    def __init__(
        self,
        spaces: Spaces,
        heads: SubjectHeads,
        ledger: Ledger,
        access: AccessStore,
        partial: PartialDeletion,
        executions: Executions,
        clock: Clock,
        new_ids: Ids,
        master_key: bytes,
    ) -> None:
        self._spaces = spaces
        self._heads = heads
        self._ledger = ledger
        self._access = access
        self._partial = partial
        self._executions = executions
        self._clock = clock
        self._ids = new_ids
        self._master_key = master_key

    def delete(
        self,
        caller: Caller,
        user_id: str | None,
        wanted: NamedSession | TheseMemories,
        version: int | None,
        time_left: TimeLeft,
        tell: TellErasure = untold,
    ) -> Erasure | None:
        """Delete a memory or a session now; None when there was nothing. ``tell`` hears of an erasure.

        With ``version`` only if the memory's newest one is that. Raises Forbidden, Erased, VersionConflict, and
        Held when a hold keeps it.
        """
        space = self._spaces.for_changing(caller, user_id)
        new = self._of_part(caller, space.subject, space.epoch, wanted, None)
        counted = self._partial.count(new)
        if counted.held:
            raise Held("; POST /v1/erasures erases what no hold keeps")
        if not any(found for _, found in counted.found):
            return None
        if version is not None:
            self._partial.demand(new, version)
        return self._erase_part(new, counted, time_left, tell)

    def begin(
        self,
        caller: Caller,
        user_id: str | None,
        wanted: Wanted,
        reason: str | None,
        time_left: TimeLeft,
        tell: TellErasure = untold,
    ) -> Erasure:
        """Begin to erase; when this returns, what is wanted can be read no more (of a part that is too large for one
        request: soon). The erasure that runs already, when the subject is being erased. ``tell`` hears which it is, and
        before this raises, which one may run all the same.

        Raises Forbidden when the key does not cover the user, or for a whole tenant every user; InvalidInput when a
        user is named for a whole tenant.
        """
        if isinstance(wanted, WholeTenant):
            return self._tenant(caller, user_id, reason, tell)
        subject = self._spaces.subject(caller, user_id)
        head = self._heads.read(caller.tenant, subject)
        if head is not None and head.state is SubjectState.ERASING and head.erasure is not None:
            running = self._ledger.read(caller.tenant, head.erasure)
            if running is not None:
                tell(running.id)
                return self._pushed(running)
        epoch = FIRST_EPOCH if head is None else head.epoch
        if isinstance(wanted, WholeSubject):
            known = head is not None and head.state is SubjectState.ACTIVE
            return self._subject(caller, subject, epoch, known, reason, tell)
        new = self._of_part(caller, subject, epoch, wanted, reason)
        return self._erase_part(new, self._partial.count(new), time_left, tell)

    def _tenant(self, caller: Caller, user_id: str | None, reason: str | None, tell: TellErasure) -> Erasure:
        if EVERY_USER not in caller.subjects:
            raise Forbidden("scope: a whole tenant is for keys that cover every user")
        if user_id is not None:
            raise InvalidInput.of("user_id", "leave it out: the scope is a whole tenant, which is every user")
        new = self._new(caller, None, WholeTenant(), reason)
        return self._whole(caller, new, lambda: self._access.fence_tenant(caller.tenant, new.id), tell)

    def _pushed(self, running: Erasure) -> Erasure:
        """An erasure that is asked for again while it runs; one that failed does not rest any longer."""
        if running.state is not ErasureState.FAILED:
            return running
        try:
            return start_again(running, self._ledger, self._executions, self._clock)
        except VersionConflict:
            return running  # the tick was faster
        except (Unavailable, Throttled):
            return self._ledger.read(running.tenant, running.id) or running  # the next tick starts it

    def _subject(
        self, caller: Caller, subject: str, epoch: int, known: bool, reason: str | None, tell: TellErasure
    ) -> Erasure:
        new = replace(self._new(caller, subject, WholeSubject(), reason), epochs=epoch, known=known)

        def fence() -> str:
            return self._heads.fence(caller.tenant, subject, new.id, epoch).erasure or new.id

        return self._whole(caller, new, fence, tell)

    def _whole(self, caller: Caller, new: Erasure, fence: Callable[[], str], tell: TellErasure) -> Erasure:
        """The ledger first, so that whatever happens next is known; then the fence; then the machine. ``fence`` answers
        whose fence stands: another erasure may have come first.
        """
        standing = new.id
        try:
            begun = self._ledger.begin(new)
            standing = fence()
        finally:
            tell(standing)
        if standing != new.id:
            self._ledger.withdraw(begun)
            return self._pushed(self.read(caller, standing))
        return self._start(_fenced(begun, self._clock.now()))

    def _of_part(
        self,
        caller: Caller,
        subject: str,
        epoch: int,
        wanted: NamedSession | TheseMemories | MemoriesWithin,
        reason: str | None,
    ) -> Erasure:
        scope = self._hidden(caller.tenant, subject, wanted)
        return replace(self._new(caller, subject, scope, reason), epoch=epoch)

    def _erase_part(self, new: Erasure, counted: Counted, time_left: TimeLeft, tell: TellErasure) -> Erasure:
        """The deleting steps, as far as there is time within the request, then the machine, which repeats them.

        What was found stands in the ledger before anything goes: so a request that dies has still counted right.
        """
        new = new.with_step(replace(new.step(StepName.FENCE), state=StepState.RUNNING))
        for name, found in counted.found:
            new = new.with_step(replace(new.step(name), found=found))
        tell(new.id)
        begun = self._ledger.begin(new.owing(counted.owed))
        done = True
        for name in DELETING:
            try:
                stretch = self._partial.delete(begun, name, None, time_left)
            except (Unavailable, Throttled):
                if name is not StepName.INDEX:
                    raise
                continue  # entries show nothing whose row is gone; the stream and the machine take them out
            step = begun.step(name)
            begun = begun.with_step(replace(step, state=StepState.RUNNING, deleted=step.deleted + stretch.deleted))
            begun = replace(begun, holds=tuple(sorted({*begun.holds, *stretch.holds}))).owing(stretch.owed)
            if not stretch.done:
                done = False
                break
        return self._start(replace(begun, unreadable_since=self._clock.now() if done else None))

    def _new(self, caller: Caller, subject: str | None, scope: Scope, reason: str | None) -> Erasure:
        return Erasure(
            id=self._ids.new(ids.ERASURE),
            tenant=caller.tenant,
            subject=subject,
            scope=scope,
            requested_at=self._clock.now(),
            actor=hidden("key", caller.tenant, caller.key_id, self._master_key),
            reason=None if reason is None else hidden("reason", caller.tenant, reason, self._master_key),
            steps=all_steps(),
            touched_at=self._clock.now(),
        )

    def _hidden(self, tenant: str, subject: str, wanted: NamedSession | TheseMemories | MemoriesWithin) -> Scope:
        if isinstance(wanted, NamedSession):
            return OneSession(session_of(tenant, subject, wanted.session_id, self._master_key))
        return wanted

    def _start(self, erasure: Erasure) -> Erasure:
        """Start the machine; where it cannot be reached now, the next tick starts it."""
        saved = self._ledger.save(replace(erasure, starts=erasure.starts + 1, touched_at=self._clock.now()))
        with suppress(Unavailable, Throttled):
            self._executions.start(saved.tenant, saved.id, saved.starts)
        return saved

    def read(self, caller: Caller, erasure_id: str, about: About = untold) -> Erasure:
        """One erasure of the caller's tenant, of a user that the key covers. Raises NotFound."""
        erasure = self._ledger.read(caller.tenant, erasure_id)
        if erasure is not None:
            about(erasure.subject or EVERY_USER)
        if erasure is None or not _covers(caller, erasure):
            raise NotFound
        return erasure

    def subject(self, caller: Caller, user_id: str | None) -> str | None:
        """The subject of a user that is named. Raises Forbidden when the key does not cover him."""
        return None if user_id is None else self._spaces.subject(caller, user_id)

    def list(self, caller: Caller, limit: int, start: str | None, subject: str | None = None) -> Page[Erasure]:
        """Erasures of the caller's tenant, newest first, of users that the key covers, or of one subject alone."""
        return accepted_pages(
            lambda most, after: self._ledger.page(caller.tenant, most, after),
            lambda erasure: _covers(caller, erasure) and subject in (None, erasure.subject),
            lambda erasure: erasure.id,
            limit,
            start,
        )

    def admit(self, caller: Caller, user_id: str | None) -> SubjectHead:
        """Let an erased subject be written to again; it starts empty. Raises NotFound for one that nobody knows."""
        subject = self._spaces.subject(caller, user_id)
        head = self._heads.admit(caller.tenant, subject)
        if head is None:
            raise NotFound
        if head.epoch > FIRST_EPOCH:
            self._ledger.admit(caller.tenant, subject, head.epoch, self._clock.now())
        return head


def _fenced(erasure: Erasure, now: datetime) -> Erasure:
    """With its fence raised; what there is behind it is still to be counted."""
    fence = replace(erasure.step(StepName.FENCE), state=StepState.RUNNING)
    return replace(erasure.with_step(fence), unreadable_since=now)


def _covers(caller: Caller, erasure: Erasure) -> bool:
    if erasure.subject is None:
        return EVERY_USER in caller.subjects
    return caller.covers(erasure.subject)
