"""An immutable in-memory word index over the memories of one subject, and BM25 over it.

BM25 is Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
non-negative idf ``log(1 + (N - df + 0.5) / (df + 0.5))`` that Lucene and OpenSearch use.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lethe.domain.immutable import immutable
from lethe.domain.relevance.analysis import Analysed, analyse
from lethe.domain.relevance.documents import Document

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

_LARGEST_COUNT: Final = 65_535


@immutable
class TermStatistics:
    """What an engine tells about the whole memory of a subject, so that scores need no other document.

    Attributes:
        documents: Number of memories.
        average_length: Mean number of terms of a memory with its context.
        average_own_length: Mean number of terms of a memory without its context.
        document_frequency: For each term of the query, in how many memories (with context) it occurs.
    """

    documents: int
    average_length: float
    average_own_length: float
    document_frequency: dict[str, int]

    def idf(self, term: str) -> float:
        """Inverse document frequency of ``term``; highest for a term that this subject never used."""
        df = self.document_frequency.get(term, 0)
        return math.log1p((self.documents - df + 0.5) / (df + 0.5))


@immutable
class Postings:
    """Where one term occurs: document numbers and its counts with and without the context."""

    documents: Ints
    counts: Floats
    own_counts: Floats


_NOWHERE: Final = Postings(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.float32))


@immutable
class LexicalIndex:
    """Postings of a list of documents in compressed columns; document ``i`` is the i-th one given.

    Attributes:
        lengths: Terms of each document with its context, shape (n,).
        own_lengths: Terms of each document without its context, shape (n,).
    """

    lengths: Floats
    own_lengths: Floats
    _terms: dict[str, int]
    _starts: Ints
    _documents: Ints
    _counts: NDArray[np.uint16]
    _own_counts: NDArray[np.uint16]

    @classmethod
    def build(cls, documents: Sequence[Document]) -> "LexicalIndex":
        """Index ``documents``; linear in their text."""
        return cls.of(analyse(documents))

    @classmethod
    def of(cls, documents: Sequence[Analysed]) -> "LexicalIndex":
        """Index documents whose text was analysed before; linear in their terms."""
        terms: dict[str, int] = {}
        flat: list[int] = []
        own_lengths = np.zeros(len(documents), np.int32)
        lengths = np.zeros(len(documents), np.int32)
        for number, document in enumerate(documents):
            flat.extend([terms.setdefault(term, len(terms)) for term in document.own])
            own_lengths[number] = len(flat)
            flat.extend([terms.setdefault(term, len(terms)) for term in document.context])
            lengths[number] = len(flat)
        ends = np.concatenate((np.zeros(1, np.int32), lengths))
        own_ends = own_lengths
        lengths = np.diff(ends)
        own_lengths = own_ends - ends[:-1]
        owner = np.repeat(np.arange(len(documents), dtype=np.int64), lengths)
        is_own = np.arange(len(flat)) < own_ends[owner] if len(flat) else np.zeros(0, np.bool_)
        size = max(1, len(documents))
        key, inverse = np.unique(np.asarray(flat, np.int64) * size + owner, return_inverse=True)
        counts = np.bincount(inverse, minlength=len(key))
        own_counts = np.bincount(inverse, weights=is_own, minlength=len(key))
        starts = np.searchsorted(key, np.arange(len(terms) + 1, dtype=np.int64) * size)
        return cls(
            lengths=lengths.astype(np.float32),
            own_lengths=own_lengths.astype(np.float32),
            _terms=terms,
            _starts=starts.astype(np.int32),
            _documents=(key % size).astype(np.int32),
            _counts=np.minimum(counts, _LARGEST_COUNT).astype(np.uint16),
            _own_counts=np.minimum(own_counts, _LARGEST_COUNT).astype(np.uint16),
        )

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.lengths)

    @property
    def nbytes(self) -> int:
        """Bytes held, the term strings estimated at 100 bytes each with their dictionary slot."""
        arrays = (self.lengths, self.own_lengths, self._starts, self._documents, self._counts, self._own_counts)
        return sum(a.nbytes for a in arrays) + 100 * len(self._terms)

    def postings(self, term: str) -> Postings:
        """Where ``term`` occurs; empty when it does not."""
        number = self._terms.get(term)
        if number is None:
            return _NOWHERE
        span = slice(int(self._starts[number]), int(self._starts[number + 1]))
        return Postings(
            self._documents[span],
            self._counts[span].astype(np.float32),
            self._own_counts[span].astype(np.float32),
        )

    def statistics(self, terms: Sequence[str]) -> TermStatistics:
        """Statistics of ``terms`` over these documents."""
        n = len(self)
        return TermStatistics(
            documents=n,
            average_length=float(self.lengths.mean()) if n else 0.0,
            average_own_length=float(self.own_lengths.mean()) if n else 0.0,
            document_frequency={t: len(self.postings(t).documents) for t in terms},
        )


def bm25_weights(counts: Floats, lengths: Floats, average_length: float, k1: float, b: float) -> Floats:
    """Saturated term frequency of BM25, without the idf: ``tf (k1+1) / (tf + k1 (1 - b + b len/avg))``."""
    relative = lengths / average_length if average_length > 0 else np.ones_like(lengths)
    return np.asarray(counts * (k1 + 1) / (counts + k1 * (1 - b + b * relative)), np.float32)
