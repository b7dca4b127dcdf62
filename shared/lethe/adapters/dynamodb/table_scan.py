"""All memories of the table, whoever they belong to: for building and comparing an index, and nothing else."""

from __future__ import annotations

import json

from lethe.adapters.dynamodb.database import Database
from lethe.domain import keys
from lethe.domain.indexing import Indexed
from lethe.ports import Page


class DynamoMemoryTable:
    """``MemoryTable`` by a scan."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, limit: int, start: str | None) -> Page[Indexed]:
        """One call; it may bring fewer than ``limit``, and even none, before the end: a scan counts what it looks at,
        and beside each memory lie the item of its statement's hash and its old versions.
        """
        items, last = self._database.scan_page(
            self._database.models.memory,
            (keys.MEMORIES,),
            ("pk", "sk", "version"),
            None if start is None else json.loads(start),
            limit,
        )
        found = tuple(
            Indexed(
                keys.parse_space_partition(str(item["pk"]["S"])),
                keys.split(str(item["sk"]["S"]))[1],
                int(item["version"]["N"]),
            )
            for item in items
        )
        return Page(found, None if last is None else json.dumps(last))
