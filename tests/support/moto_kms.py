"""moto's KMS in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from moto import mock_aws


@contextmanager
def moto_kms() -> Iterator[None]:
    """Calls of AWS go to moto, whose other services keep what they hold: the tables that tests share are there."""
    mocked = mock_aws()
    mocked.start(reset=False)
    try:
        yield
    finally:
        mocked.stop(remove_data=False)
