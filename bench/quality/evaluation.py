"""Cross-validated measurements: what the order is worth, and what the gate lets through."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bench.quality.cases import Prepared, rank_cases
from bench.quality.data import FOLDS
from bench.quality.fitting import GateCase, RankCase, fit_gate, fit_ranking
from bench.quality.metrics import Order, Quality, auc, quality
from lethe.domain.relevance import Ranking, RelevanceModel, rank
from lethe.domain.relevance.gate import FACT_NAMES, logit_lost
from lethe.domain.relevance.model import GateWeights, RankWeights
from lethe.domain.relevance.ranking import reciprocal_rank_fusion

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Below:
    """Log-odds lost behind the best: ``near`` a point of ranking score, ``far`` the square of those past ``close``."""

    near: float
    close: float
    far: float


@dataclass(frozen=True)
class CurvePoint:
    """What a threshold costs and gives, in per cent of questions (``recall10`` in points)."""

    threshold: float
    recall10: float
    own_answered: float
    foreign_empty: float


def ranking_models(sets: Sequence[Prepared], start: RelevanceModel) -> tuple[dict[int, RelevanceModel], RelevanceModel]:
    """For each fold the model that never saw it, and the model of all folds."""
    cases = [case for prepared in sets for case in rank_cases(prepared, start)]
    folds = {fold: replace(start, rank=_rank_weights([c for c in cases if c.fold != fold])) for fold in range(FOLDS)}
    return folds, replace(start, rank=_rank_weights(cases))


def _rank_weights(cases: Sequence[RankCase]) -> RankWeights:
    return RankWeights(*map(float, fit_ranking(cases)))


def gate_weights(weights: Sequence[float], shift: float, below: Below) -> GateWeights:
    """The gate's weights from what the fit gives (facts in order, bias last), its logit moved by ``shift``."""
    facts = dict(zip(FACT_NAMES, map(float, weights[:-1]), strict=True))
    return GateWeights(
        bias=float(weights[-1]) + shift, below_best=below.near, close=below.close, far_below_best=below.far, **facts
    )


def gate_models(
    cases: Sequence[GateCase], models: dict[int, RelevanceModel], shift: float, below: Below
) -> dict[int, RelevanceModel]:
    """``models`` with a gate that saw neither questions nor memories of the fold."""
    return {
        fold: replace(
            model,
            gate=gate_weights(
                list(fit_gate([c for c in cases if fold not in (c.question_fold, c.memory_fold)])), shift, below
            ),
        )
        for fold, model in models.items()
    }


def compare(prepared: Prepared, models: dict[int, RelevanceModel]) -> dict[str, Quality]:
    """Both legs alone, their plain fusion and the fitted order, on questions in their own memory."""
    orders: dict[str, list[tuple[Order, Sequence[int]]]] = {}
    for asked in prepared.asked:
        question = asked.question
        model = models[prepared.fold(question.conversation)]
        ranking = rank(asked.query, asked.vector, prepared.candidates[question.conversation], model)
        fused = reciprocal_rank_fusion((ranking.words, ranking.vectors))
        for name, order in (
            ("BM25 alone", np.argsort(ranking.words.ranks)),
            ("vectors alone", np.argsort(ranking.vectors.ranks)),
            ("plain RRF", np.argsort(-fused, kind="stable")),
            ("Lethe", ranking.order),
        ):
            if asked.vector is not None or name in ("BM25 alone", "Lethe"):
                orders.setdefault(name, []).append((order, question.evidence))
    return {name: quality(pairs) for name, pairs in orders.items()}


def stored(prepared: Prepared, how: str) -> Prepared:
    """``prepared`` with its memory vectors as they come back from storage: ``float16`` or ``int8``."""
    return replace(
        prepared,
        candidates={name: replace(c, vectors=_rounded(c.vectors, how)) for name, c in prepared.candidates.items()},
    )


def _rounded(vectors: npt.NDArray[np.float32], how: str) -> npt.NDArray[np.float32]:
    if how == "float16":
        return vectors.astype(np.float16).astype(np.float32)
    if how == "int8":
        step = np.abs(vectors).max(axis=1, keepdims=True) / 127 + 1e-12
        return np.asarray(np.rint(vectors / step).astype(np.int8) * step, np.float32)
    raise ValueError(f"no such storage: {how}")


def gate_auc(cases: Sequence[GateCase], models: dict[int, RelevanceModel], size: int = 0) -> float:
    """AUC of the best evidence in one's own memory against the best candidate in a foreign one, of one size."""
    cases = [case for case in cases if case.size == size]
    logits = np.array([_logit(case, models[case.question_fold].gate) for case in cases])
    own = np.array([case.own for case in cases])
    return auc(logits[own], logits[~own])


def _logit(case: GateCase, weights: GateWeights) -> float:
    value = weights.bias + sum(getattr(weights, n) * f for n, f in zip(FACT_NAMES, case.facts, strict=True))
    return float(value - logit_lost(np.array(case.behind), weights))


def curve(
    prepared: Prepared, cases: Sequence[GateCase], models: dict[int, RelevanceModel], thresholds: Sequence[float]
) -> list[CurvePoint]:
    """R@10 and empty answers at each threshold."""
    foreign = np.array([_sigmoid(_logit(c, models[c.question_fold].gate)) for c in cases if not c.own and c.size == 0])
    found = [
        (
            rank(
                a.query,
                a.vector,
                prepared.candidates[a.question.conversation],
                models[prepared.fold(a.question.conversation)],
            ),
            a.question.evidence,
        )
        for a in prepared.asked
    ]
    points = []
    for threshold in thresholds:
        recalls = [_recall10(ranking, evidence, threshold) for ranking, evidence in found]
        answered = np.mean([ranking.relevance.max() >= threshold for ranking, _ in found])
        empty = (foreign < threshold).mean()
        points.append(CurvePoint(threshold, 100 * float(np.mean(recalls)), 100 * float(answered), 100 * float(empty)))
    return points


def _recall10(ranking: Ranking, evidence: Sequence[int], threshold: float) -> float:
    top = ranking.order[:10]
    kept = top[ranking.relevance[top] >= threshold]
    return len(np.intersect1d(kept, evidence)) / len(evidence)


def _sigmoid(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))
