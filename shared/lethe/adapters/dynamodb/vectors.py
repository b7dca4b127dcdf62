"""How a vector is stored: one byte that names the format, then the numbers.

Format 1 is IEEE float16, little-endian: half the size of float32.
"""

from __future__ import annotations

import numpy as np

from lethe.domain.memory import Vector

_FLOAT16 = b"\x01"


def encode_vector(vector: Vector) -> bytes:
    """The stored form of a unit vector: 1 + 2 bytes a dimension."""
    return _FLOAT16 + vector.astype("<f2").tobytes()


def decode_vector(stored: bytes) -> Vector:
    """The vector, again of unit length. Raises ValueError on a format that this version does not know."""
    if stored[:1] != _FLOAT16:
        raise ValueError("a stored vector has an unknown format")
    vector: Vector = np.frombuffer(stored, dtype="<f2", offset=1).astype(np.float32)
    norm = float(np.sqrt(vector @ vector))
    # Rounding to 11 bits leaves the length off by some 1e-4; cosines are taken as dot products.
    return vector / np.float32(norm) if norm > 0 else vector
