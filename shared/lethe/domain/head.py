"""The subject head: the one record that says which epoch of a subject's memory is readable."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from lethe.domain.identity import Space
from lethe.domain.immutable import immutable

FIRST_EPOCH: Final = 1
"""Of a subject that no erasure has ended an epoch of, whether it was written to or not."""


class SubjectState(StrEnum):
    """Where a subject stands."""

    ACTIVE = "active"
    ERASING = "erasing"
    ERASED = "erased"


@immutable
class SubjectHead:
    """Epoch, state and revision of one subject.

    ``epoch`` is part of every key of the subject's data and is raised by erasure before anything is deleted.
    ``revision`` grows with every acknowledged change of long-term memory; a container's cached view is valid only
    at the revision at which it was loaded. ``rewritten`` is the revision of the newest change to long-term memory
    that was more than an addition: since a later revision, memories were only added. ``written`` marks the newest
    write of memories: the memories written last carry the same mark, so that an index that has come as far as that
    mark shows everything. None when nothing was written, or when no single write was the last.

    ``erasure`` is the erasure that fenced the subject, while it is not active; ``erased_until`` the moment up to which
    an erased one stays so unless it is admitted.
    """

    tenant: str
    subject: str
    epoch: int
    state: SubjectState
    revision: int
    rewritten: int = 0
    written: str | None = None
    erasure: str | None = None
    erased_until: datetime | None = None

    def reads(self, space: Space) -> bool:
        """Whether ``space`` is the one that is read: not fenced by an erasure, nor of an epoch before one."""
        return self.epoch == space.epoch and self.state is SubjectState.ACTIVE

    def stands_after(self, epoch: int, state: SubjectState) -> bool:
        """Whether a replay leaves the head as it is, which by the ledger came to ``state`` at ``epoch``: it is further,
        or there already. Active at that epoch it was admitted, or free long enough: nothing else makes it so.
        """
        return self.epoch > epoch or (self.epoch == epoch and self.state in (state, SubjectState.ACTIVE))

    def is_free(self, now: datetime) -> bool:
        """Whether it was erased so long ago that it may be written to again without being admitted."""
        return self.state is SubjectState.ERASED and self.erased_until is not None and self.erased_until <= now
