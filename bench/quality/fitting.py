"""Fits the weights: listwise softmax for the order, a logistic for the gate; each set weighs alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize  # type: ignore[import-untyped]  # no stubs

Array = npt.NDArray[np.float64]

_WHOLE_WEIGHT: Final = 5.0
"""A whole memory counts as much as five of one cut size."""


@dataclass(frozen=True)
class RankCase:
    """One question in its own memory: feature matrix (n, f), evidence positions, where it came from."""

    set_name: str
    fold: int
    features: npt.NDArray[np.float32]
    evidence: tuple[int, ...]


@dataclass(frozen=True)
class GateCase:
    """One question in one memory, its own or a foreign one, whole (``size`` 0) or cut down to ``size`` turns.

    ``behind`` is how far the best evidence's ranking score lies below the best candidate's; 0 in a foreign memory.
    """

    set_name: str
    question_fold: int
    memory_fold: int
    own: bool
    size: int
    facts: tuple[float, ...]
    behind: float


def fit_ranking(cases: Sequence[RankCase], penalty: float = 1e-3) -> Array:
    """Weights that minimise the cross-entropy between the softmax of a question's scores and its evidence.

    Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach" (2007), with L2 on the
    standardised weights.
    """
    rows = np.concatenate([case.features for case in cases]).astype(np.float64)
    spread = rows.std(axis=0) + 1e-9
    rows /= spread
    sizes = np.array([len(case.features) for case in cases])
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    group = np.repeat(np.arange(len(cases)), sizes)
    target = np.zeros(len(rows))
    for start, case in zip(starts, cases, strict=True):
        target[start + np.array(case.evidence)] = 1 / len(case.evidence)
    weight = _even([case.set_name for case in cases])
    wanted = (rows * (target * weight[group])[:, None]).sum(axis=0)

    def loss(w: Array) -> tuple[float, Array]:
        scores = rows @ w
        highest = np.maximum.reduceat(scores, starts)
        exponent = np.exp(scores - highest[group])
        total = np.add.reduceat(exponent, starts)
        value = float(weight @ (np.log(total) + highest) - wanted @ w + penalty * (w @ w))
        share = exponent / total[group] * weight[group]
        return value, share @ rows - wanted + 2 * penalty * w

    found = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return np.asarray(found.x / spread)


def fit_gate(cases: Sequence[GateCase], penalty: float = 3e-3) -> Array:
    """Weights of the facts and, last, the bias of a logistic that tells own memories from foreign ones."""
    facts = np.array([case.facts for case in cases])
    mean, spread = facts.mean(axis=0), facts.std(axis=0) + 1e-9
    rows = np.column_stack(((facts - mean) / spread, np.ones(len(cases))))
    own = np.array([case.own for case in cases], np.float64)
    weight = _even([f"{case.set_name} {case.own} {case.size}" for case in cases])
    weight = weight * np.array([_WHOLE_WEIGHT if case.size == 0 else 1.0 for case in cases])
    weight /= weight.sum()

    def loss(w: Array) -> tuple[float, Array]:
        logit = rows @ w
        shrunk = np.append(w[:-1], 0.0)
        value = float(weight @ (np.logaddexp(0, logit) - own * logit) + penalty * (shrunk @ shrunk))
        return value, rows.T @ (weight * (1 / (1 + np.exp(-logit)) - own)) + 2 * penalty * shrunk

    found = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
    slopes = found[:-1] / spread
    return np.append(slopes, found[-1] - float(slopes @ mean))


def _even(groups: Sequence[str]) -> Array:
    """Weights that sum to 1 and give each group the same share."""
    names, number = np.unique(groups, return_inverse=True)
    return np.asarray(1.0 / (np.bincount(number)[number] * len(names)))
