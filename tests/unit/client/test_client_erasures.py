"""Erasures and holds: what each method sends, how its answer reads, and how an erasure is waited for."""

from datetime import UTC, datetime

import pytest

from lethe_client import (
    ConflictError,
    ErasureScope,
    ErasureStep,
    Lethe,
    LetheProtocolError,
    NotFoundError,
    StillErasingError,
    Waits,
)
from tests.unit.client.samples import erasure, hold, problem, running_erasure
from tests.unit.client.stub_service import Reply, StubService

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def begun(**changes: object) -> Reply:
    sample = running_erasure("er_1", **changes)
    return Reply(202, {"id": sample["id"], "erasure": sample}, {"Location": f"/v1/erasures/{sample['id']}"})


def test_a_user_is_erased_and_admitted() -> None:
    with StubService(begun(), Reply(200, {"user_id": "al/ice", "state": "active"})) as stub:
        lethe = Lethe(stub.url, "lk_a_b")
        erased = lethe.subjects.erase("al/ice")
        lethe.subjects.admit("al/ice")
    assert (erased.id, erased.state, erased.under_way) == ("er_1", "running", True)
    assert erased.unreadable_since == datetime(2026, 5, 4, 9, 0, 1, tzinfo=UTC)
    assert [(asked.method, asked.target) for asked in stub.asked] == [
        ("DELETE", "/v1/subjects/al%2Fice"),
        ("POST", "/v1/subjects/al%2Fice/admit"),
    ]


@pytest.mark.parametrize(
    ("scope", "sent"),
    [
        ({"subject": True}, {"subject": True}),
        ({"session_id": "s1"}, {"session_id": "s1"}),
        ({"memory_ids": ["mem_1", "mem_2"]}, {"memory_ids": ["mem_1", "mem_2"]}),
        (
            {"kind": "fact", "created_after": NOON, "created_before": "2026-06-01T00:00:00Z"},
            {"kind": "fact", "created_after": "2026-05-04T12:00:00+00:00", "created_before": "2026-06-01T00:00:00Z"},
        ),
        ({"tenant": True}, {"tenant": True}),
    ],
)
def test_every_scope_is_sent_as_it_is(scope: ErasureScope, sent: dict[str, object]) -> None:
    with StubService(begun(unreadable_since=None)) as stub:
        answer = Lethe(stub.url, "lk_a_b").erasures.begin(scope, user_id="alice", reason="she asked")
    assert stub.asked[0].target == "/v1/erasures"
    assert stub.asked[0].body == {"user_id": "alice", "scope": sent, "reason": "she asked"}
    assert stub.asked[0].headers["Idempotency-Key"]
    assert answer.unreadable_since is None


def test_a_scope_with_a_time_without_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="offset"):
        Lethe("http://127.0.0.1:9", "lk_a_b").erasures.begin({"created_after": datetime(2026, 5, 4)})


def test_an_erasure_reads_with_steps_and_verifications() -> None:
    held = erasure(state="completed_with_holds", held=2, holds=["case-7"], verified=[
        {"at": "2026-05-04T09:01:00Z", "remaining": {"memories": 0}, "held": {"memories": 2}}])  # fmt: skip
    with StubService(Reply(200, held)) as stub:
        found = Lethe(stub.url, "lk_a_b").erasures.get("er_1")
    assert stub.asked[0].target == "/v1/erasures/er_1"
    assert not found.under_way
    assert found.steps == (ErasureStep("memories", "done", 3, 3, 1),)
    assert (found.verified[0].remaining, found.verified[0].held) == ({"memories": 0}, {"memories": 2})
    assert (found.held, found.holds, found.receipts, found.failure) == (2, ("case-7",), ("rc_1",), None)


def test_an_answer_without_the_erasure_is_no_erasure() -> None:
    with StubService(Reply(202, {"id": "er_1"})) as stub, pytest.raises(LetheProtocolError, match="erasure: id"):
        Lethe(stub.url, "lk_a_b").subjects.erase("alice")


