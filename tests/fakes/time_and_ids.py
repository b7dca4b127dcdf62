"""A clock that moves when told, and ids that count."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from lethe.domain.ids import ulid

START = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


class FixedClock:
    """Stands still until it is moved."""

    def __init__(self, moment: datetime = START) -> None:
        self._moment = moment

    def now(self) -> datetime:
        return self._moment

    def pass_by(self, seconds: float) -> None:
        """As ``time.sleep``, for this clock alone."""
        self._moment += timedelta(seconds=seconds)

    def move(self, by: timedelta) -> datetime:
        """The new time."""
        self._moment += by
        return self._moment


class SequentialIds:
    """ULIDs of one moment that count up from 1."""

    def __init__(self, moment: datetime = START) -> None:
        self._moment = moment
        self._count = 0
        self._lock = threading.Lock()

    def new(self, prefix: str) -> str:
        with self._lock:
            self._count += 1
            return prefix + ulid(self._moment, self._count)
