"""What is read off a memory's text once, however often the index over it is built anew."""

from collections.abc import Sequence

from lethe.domain.immutable import immutable
from lethe.domain.relevance.documents import Document, search_text
from lethe.domain.text import Memo, is_question, tokenize


@immutable
class Analysed:
    """A document with its terms.

    Attributes:
        document: The memory.
        own: Terms of the memory with its speaker, repeated as often as they occur.
        context: Terms of the part of the context that is indexed.
        is_question: Whether it asks.
    """

    document: Document
    own: tuple[str, ...]
    context: tuple[str, ...]
    is_question: bool


def analyse(documents: Sequence[Document]) -> tuple[Analysed, ...]:
    """Analyse ``documents``; linear in their text. Equal terms are one string object, so they cost little to keep."""
    memo: Memo = {}
    return tuple(_analysed(document, memo) for document in documents)


def _analysed(document: Document, memo: Memo) -> Analysed:
    own, context = search_text(document)
    return Analysed(
        document,
        tuple(tokenize(own, memo)),
        tuple(tokenize(context, memo)) if context else (),
        is_question(document.text),
    )
