"""Gate, confidence, rerank, deduplicate and cut: what happens to candidates after the search.

Each stage takes candidates sorted by score and gives all of them back, dropped ones with the reason on them: the
trace that ``explain`` prints is the data itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from lethe.domain.memory import Memory
from lethe.domain.policy import Policy
from lethe.domain.search import Candidate

# Added to the log-odds of relevance, in which a point of ranking score near the best weighs 0.1
# (``GateWeights.below_best``). Their sum is at most 0.052, half a point, so that a fresh, certain memory can overtake a
# slightly more relevant old one, and never one that is clearly more relevant.
FRESHNESS_WEIGHT: Final = 0.02
KIND_WEIGHT: Final = 0.009
CONFIDENCE_WEIGHT: Final = 0.014
HEAT_WEIGHT: Final = 0.009

_SAME_WORDS: Final = 0.85
_WORD: Final = re.compile(r"\w+")
_NEGATIONS: Final = frozenset(
    "not no never none nothing without dont didnt doesnt isnt wasnt cant wont 不 没 别 无 未".split()
)


def gate(candidates: Sequence[Candidate], threshold: float) -> list[Candidate]:
    """Drop what scores below ``threshold``; 0 lets everything through (requirement R3).

    The score is the relevance with its bonus: what a caller compares with a threshold is the score that the answer
    shows.
    """
    return [
        candidate.judged("gate", True, "relevant" if threshold > 0 else "no_threshold")
        if candidate.score >= threshold
        else candidate.judged("gate", False, "below_threshold")
        for candidate in candidates
    ]


def confidence(candidates: Sequence[Candidate], minimum: float) -> list[Candidate]:
    """Drop what was stored with too little confidence (requirement R4)."""
    return [
        candidate
        if not candidate.kept
        else candidate.judged("confidence", True, "confident")
        if candidate.memory.confidence >= minimum
        else candidate.judged("confidence", False, "low_confidence")
        for candidate in candidates
    ]


def rerank(candidates: Sequence[Candidate], policy: Policy, now: datetime) -> list[Candidate]:
    """Sort by relevance raised by freshness, kind, confidence and heat (requirement R4).

    The bonus is added in log-odds and never negative: a score is at least the relevance and
    stays between 0 and 1.
    """
    scored = [
        candidate.scored(_raised(candidate.relevance, _bonus(candidate.memory, policy, now)))
        for candidate in candidates
    ]
    return sorted(scored, key=lambda candidate: (-candidate.score, -candidate.relevance, candidate.memory.id))


def _bonus(memory: Memory, policy: Policy, now: datetime) -> float:
    age_days = max((now - memory.occurred_at).total_seconds(), 0.0) / 86_400
    certain = min(max((memory.confidence - 0.7) / 0.3, 0.0), 1.0)
    warm = 1.0 - 1.0 / (1.0 + max(memory.heat - 1.0, 0.0))
    return (
        FRESHNESS_WEIGHT / (1.0 + age_days)
        + KIND_WEIGHT * policy.kind_weights.get(memory.kind, 0.0)
        + CONFIDENCE_WEIGHT * certain
        + HEAT_WEIGHT * warm
    )


def _raised(relevance: float, bonus: float) -> float:
    if relevance <= 0.0 or relevance >= 1.0:
        return min(max(relevance, 0.0), 1.0)
    return max(relevance, 1.0 / (1.0 + math.exp(-(math.log(relevance / (1.0 - relevance)) + bonus))))


def deduplicate(candidates: Sequence[Candidate], enough: int | None = None) -> list[Candidate]:
    """Drop what says the same as a better candidate: the same words, or nearly, with the same numbers and
    negations. "Flat 12" and "flat 13", "likes" and "does not like" are never the same.

    Once ``enough`` are distinct the rest come back unjudged: ``cut`` drops them whatever they say, so only a trace
    that somebody reads is worth comparing them.
    """
    judged: list[Candidate] = []
    seen: list[tuple[frozenset[str], frozenset[str]]] = []
    for candidate in candidates:
        if not candidate.kept or (enough is not None and len(seen) >= enough):
            judged.append(candidate)
            continue
        words, telling = _fingerprint(candidate.memory.text)
        if any(telling == other_telling and _alike(words, other) for other, other_telling in seen):
            judged.append(candidate.judged("deduplicate", False, "near_duplicate"))
        else:
            seen.append((words, telling))
            judged.append(candidate.judged("deduplicate", True, "distinct"))
    return judged


def _fingerprint(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a text, and those of them that must agree: numbers and negations."""
    folded = text.casefold().replace("'", "").replace("’", "")
    words = [piece for run in _WORD.findall(folded) for piece in (run if not run.isascii() else [run])]
    telling = {word for word in words if word in _NEGATIONS or _has_digit(word)}
    return frozenset(words), frozenset(telling)


def _has_digit(word: str) -> bool:
    return not word.isalpha() and any(map(str.isdigit, word))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    # The share of common words is at most that of the sizes, which is cheaper to see.
    if not one or min(len(one), len(other)) < _SAME_WORDS * max(len(one), len(other)):
        return False
    return len(one & other) / len(one | other) >= _SAME_WORDS


def cut(candidates: Sequence[Candidate], top_k: int) -> list[Candidate]:
    """Keep the best ``top_k`` of what is left."""
    judged: list[Candidate] = []
    kept = 0
    for candidate in candidates:
        if not candidate.kept:
            judged.append(candidate)
            continue
        kept += 1
        inside = kept <= top_k
        judged.append(candidate.judged("top_k", inside, "among_best" if inside else "beyond_top_k"))
    return judged
