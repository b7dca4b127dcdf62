"""Delivers batches of a stream to a function, under the rules that Lambda has for it.

https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html and services-dynamodb-errors.html:

- a function that raises fails on its whole batch; with bisection the batch is split in two, which costs no retry;
- a function that reports failures is given the batch again from the lowest reported record on;
- what is tried too often or is too old is given up, and the on-failure destination hears of it: shard and sequence
  numbers, never content.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lethe.domain.json_values import JsonValue
from lethe_local.event_sources import EventSource
from lethe_local.functions import FunctionFailed, FunctionLate
from lethe_local.stream_records import StreamRecord

Batch = tuple[StreamRecord, ...]
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Records that are not tried again. ``condition`` is Lambda's word for why; ``attempts`` how often they were."""

    records: Batch
    condition: str
    attempts: int


class Delivery:
    """Delivers batches of one mapping, one after the other.

    ``invoke`` calls the function with an event and raises FunctionFailed or FunctionLate; ``give_up`` hears of what
    is not tried again; ``pause`` waits for so many seconds and says whether to stop; ``now`` is in epoch seconds.
    """

    def __init__(
        self,
        source: EventSource,
        invoke: Callable[[dict[str, JsonValue]], JsonValue],
        give_up: Callable[[GivenUp], None],
        pause: Callable[[float], bool],
        now: Callable[[], float],
    ) -> None:
        self._source = source
        self._invoke = invoke
        self._give_up = give_up
        self._pause = pause
        self._now = now

    def deliver(self, batch: Batch, done: Callable[[Batch], None]) -> bool:
        """Deliver ``batch``; ``done`` hears, in order, of the records that need no further attempt.

        False when it was told to stop before the end: what ``done`` did not hear of must be delivered again.
        """
        parts = deque([(batch, 0)])
        while parts:
            part, attempts = parts.popleft()
            part = self._without_expired(part, attempts, done)
            if not part:
                continue
            failed_from = self._attempt(part)
            if failed_from == len(part):
                done(part)
                continue
            left, spent = self._after_failure(part, failed_from, attempts, done)
            parts.extendleft((each, spent) for each in reversed(left))
            if left and self._pause(_back_off(spent)):
                return False
        return True

    def _attempt(self, part: Batch) -> int | None:
        """Invoke the function: the number of records before the first that failed, or None when it failed as such."""
        try:
            answer = self._invoke({"Records": [record.event for record in part]})
        except (FunctionFailed, FunctionLate):
            return None
        return _first_failure(answer, part) if self._source.reports_failures else len(part)

    def _after_failure(
        self, part: Batch, failed_from: int | None, attempts: int, done: Callable[[Batch], None]
    ) -> tuple[list[Batch], int]:
        """What to try next, in order, and how many attempts that has behind it."""
        if failed_from:
            done(part[:failed_from])
            return [part[failed_from:]], 0
        if failed_from is None and self._source.bisects and len(part) > 1:
            middle = len(part) // 2
            return [part[:middle], part[middle:]], attempts
        most = self._source.most_retries
        if most is not None and attempts >= most:
            self._give_up(GivenUp(part, "RetryAttemptsExhausted", attempts + 1))
            done(part)
            return [], attempts
        return [part], attempts + 1

    def _without_expired(self, part: Batch, attempts: int, done: Callable[[Batch], None]) -> Batch:
        """``part`` from its first record on that is young enough; those before it are given up."""
        most = self._source.most_age_seconds
        if most is None:
            return part
        expired = 0
        while expired < len(part) and self._now() - part[expired].created > most:
            expired += 1
        if expired:
            self._give_up(GivenUp(part[:expired], "RecordAgeExceeded", attempts))
            done(part[:expired])
        return part[expired:]


def _back_off(attempts: int) -> float:
    """Full jitter over an exponential, as AWS recommends it."""
    return random.uniform(0, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(attempts, 20)))


def _first_failure(answer: JsonValue, part: Batch) -> int | None:
    """How many records precede the first that the function reports; None for an answer that means "all failed"."""
    failures = answer.get("batchItemFailures") if isinstance(answer, Mapping) else None
    if not failures:
        return len(part)
    places = {record.sequence: place for place, record in enumerate(part)}
    if isinstance(failures, str) or not isinstance(failures, Sequence):
        return None
    found = [
        places.get(str(failure.get("itemIdentifier"))) if isinstance(failure, Mapping) else None for failure in failures
    ]
    known = [place for place in found if place is not None]
    return min(known) if len(known) == len(found) else None
