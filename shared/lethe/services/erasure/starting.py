"""Starting the state machine of an erasure once more."""

from __future__ import annotations

from lethe.domain.erasure import Erasure, restarted
from lethe.ports import Clock, Executions, Ledger


def start_again(erasure: Erasure, ledger: Ledger, executions: Executions, clock: Clock) -> Erasure:
    """The erasure at the beginning of another run, which is noted before it is started.

    Raises VersionConflict when somebody touched the row since it was read, Unavailable, Throttled.
    """
    saved = ledger.save(restarted(erasure, clock.now()))
    executions.start(saved.tenant, saved.id, saved.starts)
    return saved
