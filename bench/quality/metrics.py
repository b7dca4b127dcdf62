"""Recall, nDCG, hit rate, AUC."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Order = npt.NDArray[np.integer]
Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Quality:
    """Means over questions, in per cent."""

    recall5: float
    recall10: float
    ndcg10: float
    hit5: float

    def __str__(self) -> str:
        return f"{self.recall5:5.1f} {self.recall10:5.1f} {self.ndcg10:5.1f} {self.hit5:5.1f}"


def quality(results: Iterable[tuple[Order, Sequence[int]]]) -> Quality:
    """Quality of (order of candidates, positions of the evidence) pairs; all evidence weighs alike."""
    rows = [_one(order, evidence) for order, evidence in results]
    recall5, recall10, ndcg10, hit5 = (100 * float(np.mean(column)) for column in zip(*rows, strict=True))
    return Quality(recall5, recall10, ndcg10, hit5)


def _one(order: Order, evidence: Sequence[int]) -> tuple[float, float, float, float]:
    hits = np.isin(order[:10], evidence)
    discounts = 1 / np.log2(np.arange(2, 12))
    gained = float((hits * discounts[: len(hits)]).sum())
    best = float(discounts[: min(10, len(evidence))].sum())
    return hits[:5].sum() / len(evidence), hits.sum() / len(evidence), gained / best, float(hits[:5].any())


def auc(positive: Floats, negative: Floats) -> float:
    """Chance that a positive scores above a negative, ties half (Mann-Whitney)."""
    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, "left") + np.searchsorted(ordered, positive, "right")
    return float(below.mean() / (2 * len(negative)))
