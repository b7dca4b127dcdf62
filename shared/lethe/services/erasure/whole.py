"""Deleting whole subjects: one, or all of a tenant, epoch by epoch and store by store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from lethe.domain.erasure import Erasure, StepName, WholeTenant
from lethe.domain.head import SubjectHead, SubjectState
from lethe.domain.holds import Hold
from lethe.domain.identity import Space
from lethe.domain.immutable import immutable
from lethe.ports import AccessStore, Holds, IndexWriter, Ledger, Purge, Purged, SubjectHeads, Subjects, TimeLeft
from lethe.services.erasure.stretch import Counted, Deleted
from lethe.services.spaces import ended_spaces

TO_GO_ON: Final = 8.0
"""Seconds that must be left for one more subject."""
_PAGE: Final = 100
_OF_COPIES: Final = (StepName.INDEX, StepName.DERIVED)
"""Steps that delete copies alone, which no hold keeps."""


@immutable
class _Part:
    """One subject of an erasure: its name and the last epoch that goes, whether that is still to be fenced, and where
    the next call goes on behind it, None at the end.
    """

    subject: str
    epochs: int
    fences: bool
    after: str | None
    head: SubjectHead | None


Delete = Callable[[Space, Sequence[Hold], TimeLeft], Purged]


class WholeDeletion:
    """The deleting steps of an erasure of whole subjects. ``writer`` is None where no index is kept."""

    def __init__(
        self,
        ledger: Ledger,
        heads: SubjectHeads,
        subjects: Subjects,
        access: AccessStore,
        purge: Purge,
        writer: IndexWriter | None,
        holds: Holds,
    ) -> None:
        self._ledger = ledger
        self._heads = heads
        self._subjects = subjects
        self._access = access
        self._purge = purge
        self._writer = writer
        self._holds = holds
        self._steps: Mapping[StepName, tuple[Delete, ...]] = {
            StepName.INDEX: (self._index,),
            StepName.DERIVED: (self._answers,),
            StepName.MEMORIES: (purge.memories,),
            StepName.ENTITIES: (purge.entities,),
            StepName.SESSIONS: (purge.sessions,),
            StepName.ARCHIVE: (),
            StepName.SWEEP: (self._answers, purge.memories, purge.entities, purge.sessions, self._index),
        }

    def fence(self, erasure: Erasure, cursor: str | None, time_left: TimeLeft) -> Counted:
        """Fence every subject, and count what there is behind the fence."""
        found = dict.fromkeys((StepName.DERIVED, StepName.MEMORIES, StepName.ENTITIES, StepName.SESSIONS), 0)
        if isinstance(erasure.scope, WholeTenant) and erasure.unreadable_since is None:
            self._access.fence_tenant(erasure.tenant, erasure.id)
        for part in self._parts(erasure, cursor):
            self._fence(erasure, part)
            for space in ended_spaces(erasure.tenant, part.subject, part.epochs):
                stock = self._purge.count(space)
                found[StepName.DERIVED] += stock.answers
                found[StepName.MEMORIES] += stock.memories
                found[StepName.ENTITIES] += stock.entities
                found[StepName.SESSIONS] += stock.sessions
            if part.after is not None and time_left() < TO_GO_ON:
                return Counted(False, tuple(found.items()), part.after)
        return Counted(True, tuple(found.items()))

    def delete(self, erasure: Erasure, step: StepName, cursor: str | None, time_left: TimeLeft) -> Deleted:
        """A stretch of a deleting step; what holds keep stays where it is, in an epoch that nobody reads."""
        deleted, kept = 0, set[str]()
        for part in self._parts(erasure, cursor):
            if isinstance(erasure.scope, WholeTenant):
                self._fence(erasure, part)  # a first writer may have come between the tenant's fence and now
            holds = () if step in _OF_COPIES else self._holds.of_subject(erasure.tenant, part.subject)
            for space in ended_spaces(erasure.tenant, part.subject, part.epochs):
                for delete in self._steps[step]:
                    purged = delete(space, holds, time_left)
                    deleted += purged.deleted
                    kept |= purged.holds
                    if not purged.done:
                        return Deleted(False, deleted, tuple(sorted(kept)), cursor)
            cursor = part.after
            if cursor is not None and time_left() < TO_GO_ON:
                return Deleted(False, deleted, tuple(sorted(kept)), cursor)
        return Deleted(True, deleted, tuple(sorted(kept)))

    def end(self, erasure: Erasure, until: datetime) -> None:
        """Let every subject that it fenced be erased up to ``until``. What has ended already is passed over, so that a
        call that was cut short goes on where it was.
        """
        for part in self._parts(erasure, None):
            if part.head is None or (part.head.state is SubjectState.ERASING and part.head.erasure == erasure.id):
                self._heads.end_erasure(erasure.tenant, part.subject, erasure.id, until)

    def _fence(self, erasure: Erasure, part: _Part) -> None:
        """The note for a replay first, so that no fence is without one; it tells of a tenant's erasure what the row of
        a subject's tells by itself.
        """
        if not part.fences:
            return
        if isinstance(erasure.scope, WholeTenant):
            self._ledger.note_ended(erasure.tenant, erasure.id, part.subject, part.epochs)
        self._heads.fence(erasure.tenant, part.subject, erasure.id, part.epochs)

    def _parts(self, erasure: Erasure, cursor: str | None) -> Iterator[_Part]:
        if erasure.subject is not None:
            yield _Part(erasure.subject, erasure.epochs, True, None, None)
            return
        fencing = self._fences_tenant(erasure)
        begin, done = json.loads(cursor) if cursor is not None else (None, None)
        while True:
            page = self._subjects.of_tenant(erasure.tenant, _PAGE, begin)
            names = [head.subject for head in page.items]
            heads = page.items[names.index(done) + 1 if done in names else 0 :]
            for head in heads:
                fences = fencing and head.state is SubjectState.ACTIVE
                behind = (page.next_key, None) if head is heads[-1] else (begin, head.subject)
                after = None if behind == (None, None) else json.dumps(behind)
                yield _Part(head.subject, head.epoch if fences else head.epoch - 1, fences, after, head)
            if page.next_key is None:
                return
            begin, done = page.next_key, None

    def _fences_tenant(self, erasure: Erasure) -> bool:
        """Whether the erasure still fences its tenant: once that is admitted again, a repetition is about ended epochs
        alone.
        """
        tenant = self._access.tenant(erasure.tenant)
        return tenant is not None and tenant.fenced == erasure.id

    def _index(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        """Entries go whether held or not: they are copies, and their rows stay."""
        return Purged(0 if self._writer is None else self._writer.clear(space), done=True)

    def _answers(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        return self._purge.answers(space, time_left)
