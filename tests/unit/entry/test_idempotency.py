"""One request, one effect, one answer."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from lethe.domain.idempotency import StoredAnswer
from lethe.domain.identity import Caller, Permission, Space
from lethe.entry.idempotency import Idempotency, with_user, without_user
from lethe.errors import Erased, IdempotencyMismatch, InProgress, MalformedRequest, NotFound, Unavailable
from tests.fakes.idempotency import FakeIdempotencyRecords, fake_standing
from tests.fakes.time_and_ids import FixedClock

CALLER = Caller("acme", "key:1", frozenset({Permission.WRITE}), ("*",), "1")
REQUEST = ("POST /x", "{}")
FIRST = StoredAnswer(201, '{"n":1}')


class House:
    """An Idempotency with a counter of what was performed."""

    def __init__(self) -> None:
        self.clock = FixedClock()
        self.idempotency = Idempotency(FakeIdempotencyRecords(), fake_standing(self.clock), b"k" * 32, self.clock)
        self.performed = 0
        self.epoch = 1

    def run(
        self, key: str = "k", caller: Caller = CALLER, request: tuple[str, ...] = ("POST /x", "{}")
    ) -> tuple[int, bool]:
        answer, replayed = self.idempotency.run(key, caller, request, self.space, self.perform)
        return answer.status, replayed

    def space(self) -> Space:
        if self.epoch == 0:
            raise NotFound
        return Space("acme", "s", self.epoch)

    def perform(self) -> StoredAnswer:
        self.performed += 1
        return FIRST


def test_the_second_time_nothing_is_performed() -> None:
    house = House()

    assert house.run() == (201, False)
    assert house.run() == (201, True)
    assert house.performed == 1


@pytest.mark.parametrize("request_", [("POST /x", "{} "), ("POST /y", "{}"), ("POST /x{}",), ("POST /x", "{}", "")])
def test_another_request_with_the_key_is_refused(request_: tuple[str, ...]) -> None:
    house = House()
    house.run()

    with pytest.raises(IdempotencyMismatch):
        house.run(request=request_)
    assert house.performed == 1


@pytest.mark.parametrize(
    "caller",
    [
        Caller("acme", "key:1", CALLER.permissions, ("*",), "2"),
        Caller("other", "key:1", CALLER.permissions, ("*",), "1"),
        Caller("acme", "key:1", frozenset({Permission.ADMIN}), ("*",), "1"),
        Caller("acme", "key:1", CALLER.permissions, ("s1",), "1"),
    ],
)
def test_a_key_belongs_to_its_caller(caller: Caller) -> None:
    house = House()
    house.run()

    assert house.run(caller=caller, request=("POST /z", "[]")) == (201, False)


def test_a_failure_leaves_no_claim() -> None:
    house = House()

    def fail() -> StoredAnswer:
        raise Unavailable

    with pytest.raises(Unavailable):
        house.idempotency.run("k", CALLER, ("r",), house.space, fail)
    assert house.run(request=("another",)) == (201, False)


def test_while_the_first_runs_the_second_is_in_progress() -> None:
    house = House()
    met: list[type[Exception]] = []

    def perform() -> StoredAnswer:
        with pytest.raises(InProgress) as inner:
            house.run()
        met.append(inner.type)
        return FIRST

    house.idempotency.run("k", CALLER, ("POST /x", "{}"), house.space, perform)

    assert met == [InProgress]
    assert house.performed == 0


def test_a_claim_that_was_never_answered_is_taken_over() -> None:
    house = House()

    class Crash(BaseException):
        pass

    records = FakeIdempotencyRecords()
    records.release = lambda *_: None  # type: ignore[method-assign]  # the process died before it could
    house.idempotency = Idempotency(records, fake_standing(house.clock), b"k" * 32, house.clock)

    def crash() -> StoredAnswer:
        raise Crash

    with pytest.raises(Crash):
        house.idempotency.run("k", CALLER, ("POST /x", "{}"), house.space, crash)
    with pytest.raises(InProgress):
        house.run()
    house.clock.move(timedelta(seconds=31))
    assert house.run() == (201, False)


def test_after_24_hours_the_key_is_free() -> None:
    house = House()
    house.run()
    house.clock.move(timedelta(hours=24, seconds=1))

    assert house.run(request=("another",)) == (201, False)


def test_an_erased_subjects_answer_is_not_given_again() -> None:
    house = House()
    house.run()

    house.epoch = 0
    with pytest.raises(NotFound):
        house.run()
    house.epoch = 2  # admitted again: a client's retry must not bring back what was erased
    with pytest.raises(Erased):
        house.run()
    assert house.performed == 1
    assert house.run("another-key") == (201, False)


def test_an_answer_from_before_an_erasure_is_not_kept_after_it() -> None:
    """The request reads in the first epoch; then the subject is erased and admitted, while it is still under way."""
    house = House()

    def perform() -> StoredAnswer:
        house.epoch = 2
        return FIRST

    assert house.idempotency.run("k", CALLER, REQUEST, house.space, perform) == (FIRST, False)

    with pytest.raises(Erased):
        house.run()


def test_a_request_that_may_not_write_leaves_no_claim() -> None:
    house = House()
    house.epoch = 0
    with pytest.raises(NotFound):
        house.run()
    house.epoch = 1

    assert house.run() == (201, False)


@pytest.mark.parametrize("key", ["", "a b", "\x1f", "\x7f", "é", "x" * 129, "a\n"])
def test_a_bad_key_is_refused_before_anything(key: str) -> None:
    house = House()

    with pytest.raises(MalformedRequest) as refused:
        house.run(key)
    assert refused.value.code == "invalid_header"
    assert house.performed == 0


@pytest.mark.parametrize("user_id", ["ann", 'a"b', "a\\", "漢", "@", "\U0001f98a", '"user_id":@'])
def test_user_ids_leave_a_stored_answer_and_come_back(user_id: str) -> None:
    body = json.dumps(
        {"user_id": user_id, "text": f'"user_id":"{user_id}"', "list": [{"user_id": user_id}], "user_id2": user_id},
        separators=(",", ":"),
        ensure_ascii=False,
    )
    hidden = without_user(body, user_id)

    assert hidden.count('"user_id":@') >= 2
    assert with_user(hidden, user_id) == body
    assert without_user(body, None) == body == with_user(body, None)
