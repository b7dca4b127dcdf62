"""Relevance: what is indexed and embedded, the word index, the ranking and the gate.

query = analyse_query(text)                          # lethe.domain.text
candidates = Candidates.build(documents, vectors)    # once for a subject
ranking = rank(query, query_vector, candidates, relevance_model(embedder.model.label))

The names below are found in their modules when they are first asked for: what writes memories needs their texts'
form, and neither the ranking nor its classes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lethe.domain.relevance.candidates import Candidates
    from lethe.domain.relevance.documents import Document, embedding_text, is_agent, search_text
    from lethe.domain.relevance.fitted import DEFAULT_THRESHOLD, relevance_model
    from lethe.domain.relevance.lexical import LexicalIndex, TermStatistics
    from lethe.domain.relevance.model import RelevanceModel
    from lethe.domain.relevance.ranking import LegScores, Ranking, query_terms, rank

__all__ = [
    "DEFAULT_THRESHOLD",
    "Candidates",
    "Document",
    "LegScores",
    "LexicalIndex",
    "Ranking",
    "RelevanceModel",
    "TermStatistics",
    "embedding_text",
    "is_agent",
    "query_terms",
    "rank",
    "relevance_model",
    "search_text",
]

_MODULES = {
    "Candidates": "candidates",
    "DEFAULT_THRESHOLD": "fitted",
    "Document": "documents",
    "LegScores": "ranking",
    "LexicalIndex": "lexical",
    "Ranking": "ranking",
    "RelevanceModel": "model",
    "TermStatistics": "lexical",
    "embedding_text": "documents",
    "is_agent": "documents",
    "query_terms": "ranking",
    "rank": "ranking",
    "relevance_model": "fitted",
    "search_text": "documents",
}


def __getattr__(name: str) -> object:
    """The name from its module. Raises AttributeError."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
