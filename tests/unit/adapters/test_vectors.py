"""The stored form of vectors."""

from __future__ import annotations

import numpy as np
import pytest

from lethe.adapters.dynamodb.vectors import decode_vector, encode_vector
from tests.support.makers import unit_vector


@pytest.mark.parametrize("dimensions", [1, 2, 64, 384, 1024, 3072])
def test_a_vector_comes_back_close_and_of_unit_length(dimensions: int) -> None:
    vector = unit_vector(dimensions, dimensions)
    stored = encode_vector(vector)
    assert len(stored) == 1 + 2 * dimensions
    back = decode_vector(stored)
    assert back.dtype == np.float32
    assert float(np.linalg.norm(back)) == pytest.approx(1, abs=1e-6)
    assert float(back @ vector) > 1 - 1e-6


def test_similarities_hardly_change() -> None:
    vectors = np.stack([unit_vector(n, 384) for n in range(200)])
    stored = np.stack([decode_vector(encode_vector(vector)) for vector in vectors])
    assert float(np.abs(vectors @ vectors.T - stored @ stored.T).max()) < 3e-4


def test_nothing_and_zero_stay_as_they_are() -> None:
    assert decode_vector(encode_vector(np.zeros(0, np.float32))).shape == (0,)
    assert not decode_vector(encode_vector(np.zeros(4, np.float32))).any()


@pytest.mark.parametrize("stored", [b"", b"\x00\x00", b"\x02\x00\x3c"])
def test_an_unknown_format_is_refused(stored: bytes) -> None:
    with pytest.raises(ValueError, match="format"):
        decode_vector(stored)
