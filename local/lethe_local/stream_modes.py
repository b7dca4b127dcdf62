"""How a stream may be delivered so that tests see what AWS does on a bad day."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lethe.domain.json_values import JsonObject, JsonValue, canonical
from lethe_local.functions import FunctionFailed
from lethe_local.stream_delivery import Batch
from lethe_local.stream_records import StreamRecord

MOST_READ = 1000
"""Records of one GetRecords."""


@dataclass(frozen=True, slots=True)
class StreamMode:
    """Within what Lambda promises (each item's changes in order, everything at least once):

    Attributes:
        copies: how often every record is delivered.
        shards: over how many shards the items are spread, whose batches come in any order.
        poison: a record that no function survives: it fails on every batch with one.
        seed: of the random order.
    """

    copies: int = 1
    shards: int = 1
    poison: Callable[[JsonObject], bool] | None = None
    seed: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether batches are delivered once, as they are read."""
        return self.copies == 1 and self.shards == 1

    def batches(self, records: Batch, most: int, order: random.Random) -> Iterator[Batch]:
        """The batches, of at most ``most`` records, in which ``records`` are delivered."""
        if self.is_plain:
            yield records
            return
        lanes: list[list[StreamRecord]] = [[] for _ in range(self.shards)]
        for record in records:
            lanes[_lane(record, self.shards)].append(record)
        waiting = [list(_passes(lane, self.copies, most, order)) for lane in lanes if lane]
        while waiting:
            lane_batches = order.choice(waiting)
            yield lane_batches.pop(0)
            waiting = [each for each in waiting if each]

    def poisoned(
        self, invoke: Callable[[dict[str, JsonValue]], JsonValue]
    ) -> Callable[[dict[str, JsonValue]], JsonValue]:
        """``invoke``, which fails on poison."""
        poison = self.poison
        if poison is None:
            return invoke

        def careful(event: dict[str, JsonValue]) -> JsonValue:
            records = event["Records"]
            if isinstance(records, list) and any(poison(record) for record in records):
                raise FunctionFailed("poison")
            return invoke(event)

        return careful


def _lane(record: StreamRecord, shards: int) -> int:
    change = record.event["dynamodb"]
    keys = change["Keys"] if isinstance(change, dict) else None
    return zlib.crc32(canonical(keys).encode()) % shards


def _passes(lane: list[StreamRecord], copies: int, most: int, order: random.Random) -> Iterator[Batch]:
    """The whole lane again and again, cut differently: what is old comes once more after what is new."""
    for _ in range(copies):
        start = 0
        while start < len(lane):
            size = order.randint(1, most)
            yield tuple(lane[start : start + size])
            start += size
