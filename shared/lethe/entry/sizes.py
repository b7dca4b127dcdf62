"""Lists cut to what the gateway can carry.

Lambda answers a synchronous call with at most 6 MB of JSON, in which the body is a string: its quotes and backslashes
are escaped once more, which at worst doubles it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic import BaseModel

LIST_BYTES: Final = 2_500_000


def fitting(things: Iterable[BaseModel]) -> int:
    """How many of the first ``things`` fit into one answer together; the first always does."""
    count, size = 0, 0
    for thing in things:
        size += len(thing.model_dump_json().encode())
        if count and size > LIST_BYTES:
            break
        count += 1
    return count
