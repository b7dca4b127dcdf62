"""What a search asks, and the candidates that it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from operator import attrgetter

from lethe.domain.immutable import immutable
from lethe.domain.memory import Embedding, Memory


@immutable
class SearchQuery:
    """The question as asked, and its vector. Without an embedding only words are compared.

    ``subject_name`` is what the caller calls the subject (its user id): a question that names the person it is about
    asks nothing more by that name. It is never stored.
    """

    text: str
    embedding: Embedding | None = None
    subject_name: str | None = None


@immutable
class Leg:
    """How one leg of the search (``words`` or ``vector``) saw a candidate that it found: its rank from 1, raw score."""

    name: str
    rank: int
    score: float


@immutable
class Decision:
    """What one stage of recall said of a candidate, with its reason code."""

    stage: str
    kept: bool
    reason: str


@immutable
class Candidate:
    """A memory on its way through recall.

    ``relevance`` is the calibrated 0-1 estimate that the gate compares with the threshold; ``score`` is what the
    answer is sorted by: relevance, raised by what reranking adds. ``legs`` are those that found it, ``features`` the
    numbers behind the relevance.
    """

    memory: Memory
    relevance: float
    score: float
    legs: tuple[Leg, ...] = ()
    features: Mapping[str, float] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether no stage has dropped it so far."""
        return all(map(_kept, self.decisions))

    def judged(self, stage: str, kept: bool, reason: str) -> Candidate:
        """The same candidate with one more decision.

        Field by field: ``dataclasses.replace`` takes five times as long, for every candidate at every stage.
        """
        decisions = (*self.decisions, _decision(stage, kept, reason))
        return Candidate(self.memory, self.relevance, self.score, self.legs, self.features, decisions)

    def scored(self, score: float) -> Candidate:
        """The same candidate with another score."""
        return Candidate(self.memory, self.relevance, score, self.legs, self.features, self.decisions)


_kept = attrgetter("kept")


@lru_cache(maxsize=64)
def _decision(stage: str, kept: bool, reason: str) -> Decision:
    """Decisions are codes, a dozen in all, and the same for many candidates."""
    return Decision(stage, kept, reason)
