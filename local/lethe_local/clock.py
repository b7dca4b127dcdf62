"""The clock of the local stack."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta


class VirtualClock:
    """Real time plus an offset that tests move. Nothing that is reachable over HTTP touches it."""

    def __init__(self) -> None:
        self._offset = timedelta()
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """The current instant here, aware, in UTC."""
        with self._lock:
            return datetime.now(UTC) + self._offset

    def advance(self, duration: timedelta) -> None:
        """Move on by ``duration``. Raises ValueError for going back: stored times would lie in the future."""
        if duration < timedelta():
            raise ValueError("the clock only moves forward")
        with self._lock:
            self._offset += duration
