"""The fitted models. Written by ``python -m bench.quality --write``; change nothing by hand."""

from typing import Final

from lethe.domain.relevance.model import CosineScale, GateWeights, RankWeights, RelevanceModel

DEFAULT_THRESHOLD: Final = 0.55
"""Relevance from which a memory is returned, unless the request says otherwise."""

_RANK: Final = RankWeights(0.73, 0.42, 2.67, 9.15, 0.17, -3.84, 0.98, -0.33, 0.69, 6.63, 3.57)
_GATE: Final = GateWeights(
    bias=-5.0,
    agreement=6.9,
    cosine=3.5,
    spaced_cosine=4.6,
    unknown_names=-1.4,
    lead=0.08,
    unspaced=0.6,
    size=-0.4,
    below_best=0.2,
)
WORDS_ONLY: Final = RelevanceModel("0", _RANK, _GATE, CosineScale(0.0, 1.0), CosineScale(0.0, 1.0))
_LOCAL: Final = RelevanceModel("0", _RANK, _GATE, CosineScale(0.13, 0.1), None)
FITTED: Final = {"local/minilm-use@1": _LOCAL}


def relevance_model(embedder: str | None) -> RelevanceModel:
    """The model for vectors with the label ``embedder``; ``None`` when a question has no vector."""
    if embedder is None:
        return WORDS_ONLY
    return FITTED.get(embedder, _LOCAL)
