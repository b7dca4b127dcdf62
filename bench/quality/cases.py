"""Runs the product's ranking over a data set, for fitting and for measuring."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.quality.data import Conversation, DataSet, Question
from bench.quality.fitting import GateCase, RankCase
from bench.quality.vectors import cached
from lethe.domain.relevance import Candidates, Ranking, RelevanceModel, embedding_text, rank
from lethe.domain.text import QueryText, analyse_query
from lethe.ports import Embedder


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


def prepare(data: DataSet, embedder: Embedder | None, cache: Path, half: bool = False) -> Prepared:
    """Embed and index ``data``; ``half`` stores the vectors as float16, as the tables do."""
    candidates = {name: _candidates(c, embedder, cache, half) for name, c in data.conversations.items()}
    texts = [question.text for question in data.questions]
    vectors = cached(embedder, texts, cache) if embedder else None
    asked = tuple(
        Asked(question, analyse_query(question.text), None if vectors is None else vectors[number])
        for number, question in enumerate(data.questions)
    )
    return Prepared(data, candidates, asked)


def _candidates(conversation: Conversation, embedder: Embedder | None, cache: Path, half: bool) -> Candidates:
    documents = conversation.documents
    if embedder is None:
        return Candidates.build(documents, np.empty((len(documents), 0), np.float32))
    texts = [embedding_text(d.speaker, None, d.text, d.context) for d in documents]
    vectors = cached(embedder, texts, cache)
    return Candidates.build(documents, vectors.astype(np.float16) if half else vectors)


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
    """Every question in every memory of the set, ranked by the model that did not see the question's fold."""
    cases = []
    for asked in prepared.asked:
        home = asked.question.conversation
        fold = prepared.fold(home)
        for name, memory in prepared.candidates.items():
            ranking = rank(asked.query, asked.vector, memory, models[fold])
            assert ranking.facts is not None, "every conversation has turns"
            own = name == home
            best = max(ranking.scores[i] for i in asked.question.evidence) if own else ranking.scores.max()
            behind = float(ranking.scores.max() - best)
            cases.append(GateCase(prepared.data.name, fold, prepared.fold(name), own, astuple(ranking.facts), behind))
    return cases
