"""A house of erasure on the strict DynamoDB."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from lethe.adapters.dynamodb import Database, build_models
from lethe.domain.identity import Caller
from tests.conftest import Shared
from tests.support.erasing import Erasing
from tests.support.stores import REGION, drop_tables, new_tables


@pytest.fixture
def house(dynoxide: str, shared: Shared) -> Iterator[Erasing]:
    """On tables of its own: the verifier looks through all of them."""
    client = shared.client("dynoxide", dynoxide)
    tables = new_tables(client)
    database = Database(client, build_models(tables, REGION))
    yield Erasing(database, client)
    database.end_threads()
    drop_tables(client, tables)


@pytest.fixture
def caller(house: Erasing) -> Caller:
    """An administrator of a tenant."""
    return house.caller(f"t-{secrets.token_hex(4)}")
