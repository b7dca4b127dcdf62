"""The gate: does this memory hold an answer at all? A calibrated 0-1 relevance for every candidate.

A ranking score only orders; it does not say whether the best is good. So the gate is a logistic of its
own over facts about the question and this memory as a whole, plus the ranking score's distance to the
best candidate. It therefore never changes the order, and one threshold means the same for every question.
"""

from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from lethe.domain.relevance.candidates import Candidates
from lethe.domain.relevance.features import Features, covered_mass
from lethe.domain.relevance.lexical import Floats, TermStatistics
from lethe.domain.relevance.model import GateWeights
from lethe.domain.text import QueryText, is_unspaced

_DATE_MASS: Final = 3.0
"""Idf-like weight of a named date among the terms: that of a word in about one memory of twenty."""
_MONTH_ONLY: Final = 0.5
_LEAD_OVER: Final = 5
"""The best candidate's lead is taken over the candidate of this rank (0-based)."""


@dataclass(frozen=True, slots=True)
class GateFacts:
    """What the gate knows about a question and a memory.

    Attributes:
        agreement: Geometric mean of coverage and cosine of the best candidate: high only if words and
            meaning agree.
        cosine: Best cosine of any candidate.
        unknown: Share of the question's idf mass in terms that this memory never used.
        unknown_names: Share of the names in the question that this memory never used.
        lead: Ranking score of the best candidate over that of the sixth.
        unspaced: 1 for a question in a script without spaces, whose coverage counts character pairs.
    """

    agreement: float
    cosine: float
    unknown: float
    unknown_names: float
    lead: float
    unspaced: float

    def logit(self, weights: GateWeights) -> float:
        """Log-odds that the best candidate is relevant."""
        return (
            weights.bias
            + weights.agreement * self.agreement
            + weights.cosine * self.cosine
            + weights.unknown * self.unknown
            + weights.unknown_names * self.unknown_names
            + weights.lead * self.lead
            + weights.unspaced * self.unspaced
        )


FACT_NAMES: Final = tuple(f.name for f in fields(GateFacts))


def gate_facts(
    query: QueryText, features: Features, scores: Floats, candidates: Candidates, statistics: TermStatistics
) -> GateFacts:
    """Gather the facts; ``scores`` are the ranking scores of at least one candidate."""
    order = np.argsort(-scores, kind="stable")
    best = int(order[0])
    frequency = statistics.document_frequency
    covered, mass = covered_mass(candidates.lexical, query.subject_terms, statistics)
    mass += _DATE_MASS * len(query.dates)
    dated = np.maximum(features.day[best], _MONTH_ONLY * features.month[best]) if query.dates else 0.0
    coverage = (float(covered[best]) + _DATE_MASS * float(dated)) / mass if mass > 0 else 0.0
    unknown = sum(statistics.idf(t) for t in query.subject_terms if not frequency.get(t))
    strange = sum(1 for name in query.names if not frequency.get(name))
    best_cosine = float(features.cosine[best]) if features.cosine.any() else 1.0  # words alone must agree
    sixth = order[min(_LEAD_OVER, len(order) - 1)]
    return GateFacts(
        agreement=float(np.sqrt(min(1.0, coverage) * max(0.0, best_cosine))),
        cosine=float(features.cosine.max()),
        unknown=unknown / mass if mass > 0 else 0.0,
        unknown_names=strange / len(query.names) if query.names else 0.0,
        lead=float(scores[best] - scores[sixth]),
        unspaced=float(is_unspaced(query.text)),
    )


def relevance(scores: Floats, logit: float, weights: GateWeights) -> Floats:
    """Relevance of each candidate, 0-1, falling with the ranking score; ``logit`` is the best one's."""
    below = scores.max() - scores if len(scores) else scores
    return np.asarray(1.0 / (1.0 + np.exp(weights.below_best * below - logit)), np.float32)
