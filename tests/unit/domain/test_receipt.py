"""What a receipt says, and when there is none."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

import pytest

from lethe.domain.chain import NOTHING, hash_of
from lethe.domain.erasure import StepName, Verification, WholeSubject
from lethe.domain.ids import RECEIPT, is_id
from lethe.domain.json_values import canonical
from lethe.domain.receipt import STATEMENT_BYTES, Place, Signing, build, receipt_id, statement_of
from lethe.domain.residuals import residuals
from lethe.domain.times import to_rfc3339
from tests.fakes.receipts import FakeSigner
from tests.fakes.time_and_ids import START
from tests.support.receipts import (
    RETENTION,
    VERIFIED_BY,
    document_of,
    done_erasure,
    receipt_in,
    some_hold,
    with_receipt,
)

CHANCE = random.Random(5)
SIGNING = Signing("ECDSA_SHA_256", "key", "0" * 64)
PLACE = Place(1, NOTHING, START + timedelta(days=30))


def test_it_says_all_that_was_seen() -> None:
    hold = some_hold(CHANCE, "case-7")
    erasure = done_erasure(CHANCE, scope=WholeSubject(), holds=[hold])
    receipt = receipt_in(document_of(erasure, FakeSigner(), PLACE, [hold]))

    memories, (first, last) = erasure.step(StepName.MEMORIES), erasure.verified
    assert receipt["counts"]["memories"] == {  # type: ignore[index, call-overload]  # an object
        "found": memories.found,
        "deleted": memories.deleted,
        "remaining": 0,
        "held": 1,
    }
    assert receipt["verifications"] == [
        {"at": to_rfc3339(look.at), "remaining": 0, "held": 1} for look in (first, last)
    ]
    assert receipt["epochs"] == {"first": 1, "last": erasure.epochs}
    assert receipt["outcome"] == "completed_with_holds"
    assert receipt["holds"] == [
        {"name": "case-7", "scope": {"session": hold.scope.session}, "placed_at": to_rfc3339(START)}  # type: ignore[union-attr]  # some_hold's
    ]
    assert receipt["completed_at"] == to_rfc3339(last.at)
    assert (receipt["subject"], receipt["erasure"], receipt["tenant"]) == (erasure.subject, erasure.id, "acme")
    assert receipt["verifier"] == {"method": "table_scan", "version": "0.1.0"}


def test_what_came_between_counting_and_deleting_was_found_too() -> None:
    erasure = done_erasure(CHANCE)
    swept = replace(erasure.step(StepName.SWEEP), found=0, deleted=3)
    assert receipt_in(document_of(erasure.with_step(swept), FakeSigner()))["swept"] == {"found": 3, "deleted": 3}


def test_nothing_is_said_that_was_not_checked() -> None:
    erasure = done_erasure(CHANCE)
    remains = residuals(RETENTION, START, held=False)

    def make(verified: tuple[Verification, ...], **changed: object) -> None:
        given = replace(erasure, **changed)  # type: ignore[arg-type]  # fields by name
        build("rc", PLACE, given, verified, (), remains, VERIFIED_BY, SIGNING)

    first, last = erasure.verified
    make((first, last))
    with pytest.raises(ValueError, match="two"):
        make((last,))
    with pytest.raises(ValueError, match="found something"):
        make((first, replace(last, remaining=(("memories", 1),))))
    with pytest.raises(ValueError, match="since when"):
        make((first, last), unreadable_since=None)


def test_the_last_two_verifications_count() -> None:
    erasure = done_erasure(CHANCE)
    first, last = erasure.verified
    before = replace(first, at=first.at - timedelta(days=1), remaining=(("memories", 4),))
    assert document_of(replace(erasure, verified=(before, first, last)), FakeSigner())["receipt"] == receipt_in(
        document_of(erasure, FakeSigner())
    )


def test_the_same_outcome_has_the_same_id_and_another_one_another() -> None:
    erasure, hold = done_erasure(CHANCE), some_hold(CHANCE, "a")
    mine = receipt_id(erasure, (), 0)
    assert is_id(mine, RECEIPT)
    assert receipt_id(replace(erasure, starts=4, ended_at=START, version=9), (), 0) == mine
    others = {
        receipt_id(erasure, (hold,), 3),
        receipt_id(erasure, (hold,), 4),
        receipt_id(with_receipt(erasure, mine), (), 0),
        receipt_id(done_erasure(CHANCE), (), 0),
    }
    assert len(others | {mine}) == 5


def test_a_statement_carries_the_hash_and_fits_the_key() -> None:
    document = document_of(done_erasure(CHANCE, tenant="t" * 64), FakeSigner())
    receipt, statement = receipt_in(document), str(document["statement"])
    assert hash_of(receipt) in statement
    assert canonical(receipt) not in statement
    assert len(statement.encode()) < 600
    with pytest.raises(ValueError, match=str(STATEMENT_BYTES)):
        statement_of({**receipt, "tenant": "t" * STATEMENT_BYTES})
