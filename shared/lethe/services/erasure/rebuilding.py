"""Memories that lose their context: what repeats an erased message is taken off, and the rest embedded anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lethe.domain.identity import Space
from lethe.ports import Memories
from lethe.services.embedding import MemoryEmbedder


class Rebuilding:
    """Writes every version of a memory anew without its context, and with the vector of what is left."""

    def __init__(self, memories: Memories, embedder: MemoryEmbedder) -> None:
        self._memories = memories
        self._embedder = embedder

    def without_context(self, space: Space, memory_ids: Sequence[str]) -> int:
        """How many memories were rebuilt. Raises Unavailable when the model does not answer: then none was."""
        versions = [version for memory_id in memory_ids for version in self._memories.history(space, memory_id)]
        bare = [
            replace(version, context=None, context_from=(), embedding=None, second_embedding=None)
            for version in versions
            if version.context_from
        ]
        if not bare:
            return 0
        self._memories.rewrite(space, self._embedder.embedded(bare))
        return len({memory.id for memory in bare})
