"""Candidates as every search engine answers them, read off a ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lethe.domain.memory import Memory
from lethe.domain.relevance.features import FEATURE_NAMES
from lethe.domain.relevance.lexical import Ints
from lethe.domain.relevance.ranking import Leg as RankedLeg
from lethe.domain.relevance.ranking import Ranking
from lethe.domain.search import Candidate, Leg


def ranked_candidates(memories: Sequence[Memory], places: Ints, ranking: Ranking) -> tuple[Candidate, ...]:
    """``memories`` with what the ranking says of their ``places``; array by array, since single numbers are slow."""
    features = np.stack([getattr(ranking.features, name)[places] for name in FEATURE_NAMES], axis=1).tolist()
    return tuple(
        Candidate(memory, relevance, relevance, (words, vector), dict(zip(FEATURE_NAMES, numbers, strict=True)))
        for memory, relevance, words, vector, numbers in zip(
            memories,
            ranking.relevance[places].tolist(),
            _legs("words", ranking.words, places),
            _legs("vector", ranking.vectors, places),
            features,
            strict=True,
        )
    )


def _legs(name: str, leg: RankedLeg, places: Ints) -> list[Leg]:
    ranked = zip(leg.ranks_of(places).tolist(), leg.scores[places].tolist(), strict=True)
    return [Leg(name, rank, score) for rank, score in ranked]
