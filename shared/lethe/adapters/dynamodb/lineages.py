"""What memories rest on, and memories written anew in their places."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

from lethe.adapters.dynamodb.database import Database, Transaction
from lethe.adapters.dynamodb.failures import ConditionFailed, Item, with_retries
from lethe.adapters.dynamodb.heads import new_mark, raise_within
from lethe.adapters.dynamodb.memory_items import memory_item
from lethe.domain import keys
from lethe.domain.identity import Space
from lethe.domain.lineage import Lineage
from lethe.domain.memory import Memory, MemoryKind
from lethe.domain.times import epoch_seconds
from lethe.errors import Erased

NOTED_FOR = timedelta(days=7)
"""How long a note of a change is kept: longer than an index is ever late, since by then it has been repaired."""

_NAMES = ("id", "version", "kind", "created_at", "session_id", "message_ids", "derived_from", "context_from")
_TOGETHER = 90
"""Old versions in one transaction beside the newest, its note and the head."""


def read_lineages(database: Database, space: Space) -> tuple[Lineage, ...]:
    """One query over the newest versions, without their texts and vectors."""
    newest = keys.beginning_with(keys.MEMORIES)
    items = database.query(database.models.memory, keys.space_partition(space), newest, attributes=_NAMES)
    return tuple(map(_lineage, items))


def _lineage(item: Item) -> Lineage:
    session = item.get("session_id")
    return Lineage(
        item["id"]["S"],
        int(item["version"]["N"]),
        MemoryKind(item["kind"]["S"]),
        datetime.fromisoformat(item["created_at"]["S"]),
        None if session is None else str(session["S"]),
        *(tuple(json.loads(item[name]["S"])) if name in item else () for name in _NAMES[5:]),
    )


def rewrite(database: Database, space: Space, versions: Sequence[Memory], now: datetime) -> None:
    """A transaction a memory: the old versions in their places, the newest with the next number, note and head."""
    ordered = sorted(versions, key=lambda memory: (memory.id, memory.version))
    for _, group in groupby(ordered, key=lambda memory: memory.id):
        memory = list(group)
        old = [version for version in memory if version.superseded_at is not None]
        for start in range(0, max(len(old), 1), _TOGETHER):
            last = start + _TOGETHER >= len(old)
            newest = next((v for v in memory if v.superseded_at is None), None) if last else None
            _rewrite(database, space, old[start : start + _TOGETHER], newest, now)


def _rewrite(database: Database, space: Space, old: Sequence[Memory], newest: Memory | None, now: datetime) -> None:
    row, note, partition = database.models.memory, database.models.change, keys.space_partition(space)
    transaction = Transaction()
    for version in old:
        item = memory_item(space, version, keys.memory_version(version.id, version.version))
        transaction.put_item(row, item, row.pk.exists())
    written = None
    if newest is not None:
        written = new_mark()
        next_one = memory_item(space, replace(newest, version=newest.version + 1), written=written)
        transaction.put_item(row, next_one, row.version == newest.version)
        expires = epoch_seconds(now + NOTED_FOR)
        transaction.put(note(partition, keys.change(now, newest.id), memory_id=newest.id, ttl=expires))
    raise_within(database, transaction, space, rewrites=True, written=written)
    try:
        with_retries(lambda: database.transact(transaction))
    except ConditionFailed as failed:
        if failed.found[-1] is not None:
            raise Erased("the subject was erased since the request began") from failed
