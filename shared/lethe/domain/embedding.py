"""What recall must know of an embedding model."""

from __future__ import annotations

from lethe.domain.immutable import immutable


@immutable
class EmbeddingModel:
    """Name and version of a model, and the length of its vectors.

    ``label`` is stored beside every vector; a query meets only vectors with its own label.
    """

    name: str
    version: str
    dimensions: int

    @property
    def label(self) -> str:
        """Such as ``local/minilm-use@1``."""
        return f"{self.name}@{self.version}"
