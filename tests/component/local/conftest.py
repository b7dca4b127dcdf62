"""For tests of the local stack itself: a small house of two functions on it, a client of moto's tables, one of HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import urllib3

from lethe_local.backends import dynamodb_client
from lethe_local.moto_tables import MotoTables
from lethe_local.stack import LocalStack, StackOptions

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

HOUSE = Path(__file__).parent / "house"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The house on moto; one for all tests of a module."""
    options = StackOptions(HOUSE, tmp_path_factory.mktemp("house"), tables="moto", say=print)
    with LocalStack.start(options) as stack:
        yield stack


@pytest.fixture
def moto_client(monkeypatch: pytest.MonkeyPatch) -> Iterator[DynamoDBClient]:
    """A client of moto's tables, of which there are none yet."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    tables = MotoTables(None)
    client = dynamodb_client(tables.url)
    yield client
    client.close()
    tables.discard()


@pytest.fixture
def http() -> Iterator[urllib3.PoolManager]:
    """A client that neither retries nor follows."""
    with urllib3.PoolManager(retries=False, timeout=30.0, maxsize=8) as pool:
        yield pool
