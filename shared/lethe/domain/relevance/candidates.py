"""The memories that a question is ranked against, prepared once: words, vectors and plain traits."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from lethe.domain.immutable import immutable
from lethe.domain.relevance.analysis import Analysed, analyse
from lethe.domain.relevance.documents import Document
from lethe.domain.relevance.lexical import Floats, Ints, LexicalIndex
from lethe.domain.text import tokenize

_TELLING_LENGTH: Final = 30
"""Terms after which a longer memory tells no more (docs/adr/0003)."""


@immutable
class Traits:
    """What the ranking reads off each memory besides its words and its vector.

    Attributes:
        from_agent: 1 where an agent or tool said it, shape (n,).
        is_question: 1 where it asks, shape (n,).
        length: ``log(1 + terms)``, terms capped at 30, shape (n,).
        speaker: Number of its speaker in ``speakers``, shape (n,).
        speakers: The terms of each distinct speaker name.
        day: Year, month and day on which it was said, zeros when unknown, shape (n, 3).
    """

    from_agent: Floats
    is_question: Floats
    length: Floats
    speaker: Ints
    speakers: tuple[frozenset[str], ...]
    day: Ints


@immutable
class Candidates:
    """All memories of a subject, or the few hundred that an engine proposes; immutable.

    Attributes:
        documents: The memories; scores answer in this order.
        lexical: Their word index.
        traits: Their plain traits.
        vectors: Unit vectors, shape (n, d); an all-zero row stands for "no vector of this model".
    """

    documents: tuple[Document, ...]
    lexical: LexicalIndex
    traits: Traits
    vectors: Floats

    @classmethod
    def build(cls, documents: Sequence[Document], vectors: ArrayLike) -> "Candidates":
        """Prepare ``documents`` with their ``vectors`` (n, d), which may be float16; ``d`` may be 0.

        Raises:
            ValueError: ``vectors`` is not one row a document.
        """
        return cls.of(analyse(documents), vectors)

    @classmethod
    def of(cls, documents: Sequence[Analysed], vectors: ArrayLike) -> "Candidates":
        """The same for documents whose text was analysed before."""
        matrix = np.ascontiguousarray(vectors, np.float32)
        if matrix.ndim != 2 or len(matrix) != len(documents):
            raise ValueError("vectors must have one row for each document")
        lexical = LexicalIndex.of(documents)
        return cls(tuple(each.document for each in documents), lexical, _traits(documents, lexical), matrix)

    def __len__(self) -> int:
        """Number of memories."""
        return len(self.documents)

    @property
    def nbytes(self) -> int:
        """Bytes held by index and vectors, texts counted at two bytes a character."""
        texts = sum(len(d.text) + len(d.context) + len(d.speaker) for d in self.documents)
        return self.lexical.nbytes + self.vectors.nbytes + 2 * texts + 28 * len(self)


def _traits(analysed: Sequence[Analysed], lexical: LexicalIndex) -> Traits:
    documents = [each.document for each in analysed]
    names = sorted({d.speaker for d in documents})
    number = {name: i for i, name in enumerate(names)}
    days = [d.occurred_on for d in documents]
    return Traits(
        from_agent=np.array([d.from_agent for d in documents], np.float32),
        is_question=np.array([each.is_question for each in analysed], np.float32),
        length=np.log1p(np.minimum(lexical.own_lengths, _TELLING_LENGTH)),
        speaker=np.array([number[d.speaker] for d in documents], np.int32),
        speakers=tuple(frozenset(tokenize(name)) for name in names),
        day=np.array([(d.year, d.month, d.day) if d else (0, 0, 0) for d in days], np.int32).reshape(-1, 3),
    )
