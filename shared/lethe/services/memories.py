"""Reading, correcting and deleting single memories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lethe.domain.identity import Space
from lethe.domain.memory import Embedding, Memory, MemoryFilter, changed_hash
from lethe.domain.relevance.documents import embedding_text
from lethe.domain.text import language
from lethe.errors import NotFound, VersionConflict
from lethe.ports import Clock, Embedder, IdempotencyRecords, Memories, Page

_SCAN_PAGE = 200


class MemoryDesk:
    """What a person or an agent does with single memories."""

    def __init__(self, memories: Memories, answers: IdempotencyRecords, embedder: Embedder, clock: Clock) -> None:
        self._memories = memories
        self._answers = answers
        self._embedder = embedder
        self._clock = clock

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
        """Apply ``change`` to the version that the caller saw; a changed text is embedded anew.

        The new version takes over now: an ``as_of`` before this moment still answers with the old one.
        Raises NotFound, VersionConflict, Conflict (another memory already says this).
        """
        seen = self.get(space, memory_id)
        if seen.version != version:
            raise VersionConflict(seen.version)
        changed = change(seen)
        now = self._clock.now()
        changed = replace(changed, content_hash=changed_hash(seen, changed))
        if changed.text != seen.text:
            changed = self._with_text(changed)
        return self._memories.update(space, seen, replace(changed, version=seen.version + 1, updated_at=now))

    def _with_text(self, changed: Memory) -> Memory:
        text = embedding_text(changed.speaker or "", changed.occurred_at, changed.text, changed.context or "")
        vector = self._embedder.embed([text], "memory")[0]
        return replace(
            changed,
            language=language(changed.text),
            embedding=Embedding(self._embedder.model.label, vector),
        )

    def delete(self, space: Space, memory_id: str, version: int | None = None) -> None:
        """Delete the memory with its history and stored answers that show it; again is no error.

        With ``version`` only if that is the newest one. Raises VersionConflict.
        """
        self._memories.delete(space, [memory_id], version)
        self._answers.forget(space, {memory_id})
