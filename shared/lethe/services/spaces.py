"""Opening a subject's space: the one place where isolation and erasure are decided."""

from __future__ import annotations

from collections.abc import Callable

from lethe.domain.head import FIRST_EPOCH, SubjectHead, SubjectState
from lethe.domain.identity import EVERY_USER, Caller, Space, subject_of
from lethe.errors import Forbidden, InvalidInput, NotAdmitted, NotFound
from lethe.ports import Clock, SubjectHeads

_GOVERNANCE = "@governance"
"""No subject has this name: they are hexadecimal."""


class Spaces:
    """Makes Spaces from a Caller and a user id; nothing else in the code makes one."""

    def __init__(self, heads: SubjectHeads, master_key: bytes, clock: Clock) -> None:
        self._heads = heads
        self._master_key = master_key
        self._clock = clock

    def for_reading(self, caller: Caller, user_id: str | None) -> Space:
        """The space to read from; an unknown subject has an empty one.

        Raises Forbidden when the key does not cover the user, NotFound from the moment its erasure began until it is
        admitted again, or was erased for so long that it need not be.
        """
        subject = self.subject(caller, user_id)
        head = self._heads.read(caller.tenant, subject)
        if head is None:
            return Space(caller.tenant, subject, FIRST_EPOCH, 0)
        if head.state is not SubjectState.ACTIVE and not head.is_free(self._clock.now()):
            raise NotFound
        return _space(head)

    def for_writing(self, caller: Caller, user_id: str | None) -> Space:
        """The space to write to; the first write of a subject creates its head.

        Raises Forbidden when the key does not cover the user, Erased from the moment its erasure began.
        """
        return self.writing(caller, user_id)()

    def writing(self, caller: Caller, user_id: str | None) -> Callable[[], Space]:
        """``for_writing`` in two steps: whom the caller may write for is checked now, the head is read when what is
        returned is called; so the caller's statements can be embedded meanwhile.

        Raises Forbidden; what is returned raises Erased.
        """
        subject = self.subject(caller, user_id)

        def open_space() -> Space:
            head = self._heads.read(caller.tenant, subject) or self._heads.create(caller.tenant, subject)
            now = self._clock.now()
            if head.is_free(now):
                # Only while it is free: an erasure may have begun since the head was read, and nobody admits that one.
                head = self._heads.admit(caller.tenant, subject, now) or head
            return _writable(head)

        return open_space

    def for_changing(self, caller: Caller, user_id: str | None) -> Space:
        """The space to change or delete what is there; a subject that was never written to leaves no head behind.

        Raises Forbidden when the key does not cover the user, Erased from the moment its erasure began.
        """
        subject = self.subject(caller, user_id)
        head = self._heads.read(caller.tenant, subject)
        if head is None:
            return Space(caller.tenant, subject, FIRST_EPOCH, 0)
        return _space(head) if head.is_free(self._clock.now()) else _writable(head)

    def beside(self, caller: Caller, user_id: str | None) -> Space:
        """Where answers of governance are kept: they speak about subjects and hold none of their content, so they
        outlast them. Raises Forbidden when the key does not cover the user, if one is named.
        """
        if user_id is not None:
            self.subject(caller, user_id)
        return Space(caller.tenant, _GOVERNANCE, FIRST_EPOCH)

    def head(self, caller: Caller, user_id: str | None) -> SubjectHead | None:
        """The subject's head, or None when it was never written to. Raises Forbidden."""
        return self._heads.read(caller.tenant, self.subject(caller, user_id))

    def subject(self, caller: Caller, user_id: str | None) -> str:
        """The subject of a user that the caller may act for, whatever became of it. Raises Forbidden, InvalidInput."""
        if user_id is None:
            if len(caller.subjects) == 1 and caller.subjects[0] != EVERY_USER:
                return caller.subjects[0]
            raise InvalidInput.of("user_id", "required, unless the key is for exactly one user")
        try:
            subject = subject_of(caller.tenant, user_id, self._master_key)
        except ValueError as error:
            raise InvalidInput.of("user_id", str(error)) from None
        if not caller.covers(subject):
            raise Forbidden("this key does not cover that user")
        return subject


def _writable(head: SubjectHead) -> Space:
    if head.state is not SubjectState.ACTIVE:
        raise NotAdmitted
    return _space(head)


def _space(head: SubjectHead) -> Space:
    return Space(head.tenant, head.subject, head.epoch, head.revision, head.rewritten, head.written)


def readable_space(head: SubjectHead) -> Space:
    """The space of an active subject, for what runs without a caller. Raises Erased when it is not active."""
    return _writable(head)


def ended_spaces(tenant: str, subject: str, last_epoch: int) -> tuple[Space, ...]:
    """The spaces of all epochs up to ``last_epoch``, which a fence has ended: for deleting them, and nothing else."""
    return tuple(Space(tenant, subject, epoch) for epoch in range(FIRST_EPOCH, last_epoch + 1))
