"""Subject heads in memory; the other fakes raise revisions through it, under its lock."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime

from lethe.domain.head import SubjectHead, SubjectState
from lethe.domain.identity import Space
from lethe.errors import Conflict, Erased


class FakeSubjectHeads:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._heads: dict[tuple[str, str], SubjectHead] = {}

    def read(self, tenant: str, subject: str) -> SubjectHead | None:
        return self._heads.get((tenant, subject))

    def create(self, tenant: str, subject: str) -> SubjectHead:
        with self.lock:
            fresh = SubjectHead(tenant, subject, 1, SubjectState.ACTIVE, 0)
            return self._heads.setdefault((tenant, subject), fresh)

    def raise_revision(
        self, space: Space, rewrites: bool = False, unmarks: bool = False, written: str | None = None
    ) -> int:
        with self.lock:
            head = self.check(space)
            revision = head.revision + 1
            rewritten = revision if rewrites else head.rewritten
            mark = None if unmarks else written or head.written
            self.put(replace(head, revision=revision, rewritten=rewritten, written=mark))
            return revision

    def fence(self, tenant: str, subject: str, erasure_id: str, epoch: int) -> SubjectHead:
        with self.lock:
            head = self._heads.get((tenant, subject))
            if head is not None and head.epoch != epoch:
                if head.epoch < epoch:
                    raise Conflict
                return head
            head = head or SubjectHead(tenant, subject, epoch, SubjectState.ACTIVE, 0)
            erasing = replace(
                head,
                epoch=epoch + 1,
                state=SubjectState.ERASING,
                erasure=erasure_id,
                erased_until=None,
                written=None,
            )
            self.put(erasing)
            return erasing

    def end_erasure(self, tenant: str, subject: str, erasure_id: str, until: datetime) -> None:
        with self.lock:
            head = self._heads.get((tenant, subject))
            if head is not None and head.erasure == erasure_id and head.state is SubjectState.ERASING:
                self.put(replace(head, state=SubjectState.ERASED, erased_until=until))

    def admit(self, tenant: str, subject: str, free_at: datetime | None = None) -> SubjectHead | None:
        with self.lock:
            head = self._heads.get((tenant, subject))
            if head is not None and free_at is not None and not head.is_free(free_at):
                return head
            if head is not None and head.state is not SubjectState.ACTIVE:
                active = SubjectState.ACTIVE
                self.put(replace(head, state=active, erasure=None, erased_until=None, revision=head.revision + 1))
            return self._heads.get((tenant, subject))

    def restore(self, tenant: str, subject: str, epoch: int, erasure_id: str, until: datetime | None) -> SubjectHead:
        state = SubjectState.ACTIVE if until is None else SubjectState.ERASED
        with self.lock:
            head = self._heads.get((tenant, subject))
            if head is not None and head.stands_after(epoch, state):
                return head
            revision = 0 if head is None else head.revision + 1
            erasure = None if until is None else erasure_id
            head = SubjectHead(tenant, subject, epoch, state, revision, revision, None, erasure, until)
            self.put(head)
            return head

    def check(self, space: Space) -> SubjectHead:
        """The head, when it still stands for ``space``. Raises Erased."""
        head = self._heads.get((space.tenant, space.subject))
        if head is None or not head.reads(space):
            raise Erased
        return head

    def everybody(self) -> tuple[SubjectHead, ...]:
        """All heads."""
        return tuple(self._heads.values())

    def put(self, head: SubjectHead) -> None:
        """What erasure does, for tests."""
        with self.lock:
            self._heads[head.tenant, head.subject] = head
