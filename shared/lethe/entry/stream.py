"""The function ``index``: records of the memories table's stream in, a partial batch response out.

https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html: Lambda delivers again from the
lowest sequence number that is answered as failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypedDict

from lethe.domain import keys
from lethe.domain.json_values import JsonValue
from lethe.entry.events import LambdaContext
from lethe.entry.observability import IndexObserver
from lethe.errors import Throttled, Unavailable
from lethe.ports import Clock, DeadLetter, DeadLetters
from lethe.services.indexing import Applied, Hint

Attribute = Mapping[str, JsonValue]


class Change(TypedDict, total=False):
    """What a record says of its item."""

    Keys: Mapping[str, Attribute]
    NewImage: Mapping[str, Attribute]
    SequenceNumber: str
    ApproximateCreationDateTime: float


class Record(TypedDict, total=False):
    """A record of the stream."""

    eventName: str
    dynamodb: Change


class StreamEvent(TypedDict):
    """A batch."""

    Records: Sequence[Record]


class ItemFailure(TypedDict):
    """A record that must come again."""

    itemIdentifier: str


class BatchResponse(TypedDict):
    """Which records must come again; none when all is done."""

    batchItemFailures: list[ItemFailure]


class StreamApplication:
    """Hands hints to the indexer and says which must come again. What the index will never take goes to
    ``dead_letters`` and holds nobody up.
    """

    def __init__(
        self,
        apply: Callable[[Sequence[Hint]], Applied],
        dead_letters: DeadLetters,
        observer: IndexObserver,
        clock: Clock,
    ) -> None:
        self._apply = apply
        self._dead_letters = dead_letters
        self._observer = observer
        self._clock = clock

    def __call__(self, event: StreamEvent, context: LambdaContext) -> BatchResponse:
        """Work on one batch."""
        hints, dead = _read(event["Records"])
        try:
            applied = self._apply(hints) if hints else Applied(0, (), ())
        except (Unavailable, Throttled) as error:
            self._observer.away(error)
            return {"batchItemFailures": [{"itemIdentifier": hints[0].sequence}]}
        dead += [DeadLetter(hint.sequence, hint.memory_id, "refused") for hint in applied.refused]
        again = [hint.sequence for hint in applied.again]
        try:
            self._dead_letters.add(dead)
        except Unavailable as error:
            self._observer.away(error)
            again += [letter.sequence for letter in dead]
        self._observer.indexed(applied.applied, len(again), len(dead), self._lag(event["Records"]))
        return {"batchItemFailures": [{"itemIdentifier": sequence} for sequence in again]}

    def _lag(self, records: Sequence[Record]) -> float:
        """Seconds since the oldest record of the batch was written."""
        written = [record["dynamodb"].get("ApproximateCreationDateTime") for record in records]
        times = [float(time) for time in written if time is not None]
        return max(0.0, self._clock.now().timestamp() - min(times)) if times else 0.0


def _read(records: Sequence[Record]) -> tuple[list[Hint], list[DeadLetter]]:
    """The hints of a batch, and the records that are none although they should be."""
    hints: list[Hint] = []
    dead: list[DeadLetter] = []
    for record in records:
        change = record["dynamodb"]
        try:
            hint = _hint(change)
        except (KeyError, ValueError, TypeError, AttributeError):
            dead.append(DeadLetter(str(change.get("SequenceNumber")), "", "unreadable"))
            continue
        if hint is not None:
            hints.append(hint)
    return hints, dead


def _hint(change: Change) -> Hint | None:
    """What the record tells; None when it is of no memory's newest version."""
    sort_key = str(change["Keys"]["sk"]["S"])
    if not sort_key.startswith(keys.MEMORIES):
        return None
    space = keys.parse_space_partition(str(change["Keys"]["pk"]["S"]))
    (_, memory_id) = keys.split(sort_key)
    new = change.get("NewImage")
    if new is None:
        return Hint(change["SequenceNumber"], space, memory_id)
    written, changed_at = new.get("written"), datetime.fromisoformat(str(new["updated_at"]["S"])).astimezone(UTC)
    mark = str(written["S"]) if written is not None else None
    return Hint(change["SequenceNumber"], space, memory_id, mark, changed_at)
