"""What every search engine does before and after the ranking: vectors as rows, candidates read off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lethe.domain.memory import Memory
from lethe.domain.relevance.features import FEATURE_NAMES
from lethe.domain.relevance.lexical import Ints
from lethe.domain.relevance.ranking import LegScores, Ranking
from lethe.domain.search import Candidate, Leg


def vector_rows(memories: Sequence[Memory], label: str | None) -> NDArray[np.float16]:
    """One row a memory, as exact as the table keeps vectors; zeros stand for "no vector of the model ``label``"."""
    embedded = [memory.embedding_of(label) for memory in memories]
    size = max((len(embedding.vector) for embedding in embedded if embedding is not None), default=0)
    rows = np.zeros((len(memories), size), np.float16)
    for row, embedding in enumerate(embedded):
        if embedding is not None:
            rows[row] = embedding.vector
    return rows


def ranked_candidates(memories: Sequence[Memory], places: Ints, ranking: Ranking) -> tuple[Candidate, ...]:
    """``memories`` with what the ranking says of their ``places``; array by array, since single numbers are slow."""
    features = np.stack([getattr(ranking.features, name)[places] for name in FEATURE_NAMES], axis=1).tolist()
    return tuple(
        Candidate(memory, relevance, relevance, (*words, *vector), dict(zip(FEATURE_NAMES, numbers, strict=True)))
        for memory, relevance, words, vector, numbers in zip(
            memories,
            ranking.relevance[places].tolist(),
            _legs("words", ranking.words, places),
            _legs("vector", ranking.vectors, places),
            features,
            strict=True,
        )
    )


def _legs(name: str, leg: LegScores, places: Ints) -> list[tuple[Leg, ...]]:
    """The place of each in this leg; nothing where the leg did not find it."""
    hits = [True] * len(places) if leg.hits is None else leg.hits[places].tolist()
    ranked = zip(leg.ranks_of(places).tolist(), leg.scores[places].tolist(), hits, strict=True)
    return [(Leg(name, rank, score),) if hit else () for rank, score, hit in ranked]
