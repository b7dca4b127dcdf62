"""What comes round every few minutes: erasures that nobody runs are started again, from their rows in the ledger."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from lethe.domain.erasure import Erasure, ErasureState, restarted
from lethe.domain.holds import still_keeps
from lethe.errors import VersionConflict
from lethe.ports import Clock, Executions, Holds, Ledger

UNTOUCHED_FOR: Final = timedelta(minutes=2)
"""An erasure that was asked for and that no machine has touched for so long was never started."""
STUCK_AFTER: Final = timedelta(hours=1)
"""Longer than a step can go without a note in the ledger."""
FIRST_WAIT, LONGEST_WAIT = timedelta(minutes=5), timedelta(hours=6)
"""How long a failed erasure rests before another run: twice as long each time."""


class Tick:
    """Looks at every erasure that has not ended for good."""

    def __init__(self, ledger: Ledger, holds: Holds, executions: Executions, clock: Clock) -> None:
        self._ledger = ledger
        self._holds = holds
        self._executions = executions
        self._clock = clock

    def run(self) -> int:
        """Start what has to run; how many were started. Raises Unavailable or Throttled."""
        started = 0
        for tenant, erasure_id in self._ledger.open():
            erasure = self._ledger.read(tenant, erasure_id)
            if erasure is None or not self._due(erasure):
                continue
            try:
                saved = self._ledger.save(restarted(erasure, self._clock.now()))
            except VersionConflict:
                continue  # somebody has just touched it: it runs
            self._executions.start(tenant, erasure_id, saved.starts)
            started += 1
        return started

    def _due(self, erasure: Erasure) -> bool:
        since = self._clock.now() - (erasure.touched_at or erasure.requested_at)
        match erasure.state:
            case ErasureState.ACCEPTED:
                return since >= UNTOUCHED_FOR
            case ErasureState.RUNNING:
                return since >= STUCK_AFTER
            case ErasureState.FAILED:
                return since >= min(FIRST_WAIT * (1 << min(erasure.starts, 10)), LONGEST_WAIT)
            case ErasureState.COMPLETED_WITH_HOLDS:
                return any(not still_keeps(self._holds.hold(erasure.tenant, name), erasure) for name in erasure.holds)
            case _:
                return False
