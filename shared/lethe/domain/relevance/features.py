"""Features of every candidate for one question, each with an absolute meaning.

None is standardised over the candidates, so a candidate gets the same value whether the engine proposes
it among two hundred or the whole memory is scanned.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Final

import numpy as np

from lethe.domain.immutable import immutable
from lethe.domain.relevance.candidates import Candidates, Traits
from lethe.domain.relevance.lexical import Bools, Floats, LexicalIndex, TermStatistics, bm25_weights
from lethe.domain.text import DateMention, QueryText

MOST_TERMS: Final = 256
"""Query terms that are looked up; the rest of an endless question changes nothing."""


@immutable
class Bm25:
    """Parameters of BM25: saturation ``k1``, length normalisation ``b``."""

    k1: float = 0.9
    b: float = 0.4


@immutable
class Features:
    """One array of shape (n,) a feature; names are those of the weights in the model.

    Attributes:
        bm25: ``log(1 + BM25)`` over memory and context together.
        bm25_own: ``log(1 + BM25)`` over the memory alone.
        coverage: Share of the question's idf mass that occurs in memory or context, 0-1.
        cosine: Cosine of question and memory, 0 without vectors.
        speaker: 1 if the question names the speaker, -1 if it names only another one, else 0.
        agent: 1 if an agent said it.
        agent_asked: 1 if an agent said it and the question asks for what the agent said.
        question: 1 if the memory is itself a question.
        length: Log of its length, capped (see :class:`Traits`).
        day: 1 if it was said on a day that the question names.
        month: 1 if it was said in a month that the question names, with or without the day.
    """

    bm25: Floats
    bm25_own: Floats
    coverage: Floats
    cosine: Floats
    speaker: Floats
    agent: Floats
    agent_asked: Floats
    question: Floats
    length: Floats
    day: Floats
    month: Floats

    def matrix(self) -> Floats:
        """All features as columns, shape (n, 11), in the order of :data:`FEATURE_NAMES`."""
        return np.stack([getattr(self, name) for name in FEATURE_NAMES], axis=1)


FEATURE_NAMES: Final = tuple(f.name for f in fields(Features))


def bm25(index: LexicalIndex, terms: Sequence[str], statistics: TermStatistics, parameters: Bm25, own: bool) -> Floats:
    """BM25 of each document for ``terms``, over the memory alone (``own``) or with its context."""
    scores = np.zeros(len(index), np.float32)
    lengths = index.own_lengths if own else index.lengths
    average = statistics.average_own_length if own else statistics.average_length
    for term in terms[:MOST_TERMS]:
        found = index.postings(term)
        if len(found.documents):
            counts = found.own_counts if own else found.counts
            weights = bm25_weights(counts, lengths[found.documents], average, parameters.k1, parameters.b)
            scores[found.documents] += np.float32(statistics.idf(term)) * weights
    return scores


def covered_mass(index: LexicalIndex, terms: Sequence[str], statistics: TermStatistics) -> tuple[Floats, float]:
    """The idf mass of ``terms`` that each document holds, shape (n,), and that of all of them."""
    covered = np.zeros(len(index), np.float32)
    total = 0.0
    for term in terms[:MOST_TERMS]:
        idf = statistics.idf(term)
        total += idf
        covered[index.postings(term).documents] += np.float32(idf)
    return covered, total


def date_match(mentions: Sequence[DateMention], traits: Traits) -> tuple[Floats, Floats]:
    """(said on a day that is named, said in a month that is named), each 0 or 1, shape (n,)."""
    size = len(traits.length)
    day, month = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    for mention in mentions:
        same = traits.day[:, 1] == mention.month
        if mention.year is not None:
            same = same & (traits.day[:, 0] == mention.year)
        month |= same
        if mention.day is not None:
            day |= same & (traits.day[:, 2] == mention.day)
    return day.astype(np.float32), month.astype(np.float32)


def _speaker_match(query: QueryText, traits: Traits) -> Floats:
    asked = frozenset(query.terms)
    named = np.array([bool(s) and s <= asked for s in traits.speakers], np.float32)
    if not named.any():
        return np.zeros(len(traits.speaker), np.float32)
    return np.asarray(2 * named - 1, np.float32)[traits.speaker]


def cosines(query_vector: Floats | None, vectors: Floats) -> Floats:
    """Cosine of the question with each memory; memories without a vector get the mean of the others."""
    found = compared(query_vector, vectors)
    if query_vector is None or not found.any():
        return np.zeros(len(vectors), np.float32)
    values = np.asarray(vectors @ query_vector, np.float32)
    if not found.all():
        values[~found] = values[found].mean()
    return values


def compared(query_vector: Floats | None, vectors: Floats) -> Bools:
    """Which memories have a vector that the question's can be compared with."""
    if query_vector is None or not vectors.size:
        return np.zeros(len(vectors), np.bool_)
    if vectors[:, 0].all():  # cheap, and true of nearly all subjects
        return np.ones(len(vectors), np.bool_)
    return np.asarray(vectors.any(axis=1), np.bool_)


def extract(
    query: QueryText,
    cosine: Floats,
    candidates: Candidates,
    statistics: TermStatistics,
    parameters: Bm25,
) -> Features:
    """All features of ``candidates`` for ``query``; ``cosine`` as :func:`cosines` gives it."""
    index, traits = candidates.lexical, candidates.traits
    covered, mass = covered_mass(index, query.terms, statistics)
    day, month = date_match(query.dates, traits)
    asked = np.float32(query.addresses_agent)
    return Features(
        bm25=np.log1p(bm25(index, query.terms, statistics, parameters, own=False)),
        bm25_own=np.log1p(bm25(index, query.terms, statistics, parameters, own=True)),
        coverage=covered / np.float32(mass) if mass > 0 else covered,
        cosine=cosine,
        speaker=_speaker_match(query, traits),
        agent=traits.from_agent,
        agent_asked=traits.from_agent * asked,
        question=traits.is_question,
        length=traits.length,
        day=day,
        month=month,
    )
