"""What the remote embedders make of servers that fail, stall, lie or refuse."""

import math
from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

from lethe.adapters.bedrock import TITAN, BedrockEmbedder, BedrockSettings
from lethe.adapters.embedding_support import ModelMisconfigured, Patience
from lethe.adapters.openai_compatible import OpenAICompatibleEmbedder, OpenAISettings
from lethe.errors import Throttled, Unavailable
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
from tests.support.remote_embedders import MAKERS, SESSION, Maker, Time, cohere, openai, titan


@pytest.fixture(params=list(MAKERS))
def make(request: pytest.FixtureRequest) -> Maker:
    return MAKERS[request.param]


@pytest.fixture
def time() -> Time:
    return Time()


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
