"""Reading and correcting single memories; deleting them is an erasure (``services.erasure``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lethe.domain.holds import HoldTarget, holding
from lethe.domain.identity import Space, session_of
from lethe.domain.memory import Memory, MemoryFilter, changed_hash
from lethe.domain.text import language
from lethe.errors import Held, NotFound, VersionConflict
from lethe.ports import Clock, Holds, Memories, Page
from lethe.services.embedding import MemoryEmbedder

_SCAN_PAGE = 200


class MemoryDesk:
    """What a person or an agent does with single memories."""

    def __init__(
        self, memories: Memories, embedder: MemoryEmbedder, holds: Holds, clock: Clock, master_key: bytes
    ) -> None:
        self._memories = memories
        self._embedder = embedder
        self._holds = holds
        self._clock = clock
        self._master_key = master_key

    def get(self, space: Space, memory_id: str) -> Memory:
        """The newest version. Raises NotFound."""
        memory = self._memories.get(space, memory_id)
        if memory is None:
            raise NotFound
        return memory

    def history(self, space: Space, memory_id: str) -> tuple[Memory, ...]:
        """All versions, oldest first. Raises NotFound."""
        versions = self._memories.history(space, memory_id)
        if not versions:
            raise NotFound
        return versions

    def list(self, space: Space, filters: MemoryFilter, limit: int, start: str | None) -> Page[Memory]:
        """Memories that ``filters`` accepts, newest first; reads on until the page is full or the list ends."""
        now = self._clock.now()
        found: list[Memory] = []
        while True:
            page = self._memories.page(space, min(max(limit - len(found), 1), _SCAN_PAGE), start)
            found += [memory for memory in page.items if filters.accepts(memory, now)]
            start = page.next_key
            if start is None or len(found) >= limit:
                return Page(tuple(found), start)

    def update(self, space: Space, memory_id: str, version: int, change: Callable[[Memory], Memory]) -> Memory:
        """Apply ``change`` to the version that the caller saw; a changed text is embedded anew, and so is one whose
        vectors are not those that are kept now.

        The new version takes over now: an ``as_of`` before this moment still answers with the old one.
        Raises NotFound, VersionConflict, Conflict (another memory already says this), Held (a legal hold covers it,
        and would no more).
        """
        seen = self.get(space, memory_id)
        if seen.version != version:
            raise VersionConflict(seen.version)
        changed = change(seen)
        if self._leaves_a_hold(space, seen, changed):
            raise Held("; as another kind it would not be held any more")
        now = self._clock.now()
        changed = replace(changed, content_hash=changed_hash(seen, changed))
        if changed.text != seen.text:
            changed = replace(changed, language=language(changed.text), embedding=None, second_embedding=None)
        if not self._embedder.is_whole(changed):
            (changed,) = self._embedder.embedded([changed])
        return self._memories.update(space, seen, replace(changed, version=seen.version + 1, updated_at=now))

    def _leaves_a_hold(self, space: Space, seen: Memory, changed: Memory) -> bool:
        """Whether a hold covers ``seen`` that does not cover ``changed``. Holds are asked for only where something
        changes that one can name.
        """
        before, after = (self._target(space, memory) for memory in (seen, changed))
        if before == after:
            return False
        holds = self._holds.of_subject(space.tenant, space.subject)
        return not holding(holds, before) <= holding(holds, after)

    def _target(self, space: Space, memory: Memory) -> HoldTarget:
        named = memory.source.session_id
        session = None if named is None else session_of(space.tenant, space.subject, named, self._master_key)
        return HoldTarget(memory.id, memory.kind, memory.created_at, session)
