"""Relevance: what is indexed and embedded, the word index, the ranking and the gate.

query = analyse_query(text)                          # lethe.domain.text
candidates = Candidates.build(documents, vectors)    # once for a subject
ranking = rank(query, query_vector, candidates, relevance_model(embedder.model.label))
"""

from lethe.domain.relevance.candidates import Candidates
from lethe.domain.relevance.documents import Document, embedding_text, is_agent, search_text
from lethe.domain.relevance.fitted import DEFAULT_THRESHOLD, relevance_model
from lethe.domain.relevance.lexical import LexicalIndex, TermStatistics
from lethe.domain.relevance.model import RelevanceModel
from lethe.domain.relevance.ranking import Leg, Ranking, query_terms, rank

__all__ = [
    "DEFAULT_THRESHOLD",
    "Candidates",
    "Document",
    "Leg",
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
