"""The contract of MemoryTable: every newest version of every space, once, those of one space together."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import groupby

import pytest

from lethe.adapters.dynamodb.table_scan import DynamoMemoryTable
from lethe.domain.indexing import Indexed
from lethe.ports import MemoryTable
from tests.fakes.memories import FakeMemories, FakeMemoryTable
from tests.support.makers import memory
from tests.support.stores import Stores


def table_of(stores: Stores) -> MemoryTable:
    if stores.database is not None:
        return DynamoMemoryTable(stores.database)
    assert isinstance(stores.memories, FakeMemories)
    return FakeMemoryTable(stores.memories)


@pytest.fixture
def stores(empty_stores: Stores) -> Stores:
    """Tables of each test's own, since it reads all that they hold."""
    return empty_stores


def listed(table: MemoryTable, limit: int) -> list[Indexed]:
    found: list[Indexed] = []
    start: str | None = None
    while True:
        page = table.page(limit, start)
        assert len(page.items) <= limit
        found += page.items
        start = page.next_key
        if start is None:
            return found


def test_newest_versions_of_all_spaces_once(stores: Stores) -> None:
    spaces = [stores.new_space() for _ in range(3)]
    expected = set()
    for space in spaces:
        new = [memory(f"text {n}") for n in range(25)]
        stores.memories.add(space, new)
        later = replace(new[3], confidence=0.9, updated_at=new[3].updated_at + timedelta(seconds=1))
        stores.memories.update(space, new[3], later)
        stores.memories.delete(space, [new[7].id])
        expected |= {(space, each.id, 2 if each is new[3] else 1) for each in new if each is not new[7]}
    for limit in (7, 1_000):
        found = listed(table_of(stores), limit)
        assert len(found) == 3 * 24
        assert {(each.space, each.memory_id, each.version) for each in found} == expected
        assert len([space for space, _ in groupby(found, key=lambda each: each.space)]) == 3


def test_a_table_without_memories(stores: Stores) -> None:
    stores.new_space()
    assert listed(table_of(stores), 10) == []
