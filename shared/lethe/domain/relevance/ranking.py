"""Rank memories for a question: the one place where legs, features, order and gate come together."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from lethe.domain.immutable import immutable
from lethe.domain.relevance.candidates import Candidates
from lethe.domain.relevance.features import FEATURE_NAMES, Features, compared, cosines, extract
from lethe.domain.relevance.gate import GateFacts, gate_facts, relevance
from lethe.domain.relevance.lexical import Bools, Floats, Ints, TermStatistics
from lethe.domain.relevance.model import CosineScale, RelevanceModel
from lethe.domain.text import QueryText

_SAMPLE: Final = 96
_PRIOR_MEMORIES: Final = 8
_NARROWEST: Final = 0.02


@immutable
class LegScores:
    """One leg of the search: the raw score of each candidate, and whether the leg found it at all, both of shape (n,).

    Without ``hits`` it found all of them.
    """

    scores: Floats
    hits: Bools | None = None

    @property
    def _found(self) -> Floats:
        return self.scores if self.hits is None else np.where(self.hits, self.scores, np.float32(-np.inf))

    @property
    def ranks(self) -> Ints:
        """Rank of each candidate (1 = best; ties keep their order; what was not found is last), shape (n,)."""
        ranks = np.empty(len(self.scores), np.int32)
        ranks[np.argsort(-self._found, kind="stable")] = np.arange(1, len(self.scores) + 1)
        return ranks

    def ranks_of(self, places: Ints) -> Ints:
        """``ranks[places]``: counting what is ahead of a few candidates costs less than sorting all."""
        scores = self._found
        own = scores[places, None]
        numbers = np.arange(len(scores), dtype=np.int32)
        ahead = (scores > own) | ((scores == own) & (numbers <= places[:, None]))
        return np.asarray(np.count_nonzero(ahead, axis=1), np.int32)


@immutable
class Ranking:
    """Result of :func:`rank`; every array is in the order of the candidates given.

    Attributes:
        order: Candidate numbers, best first; ties keep the order given.
        scores: Ranking scores, any real number.
        relevance: Calibrated relevance, 0-1, in the same order as ``scores``.
        words: The BM25 leg.
        vectors: The cosine leg, in the embedder's own cosines.
        features: What each candidate was scored by.
        facts: What the gate saw; ``None`` without candidates.
        version: Version of the relevance model.
    """

    order: Ints
    scores: Floats
    relevance: Floats
    words: LegScores
    vectors: LegScores
    features: Features
    facts: GateFacts | None
    version: str


def query_terms(query: QueryText) -> tuple[str, ...]:
    """The terms whose statistics :func:`rank` needs from an engine."""
    return tuple(dict.fromkeys((*query.terms, *query.subject_terms, *query.names)))


def rank(
    query: QueryText,
    query_vector: Floats | None,
    candidates: Candidates,
    model: RelevanceModel,
    statistics: TermStatistics | None = None,
) -> Ranking:
    """Score and order ``candidates`` for ``query``.

    Args:
        query: The analysed question.
        query_vector: Its unit vector, shape (d,); ``None`` when no embedder answered.
        candidates: All memories of the subject, or those that an engine proposed.
        model: Weights; see :func:`~lethe.domain.relevance.fitted.relevance_model`.
        statistics: Of :func:`query_terms` over the whole subject; ``None`` if ``candidates`` are all of it.
    """
    if statistics is None:
        statistics = candidates.lexical.statistics(query_terms(query))
    raw = cosines(query_vector, candidates.vectors)
    scaled = _rescale(raw, candidates.vectors, model) if query_vector is not None else raw
    features = extract(query, scaled, candidates, statistics, model.bm25)
    weights = np.array([getattr(model.rank, name) for name in FEATURE_NAMES], np.float32)
    scores = np.asarray(features.matrix() @ weights, np.float32)
    facts = gate_facts(query, features, scores, candidates, statistics) if len(scores) else None
    logit = facts.logit(model.gate) if facts is not None else 0.0
    relevant = relevance(features, scores, logit, model.gate)
    return Ranking(
        order=np.lexsort((-scores, -relevant)).astype(np.int32),
        scores=scores,
        relevance=relevant,
        words=LegScores(np.expm1(features.bm25), features.bm25 > 0),
        vectors=LegScores(raw, compared(query_vector, candidates.vectors)),
        features=features,
        facts=facts,
        version=model.version,
    )


def _rescale(raw: Floats, vectors: Floats, model: RelevanceModel) -> Floats:
    """Cosines of the embedder in use, in the units of the one on which the weights were fitted."""
    scale = model.scale if model.scale is not None else estimate_scale(vectors, model.reference)
    if scale == model.reference:
        return raw
    ratio = model.reference.spread / max(scale.spread, _NARROWEST)
    scaled = model.reference.background + (raw - scale.background) * ratio
    return np.asarray(np.clip(scaled, -1.0, 1.0), np.float32)


def estimate_scale(vectors: Floats, prior: CosineScale, trusted: bool = False) -> CosineScale:
    """Cosine scale of an embedder from memories' own vectors, drawn to ``prior`` when few unless ``trusted``.

    Up to 96 evenly spaced memories are compared pairwise; their cosines stand for unrelated pairs.
    """
    size = len(vectors)
    if size < 2 or not vectors.shape[1]:
        return prior
    sample = vectors[np.unique(np.linspace(0, size - 1, min(size, _SAMPLE)).astype(np.int64))]
    sample = sample[sample.any(axis=1)]
    if len(sample) < 2:
        return prior
    pairs = (sample @ sample.T)[np.triu_indices(len(sample), 1)]
    trust = 1.0 if trusted else len(sample) / (len(sample) + _PRIOR_MEMORIES)
    return CosineScale(
        background=trust * float(pairs.mean()) + (1 - trust) * prior.background,
        spread=trust * float(pairs.std()) + (1 - trust) * prior.spread,
    )


def reciprocal_rank_fusion(legs: Sequence[LegScores], k: int = 60) -> Floats:
    """Plain RRF over ``legs`` (Cormack, Clarke, Buettcher 2009), kept as the yardstick of the benchmark."""
    return np.asarray(sum(1.0 / (k + leg.ranks) for leg in legs), np.float32)
