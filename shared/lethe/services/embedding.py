"""The vectors that memories are stored with: of the model that recall asks, and of the one that will or did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lethe.domain.memory import Embedding, Memory
from lethe.domain.relevance.documents import embedding_text
from lethe.ports import Embedder


class MemoryEmbedder:
    """Gives memories a vector of each model that is to be kept: one, or two while a model takes another's place.

    With both on every memory it does not matter which of them a reader asks, so functions may change one by one.
    """

    def __init__(self, embedder: Embedder, second: Embedder | None = None) -> None:
        self._embedder = embedder
        self._second = second if second is not None and second.model.label != embedder.model.label else None

    def embedded(self, memories: Sequence[Memory]) -> list[Memory]:
        """``memories`` with exactly these vectors; only what is missing is embedded, and a text that was changed must
        come without its old ones. Raises Unavailable or Throttled when a model does not answer.
        """
        first = _of(self._embedder, memories)
        second = _of(self._second, memories) if self._second is not None else [None] * len(memories)
        return [
            replace(memory, embedding=one, second_embedding=other)
            for memory, one, other in zip(memories, first, second, strict=True)
        ]

    def is_whole(self, memory: Memory) -> bool:
        """Whether ``memory`` has exactly these vectors, in their places."""
        second = self._second.model.label if self._second is not None else None
        return (_label(memory.embedding), _label(memory.second_embedding)) == (self._embedder.model.label, second)


def _of(embedder: Embedder, memories: Sequence[Memory]) -> list[Embedding]:
    """The embeddings of one model, in order."""
    label = embedder.model.label
    missing = [n for n, memory in enumerate(memories) if memory.embedding_of(label) is None]
    vectors = embedder.embed([_text(memories[n]) for n in missing], "memory") if missing else ()
    made = {n: Embedding(label, vector) for n, vector in zip(missing, vectors, strict=True)}
    return [memory.embedding_of(label) or made[n] for n, memory in enumerate(memories)]


def _text(memory: Memory) -> str:
    return embedding_text(memory.speaker or "", memory.occurred_at, memory.text, memory.context or "")


def _label(embedding: Embedding | None) -> str | None:
    return embedding.model if embedding is not None else None
