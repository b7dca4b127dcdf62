"""What a receipt says of how it was looked: as it was done, for this scope by this stack."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lethe.domain.access import Tenant
from lethe.domain.erasure import ErasureState, TheseMemories, WholeSubject, WholeTenant
from lethe.domain.identity import Caller
from lethe.services.erasure.requests import Wanted
from tests.support.erasing import Erasing
from tests.support.faulty import FaultyClient
from tests.support.makers import memory

pytestmark = pytest.mark.dynoxide

SCAN, QUERY = "table_scan", "partition_query"


@pytest.mark.parametrize(
    ("wanted", "whole_tables", "method"),
    [
        (WholeSubject(), True, SCAN),
        (WholeSubject(), False, QUERY),
        (WholeTenant(), True, SCAN),
        (WholeTenant(), False, SCAN),
        (TheseMemories(()), True, QUERY),
        (TheseMemories(()), False, QUERY),
    ],
    ids=["user-scanned", "user-asked", "tenant-scanned", "tenant-asked", "part-scanned", "part-asked"],
)
def test_a_receipt_says_how_it_was_looked(
    house: Erasing, caller: Caller, wanted: Wanted, whole_tables: bool, method: str
) -> None:
    client = FaultyClient(house.inspected)
    house = Erasing(house.database, client.as_client(), whole_tables=whole_tables)
    house.access.put_tenant(Tenant(caller.tenant, house.clock.now()))
    ours = memory()
    house.memories.add(house.write(caller, "alice"), [ours])
    if isinstance(wanted, TheseMemories):
        wanted = replace(wanted, memory_ids=(ours.id,))
    done = house.erase(caller, None if isinstance(wanted, WholeTenant) else "alice", wanted)
    receipt = house.receipt(done)["receipt"]
    assert isinstance(receipt, dict)
    assert receipt["verifier"] == {"method": method, "version": "test"}
    assert bool(client.calls["scan"]) is (method == SCAN)


def test_of_whom_nothing_is_known_nothing_is_scanned_for(house: Erasing, caller: Caller) -> None:
    """Else whoever may erase could have all tables read as often as he likes, for nothing."""
    client = FaultyClient(house.inspected)
    house = Erasing(house.database, client.as_client())
    house.memories.add(house.write(caller, "alice"), [memory()])
    house.erase(caller, "alice", WholeSubject())
    scans = client.calls["scan"]
    assert scans > 0
    for user in ("ghost", "alice", "alice"):
        done = house.erase(caller, user, WholeSubject())
        assert done.state is ErasureState.COMPLETED
        receipt = house.receipt(done)["receipt"]
        assert isinstance(receipt, dict)
        assert receipt["verifier"] == {"method": QUERY, "version": "test"}
    assert client.calls["scan"] == scans
