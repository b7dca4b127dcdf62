"""The machine's clock, and ids from its randomness."""

from __future__ import annotations

import secrets
import threading
from datetime import UTC, datetime

from lethe.domain.ids import ulid
from lethe.ports import Clock

_RANDOM_BITS = 80


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        """The current instant in UTC."""
        return datetime.now(UTC)


class UlidIds:
    """Monotonic ULIDs: two ids of one object never compare the wrong way round, whatever the clock does.

    Within one millisecond, and while the clock stands behind an id already given, the random part is raised by a
    random step (https://github.com/ulid/spec#monotonicity raises it by one; a step keeps the next id unguessable).
    Safe for use by many threads.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last_moment = datetime.fromtimestamp(0, UTC)
        self._last_random = 0

    def new(self, prefix: str) -> str:
        """``prefix`` and a new ULID."""
        with self._lock:
            moment = self._clock.now()
            moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
            if moment > self._last_moment:
                # The top bit stays free, so that some 2^47 steps fit into one millisecond.
                self._last_moment, self._last_random = moment, secrets.randbits(_RANDOM_BITS - 1)
            else:
                self._last_random += 1 + secrets.randbits(32)
            return prefix + ulid(self._last_moment, self._last_random)
