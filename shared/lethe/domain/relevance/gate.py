"""The gate: does this memory hold an answer at all? A calibrated 0-1 relevance for every candidate.

A ranking score only orders; it does not say whether the best is good. So the gate is a logistic of its
own over facts about the question and this memory as a whole, plus the ranking score's distance to the
best candidate. One threshold means the same for every question.
"""

import math
from dataclasses import fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lethe.domain.immutable import immutable
from lethe.domain.relevance.candidates import Candidates
from lethe.domain.relevance.features import Features, covered_mass
from lethe.domain.relevance.lexical import Floats, TermStatistics
from lethe.domain.relevance.model import GateWeights
from lethe.domain.text import QueryText, is_unspaced

_DATE_MASS: Final = 3.0
"""Idf-like weight of a named date among the terms: that of a word in about one memory of twenty."""
_MONTH_ONLY: Final = 0.5
_PARAPHRASE: Final = 0.1
_RELATED_COSINE: Final = 0.2
"""On the fitted scale. Of 2,034 pieces of evidence in the four sets one lies below it among the best ten without a word
or a day in common with its question (docs/adr/0003)."""
_UNRELATED: Final = -3.0
"""Log-odds that an unrelated memory has at most."""
_LEAST: Final = -60.0
"""Log-odds below which nothing differs; the exponential of much more overflows."""
_LEAD_OVER: Final = 5
"""The best candidate's lead is taken over the candidate of this rank (0-based)."""
_COSINE_LEAD_OVER: Final = 9
"""The same for the lead among cosines."""


@immutable
class GateFacts:
    """What the gate knows about a question and a memory.

    Attributes:
        agreement: Geometric mean of coverage and cosine of the best candidate: high only if words and meaning
            agree. A named date counts among the words, and a tenth is added to coverage, so that a paraphrase
            without a common word still counts by its meaning.
        cosine: Best cosine of any candidate.
        spaced_cosine: The same for a question in a script with spaces, else 0: there it tells more.
        unknown_names: Share of the names in the question that this memory never used.
        lead: Ranking score of the best candidate over that of the sixth, or of the last.
        cosine_lead: Best cosine over the tenth best, or the last. Of two equally good ones the one that stands alone is
            more often a chance likeness: a matter that was talked about was talked about more than once.
        unspaced: 1 for a question in a script without spaces, whose coverage counts character pairs.
        size: ``log(1 + memories)``: the best of many unrelated memories looks better than the best of few.
    """

    agreement: float
    cosine: float
    spaced_cosine: float
    unknown_names: float
    lead: float
    cosine_lead: float
    unspaced: float
    size: float

    def logit(self, weights: GateWeights) -> float:
        """Log-odds that the best candidate is relevant."""
        return float(weights.bias + sum(getattr(weights, name) * getattr(self, name) for name in FACT_NAMES))


FACT_NAMES: Final = tuple(f.name for f in fields(GateFacts))


def gate_facts(
    query: QueryText, features: Features, scores: Floats, candidates: Candidates, statistics: TermStatistics
) -> GateFacts:
    """Gather the facts; ``scores`` are the ranking scores of at least one candidate."""
    order = np.argsort(-scores, kind="stable")
    best, sixth = int(order[0]), int(order[min(_LEAD_OVER, len(order) - 1)])
    # Without vectors the words must agree alone.
    meaning = max(0.0, float(features.cosine[best])) if features.cosine.any() else 1.0
    coverage = min(1.0, _coverage(query, features, best, candidates, statistics))
    strange = sum(1 for name in query.names if not statistics.document_frequency.get(name))
    unspaced = float(is_unspaced(query.text))
    cosine = float(features.cosine.max())
    return GateFacts(
        agreement=math.sqrt((coverage + _PARAPHRASE) * meaning),
        cosine=cosine,
        spaced_cosine=cosine * (1 - unspaced),
        unknown_names=strange / len(query.names) if query.names else 0.0,
        lead=float(scores[best] - scores[sixth]),
        cosine_lead=_cosine_lead(features.cosine),
        unspaced=unspaced,
        size=math.log1p(statistics.documents),
    )


def _coverage(
    query: QueryText, features: Features, best: int, candidates: Candidates, statistics: TermStatistics
) -> float:
    """Share of the question's idf mass that the best candidate holds, dates among it."""
    covered, mass = covered_mass(candidates.lexical, query.subject_terms, statistics)
    held = float(covered[best])
    if query.dates:
        mass += _DATE_MASS * len(query.dates)
        held += _DATE_MASS * max(float(features.day[best]), _MONTH_ONLY * float(features.month[best]))
    return held / mass if mass > 0 else 0.0


def _cosine_lead(cosine: Floats) -> float:
    tenth = max(0, len(cosine) - 1 - _COSINE_LEAD_OVER)
    return float(cosine.max() - np.partition(cosine, tenth)[tenth])


def logit_lost(behind: Floats, weights: GateWeights) -> Floats:
    """Log-odds that candidates lose whose ranking scores lie ``behind`` the best one's, shape (n,), >= 0.

    Slowly at first, then with the square: what stands close to the best one is hardly less relevant, and what is far
    does not become relevant because another is.
    """
    far = np.maximum(behind - weights.close, 0.0)
    return np.asarray(weights.below_best * behind + weights.far_below_best * far**2, np.float32)


def relevance(features: Features, scores: Floats, logit: float, weights: GateWeights) -> Floats:
    """Relevance of each candidate, 0-1, falling with the ranking score; ``logit`` is the best one's.

    Whatever holds no word of the question, means something else and was not said on a day that it names has nothing to
    do with it, however good the best candidate is. The best itself is exempt: it may be a paraphrase.
    """
    if not len(scores):
        return scores
    logits = logit - logit_lost(scores.max() - scores, weights)
    unrelated = _unrelated(features)
    unrelated[int(np.argmax(scores))] = False
    logits[unrelated] = np.minimum(logits[unrelated], _UNRELATED)
    return np.asarray(1.0 / (1.0 + np.exp(-np.maximum(logits, _LEAST))), np.float32)


def _unrelated(features: Features) -> NDArray[np.bool_]:
    named_day = (features.day > 0) | (features.month > 0)
    return np.asarray((features.coverage <= 0) & (features.cosine < _RELATED_COSINE) & ~named_day)
