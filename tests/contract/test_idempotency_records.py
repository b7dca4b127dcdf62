"""The contract of IdempotencyRecords, over the fake and both DynamoDBs."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from lethe.domain.idempotency import KEPT, Claim, StoredAnswer
from lethe.errors import IdempotencyMismatch, InProgress, LetheError
from tests.fakes.time_and_ids import START
from tests.support.makers import TEXTS
from tests.support.stores import Stores

NOON = START.replace(microsecond=0)
DEADLINE = NOON + timedelta(seconds=30)
ANSWER = StoredAnswer(201, '{"ok":true}')


def test_the_first_claim_starts_and_others_wait(stores: Stores) -> None:
    records, tenant = stores.idempotency, stores.new_space().tenant
    assert records.claim(tenant, "key", "request", NOON, DEADLINE) is Claim.STARTED
    with pytest.raises(InProgress):
        records.claim(tenant, "key", "request", NOON, DEADLINE)
    with pytest.raises(IdempotencyMismatch):
        records.claim(tenant, "key", "another", NOON, DEADLINE)


def test_keys_belong_to_their_tenant(stores: Stores) -> None:
    for _ in range(2):
        tenant = stores.new_space().tenant
        assert stores.idempotency.claim(tenant, "key", "request", NOON, DEADLINE) is Claim.STARTED
        assert stores.idempotency.claim(tenant, "key2", "request", NOON, DEADLINE) is Claim.STARTED


def test_the_answer_is_given_again(stores: Stores) -> None:
    records, space = stores.idempotency, stores.new_space()
    records.claim(space.tenant, "key", "request", NOON, DEADLINE)
    assert records.answer(space, "key", NOON) is None
    records.store(space, space.tenant, "key", ANSWER, NOON)
    assert records.claim(space.tenant, "key", "request", NOON, DEADLINE) is Claim.ANSWERED
    assert records.answer(space, "key", NOON) == ANSWER
    with pytest.raises(IdempotencyMismatch):
        records.claim(space.tenant, "key", "another", NOON, DEADLINE)


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_answers_come_back_to_the_letter(stores: Stores, number: int) -> None:
    space = stores.new_space()
    answer = StoredAnswer(200 + number, TEXTS[number])
    stores.idempotency.store(space, space.tenant, "key", answer, NOON)
    assert stores.idempotency.answer(space, "key", NOON) == answer


def test_an_answer_larger_than_an_item(stores: Stores) -> None:
    space = stores.new_space()
    dice = random.Random(1)
    body = "".join(chr(dice.randrange(0x4E00, 0x9FFF)) for _ in range(500_000))
    stores.idempotency.store(space, space.tenant, "key", StoredAnswer(200, body), NOON)
    assert stores.idempotency.answer(space, "key", NOON) == StoredAnswer(200, body)


def test_the_first_answer_stays(stores: Stores) -> None:
    records, space = stores.idempotency, stores.new_space()
    records.store(space, space.tenant, "key", ANSWER, NOON)
    records.store(space, space.tenant, "key", StoredAnswer(500, "other"), NOON)
    assert records.answer(space, "key", NOON) == ANSWER


def test_answers_belong_to_their_space(stores: Stores) -> None:
    records, space = stores.idempotency, stores.new_space()
    records.store(space, space.tenant, "key", ANSWER, NOON)
    for other in (stores.new_space(space.tenant), stores.new_space(), replace(space, epoch=2)):
        assert records.answer(other, "key", NOON) is None
    assert records.answer(space, "key2", NOON) is None


@pytest.mark.parametrize(("seconds", "taken"), [(-1, False), (-0.001, False), (0, True), (1, True)])
def test_an_abandoned_claim_may_be_taken_over(stores: Stores, seconds: float, taken: bool) -> None:
    records, tenant = stores.idempotency, stores.new_space().tenant
    records.claim(tenant, "key", "request", NOON, DEADLINE)
    then = DEADLINE + timedelta(seconds=seconds)
    with pytest.raises(IdempotencyMismatch):
        records.claim(tenant, "key", "another", then, then + timedelta(seconds=30))
    if taken:
        assert records.claim(tenant, "key", "request", then, then + timedelta(seconds=30)) is Claim.STARTED
    with pytest.raises(InProgress):
        records.claim(tenant, "key", "request", then, then + timedelta(seconds=30))


@pytest.mark.parametrize(("seconds", "kept"), [(-1, True), (0, False), (1, False)])
def test_a_day_later_all_is_forgotten(stores: Stores, seconds: int, kept: bool) -> None:
    records, space = stores.idempotency, stores.new_space()
    records.claim(space.tenant, "key", "request", NOON, DEADLINE)
    records.store(space, space.tenant, "key", ANSWER, NOON)
    then = NOON + KEPT + timedelta(seconds=seconds)
    assert (records.answer(space, "key", then) == ANSWER) is kept
    claim = records.claim(space.tenant, "key", "request", then, then + timedelta(seconds=30))
    assert claim is (Claim.ANSWERED if kept else Claim.STARTED)
    if not kept:
        records.store(space, space.tenant, "key", StoredAnswer(200, "anew"), then)
        assert records.answer(space, "key", then) == StoredAnswer(200, "anew")


def test_a_failed_request_gives_its_claim_up(stores: Stores) -> None:
    records, tenant = stores.idempotency, stores.new_space().tenant
    records.claim(tenant, "key", "request", NOON, DEADLINE)
    records.release(tenant, "key", "another")
    with pytest.raises(InProgress):
        records.claim(tenant, "key", "request", NOON, DEADLINE)
    records.release(tenant, "key", "request")
    assert records.claim(tenant, "key", "another", NOON, DEADLINE) is Claim.STARTED


def test_an_answered_claim_is_not_given_up(stores: Stores) -> None:
    records, space = stores.idempotency, stores.new_space()
    records.claim(space.tenant, "key", "request", NOON, DEADLINE)
    records.store(space, space.tenant, "key", ANSWER, NOON)
    records.release(space.tenant, "key", "request")
    records.release(space.tenant, "never claimed", "request")
    assert records.claim(space.tenant, "key", "request", NOON, DEADLINE) is Claim.ANSWERED


def test_one_of_many_wins(strict_stores: Stores) -> None:
    records, tenant = strict_stores.idempotency, strict_stores.new_space().tenant

    def claim(number: int) -> str:
        try:
            return records.claim(tenant, f"key{number % 20}", "request", NOON, DEADLINE).value
        except LetheError as refused:
            return refused.code

    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(claim, range(160)))
    for key in range(20):
        assert sorted(outcomes[key::20]) == ["in_progress"] * 7 + ["started"]


def test_an_answer_goes_with_what_it_speaks_of_and_no_other(stores: Stores) -> None:
    records, space, other = stores.idempotency, stores.new_space(), stores.new_space()
    one, two = replace(ANSWER, about=frozenset({"mem_1", "session:s"})), replace(ANSWER, about=frozenset({"mem_2"}))
    for key, answer in (("one", one), ("two", two), ("plain", ANSWER)):
        records.claim(space.tenant, key, "request", NOON, DEADLINE)
        records.store(space, space.tenant, key, answer, NOON)
    records.store(other, other.tenant, "one", one, NOON)
    assert records.forget(space, {"mem_1", "mem_9"}) == 1
    assert records.answer(space, "one", NOON) is None
    assert records.claim(space.tenant, "one", "request", NOON, DEADLINE) is Claim.ANSWERED
    assert records.answer(space, "two", NOON) == two
    assert records.answer(space, "plain", NOON) == ANSWER
    assert records.answer(other, "one", NOON) == one
    assert records.forget(space, {"mem_1"}) == 0
