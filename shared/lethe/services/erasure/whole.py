"""Deleting whole subjects: one, or all of a tenant, epoch by epoch and store by store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from lethe.domain.erasure import Erasure, StepName, WholeTenant
from lethe.domain.head import SubjectHead, SubjectState
from lethe.domain.holds import Hold
from lethe.domain.identity import Space
from lethe.domain.immutable import immutable
from lethe.ports import AccessStore, Holds, IndexWriter, Purge, Purged, SubjectHeads, Subjects, TimeLeft
from lethe.services.erasure.stretch import Counted, Deleted
from lethe.services.spaces import ended_spaces

TO_GO_ON: Final = 8.0
"""Seconds that must be left for one more subject."""
_PAGE: Final = 100


@immutable
class _Part:
    """One subject of an erasure: its name and the last epoch that goes, and where the next call goes on after it."""

    subject: str
    epochs: int
    after: str | None


Delete = Callable[[Space, Sequence[Hold], TimeLeft], Purged]


class WholeDeletion:
    """The deleting steps of an erasure of whole subjects. ``writer`` is None where no index is kept."""

    def __init__(
        self,
        heads: SubjectHeads,
        subjects: Subjects,
        access: AccessStore,
        purge: Purge,
        writer: IndexWriter | None,
        holds: Holds,
    ) -> None:
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
        if isinstance(erasure.scope, WholeTenant):
            self._access.fence_tenant(erasure.tenant, erasure.id)
        for part in self._parts(erasure, cursor, fencing=True):
            self._heads.fence(erasure.tenant, part.subject, erasure.id, part.epochs)
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
        for part in self._parts(erasure, cursor, fencing=step is StepName.SWEEP):
            if step is StepName.SWEEP:  # a first writer of a tenant may have come between its fence and now
                self._heads.fence(erasure.tenant, part.subject, erasure.id, part.epochs)
            holds = self._holds.of_subject(erasure.tenant, part.subject)
            for space in ended_spaces(erasure.tenant, part.subject, part.epochs):
                for delete in self._steps[step]:
                    purged = delete(space, holds, time_left)
                    deleted += purged.deleted
                    if purged.held:
                        kept |= {hold.name for hold in holds}
                    if not purged.done:
                        return Deleted(False, deleted, tuple(sorted(kept)), cursor)
            cursor = part.after
            if cursor is not None and time_left() < TO_GO_ON:
                return Deleted(False, deleted, tuple(sorted(kept)), cursor)
        if step is StepName.SWEEP and self._writer is not None:
            self._writer.refresh()
        return Deleted(True, deleted, tuple(sorted(kept)))

    def end(self, erasure: Erasure, until: datetime) -> None:
        """Let every subject be erased up to ``until``."""
        for part in self._parts(erasure, None, fencing=False):
            self._heads.end_erasure(erasure.tenant, part.subject, erasure.id, until)

    def _parts(self, erasure: Erasure, cursor: str | None, fencing: bool) -> Iterator[_Part]:
        if erasure.subject is not None:
            yield _Part(erasure.subject, erasure.epochs, None)
            return
        while True:
            page = self._subjects.of_tenant(erasure.tenant, _PAGE, cursor)
            cursor = page.next_key
            for number, head in enumerate(page.items):
                last = number == len(page.items) - 1
                yield _Part(head.subject, _last_epoch(head, fencing), cursor if last else None)
            if cursor is None:
                return

    def _index(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        """Entries go whether held or not: they are copies, and their rows stay."""
        return Purged(0 if self._writer is None else self._writer.clear(space), 0, done=True)

    def _answers(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        return self._purge.answers(space, time_left)


def _last_epoch(head: SubjectHead, fencing: bool) -> int:
    """The epoch that a fence ends, or the last one that a fence has ended."""
    return head.epoch if fencing and head.state is SubjectState.ACTIVE else head.epoch - 1
