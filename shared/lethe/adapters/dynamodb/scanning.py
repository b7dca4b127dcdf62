"""Reading all memories of a space: what a cold container does before its first recall.

One query answers at most 1 MB, and the next one can only start when it is back. So the first page and a list of all
ids go out together; most spaces end with that page. A longer one is cut at the listed ids into ranges that each are
meant to fit one page, and these are read at once. The ids come from the ``HASH`` items: one for each memory, and so
small that one page lists 5,000.

So 1,000 or 5,000 memories are two round trips in sequence instead of 3 or 14. That pays where round trips cost: on
dynoxide, one process over SQLite, both ways take the same time (100, 1,000 and 5,000 memories: 27 against 21, 164
against 129, 687 against 679 ms on two busy cores).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TypeAlias

from lethe.adapters.dynamodb.database import Database
from lethe.adapters.dynamodb.failures import Item
from lethe.domain import keys
from lethe.domain.identity import Space
from lethe.domain.keys import KeyRange

_Read: TypeAlias = "Callable[[], tuple[list[Item], bool]]"


def read_all(database: Database, space: Space) -> list[Item]:
    """The items of the newest versions, in the order of their ids."""
    partition = keys.space_partition(space)
    whole = keys.beginning_with(keys.MEMORIES)
    first, listed = database.at_once(
        _call, [partial(_page, database, partition, whole), partial(_ids, database, partition)]
    )
    items, more = first
    if not more:
        return items
    last = str(items[-1]["sk"]["S"])
    ahead = sorted(key for item in listed[0] if (key := keys.memory(str(item["memory_id"]["S"]))) > last)
    stretches = _cut(last, ahead, whole.last, size=max(len(items) * 4 // 5, 1))
    ranges = database.at_once(partial(_range, database, partition), stretches)
    return [*items, *(item for found in ranges for item in found)]


def _call(read: _Read) -> tuple[list[Item], bool]:
    return read()


def _page(database: Database, partition: str, whole: KeyRange) -> tuple[list[Item], bool]:
    """The first page, and whether there are more."""
    return database.first_page(database.models.memory, partition, whole)


def _ids(database: Database, partition: str) -> tuple[list[Item], bool]:
    row, hashes = database.models.content, keys.beginning_with(keys.HASHES)
    return list(database.query(row, partition, hashes, attributes=("memory_id",))), False


def _range(database: Database, partition: str, stretch: KeyRange) -> list[Item]:
    return list(database.query(database.models.memory, partition, stretch))


def _cut(last: str, ahead: Sequence[str], end: str, size: int) -> list[KeyRange]:
    """Ranges that join without gaps from behind ``last`` to ``end``, each with ``size`` of the keys ``ahead``.

    No key that exists falls between two ranges: ids are of one length, so nothing sorts between a key and the same
    key with one more character.
    """
    bounds = [last, *ahead[size - 1 : -1 : size], end]
    return [KeyRange(low + "!", high) for low, high in pairwise(bounds)]
