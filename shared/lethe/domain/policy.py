"""The numbers that the rules use, as data."""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta

from lethe.domain.immutable import immutable
from lethe.domain.memory import MemoryKind


def _kind_weights() -> dict[MemoryKind, float]:
    return {
        MemoryKind.PROFILE: 1.0,
        MemoryKind.PREFERENCE: 1.0,
        MemoryKind.DECISION: 0.9,
        MemoryKind.COMMITMENT: 0.9,
        MemoryKind.FACT: 0.7,
        MemoryKind.SUMMARY: 0.5,
        MemoryKind.EPISODE: 0.4,
    }


@immutable
class Policy:
    """Defaults of requirements S1, S2, S5 and R4."""

    window_turns: int = 10
    summary_turns: int = 20
    summary_idle: timedelta = timedelta(hours=2)
    session_ttl: timedelta = timedelta(days=7)
    minimum_confidence: float = 0.7
    kind_weights: dict[MemoryKind, float] = field(default_factory=_kind_weights)


DEFAULT_POLICY = Policy()

MINIMUM_SESSION_TTL = timedelta(minutes=30)
MAXIMUM_SESSION_TTL = timedelta(days=90)
