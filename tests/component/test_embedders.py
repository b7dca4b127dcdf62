"""The remote embedders against a loopback server that speaks the protocols: requests, failures, secrecy."""

import logging
import math
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Protocol

import botocore.session
import numpy as np
import pytest

from lethe.adapters.bedrock import COHERE, TITAN, BedrockEmbedder, BedrockSettings
from lethe.adapters.embedding_support import ModelMisconfigured, Patience
from lethe.adapters.openai_compatible import OpenAICompatibleEmbedder, OpenAISettings
from lethe.errors import LetheError, Throttled, Unavailable
from lethe.ports import Embedder
from tests.support.embedding_servers import (
    CUT_BODY,
    ENDLESS,
    NATIVE_DIMENSIONS,
    RESET,
    SILENT,
    Body,
    EmbeddingServer,
    Fault,
    changed,
    status,
)

SESSION = botocore.session.Session()  # one for all: reading botocore's data takes a while
SESSION.set_credentials("AKIDEXAMPLE", "secret")
CANARY = "quartz-heron-91"
KEY_CANARY = "sk-velvet-otter-17"


class Time:
    """A clock that only sleeping moves, and the pauses that were slept."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def patience(self, jitter: float = 1.0) -> Patience:
        return Patience(clock=self.clock, sleep=self.sleep, jitter=lambda: jitter)


def titan(server: EmbeddingServer, time: Time, *, dimensions: int | None = None, read: float = 5.0) -> Embedder:
    settings = BedrockSettings("eu-central-1", server.url, read_seconds=read, patience=time.patience())
    return BedrockEmbedder(TITAN, settings, dimensions, SESSION)


def cohere(server: EmbeddingServer, time: Time, *, read: float = 5.0) -> Embedder:
    settings = BedrockSettings("eu-central-1", server.url, read_seconds=read, patience=time.patience())
    return BedrockEmbedder(COHERE, settings, None, SESSION)


def openai(server: EmbeddingServer, time: Time, *, read: float = 5.0, key: str | None = None) -> Embedder:
    settings = OpenAISettings(
        f"{server.url}/v1/",
        api_key=None if key is None else lambda: key,
        read_seconds=read,
        patience=time.patience(),
        today=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
    return OpenAICompatibleEmbedder("tiny", NATIVE_DIMENSIONS, settings)


class Maker(Protocol):
    def __call__(self, server: EmbeddingServer, time: Time, *, read: float = ...) -> Embedder: ...


MAKERS: dict[str, Maker] = {"titan": titan, "cohere": cohere, "openai": openai}


@pytest.fixture(params=list(MAKERS))
def make(request: pytest.FixtureRequest) -> Maker:
    return MAKERS[request.param]


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


# Failures that pass


@pytest.mark.parametrize(
    "fault", [status(500), status(503), status(429), status(408), RESET, CUT_BODY, Fault(raw=b"not json")], ids=str
)
def test_a_passing_failure_is_tried_again(make: Maker, time: Time, fault: Fault) -> None:
    with EmbeddingServer(fault, fault) as server:
        vectors = make(server, time).embed(["patience"], "query")
    assert len(vectors) == 1
    assert len(server.asked) == 3
    assert time.pauses == [pytest.approx(0.1), pytest.approx(0.2)]  # the jitter's upper end, doubling


@pytest.mark.parametrize("fault", [status(500), status(503), RESET, CUT_BODY, Fault(raw=b"[]")], ids=str)
def test_a_lasting_failure_is_unavailable_after_three_attempts(make: Maker, time: Time, fault: Fault) -> None:
    with EmbeddingServer(always=fault) as server:
        embedder = make(server, time)
        with pytest.raises(Unavailable) as caught:
            embedder.embed(["patience"], "query")
    assert caught.value.retryable
    assert len(server.asked) == 3


def test_throttling_that_lasts_is_throttled(make: Maker, time: Time) -> None:
    with EmbeddingServer(always=status(429)) as server:
        embedder = make(server, time)
        with pytest.raises(Throttled):
            embedder.embed(["patience"], "query")
    assert len(server.asked) == 3


def test_bedrock_quota_is_throttled_whatever_its_status(time: Time) -> None:
    quota = Fault(status=400, headers={"x-amzn-ErrorType": "ServiceQuotaExceededException"})
    with EmbeddingServer(always=quota) as server:
        embedder = titan(server, time)
        with pytest.raises(Throttled):
            embedder.embed(["patience"], "query")


@pytest.mark.parametrize("name", list(MAKERS))
def test_a_server_that_never_answers_is_unavailable(time: Time, name: str) -> None:
    with EmbeddingServer(always=SILENT) as server:
        embedder = MAKERS[name](server, time, read=0.05)
        with pytest.raises(Unavailable):
            embedder.embed(["hello?"], "query")
    assert len(server.asked) == 3


def test_nobody_listening_is_unavailable(make: Maker, time: Time) -> None:
    with EmbeddingServer() as server:
        embedder = make(server, time)
    with pytest.raises(Unavailable):
        embedder.embed(["hello?"], "query")


@pytest.mark.parametrize(
    ("header", "pauses"),
    [
        ("3", [3.0]),
        ("Thu, 01 Jan 2026 00:00:04 GMT", [4.0]),
        ("Wed, 31 Dec 2025 23:00:00 GMT", [0.1]),
        ("soon", [0.1]),
        ("-5", [0.1]),
    ],
)
def test_openai_retry_after_is_honoured(time: Time, header: str, pauses: list[float]) -> None:
    with EmbeddingServer(status(429, retry_after=header)) as server:
        openai(server, time).embed(["patience"], "query")
    assert time.pauses == [pytest.approx(p) for p in pauses]


def test_a_retry_after_beyond_the_deadline_ends_it_at_once(time: Time) -> None:
    with EmbeddingServer(always=status(429, retry_after="3600")) as server:
        embedder = openai(server, time)
        with pytest.raises(Throttled):
            embedder.embed(["patience"], "query")
    assert len(server.asked) == 1
    assert time.pauses == []


def test_no_attempt_begins_that_could_not_end_before_the_deadline(time: Time) -> None:
    hasty = Patience(attempts=9, query_seconds=6.35, clock=time.clock, sleep=time.sleep, jitter=lambda: 1.0)
    with EmbeddingServer(always=status(500)) as server:
        embedder = BedrockEmbedder(TITAN, BedrockSettings("eu-central-1", server.url, patience=hasty), None, SESSION)
        with pytest.raises(Unavailable):
            embedder.embed(["patience"], "query")
    # 6 s for an attempt leave room for pauses of .1 and .2, not for the next of .4.
    assert time.pauses == [pytest.approx(0.1), pytest.approx(0.2)]
    assert len(server.asked) == 3


def test_an_answer_that_never_ends_is_given_up(time: Time) -> None:
    ticks = count()
    impatient = Patience(query_seconds=40, clock=lambda: float(next(ticks)), sleep=time.sleep)
    with EmbeddingServer(always=ENDLESS) as server:
        settings = OpenAISettings(f"{server.url}/v1", patience=impatient)
        with pytest.raises(Unavailable, match="too slowly"):
            OpenAICompatibleEmbedder("tiny", NATIVE_DIMENSIONS, settings).embed(["hello?"], "query")
    assert len(server.asked) == 1


def test_an_answer_without_measure_is_given_up(time: Time) -> None:
    with EmbeddingServer(always=ENDLESS) as server:
        embedder = openai(server, time)
        with pytest.raises(Unavailable, match="too long"):
            embedder.embed(["hello?"], "query")


def test_one_failed_text_fails_all_and_stops_the_rest(time: Time) -> None:
    with EmbeddingServer(always=status(400)) as server:
        embedder = titan(server, time)
        with pytest.raises(Unavailable):
            embedder.embed([f"text {n}" for n in range(500)], "memory")
    assert len(server.asked) < 500


# Failures that stay


def openai_vectors(change: Callable[[list[float]], list[float]]) -> Callable[[Body], Body]:
    return lambda body: body | {"data": [d | {"embedding": change(d["embedding"])} for d in body["data"]]}


def bad_vectors(name: str, change: Callable[[list[float]], list[float]]) -> Fault:
    """A good answer with its vectors changed, in the form of each vendor."""
    if name == "titan":
        return changed(lambda body: body | {"embedding": change(body["embedding"])})
    if name == "cohere":
        return changed(lambda body: body | {"embeddings": [change(v) for v in body["embeddings"]]})
    return changed(openai_vectors(change))


@pytest.mark.parametrize("name", list(MAKERS))
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_unavailable(time: Time, name: str, bad: float) -> None:
    with EmbeddingServer(always=bad_vectors(name, lambda v: [bad, *v[1:]])) as server:
        embedder = MAKERS[name](server, time)
        with pytest.raises(Unavailable):
            embedder.embed(["hello"], "memory")


@pytest.mark.parametrize("name", list(MAKERS))
def test_a_vector_of_zeros_is_unavailable(time: Time, name: str) -> None:
    with EmbeddingServer(always=bad_vectors(name, lambda v: [0.0] * len(v))) as server:
        embedder = MAKERS[name](server, time)
        with pytest.raises(Unavailable, match="zeros"):
            embedder.embed(["hello"], "memory")


@pytest.mark.parametrize("name", list(MAKERS))
@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_huge_and_tiny_vectors_become_unit_vectors(time: Time, name: str, scale: float) -> None:
    with EmbeddingServer(bad_vectors(name, lambda v: [x * scale for x in v])) as server:
        embedder = MAKERS[name](server, time)
        scaled, plain = embedder.embed(["hello"], "memory"), embedder.embed(["hello"], "memory")
    np.testing.assert_allclose(scaled, plain, atol=1e-6)


@pytest.mark.parametrize("name", list(MAKERS))
def test_other_dimensions_are_a_setting_to_correct(time: Time, name: str) -> None:
    with EmbeddingServer(always=bad_vectors(name, lambda v: v[:7])) as server:
        embedder = MAKERS[name](server, time)
        with pytest.raises(ModelMisconfigured, match="vectors of 7 numbers, the settings say") as caught:
            embedder.embed(["hello"], "memory")
    assert isinstance(caught.value, Unavailable)
    assert not caught.value.retryable
    assert len(server.asked) == 1


def test_a_wrong_number_of_vectors_is_unavailable(time: Time) -> None:
    with EmbeddingServer(
        changed(lambda body: body | {"data": body["data"][:1]}),
        changed(lambda body: body | {"embeddings": body["embeddings"] * 2}),
    ) as server:
        for embedder in (openai(server, time), cohere(server, time)):
            with pytest.raises(Unavailable, match="vectors for 2 texts"):
                embedder.embed(["one", "two"], "memory")


def test_openai_vectors_numbered_twice_are_unavailable(time: Time) -> None:
    twice = changed(lambda body: body | {"data": [d | {"index": 0} for d in body["data"]]})
    with EmbeddingServer(always=twice) as server:
        embedder = openai(server, time)
        with pytest.raises(Unavailable, match="numbered"):
            embedder.embed(["one", "two"], "memory")


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_openai_redirects_are_not_followed(time: Time, code: int) -> None:
    with EmbeddingServer() as elsewhere, EmbeddingServer(status(code, location=elsewhere.url)) as server:
        embedder = openai(server, time)
        with pytest.raises(ModelMisconfigured, match="redirects"):
            embedder.embed(["hello"], "memory")
    assert elsewhere.asked == []
    assert len(server.asked) == 1


@pytest.mark.parametrize("code", [401, 403, 404])
def test_refused_rights_and_names_are_settings_to_correct(make: Maker, time: Time, code: int) -> None:
    with EmbeddingServer(always=status(code)) as server:
        embedder = make(server, time)
        with pytest.raises(ModelMisconfigured, match=str(code)):
            embedder.embed(["hello"], "memory")
    assert len(server.asked) == 1


@pytest.mark.parametrize("code", [400, 413, 422])
def test_a_refused_request_is_not_repeated(make: Maker, time: Time, code: int) -> None:
    with EmbeddingServer(always=status(code)) as server:
        embedder = make(server, time)
        with pytest.raises(Unavailable, match=str(code)):
            embedder.embed(["hello"], "memory")
    assert len(server.asked) == 1


def test_missing_aws_credentials_are_a_setting_to_correct(time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with EmbeddingServer() as server:
        settings = BedrockSettings("eu-central-1", server.url, patience=time.patience())
        with pytest.raises(ModelMisconfigured, match="credentials"):
            BedrockEmbedder(TITAN, settings).embed(["hello"], "query")
    assert server.asked == []


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", "tab\tkey"])
def test_a_key_that_no_header_can_hold_is_refused_unsent(time: Time, key: str) -> None:
    with EmbeddingServer() as server:
        embedder = openai(server, time, key=key)
        with pytest.raises(ModelMisconfigured) as caught:
            embedder.embed(["hello"], "query")
    assert key not in str(caught.value)
    assert server.asked == []


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
        keyed = name == "openai"
        embedder = openai(server, time, read=0.05, key=KEY_CANARY) if keyed else MAKERS[name](server, time, read=0.05)
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
