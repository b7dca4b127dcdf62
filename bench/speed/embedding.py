"""The local embedder with a memory: texts embedded before cost nothing, all others what they really cost."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lethe.adapters import embedders
from lethe.domain.embedding import EmbeddingModel
from lethe.ports import Embedder

Vectors = NDArray[np.float32]


class RememberingEmbedder:
    """Embeds by ``real``, and knows the texts that ``learn`` was given."""

    def __init__(self, real: Embedder) -> None:
        self._real = real
        self._known: dict[str, NDArray[np.float32]] = {}

    @property
    def model(self) -> EmbeddingModel:
        return self._real.model

    def learn(self, texts: Sequence[str]) -> Vectors:
        """The vectors of ``texts``, which cost nothing from now on."""
        missing = [text for text in texts if text not in self._known]
        for text, vector in zip(missing, self._real.embed(missing, "memory"), strict=True):
            self._known[text] = vector
        return np.stack([self._known[text] for text in texts])

    def embed(self, texts: Sequence[str], purpose: Literal["memory", "query"]) -> Vectors:
        """From memory when all are known; else by the model, all of them."""
        if texts and all(text in self._known for text in texts):
            return np.stack([self._known[text] for text in texts])
        return self._real.embed(texts, purpose)


@contextmanager
def embedding_with(embedder: Embedder) -> Iterator[None]:
    """Functions built inside the block get ``embedder``, whatever their settings name."""
    before = embedders.make_embedder
    embedders.make_embedder = lambda spec, **_: embedder
    try:
        yield
    finally:
        embedders.make_embedder = before
