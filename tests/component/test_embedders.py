"""The remote embedders against a loopback server that speaks the protocols: requests and secrecy."""

import logging
import traceback

import numpy as np
import pytest

from lethe.adapters.openai_compatible import OpenAICompatibleEmbedder, OpenAISettings
from lethe.errors import LetheError
from tests.support.embedding_servers import (
    CUT_BODY,
    NATIVE_DIMENSIONS,
    RESET,
    SILENT,
    EmbeddingServer,
    Fault,
    changed,
    status,
)
from tests.support.remote_embedders import MAKERS, Time, cohere, openai, titan

CANARY = "quartz-heron-91"
KEY_CANARY = "sk-velvet-otter-17"


@pytest.fixture
def time() -> Time:
    return Time()


# Requests


def test_titan_asks_for_one_text_a_call_with_its_dimensions(time: Time) -> None:
    with EmbeddingServer() as server:
        vectors = titan(server, time).embed(["first", "second"], "memory")
    assert vectors.shape == (2, 512)
    assert sorted(server.bodies, key=lambda body: body["inputText"]) == [
        {"inputText": "first", "dimensions": 512, "normalize": True},
        {"inputText": "second", "dimensions": 512, "normalize": True},
    ]


@pytest.mark.parametrize("dimensions", [256, 512, 1024])
def test_titan_has_the_dimensions_that_are_set(time: Time, dimensions: int) -> None:
    with EmbeddingServer() as server:
        embedder = titan(server, time, dimensions=dimensions)
        assert embedder.embed(["x"], "query").shape == (1, dimensions)
    assert embedder.model.label == f"bedrock/amazon.titan-embed-text-v2:0@{dimensions}"


def test_cohere_sends_96_texts_a_call_and_says_what_they_are_for(time: Time) -> None:
    with EmbeddingServer() as server:
        embedder = cohere(server, time)
        embedder.embed([f"text {n}" for n in range(97)], "memory")
        embedder.embed(["a question"], "query")
    assert sorted(len(body["texts"]) for body in server.bodies) == [1, 1, 96]
    kinds = {body["texts"][0]: (body["input_type"], body["truncate"]) for body in server.bodies}
    assert kinds["text 0"] == ("search_document", "END")
    assert kinds["a question"] == ("search_query", "END")


def test_cohere_gets_no_text_beyond_its_2048_characters(time: Time) -> None:
    with EmbeddingServer() as server:
        cohere(server, time).embed(["记" * 2_049], "memory")
    assert [len(text) for body in server.bodies for text in body["texts"]] == [2_048]


def test_cohere_vectors_by_type_are_understood(time: Time) -> None:
    by_type = changed(lambda body: body | {"embeddings": {"float": body["embeddings"]}})
    with EmbeddingServer(by_type) as server:
        embedder = cohere(server, time)
        np.testing.assert_allclose(embedder.embed(["hello"], "query"), embedder.embed(["hello"], "query"))


def test_openai_request_has_model_key_and_no_dimensions(time: Time) -> None:
    with EmbeddingServer(key=KEY_CANARY) as server:
        openai(server, time, key=KEY_CANARY + "\n").embed(["one", "two"], "memory")
    assert server.bodies == [{"model": "tiny", "input": ["one", "two"], "encoding_format": "float"}]
    assert server.asked[0].path == "/v1/embeddings"
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY_CANARY}"


def test_openai_shortens_when_told_to(time: Time) -> None:
    with EmbeddingServer() as server:
        settings = OpenAISettings(f"{server.url}/v1", shorten=True, patience=time.patience())
        vectors = OpenAICompatibleEmbedder("tiny", 16, settings).embed(["one"], "memory")
    assert vectors.shape == (1, 16)
    assert server.bodies[0]["dimensions"] == 16
    assert "authorization" not in server.asked[0].headers


def test_openai_batches_by_count_and_by_characters(time: Time) -> None:
    with EmbeddingServer() as server:
        settings = OpenAISettings(
            f"{server.url}/v1", texts_a_call=3, characters_a_call=10, characters_a_text=12, workers=1
        )
        embedder = OpenAICompatibleEmbedder("tiny", NATIVE_DIMENSIONS, settings)
        embedder.embed(["a", "b", "c", "d", "eeeee", "fffff", "g" * 50, "h"], "memory")
    assert [body["input"] for body in server.bodies] == [
        ["a", "b", "c"],
        ["d", "eeeee"],
        ["fffff"],
        ["g" * 12],
        ["h"],
    ]


def test_openai_keeps_its_connection(time: Time) -> None:
    with EmbeddingServer() as server:
        embedder = openai(server, time)
        for _ in range(5):
            embedder.embed(["again"], "query")
    assert len(server.asked) == 5
    assert server.connections == 1


def test_openai_answers_out_of_order_are_put_in_order(time: Time) -> None:
    texts = ["alpha", "beta", "gamma"]
    with EmbeddingServer(changed(lambda body: body | {"data": body["data"][::-1]})) as server:
        embedder = openai(server, time)
        shuffled, plain = embedder.embed(texts, "memory"), embedder.embed(texts, "memory")
    np.testing.assert_array_equal(shuffled, plain)


# Nothing of text or key is told


def whole_story(error: BaseException) -> str:
    """Everything that a log could show of an exception, with all that stands behind it."""
    parts: list[str] = []
    link: BaseException | None = error
    while link is not None:
        parts += ["".join(traceback.format_exception(link)), repr(link), str(getattr(link, "__dict__", ""))]
        link = link.__cause__ or link.__context__
    return "\n".join(parts)


@pytest.mark.parametrize(
    "fault",
    [
        None,
        status(400),
        status(401),
        status(404),
        status(429),
        status(500),
        status(302, location="http://127.0.0.1:9/" + CANARY),
        RESET,
        SILENT,
        CUT_BODY,
        Fault(raw=b'{"data": "' + CANARY.encode() + b'"}'),
        Fault(raw=CANARY.encode()),
        Fault(raw=b'{"embedding": ["' + CANARY.encode() + b'"], "embeddings": ["' + CANARY.encode() + b'"]}'),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", list(MAKERS))
def test_no_text_and_no_key_in_logs_or_exceptions(
    time: Time, name: str, fault: Fault | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("botocore").setLevel(logging.NOTSET)
    told = ""
    with EmbeddingServer(always=fault) as server:
        read = 0.05 if fault is SILENT else 5.0
        keyed = name == "openai"
        embedder = openai(server, time, read=read, key=KEY_CANARY) if keyed else MAKERS[name](server, time, read=read)
        try:
            embedder.embed([f"the word is {CANARY}", CANARY], "memory")
        except LetheError as error:
            told = whole_story(error)
    assert any(CANARY in str(body) for body in server.bodies)
    assert (told == "") == (fault is None)
    logged = "\n".join([caplog.text, *(str(record.__dict__) for record in caplog.records)])
    assert (fault is None) or "attempt 1 of 3" in logged
    for secret in (CANARY, KEY_CANARY):
        assert secret not in told
        assert secret not in logged


def test_settings_do_not_show_the_key() -> None:
    settings = OpenAISettings("https://models.example/v1", api_key=lambda: KEY_CANARY)
    assert KEY_CANARY not in repr(settings)