def test_erasures_and_holds_page_to_the_end() -> None:
    replies = [
        Reply(200, {"erasures": [erasure("er_3"), erasure("er_2")], "next_cursor": "c1"}),
        Reply(200, {"erasures": [erasure("er_1")], "next_cursor": None}),
        Reply(200, {"holds": [hold("a")], "next_cursor": "c2"}),
        Reply(200, {"holds": [hold("b")], "next_cursor": None}),
    ]
    with StubService(*replies) as stub:
        lethe = Lethe(stub.url, "lk_a_b")
        assert [found.id for found in lethe.erasures.list(user_id="ann", page_size=2)] == ["er_3", "er_2", "er_1"]
        assert [found.name for found in lethe.holds.list(user_id="ann", page_size=1)] == ["a", "b"]
    assert [asked.target for asked in stub.asked] == [
        "/v1/erasures?user_id=ann&limit=2",
        "/v1/erasures?user_id=ann&limit=2&cursor=c1",
        "/v1/holds?user_id=ann&limit=1",
        "/v1/holds?user_id=ann&limit=1&cursor=c2",
    ]


def test_a_receipt_is_given_as_it_was_signed() -> None:
    document = {"receipt": {"n": 1}, "statement": "…", "signature": {}}
    with StubService(Reply(200, document), Reply(200, document), Reply(404, problem(404, "not_found"))) as stub:
        erasures = Lethe(stub.url, "lk_a_b").erasures
        assert erasures.receipt("er_1") == document
        assert erasures.receipt("er_1", "rc_1") == document
        with pytest.raises(NotFoundError):
            erasures.receipt("er_2")
    assert [asked.target for asked in stub.asked[:2]] == [
        "/v1/erasures/er_1/receipt",
        "/v1/erasures/er_1/receipt?receipt_id=rc_1",
    ]


def test_holds_are_placed_read_and_released() -> None:
    held = hold(scope={"session": "b" * 32})
    replies = [Reply(201, held), Reply(200, held), Reply(204), Reply(409, problem(409, "conflict"))]
    with StubService(*replies) as stub:
        holds = Lethe(stub.url, "lk_a_b").holds
        placed = holds.place("case-7", user_id="alice", scope={"session_id": "s1"})
        assert holds.get("case-7") == placed
        holds.release("case-7")
        with pytest.raises(ConflictError):
            holds.place("case-7", user_id="bob")
    assert (placed.name, placed.scope) == ("case-7", {"session": "b" * 32})
    assert [(asked.method, asked.target) for asked in stub.asked] == [
        ("PUT", "/v1/holds/case-7"),
        ("GET", "/v1/holds/case-7"),
        ("DELETE", "/v1/holds/case-7"),
        ("PUT", "/v1/holds/case-7"),
    ]
    assert stub.asked[0].body == {"user_id": "alice", "scope": {"session_id": "s1"}}
    assert stub.asked[3].body == {"user_id": "bob"}


@pytest.mark.parametrize(
    ("location", "named"),
    [
        ("/v1/erasures/er_7", "er_7"),
        ("https://memory.example/v1/erasures/er_7", "er_7"),
        ("/elsewhere", None),
        (None, None),
    ],
)
def test_deletions_name_their_erasure(location: str | None, named: str | None) -> None:
    reply = Reply(204, headers={} if location is None else {"Location": location})
    with StubService(reply, reply) as stub:
        lethe = Lethe(stub.url, "lk_a_b")
        assert lethe.memories.delete("mem_1", user_id="alice") == named
        assert lethe.sessions.delete("s1", user_id="alice") == named


class FakeTime:
    """A clock that moves only when somebody sleeps; every roll of the dice gives the highest."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def waits(self) -> Waits:
        return Waits(now=lambda: sum(self.slept), sleep=self.slept.append, jitter=lambda low, high: high)


@pytest.mark.parametrize("state", ["completed", "completed_with_holds", "failed"])
def test_waiting_looks_until_the_end_after_longer_and_longer_pauses(state: str) -> None:
    looks = [Reply(200, running_erasure()) for _ in range(14)]
    time = FakeTime()
    with StubService(*looks, Reply(200, erasure(state=state))) as stub:
        ended = Lethe(stub.url, "lk_a_b", waits=time.waits()).erasures.wait("er_1")
    assert ended.state == state
    assert len(stub.asked) == 15
    assert time.slept == sorted(time.slept)
    assert (time.slept[0], time.slept[-1]) == (0.1, 5.0)


def test_waiting_ends_at_the_timeout_with_a_last_look() -> None:
    time = FakeTime()
    with StubService(*[Reply(200, running_erasure())] * 5) as stub, pytest.raises(StillErasingError) as caught:
        Lethe(stub.url, "lk_a_b", waits=time.waits()).erasures.wait("er_1", timeout=0.5)
    assert sum(time.slept) == pytest.approx(0.5)
    assert len(stub.asked) == len(time.slept) + 1
    assert (caught.value.erasure_id, caught.value.state) == ("er_1", "running")
