"""An Embedder without a model: bags of hashed words, so texts that share words get similar vectors."""

import hashlib
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lethe.domain.embedding import EmbeddingModel
from lethe.errors import LetheError

_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W_]+")


def word_vector(text: str, dimensions: int) -> NDArray[np.float64]:
    """The sum of a direction a word (a character in Chinese and Japanese); never zero, not of unit length."""
    vector = np.zeros(dimensions)
    vector[0] = 0.05
    for word in _WORD.findall(text.casefold()):
        digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=32).digest()
        for i in range(0, 32, 4):
            place = int.from_bytes(digest[i : i + 3], "big") % dimensions
            vector[place] += 1.0 if digest[i + 3] & 1 else -1.0
    return vector if vector.any() else np.eye(1, dimensions).ravel()


class FakeEmbedder:
    """Deterministic; keeps what it was asked in `asked`, and raises `failing` while it is set."""

    def __init__(self, dimensions: int = 64, version: str = "1", failing: LetheError | None = None) -> None:
        self.failing = failing
        self.asked: list[tuple[Literal["memory", "query"], tuple[str, ...]]] = []
        self._model = EmbeddingModel("fake/words", version, dimensions)

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    def embed(self, texts: Sequence[str], purpose: Literal["memory", "query"]) -> NDArray[np.float32]:
        self.asked.append((purpose, tuple(texts)))
        if self.failing is not None:
            raise self.failing
        rows = [word_vector(text, self._model.dimensions) for text in texts]
        matrix = np.array(rows, np.float64).reshape(len(texts), self._model.dimensions)
        return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)
