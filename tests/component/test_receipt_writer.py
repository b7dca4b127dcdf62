"""Writing receipts: once for one outcome, in one chain, whatever fails between, and never for what was not seen."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lethe.adapters.dynamodb.receipts import DynamoReceipts
from lethe.domain.chain import ChainEnd, hash_of
from lethe.domain.erasure import Erasure, Verification, WholeSubject
from lethe.domain.json_values import JsonObject, canonical
from lethe.domain.receipt_check import check_chain, check_receipt
from lethe.domain.residuals import Retention
from lethe.errors import Throttled, Unavailable
from lethe.ports import Receipts
from lethe.services.erasure.receipts import ATTEMPTS, NoReceipt, ReceiptWriter
from tests.fakes.receipts import FakeReceipts, FakeSigner
from tests.fakes.time_and_ids import START, FixedClock
from tests.support.receipts import (
    RETENTION,
    StandingHolds,
    done_erasure,
    fresh_tenant,
    receipt_in,
    some_hold,
    verifier,
    with_receipt,
)
from tests.support.stores import Stores

LATER = START + timedelta(days=40)


class Faulty:
    """Receipts whose next ``append`` fails as told: before its effect, or after it."""

    def __init__(self, inner: Receipts) -> None:
        self.inner = inner
        self.before: list[Exception] = []
        self.after: list[Exception] = []

    def end(self, tenant: str) -> ChainEnd:
        return self.inner.end(tenant)

    def read(self, tenant: str, receipt_id: str) -> JsonObject | None:
        return self.inner.read(tenant, receipt_id)

    def append(self, tenant: str, after: ChainEnd, receipt_id: str, document: JsonObject, receipt_hash: str) -> None:
        if self.before:
            raise self.before.pop()
        self.inner.append(tenant, after, receipt_id, document, receipt_hash)
        if self.after:
            raise self.after.pop()


class Refusing(FakeSigner):
    """A key service that gives no signature."""

    def sign(self, message: bytes) -> bytes:
        raise Throttled


def writer(
    receipts: Receipts,
    signer: FakeSigner | None = None,
    holds: StandingHolds | None = None,
    retention: Retention = RETENTION,
    now: datetime = LATER,
) -> ReceiptWriter:
    clock = FixedClock(now)
    signer, holds = signer or FakeSigner(), holds or StandingHolds()
    return ReceiptWriter(receipts, holds, signer, retention, lambda erasure: "table_scan", "0.1.0", clock)


def chain_in(receipts: Receipts, tenant: str, ids: list[str]) -> list[JsonObject]:
    """The stored documents in the order of the chain, each found free of faults."""
    signer = FakeSigner()
    fingerprint = hashlib.sha256(signer.public_key()).hexdigest()
    documents = [found for each in ids if (found := receipts.read(tenant, each)) is not None]
    assert len(documents) == len(ids)
    for document in documents:
        assert check_receipt(document, verifier(signer.public_key()), fingerprint) == ()

    def place(document: JsonObject) -> int:
        return int(str(receipt_in(document)["n"]))

    return sorted(documents, key=place)


def test_receipts_of_a_tenant_are_one_valid_chain(stores: Stores) -> None:
    receipts = FakeReceipts() if stores.database is None else DynamoReceipts(stores.database)
    chance, tenant = random.Random(3), fresh_tenant()
    ids = [writer(receipts).write(done_erasure(chance, tenant)) for _ in range(6)]
    chain = chain_in(receipts, tenant, ids)
    assert [receipt_in(document)["id"] for document in chain] == ids
    assert check_chain(chain, receipts.end(tenant).hash) == ()
    assert hash_of(receipt_in(chain[-1])) == receipts.end(tenant).hash


def test_eight_at_once_make_one_chain(stores: Stores) -> None:
    receipts = FakeReceipts() if stores.database is None else DynamoReceipts(stores.database)
    chance, tenant = random.Random(4), fresh_tenant()
    erasures = [done_erasure(chance, tenant) for _ in range(16)]
    with ThreadPoolExecutor(8) as threads:
        ids = list(threads.map(writer(receipts).write, erasures))
    assert len(set(ids)) == 16
    assert check_chain(chain_in(receipts, tenant, ids)) == ()


def test_the_same_erasure_at_once_has_one_receipt(stores: Stores) -> None:
    receipts = FakeReceipts() if stores.database is None else DynamoReceipts(stores.database)
    erasure = done_erasure(random.Random(5), fresh_tenant())
    with ThreadPoolExecutor(8) as threads:
        ids = set(threads.map(lambda _: writer(receipts).write(erasure), range(8)))
    assert len(ids) == 1
    assert receipts.end(erasure.tenant).length == 1


@pytest.mark.parametrize(
    "fail",
    [
        lambda faulty: faulty.before.append(Unavailable()),
        lambda faulty: faulty.after.append(Unavailable()),
        lambda faulty: faulty.after.append(RuntimeError("the process was killed")),
    ],
    ids=["before", "answer lost", "killed"],
)
def test_whatever_fails_another_run_has_one_receipt(fail: Callable[[Faulty], None]) -> None:
    faulty, erasure = Faulty(FakeReceipts()), done_erasure(random.Random(6))
    fail(faulty)
    with pytest.raises((Unavailable, RuntimeError)):
        writer(faulty).write(erasure)
    # The machine starts anew: another run, later, whose row never heard of a receipt.
    again = writer(faulty, now=LATER + timedelta(hours=1)).write(replace(erasure, starts=2, version=9))
    assert faulty.end("acme").length == 1
    assert writer(faulty).write(erasure) == again
    chain_in(faulty, "acme", [again])


def test_without_a_signature_there_is_no_receipt() -> None:
    receipts, erasure = FakeReceipts(), done_erasure(random.Random(7))
    with pytest.raises(Throttled):
        writer(receipts, Refusing()).write(erasure)
    assert receipts.end("acme").length == 0
    writer(receipts).write(erasure)
    assert receipts.end("acme").length == 1


def test_a_released_hold_leads_to_a_further_receipt() -> None:
    hold = some_hold(random.Random(8), "case-7")
    receipts, holds = FakeReceipts(), StandingHolds({"case-7": hold})
    kept = done_erasure(random.Random(9), scope=WholeSubject(), holds=[hold])
    first = writer(receipts, holds=holds).write(kept)
    assert writer(receipts, holds=holds).write(kept) == first
    gone = replace(kept, holds=(), held=0, verified=tuple(replace(look, held=()) for look in kept.verified))
    second = writer(receipts).write(with_receipt(gone, first))
    documents = chain_in(receipts, "acme", [first, second])
    assert [receipt_in(each)["outcome"] for each in documents] == ["completed_with_holds", "completed"]
    assert check_chain(documents) == ()


def test_a_row_that_lost_its_first_receipt_does_not_get_it_for_another_outcome() -> None:
    hold = some_hold(random.Random(8), "case-7")
    receipts = FakeReceipts()
    kept = done_erasure(random.Random(9), holds=[hold])
    first = writer(receipts, holds=StandingHolds({"case-7": hold})).write(kept)
    gone = replace(kept, holds=(), held=0, verified=tuple(replace(look, held=()) for look in kept.verified))
    assert writer(receipts).write(gone) != first


def test_a_hold_that_was_released_since_is_named_without_its_scope() -> None:
    kept = done_erasure(random.Random(10), holds=[some_hold(random.Random(8), "case-7")])
    receipts = FakeReceipts()
    (document,) = chain_in(receipts, "acme", [writer(receipts).write(kept)])
    assert receipt_in(document)["holds"] == [{"name": "case-7", "scope": None, "placed_at": None}]


def leftover(look: Verification) -> Verification:
    return replace(look, remaining=(("memories", 1),))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda e: replace(e, verified=()),
        lambda e: replace(e, verified=e.verified[:1]),
        lambda e: replace(e, verified=(e.verified[0], leftover(e.verified[1]))),
        lambda e: replace(e, verified=e.verified[::-1]),
        lambda e: replace(e, unreadable_since=None),
        lambda e: replace(e, unreadable_since=e.verified[0].at + timedelta(seconds=1)),
        lambda e: replace(e, requested_at=LATER + timedelta(days=1)),
        lambda e: replace(e, subject=None, scope=WholeSubject()),
        lambda e: replace(e, tenant="Not A Tenant"),
    ],
)  # fmt: skip
def test_what_does_not_hold_together_gets_no_receipt(spoil: Callable[[Erasure], Erasure]) -> None:
    receipts, erasure = FakeReceipts(), spoil(done_erasure(random.Random(11)))
    with pytest.raises(NoReceipt):
        writer(receipts).write(erasure)
    assert receipts.end(erasure.tenant).length == 0


class AlwaysBehind(FakeReceipts):
    """A chain that has moved whenever something is appended."""

    def end(self, tenant: str) -> ChainEnd:
        return ChainEnd(3, "a" * 64)


def test_a_chain_that_always_moves_ends_in_throttled() -> None:
    signer = FakeSigner()
    with pytest.raises(Throttled):
        writer(AlwaysBehind(), signer).write(done_erasure(random.Random(12)))
    assert len(signer.signed) == ATTEMPTS


def test_what_is_signed_is_the_statement_and_nothing_else() -> None:
    signer, receipts = FakeSigner(), FakeReceipts()
    identifier = writer(receipts, signer).write(done_erasure(random.Random(13)))
    document = receipts.read("acme", identifier)
    assert document is not None
    assert signer.signed == [str(document["statement"]).encode()]


def test_no_word_of_anybody_stands_in_it() -> None:
    """Reasons, actors and cursors of the row stay in the row."""
    canary = "kanarienvogel"
    erasure = done_erasure(random.Random(14))
    steps = tuple(replace(step, cursor=canary) for step in erasure.steps)
    told = replace(erasure, reason=canary, actor=canary, failure=canary, steps=steps)
    receipts = FakeReceipts()
    text = canonical(receipts.read("acme", writer(receipts).write(told)))
    assert erasure.id in text
    assert canary not in text
