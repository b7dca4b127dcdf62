"""Giving every memory the vectors of the models that are configured, while all goes on (docs/adr/0009).

One pass over all versions of all memories. What has its vectors is passed over, so a second pass changes nothing, and
after a pass that was ended the next one does what is left. Only vectors are written, and only on what stands as it was
read: what somebody else changes meanwhile gets its vectors from him, and what is deleted or erased stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Final, TypeVar

from lethe.domain.identity import Space
from lethe.errors import Erased, Throttled, Unavailable
from lethe.ports import MemoryVectors, OwnedMemory, SubjectHeads
from lethe.services.embedding import MemoryEmbedder

Result = TypeVar("Result")

PAGE: Final = 200
"""How many versions are read, and of these embedded, at once."""

_ATTEMPTS: Final = 8
_LONGEST_PAUSE: Final = 60.0
"""A model's limits count by the minute: after two minutes of pauses in all somebody must look."""


@dataclass(slots=True)
class Reembedded:
    """What was looked at and done, in versions of memories: ``embedded`` got vectors, ``changed`` were changed or
    deleted by somebody else at that moment, ``fenced`` are of erased or erasing subjects and were left alone.
    """

    versions: int = 0
    embedded: int = 0
    changed: int = 0
    fenced: int = 0


class Reembedder:
    """Passes over all memories. ``sleep`` waits for a model or a store that takes no more now."""

    def __init__(
        self, heads: SubjectHeads, vectors: MemoryVectors, embedder: MemoryEmbedder, sleep: Callable[[float], None]
    ) -> None:
        self._heads = heads
        self._vectors = vectors
        self._embedder = embedder
        self._sleep = sleep

    def run(self, watcher: Callable[[Reembedded], None]) -> Reembedded:
        """Embed what lacks a vector, and drop vectors of models that are no longer configured.

        Raises Unavailable or Throttled when a model or the store stays away; what is done is done.
        """
        done = Reembedded()
        start: str | None = None
        while True:
            page = self._patiently(partial(self._vectors.page, PAGE, start))
            self._do(page.items, done)
            watcher(done)
            start = page.next_key
            if start is None:
                return done

    def _do(self, held: Sequence[OwnedMemory], done: Reembedded) -> None:
        done.versions += len(held)
        wanting: list[OwnedMemory] = []
        for space, own in groupby(held, key=lambda each: each.space):
            lacking = [each for each in own if not self._embedder.is_whole(each.memory)]
            if lacking and not self._reads(space):
                done.fenced += len(lacking)
            else:
                wanting += lacking
        if not wanting:
            return
        embedded = self._patiently(lambda: self._embedder.embedded([each.memory for each in wanting]))
        whole = [OwnedMemory(each.space, memory) for each, memory in zip(wanting, embedded, strict=True)]
        for space, own in groupby(whole, key=lambda each: each.space):
            self._write(space, list(own), done)

    def _write(self, space: Space, own: Sequence[OwnedMemory], done: Reembedded) -> None:
        memories = [each.memory for each in own]
        try:
            written = self._patiently(lambda: self._vectors.replace(space, memories))
        except Erased:
            done.fenced += len(memories)
            return
        done.embedded += written
        done.changed += len(memories) - written

    def _reads(self, space: Space) -> bool:
        head = self._patiently(lambda: self._heads.read(space.tenant, space.subject))
        return head is not None and head.reads(space)

    def _patiently(self, act: Callable[[], Result]) -> Result:
        """``act``, again after pauses while a model or the store does not answer."""
        for attempt in range(_ATTEMPTS - 1):
            try:
                return act()
            except (Throttled, Unavailable):
                self._sleep(min(2.0**attempt, _LONGEST_PAUSE))
        return act()
