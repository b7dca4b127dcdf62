"""Embedding and storing memories, in chunks: what there is no time for is left, and what was done before is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from math import inf
from typing import Final, TypeAlias

from lethe.domain.identity import Space
from lethe.domain.immutable import immutable
from lethe.domain.memory import Memory
from lethe.domain.session import Session
from lethe.errors import Throttled, Unavailable
from lethe.ports import Memories, Stored, TimeLeft
from lethe.services.embedding import MemoryEmbedder

Embedded: TypeAlias = "Future[list[Memory]]"
"""The memories of a chunk with their vectors, when they are made."""

OpenSpace = Callable[[], Space]

CHUNK_MEMORIES: Final = 490
CHUNK_CHARACTERS: Final = 30_000
"""What is embedded and stored before the next: about a second's work of a busy laptop."""

TO_BEGIN: Final = 9.0
TO_STORE: Final = 5.0
"""Seconds that must be left for one more chunk to be embedded, and for one that is embedded to be stored. The gateway
gives up after 29: before that, a request answers with what it has done.
"""


@immutable
class Kept:
    """The memory that holds a statement now: a new one, or one that was there before (None: it was deleted since, twice
    in a row).
    """

    memory: Memory | None
    new: bool


def unlimited() -> float:
    """The time that a caller has who waits as long as it takes."""
    return inf


class Storing:
    """Stores memories with the vectors of their texts."""

    def __init__(self, memories: Memories, embedder: MemoryEmbedder, executor: Executor) -> None:
        self._memories = memories
        self._embedder = embedder
        self._executor = executor

    def store(
        self, open_space: OpenSpace, new: Sequence[Memory], within: Session | None, time_left: TimeLeft
    ) -> tuple[Kept | None, ...]:
        """One result each, in order; None where no time was left, or where the embedder or the store gave up.

        One chunk is embedded while the space is opened. More than that may be the repetition of a request that ran
        out of time, so what is stored already is looked up first and not embedded again.

        Raises what ``Memories.add`` raises, Unavailable or Throttled only when nothing was stored.
        """
        chunks = _chunks(list(enumerate(new)))
        first = self._embed(chunks[0]) if len(chunks) == 1 else None
        space = open_space()
        results: dict[int, Stored] = {}
        if first is None:
            holders = self._memories.holders(space, [memory.content_hash for memory in new])
            fresh = [(n, memory) for n, memory in enumerate(new) if memory.content_hash not in holders]
            chunks = _chunks(fresh)
            results = {n: Stored(m, holders[m.content_hash]) for n, m in enumerate(new) if m.content_hash in holders}
        results |= self._store_chunks(space, chunks, first, within, time_left)
        held = self._held(space, results.values())
        gone = [
            n for n, stored in results.items() if stored.duplicate_of is not None and stored.duplicate_of not in held
        ]
        if gone:
            again = self._again(
                space, [(n, new[n]) for n in sorted(gone)], len(gone) == len(results), within, time_left
            )
            results = {n: stored for n, stored in results.items() if n not in set(gone)} | again
            held |= self._held(space, again.values())
        return tuple(_kept(results[n], held) if n in results else None for n in range(len(new)))

    def _held(self, space: Space, results: Iterable[Stored]) -> dict[str, Memory]:
        """The memories that hold what was a duplicate, but for those that are gone already."""
        known = dict.fromkeys(stored.duplicate_of for stored in results if stored.duplicate_of is not None)
        return self._memories.get_many(space, list(known)) if known else {}

    def _again(
        self, space: Space, chunk: _Chunk, all_of_it: bool, within: Session | None, time_left: TimeLeft
    ) -> dict[int, Stored]:
        """Once more what was the duplicate of a memory that was deleted at the same moment: now nothing holds it.

        Raises what ``store`` raises when there is nothing else to answer.
        """
        try:
            return self._store_chunks(space, _chunks(chunk), None, within, time_left)
        except (Unavailable, Throttled):
            if all_of_it:
                raise
            return {}

    def _store_chunks(
        self,
        space: Space,
        chunks: Sequence[_Chunk],
        embedding: Embedded | None,
        within: Session | None,
        time_left: TimeLeft,
    ) -> dict[int, Stored]:
        """What was stored, by place. Each chunk is embedded while the one before it is stored."""
        results: dict[int, Stored] = {}
        for chunk, following in zip(chunks, [*chunks[1:], None], strict=True):
            embedding = embedding or self._embed(chunk)
            try:
                embedded = _wait(embedding, time_left() - TO_STORE)
                goes_on = following is not None and time_left() >= TO_BEGIN
                embedding = self._embed(following) if following is not None and goes_on else None
                added = self._memories.add(space, embedded, within)
            except (Unavailable, Throttled):
                if not results:
                    raise
                break
            results |= {n: stored for (n, _), stored in zip(chunk, added, strict=True)}
            if not goes_on:
                break
        return results

    def _embed(self, chunk: _Chunk) -> Embedded:
        return self._executor.submit(self._embedder.embedded, [memory for _, memory in chunk])


def _kept(stored: Stored, held: Mapping[str, Memory]) -> Kept:
    if stored.duplicate_of is None:
        return Kept(stored.memory, new=True)
    return Kept(held.get(stored.duplicate_of), new=False)


_Chunk: TypeAlias = "list[tuple[int, Memory]]"
"""Memories with their places in the request."""


def _chunks(numbered: _Chunk) -> list[_Chunk]:
    chunks: list[_Chunk] = []
    room = 0
    for n, memory in numbered:
        length = len(memory.text) + len(memory.context or "")
        if not chunks or length > room or len(chunks[-1]) == CHUNK_MEMORIES:
            chunks.append([])
            room = CHUNK_CHARACTERS
        chunks[-1].append((n, memory))
        room -= length
    return chunks


def _wait(embedding: Embedded, seconds: float) -> list[Memory]:
    """The memories with their vectors. Raises Unavailable when they take longer, beside what the embedder raises."""
    try:
        return embedding.result(None if seconds == inf else max(seconds, 0.0))
    except TimeoutError as error:
        raise Unavailable("the texts could not be embedded in time") from error
