"""Subject heads in memory; the other fakes raise revisions through it, under its lock."""

from __future__ import annotations

import threading
from dataclasses import replace

from lethe.domain.head import SubjectHead, SubjectState
from lethe.domain.identity import Space
from lethe.errors import Erased


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

    def check(self, space: Space) -> SubjectHead:
        """The head, when it still stands for ``space``. Raises Erased."""
        head = self._heads.get((space.tenant, space.subject))
        if head is None or not head.reads(space):
            raise Erased
        return head

    def put(self, head: SubjectHead) -> None:
        """What erasure does, for tests."""
        with self.lock:
            self._heads[head.tenant, head.subject] = head
