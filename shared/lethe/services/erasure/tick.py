"""What comes round every few minutes: erasures that nobody runs are started again, from their rows in the ledger."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from lethe.domain.erasure import Erasure, ErasureState, rests_until
from lethe.domain.holds import still_keeps
from lethe.errors import VersionConflict
from lethe.ports import Clock, Executions, Holds, Ledger
from lethe.services.erasure.starting import start_again

UNTOUCHED_FOR: Final = timedelta(minutes=2)
"""An erasure that was asked for and that no machine has touched for so long was never started."""
STUCK_AFTER: Final = timedelta(hours=1)
"""Longer than a step can go without a note in the ledger."""


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
                start_again(erasure, self._ledger, self._executions, self._clock)
            except VersionConflict:
                continue  # somebody has just touched it: it runs
            started += 1
        return started

    def _due(self, erasure: Erasure) -> bool:
        now, resting = self._clock.now(), rests_until(erasure)
        since = now - (erasure.touched_at or erasure.requested_at)
        match erasure.state:
            case ErasureState.ACCEPTED:
                return since >= UNTOUCHED_FOR
            case ErasureState.RUNNING:
                return since >= STUCK_AFTER
            case ErasureState.FAILED:
                return resting is not None and now >= resting
            case ErasureState.COMPLETED_WITH_HOLDS:
                return any(not still_keeps(self._holds.hold(erasure.tenant, name), erasure) for name in erasure.holds)
            case _:
                return False
