"""Runs the product's ranking over a data set, for fitting and for measuring."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.quality.data import Conversation, DataSet, Question
from bench.quality.fitting import GateCase, RankCase
from bench.quality.vectors import cached
from lethe.domain.relevance import Candidates, Ranking, RelevanceModel, embedding_text, rank
from lethe.domain.text import QueryText, analyse_query
from lethe.ports import Embedder

SIZES: Final = (1, 3, 8, 25)
"""Memories of so many turns are drawn besides the whole one (size 0)."""
DRAWS: Final = 6


@dataclass(frozen=True)
class Asked:
    """A question with its analysis and vector; ``vector`` is None when only words are compared."""

    question: Question
    query: QueryText
    vector: npt.NDArray[np.float32] | None


@dataclass(frozen=True)
class Prepared:
    """A data set ready to be asked."""

    data: DataSet
    candidates: dict[str, Candidates]
    asked: tuple[Asked, ...]

    def fold(self, conversation: str) -> int:
        """The fold in which a conversation is tested."""
        return self.data.conversations[conversation].fold


def prepare(data: DataSet, embedder: Embedder | None, cache: Path) -> Prepared:
    """Embed and index ``data``."""
    candidates = {name: _candidates(c, embedder, cache) for name, c in data.conversations.items()}
    texts = [question.text for question in data.questions]
    vectors = cached(embedder, texts, cache) if embedder else None
    asked = tuple(
        Asked(question, analyse_query(question.text), None if vectors is None else vectors[number])
        for number, question in enumerate(data.questions)
    )
    return Prepared(data, candidates, asked)


def _candidates(conversation: Conversation, embedder: Embedder | None, cache: Path) -> Candidates:
    documents = conversation.documents
    if embedder is None:
        return Candidates.build(documents, np.empty((len(documents), 0), np.float32))
    texts = [embedding_text(d.speaker, None, d.text, d.context) for d in documents]
    return Candidates.build(documents, cached(embedder, texts, cache))


def own_rankings(prepared: Prepared, model: RelevanceModel) -> Iterator[tuple[Question, Ranking]]:
    """Each question asked to its own memory."""
    for asked in prepared.asked:
        memory = prepared.candidates[asked.question.conversation]
        yield asked.question, rank(asked.query, asked.vector, memory, model)


def rank_cases(prepared: Prepared, model: RelevanceModel) -> list[RankCase]:
    """Training material of the order; of ``model`` only BM25 and the cosine scale matter."""
    return [
        RankCase(prepared.data.name, prepared.fold(question.conversation), ranking.features.matrix(), question.evidence)
        for question, ranking in own_rankings(prepared, model)
    ]


def gate_cases(prepared: Prepared, models: dict[int, RelevanceModel]) -> list[GateCase]:
    """Every question in every memory of the set, whole and cut down to a few turns, by the model that did not see it.

    Cut down, a person's own memory keeps one turn of evidence: the gate must also work on the first day.
    """
    choose = np.random.default_rng(7)
    cut = {
        name: {size: [_part(c, choose.choice(len(c), size, replace=False)) for _ in range(DRAWS)] for size in SIZES}
        for name, c in prepared.candidates.items()
    }
    cases = []
    for asked in prepared.asked:
        home, evidence = asked.question.conversation, asked.question.evidence
        fold = prepared.fold(home)
        for name, whole in prepared.candidates.items():
            trials = [(0, whole, evidence)]
            for size in SIZES:
                if name == home:
                    trials.append((size, _with_evidence(whole, evidence, size, choose), (0,)))
                else:
                    trials.append((size, cut[name][size][choose.integers(DRAWS)], ()))
            for size, memory, answers in trials:
                ranking = rank(asked.query, asked.vector, memory, models[fold])
                if ranking.facts is None:
                    raise ValueError("a conversation without turns")
                own = name == home
                best = max(ranking.scores[i] for i in answers) if own else ranking.scores.max()
                behind = float(ranking.scores.max() - best)
                facts = astuple(ranking.facts)
                cases.append(GateCase(prepared.data.name, fold, prepared.fold(name), own, size, facts, behind))
    return cases


def _part(candidates: Candidates, rows: npt.NDArray[np.int64]) -> Candidates:
    return Candidates.build([candidates.documents[i] for i in rows], candidates.vectors[rows])


def _with_evidence(
    candidates: Candidates, evidence: Sequence[int], size: int, choose: np.random.Generator
) -> Candidates:
    others = np.setdiff1d(np.arange(len(candidates)), evidence)
    filler = choose.choice(others, min(size - 1, len(others)), replace=False)
    return _part(candidates, np.concatenate(([choose.choice(evidence)], filler)))
