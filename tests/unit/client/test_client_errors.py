"""How refusals and broken answers reach the caller."""

import pytest

from lethe_client import (
    ConflictError,
    ErasedError,
    FieldError,
    ForbiddenError,
    InvalidRequestError,
    Lethe,
    LetheApiError,
    LetheProtocolError,
    NotFoundError,
    UnauthenticatedError,
    VersionConflictError,
)
from tests.unit.client.samples import memory, problem
from tests.unit.client.stub_service import Reply, StubService

KINDS = [
    (400, "invalid_json", InvalidRequestError),
    (401, "unauthenticated", UnauthenticatedError),
    (403, "forbidden", ForbiddenError),
    (404, "not_found", NotFoundError),
    (409, "conflict", ConflictError),
    (410, "erased", ErasedError),
    (412, "version_conflict", VersionConflictError),
    (413, "too_large", InvalidRequestError),
    (415, "unsupported_media_type", InvalidRequestError),
    (422, "invalid", InvalidRequestError),
    (418, "teapot", LetheApiError),
]


@pytest.mark.parametrize(("status", "code", "kind"), KINDS)
def test_each_status_has_its_exception(status: int, code: str, kind: type[LetheApiError]) -> None:
    with StubService(Reply(status, problem(status, code))) as stub, pytest.raises(LetheApiError) as caught:
        Lethe(stub.url, "lk_a_b").memories.get("mem_1", user_id="alice")
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.code) == (status, code)
    assert caught.value.request_id == "req-1"


def test_refused_fields_are_named() -> None:
    errors: list[object] = [{"field": "messages[3].content", "message": "at most 32768 bytes"}]
    reply = Reply(422, problem(422, "invalid", errors=errors))
    with StubService(reply) as stub, pytest.raises(InvalidRequestError) as caught:
        Lethe(stub.url, "lk_a_b").sessions.append("s1", [{"role": "user", "content": "x"}], user_id="alice")
    assert caught.value.errors == (FieldError("messages[3].content", "at most 32768 bytes"),)
    assert "messages[3].content: at most 32768 bytes" in str(caught.value)


def test_what_the_detail_says_already_is_not_said_twice() -> None:
    errors = [{"field": "query", "message": "too long"}]
    reply = Reply(422, problem(422, "invalid", errors=errors, detail="query: too long"))
    with StubService(reply) as stub, pytest.raises(InvalidRequestError) as caught:
        Lethe(stub.url, "lk_a_b").memories.search("x", user_id="alice")
    assert str(caught.value) == "422 invalid: query: too long"


def test_a_version_conflict_names_the_current_version() -> None:
    reply = Reply(412, problem(412, "version_conflict", current_version=7))
    with StubService(reply) as stub, pytest.raises(VersionConflictError) as caught:
        Lethe(stub.url, "lk_a_b").memories.update("mem_1", version=3, user_id="alice", pinned=True)
    assert caught.value.current_version == 7


def test_an_answer_that_is_no_problem_document_keeps_its_status_and_request_id() -> None:
    reply = Reply(403, raw=b"Forbidden", headers={"apigw-requestid": "gw-9"})
    with StubService(reply) as stub, pytest.raises(ForbiddenError) as caught:
        Lethe(stub.url, "lk_a_b").health()
    assert (caught.value.code, caught.value.request_id) == ("http_403", "gw-9")


@pytest.mark.parametrize("raw", [b"<html>hello</html>", b"[1, 2]", b"\xff\xfe", b'{"status": "ok"}'])
def test_an_answer_outside_the_contract_is_a_protocol_error(raw: bytes) -> None:
    with StubService(Reply(200, raw=raw)) as stub, pytest.raises(LetheProtocolError):
        Lethe(stub.url, "lk_a_b").health()


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("id", 3), ("text", None), ("confidence", "high"), ("version", 1.5), ("version", True), ("pinned", "no"),
        ("created_at", "yesterday"), ("derived_from", "mem_2"), ("derived_from", [4]), ("metadata", []),
        ("source", "chat"),
    ],
)  # fmt: skip
def test_a_member_of_the_wrong_type_is_named(member: str, value: object) -> None:
    with (
        StubService(Reply(200, {**memory(), member: value})) as stub,
        pytest.raises(LetheProtocolError, match=f": {member} is not "),
    ):
        Lethe(stub.url, "lk_a_b").memories.get("mem_1", user_id="alice")


def test_a_redirect_is_not_followed_so_the_key_goes_nowhere_else() -> None:
    with StubService() as other:
        reply = Reply(302, headers={"Location": other.url + "/v1/health"})
        with StubService(reply) as stub, pytest.raises(LetheProtocolError, match="redirect"):
            Lethe(stub.url, "lk_a_b").health()
        assert other.asked == []


@pytest.mark.parametrize("url", ["127.0.0.1:8700", "ftp://host", "http://", "http://host?x=1", "http://host#a"])
def test_a_url_that_cannot_work_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="url"):
        Lethe(url, "lk_a_b")


@pytest.mark.parametrize("key", ["lk_a\r\nX: y", "lk_é", "lk\t"])
def test_a_key_that_cannot_stand_in_a_header_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="api_key"):
        Lethe("http://127.0.0.1", key)


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(Lethe("http://127.0.0.1", "lk_a_secret"))


def test_texts_that_cannot_be_sent_are_refused_without_showing_them() -> None:
    lethe = Lethe("http://127.0.0.1:9", "lk_a_b")
    for send in (
        lambda: lethe.memories.add("private \ud800", user_id="alice"),
        lambda: lethe.subject("private \ud800"),
        lambda: lethe.memories.get("mem_1", user_id="private \ud800"),
    ):
        with pytest.raises(ValueError, match="surrogate") as caught:
            send()
        assert "private" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        Lethe("http://127.0.0.1:9", "lk_a_b").memories.add("I like figs.", confidence=float("nan"))
