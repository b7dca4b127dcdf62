"""A small house of two functions on the local stack, for tests of the stack itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from lethe_local.stack import LocalStack, StackOptions

HOUSE = Path(__file__).parent / "house"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The house on moto; one for all tests of a module."""
    options = StackOptions(HOUSE, tmp_path_factory.mktemp("house"), tables="moto", say=print)
    with LocalStack.start(options) as stack:
        yield stack


@pytest.fixture
def http() -> Iterator[urllib3.PoolManager]:
    """A client that neither retries nor follows."""
    with urllib3.PoolManager(retries=False, timeout=30.0, maxsize=8) as pool:
        yield pool
