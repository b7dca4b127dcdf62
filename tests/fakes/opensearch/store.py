"""One index: its shards with versions, tombstones, and what of it searches see."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field
from typing import Final

from tests.fakes.opensearch.documents import Document, IndexMapping
from tests.fakes.opensearch.failures import Refusal

GC_DELETES: Final = 60.0
"""Seconds for which a deleted document's version is remembered."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The newest version of one document; without ``document`` it is a tombstone, made at ``seconds``."""

    version: int
    seconds: float
    document: Document | None


@dataclass(slots=True)
class Shard:
    """What stands, what searches see, and what waits for a refresh in the order in which it was written."""

    standing: dict[str, Standing] = field(default_factory=dict)
    visible: dict[str, Document] = field(default_factory=dict)
    waiting: list[tuple[float, str, Document | None]] = field(default_factory=list)

    def show(self, until: float) -> None:
        """A refresh that shows everything written up to ``until``."""
        count = sum(seconds <= until for seconds, _, _ in self.waiting)
        for _, document_id, document in self.waiting[:count]:
            if document is None:
                self.visible.pop(document_id, None)
            else:
                self.visible[document_id] = document
        del self.waiting[:count]


class Index:
    """An index; times are seconds of the cluster's clock."""

    def __init__(self, name: str, mapping: IndexMapping, shards: int, refresh_seconds: float | None) -> None:
        self.name = name
        self.mapping = mapping
        self.shards = [Shard() for _ in range(shards)]
        self._interval = refresh_seconds

    def shard(self, key: str) -> Shard:
        """The shard of a routing key, or of an id without one."""
        return self.shards[zlib.crc32(key.encode()) % len(self.shards)]

    def write(
        self, document_id: str, document: Document | None, routing: str | None, version: int | None, now: float
    ) -> tuple[int, bool]:
        """Index, or delete where ``document`` is None; the version that stands, and whether one stood before.

        Raises Refusal (409) when ``version``, an external one, is not above what stands or stood.
        """
        shard = self.shard(routing or document_id)
        before = self._standing(shard, document_id, now)
        existed = before is not None and before.document is not None
        if version is None:
            version = before.version + 1 if before is not None else 1
        elif before is not None and before.version >= version:
            reason = (
                f"[{document_id}]: version conflict, current version [{before.version}] is higher or equal to the one "
                f"provided [{version}]"
            )
            raise Refusal(409, "version_conflict_engine_exception", reason)
        shard.standing[document_id] = Standing(version, now, document)
        shard.waiting.append((now, document_id, document))
        return version, existed

    @staticmethod
    def _standing(shard: Shard, document_id: str, now: float) -> Standing | None:
        before = shard.standing.get(document_id)
        if before is not None and before.document is None and now - before.seconds > GC_DELETES:
            del shard.standing[document_id]
            return None
        return before

    def get(self, document_id: str, routing: str | None, now: float) -> Standing | None:
        """What stands, seen by searches or not."""
        found = self._standing(self.shard(routing or document_id), document_id, now)
        return found if found is not None and found.document is not None else None

    def refresh(self) -> None:
        """Show everything."""
        for shard in self.shards:
            shard.show(math.inf)

    def refresh_by_time(self, now: float) -> None:
        """What refreshes at the interval have shown by ``now``. Shards refresh one after the other, not at once."""
        if self._interval is None:
            return
        for number, shard in enumerate(self.shards):
            phase = self._interval * number / len(self.shards)
            shard.show(math.floor((now - phase) / self._interval) * self._interval + phase)
