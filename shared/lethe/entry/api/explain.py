"""``explain``: the trace of a search, candidate by candidate."""

from __future__ import annotations

from collections.abc import Sequence

from lethe.domain.search import Candidate
from lethe.entry.api.types import Out
from lethe.entry.sizes import fitting


class LegOut(Out):
    """How one leg of the search saw a candidate: its rank from 1 and raw score."""

    rank: int
    score: float


class DecisionOut(Out):
    """What one stage said of a candidate."""

    stage: str
    kept: bool
    reason: str


class CandidateOut(Out):
    """A candidate with everything that decided over it. ``legs`` are those that found it, ``words`` and ``vector``: one
    that shares no word with the question, or has no vector of this model, is missing there.
    """

    id: str
    text: str
    relevance: float
    score: float
    kept: bool
    legs: dict[str, LegOut]
    features: dict[str, float]
    decisions: list[DecisionOut]


def explained(candidates: Sequence[Candidate]) -> list[CandidateOut]:
    """The trace of the candidates, best first; as many as one answer carries."""
    traces = [
        CandidateOut(
            id=candidate.memory.id,
            text=candidate.memory.text,
            relevance=candidate.relevance,
            score=candidate.score,
            kept=candidate.kept,
            legs={leg.name: LegOut(rank=leg.rank, score=leg.score) for leg in candidate.legs},
            features=dict(candidate.features),
            decisions=[DecisionOut(stage=d.stage, kept=d.kept, reason=d.reason) for d in candidate.decisions],
        )
        for candidate in candidates
    ]
    return traces[: fitting(traces)]
