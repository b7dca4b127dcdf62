"""What the erasure of one user reads and writes beside what goes, as `lethe cost` counts it."""

from __future__ import annotations

from lethe.adapters.dynamodb import Database
from lethe.domain.erasure import ErasureState, WholeSubject
from lethe_client.cli.cost_of_erasure import NOTED_READS, NOTED_WRITES, TASKS
from tests.support.erasing import ORDER, Erasing
from tests.support.metered import MeteredClient
from tests.support.stores import Stores


def test_what_an_erasure_notes_is_what_is_counted(strict_stores: Stores) -> None:
    """Of a user of whom nothing is stored, so that nothing is deleted: the ledger, the head, the receipt."""
    assert strict_stores.database is not None
    tenant = strict_stores.new_space().tenant
    client = MeteredClient(strict_stores.database._client)
    database = Database(client.as_client(), strict_stores.database.models)
    house = Erasing(database, client.as_client(), whole_tables=False)
    caller = house.caller(tenant)
    house.write(caller, "alice")
    client.read = client.written = 0

    done = house.erase(caller, "alice", WholeSubject())

    assert done.state is ErasureState.COMPLETED
    assert len(ORDER) == TASKS
    assert (client.read, client.written) == (NOTED_READS, NOTED_WRITES)
    database.end_threads()
