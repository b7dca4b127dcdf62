"""The contract of Receipts, over the fake and both DynamoDBs."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from lethe.adapters.dynamodb.receipts import DynamoReceipts
from lethe.domain.chain import EMPTY, NOTHING, ChainEnd
from lethe.domain.json_values import JsonObject
from lethe.errors import Conflict
from lethe.ports import Receipts
from tests.fakes.receipts import FakeReceipts, FakeSigner
from tests.support.makers import JSON_VALUES
from tests.support.receipts import chain_of, fresh_tenant
from tests.support.stores import Stores


def over(stores: Stores) -> Receipts:
    return FakeReceipts() if stores.database is None else DynamoReceipts(stores.database)


def test_a_chain_grows_by_one_end_after_the_other(stores: Stores) -> None:
    receipts, tenant = over(stores), fresh_tenant()
    chain = chain_of(random.Random(1), 12, FakeSigner(), tenant)
    assert receipts.end(tenant) == EMPTY
    for n, document in enumerate(chain):
        receipts.append(tenant, receipts.end(tenant), f"rc_{n}", document, f"{n + 1:064x}")
        assert receipts.end(tenant) == ChainEnd(n + 1, f"{n + 1:064x}")
    assert [receipts.read(tenant, f"rc_{n}") for n in range(12)] == chain


def test_a_document_comes_back_as_it_was(stores: Stores) -> None:
    receipts, tenant = over(stores), fresh_tenant()
    document: JsonObject = {"values": list(JSON_VALUES), "long": "x" * 100_000}
    receipts.append(tenant, EMPTY, "rc_1", document, "a" * 64)
    assert receipts.read(tenant, "rc_1") == document


def test_nothing_there(stores: Stores) -> None:
    receipts, tenant = over(stores), fresh_tenant()
    assert receipts.read(tenant, "rc_1") is None
    receipts.append(tenant, EMPTY, "rc_1", {"a": 1}, "a" * 64)
    assert receipts.read(tenant, "rc_2") is None
    assert receipts.read(fresh_tenant(), "rc_1") is None
    assert receipts.end(fresh_tenant()) == EMPTY


@pytest.mark.parametrize(
    "after",
    [EMPTY, ChainEnd(1, "b" * 64), ChainEnd(2, "a" * 64), ChainEnd(1, NOTHING), ChainEnd(0, "a" * 64)],
)
def test_an_append_behind_another_end_changes_nothing(stores: Stores, after: ChainEnd) -> None:
    receipts, tenant = over(stores), fresh_tenant()
    receipts.append(tenant, EMPTY, "rc_1", {"a": 1}, "a" * 64)
    with pytest.raises(Conflict):
        receipts.append(tenant, after, "rc_2", {"a": 2}, "c" * 64)
    assert receipts.end(tenant) == ChainEnd(1, "a" * 64)
    assert receipts.read(tenant, "rc_2") is None


def test_an_id_is_taken_once(stores: Stores) -> None:
    receipts, tenant = over(stores), fresh_tenant()
    receipts.append(tenant, EMPTY, "rc_1", {"a": 1}, "a" * 64)
    with pytest.raises(Conflict):
        receipts.append(tenant, receipts.end(tenant), "rc_1", {"a": 2}, "b" * 64)
    assert receipts.read(tenant, "rc_1") == {"a": 1}
    assert receipts.end(tenant) == ChainEnd(1, "a" * 64)


def test_many_at_once_make_one_chain(stores: Stores) -> None:
    receipts, tenant = over(stores), fresh_tenant()

    def append_until_done(name: str) -> int:
        failures = 0
        while True:
            end = receipts.end(tenant)
            try:
                receipts.append(tenant, end, name, {"after": end.hash}, f"{end.length + 1:064x}")
            except Conflict:
                failures += 1
            else:
                return failures

    names = [f"rc_{n}" for n in range(16)]
    tries: Callable[[str], int] = append_until_done
    with ThreadPoolExecutor(8) as threads:
        assert len(list(threads.map(tries, names))) == 16
    assert receipts.end(tenant) == ChainEnd(16, f"{16:064x}")
    after = {str((receipts.read(tenant, name) or {})["after"]) for name in names}
    assert after == {NOTHING, *(f"{n:064x}" for n in range(1, 16))}
