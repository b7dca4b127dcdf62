"""The fitted models. Written by ``python -m bench.quality --write``; change nothing by hand."""

from dataclasses import replace
from typing import Final

from lethe.domain.relevance.model import CosineScale, GateWeights, RankWeights, RelevanceModel

DEFAULT_THRESHOLD: Final = 0.55
"""Relevance from which a memory is returned, unless the request says otherwise."""

MINILM_USE: Final = RelevanceModel(
    version="minilm-use-2",
    rank=RankWeights(
        bm25=0.7133,
        bm25_own=0.458,
        coverage=2.728,
        cosine=8.695,
        speaker=0.1823,
        agent=-2.946,
        agent_asked=0.9213,
        question=-0.3509,
        length=1.016,
        day=6.658,
        month=3.522,
    ),
    gate=GateWeights(
        bias=-3.04,
        agreement=7.023,
        cosine=6.346,
        spaced_cosine=4.443,
        unknown_names=-1.372,
        lead=0.176,
        cosine_lead=-4.944,
        unspaced=0.4685,
        size=-0.4667,
        below_best=0.1,
        close=3,
        far_below_best=0.3,
    ),
    reference=CosineScale(
        background=0.33,
        spread=0.1296,
    ),
    scale=CosineScale(
        background=0.33,
        spread=0.1296,
    ),
)

USE: Final = RelevanceModel(
    version="use-2",
    rank=RankWeights(
        bm25=0.856,
        bm25_own=0.5071,
        coverage=2.833,
        cosine=7.463,
        speaker=0.2408,
        agent=-2.925,
        agent_asked=0.9834,
        question=-0.3724,
        length=0.9739,
        day=6.932,
        month=3.519,
    ),
    gate=GateWeights(
        bias=-2.488,
        agreement=8.127,
        cosine=5.399,
        spaced_cosine=2.658,
        unknown_names=-1.441,
        lead=0.1686,
        cosine_lead=-5.14,
        unspaced=-0.1725,
        size=-0.4344,
        below_best=0.1,
        close=3,
        far_below_best=0.3,
    ),
    reference=CosineScale(
        background=0.3518,
        spread=0.1283,
    ),
    scale=CosineScale(
        background=0.3518,
        spread=0.1283,
    ),
)

WORDS: Final = RelevanceModel(
    version="words-2",
    rank=RankWeights(
        bm25=1.483,
        bm25_own=0.7161,
        coverage=3.179,
        cosine=0,
        speaker=0.4386,
        agent=-3.532,
        agent_asked=0.9653,
        question=-0.3011,
        length=0.5094,
        day=7.888,
        month=3.615,
    ),
    gate=GateWeights(
        bias=-2.324,
        agreement=7.722,
        cosine=0,
        spaced_cosine=0,
        unknown_names=-1.941,
        lead=-0.02541,
        cosine_lead=0,
        unspaced=-0.753,
        size=-0.2448,
        below_best=0.1,
        close=3,
        far_below_best=0.3,
    ),
    reference=CosineScale(
        background=0,
        spread=1,
    ),
    scale=CosineScale(
        background=0,
        spread=1,
    ),
)

FITTED: Final = {"local/minilm-use@1": MINILM_USE, "local/use@1": USE}
"""Models by the label of the embedder that they were fitted on."""

OTHER: Final = replace(MINILM_USE, version="minilm-use-2-rescaled", scale=None)
"""For any other embedder: its cosines are read by their own spread (:func:`~.ranking.estimate_scale`)."""


def relevance_model(embedder: str | None) -> RelevanceModel:
    """The model for vectors with the label ``embedder``; ``None`` when a question has no vector."""
    return WORDS if embedder is None else FITTED.get(embedder, OTHER)
