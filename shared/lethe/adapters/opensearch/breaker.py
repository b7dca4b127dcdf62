"""Remembers that the index did not answer, so that not every recall waits for it again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 15.0


class Breaker:
    """Open for a while after a failure, twice as long after each further one; one caller at a time tries again."""

    def __init__(self, seconds: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._pause = 0.0
        self._closed_from = 0.0
        self._told: tuple[float, bool] | None = None

    def allows(self) -> bool:
        """Whether the index should be asked now."""
        with self._lock:
            now = self._seconds()
            if not self._pause or now < self._closed_from:
                return not self._pause
            self._closed_from = now + self._pause  # this caller tries; the others go on without the index
            return True

    def worked(self) -> None:
        """The index answered."""
        with self._lock:
            self._pause = 0.0
            self._told = (self._seconds(), True)

    def failed(self) -> None:
        """The index did not answer."""
        with self._lock:
            self._pause = min(_LONGEST_PAUSE, 2 * self._pause or _FIRST_PAUSE)
            self._closed_from = self._seconds() + self._pause
            self._told = (self._seconds(), False)

    def lately(self, seconds: float) -> bool | None:
        """Whether the index answered when it was asked last; None when that is more than ``seconds`` ago."""
        with self._lock:
            if self._told is None or self._seconds() - self._told[0] > seconds:
                return None
            return self._told[1]
