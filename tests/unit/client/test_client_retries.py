"""Which requests are sent again, when, and with what."""

import pytest

from lethe_client import (
    NO_RETRIES,
    ConflictError,
    Lethe,
    LetheConnectionError,
    RetryPolicy,
    ServerError,
    ThrottledError,
    UnavailableError,
    Waits,
)
from lethe_client.retries import parse_retry_after, pause_before_retry
from tests.unit.client.samples import memory, problem
from tests.unit.client.stub_service import Reply, StubService

ADDED = Reply(201, {"results": [{"event": "stored", "reason": "explicit", "memory": memory()}], "notice": "ok"})
BUSY = Reply(503, problem(503, "unavailable"))


class FakeTime:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    def waits(self) -> Waits:
        return Waits(now=lambda: self.seconds, sleep=self.sleep, jitter=lambda low, high: high)


def client(stub: StubService, time: FakeTime, retry: RetryPolicy | None = None) -> Lethe:
    return Lethe(stub.url, "lk_a_b", retry=retry, waits=time.waits(), timeout=5)


def test_a_retried_write_carries_the_same_idempotency_key() -> None:
    with StubService(BUSY, Reply(429, problem(429, "throttled")), ADDED) as stub:
        client(stub, FakeTime()).memories.add("I like figs.", user_id="alice")
    keys = [asked.headers["Idempotency-Key"] for asked in stub.asked]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert [asked.body for asked in stub.asked] == [{"user_id": "alice", "text": "I like figs."}] * 3


def test_two_writes_carry_different_idempotency_keys() -> None:
    with StubService(ADDED, ADDED) as stub:
        lethe = client(stub, FakeTime())
        lethe.memories.add("I like figs.", user_id="alice")
        lethe.memories.add("I like figs.", user_id="alice")
    assert stub.asked[0].headers["Idempotency-Key"] != stub.asked[1].headers["Idempotency-Key"]


def test_the_callers_own_idempotency_key_is_used() -> None:
    with StubService(ADDED) as stub:
        client(stub, FakeTime()).memories.add("I like figs.", user_id="alice", idempotency_key="mine-1")
    assert stub.asked[0].headers["Idempotency-Key"] == "mine-1"


def test_reading_requests_carry_no_idempotency_key() -> None:
    found = Reply(200, {"memories": [], "outcome": "nothing_stored", "degraded": False})
    with StubService(found, Reply(204)) as stub:
        lethe = client(stub, FakeTime())
        lethe.memories.search("figs", user_id="alice")
        lethe.memories.delete("mem_1", user_id="alice")
    assert all("Idempotency-Key" not in asked.headers for asked in stub.asked)


def test_retry_after_is_honoured_with_jitter_on_top() -> None:
    time = FakeTime()
    with StubService(Reply(429, problem(429, "throttled"), {"Retry-After": "7"}), ADDED) as stub:
        client(stub, time, RetryPolicy(base=0.5)).memories.add("I like figs.", user_id="alice")
    assert time.slept == [7.5]


def test_pauses_double_up_to_the_cap() -> None:
    time = FakeTime()
    with StubService(BUSY, BUSY, BUSY, BUSY, ADDED) as stub:
        client(stub, time, RetryPolicy(base=1.0, cap=3.0)).memories.add("I like figs.", user_id="alice")
    assert time.slept == [1.0, 2.0, 3.0, 3.0]


def test_a_retry_after_beyond_the_deadline_gives_up_at_once() -> None:
    time = FakeTime()
    with StubService(Reply(429, problem(429, "throttled"), {"Retry-After": "120"}), ADDED) as stub:
        with pytest.raises(ThrottledError):
            client(stub, time, RetryPolicy(deadline=60)).memories.add("I like figs.", user_id="alice")
        assert time.slept == []
        assert len(stub.asked) == 1


def test_attempts_are_bounded() -> None:
    with StubService(BUSY, BUSY, BUSY, ADDED) as stub:
        with pytest.raises(UnavailableError) as caught:
            client(stub, FakeTime(), RetryPolicy(attempts=3)).memories.get("mem_1", user_id="alice")
        assert len(stub.asked) == 3
    assert caught.value.status == 503


def test_a_broken_connection_is_tried_again() -> None:
    with StubService(Reply(drop=True), ADDED) as stub:
        result = client(stub, FakeTime()).memories.add("I like figs.", user_id="alice")
    assert result.results[0].event == "stored"
    assert stub.asked[0].headers["Idempotency-Key"] == stub.asked[1].headers["Idempotency-Key"]


def test_a_refused_connection_says_nothing_of_the_request() -> None:
    with StubService() as stub:
        url = stub.url
    lethe = Lethe(url, "lk_a_b", retry=NO_RETRIES)
    with pytest.raises(LetheConnectionError) as caught:
        lethe.memories.get("mem_1", user_id="a-private-name")
    assert "a-private-name" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_in_progress_after_an_attempt_of_ours_is_waited_for() -> None:
    with StubService(Reply(drop=True), Reply(409, problem(409, "in_progress")), ADDED) as stub:
        assert client(stub, FakeTime()).memories.add("I like figs.", user_id="alice").notice == "ok"
        assert len(stub.asked) == 3


def test_in_progress_on_the_first_attempt_is_the_callers_to_know() -> None:
    with StubService(Reply(409, problem(409, "in_progress")), ADDED) as stub:
        with pytest.raises(ConflictError):
            client(stub, FakeTime()).memories.add("I like figs.", user_id="alice", idempotency_key="mine-1")
        assert len(stub.asked) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 412, 413, 415, 422, 500])
def test_other_refusals_are_final(status: int) -> None:
    with StubService(Reply(status, problem(status, "invalid")), ADDED) as stub:
        with pytest.raises(Exception, match=str(status)):
            client(stub, FakeTime()).memories.add("I like figs.", user_id="alice")
        assert len(stub.asked) == 1


def test_a_500_is_a_server_error() -> None:
    with StubService(Reply(500, raw=b"<html>")) as stub, pytest.raises(ServerError) as caught:
        client(stub, FakeTime()).health()
    assert caught.value.code == "http_500"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("5", 5.0), (" 12 ", 12.0), ("-1", None), ("soon", None), ("٣", None)],
)
def test_retry_after_header(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header) == seconds


def test_the_pause_is_drawn_between_nothing_and_the_bound() -> None:
    drawn: list[tuple[float, float]] = []

    def jitter(low: float, high: float) -> float:
        drawn.append((low, high))
        return low

    pause = pause_before_retry(RetryPolicy(base=0.25, cap=8), 3, None, Waits(jitter=jitter))
    assert pause == 0.0
    assert drawn == [(0.0, 1.0)]


@pytest.mark.parametrize("bad", [{"attempts": 0}, {"deadline": -1.0}, {"base": -0.1}, {"cap": -1.0}])
def test_a_policy_that_makes_no_sense_is_refused(bad: dict[str, float]) -> None:
    values = {"attempts": 2, "deadline": 1.0, "base": 0.1, "cap": 1.0, **bad}
    with pytest.raises(ValueError, match="attempts"):
        RetryPolicy(int(values["attempts"]), values["deadline"], values["base"], values["cap"])
