"""Vectors of texts, kept on disk outside the project so that a second run is a matter of seconds."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lethe.ports import Embedder


def cached(embedder: Embedder, texts: Sequence[str], directory: Path) -> npt.NDArray[np.float32]:
    """Vectors of ``texts``, computed only if this very list was never embedded by this model before."""
    digest = hashlib.sha256("\x00".join((embedder.model.label, *texts)).encode("utf-8", "replace"))
    path = directory / f"{digest.hexdigest()[:32]}.npy"
    if path.exists():
        return np.asarray(np.load(path), np.float32)
    directory.mkdir(parents=True, exist_ok=True)
    vectors = embedder.embed(texts, "memory")
    np.save(path, vectors)
    return vectors
