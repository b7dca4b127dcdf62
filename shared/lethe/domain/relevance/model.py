"""The relevance model as data: weights of the ranking and of the gate, and how a cosine is read.

Fitted by ``bench/quality`` on four conversation sets (docs/adr/0003); nothing here is tuned by hand but
what says so.
"""

from dataclasses import field

from lethe.domain.immutable import immutable
from lethe.domain.relevance.features import Bm25


@immutable
class RankWeights:
    """Weights of the ranking score, one a feature (see :class:`~lethe.domain.relevance.features.Features`)."""

    bm25: float
    bm25_own: float
    coverage: float
    cosine: float
    speaker: float
    agent: float
    agent_asked: float
    question: float
    length: float
    day: float
    month: float


@immutable
class GateWeights:
    """Weights of the gate's logit (see :class:`~lethe.domain.relevance.gate.GateFacts`).

    Attributes:
        bias: Constant; it places the default threshold of 0.55.
        below_best: Logit lost for each point of ranking score below the best candidate, > 0.
        close: Points of ranking score within which a candidate stands beside the best one, >= 0.
        far_below_best: Logit lost besides for the square of the points beyond ``close``, >= 0.
    """

    bias: float
    agreement: float
    cosine: float
    spaced_cosine: float
    unknown_names: float
    lead: float
    cosine_lead: float
    unspaced: float
    size: float
    below_best: float
    close: float
    far_below_best: float


@immutable
class CosineScale:
    """How an embedder's cosines spread: mean and standard deviation over unrelated pairs of memories."""

    background: float
    spread: float


@immutable
class RelevanceModel:
    """Everything that turns features into an order and a calibrated relevance.

    Attributes:
        version: Changes whenever a number changes; part of every explanation.
        rank: Weights of the ranking score.
        gate: Weights of the gate.
        reference: Cosine scale of the embedder on which the weights were fitted.
        scale: Cosine scale of the embedder in use; ``None`` to estimate it from the memories at hand.
        bm25: Parameters of the word legs.
    """

    version: str
    rank: RankWeights
    gate: GateWeights
    reference: CosineScale
    scale: CosineScale | None
    bm25: Bm25 = field(default_factory=Bm25)
