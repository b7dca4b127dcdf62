"""When a session's summary is due (requirement S2)."""

from __future__ import annotations

from datetime import datetime

from lethe.domain.policy import Policy
from lethe.domain.session import Due, Session


def summary_due(session: Session, policy: Policy, now: datetime) -> Due:
    """Due after enough turns since the last summary, after a long pause, or when the session has ended."""
    fresh = session.turns - session.summarised_turns
    if fresh <= 0:
        return Due(False, None)
    if session.ended_at is not None:
        return Due(True, "ended")
    if fresh >= policy.summary_turns:
        return Due(True, "turns")
    if now - (session.summarised_at or session.created_at) >= policy.summary_idle:
        return Due(True, "idle")
    return Due(False, None)
