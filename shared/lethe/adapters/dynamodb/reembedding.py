"""New vectors on memories that stand: updates on condition, in transactions with the head, and never a put.

An update that demands the version that was read cannot bring back what was deleted or erased, nor undo a change. It
demands the context as well: that is taken off superseded versions when what it repeats is erased, and no vector of it
may come after. The mark of the write that brought a version is taken off it: to the index, which follows the stream,
this is no write that it has come as far as.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pynamodb.expressions.update import Action

from lethe.adapters.dynamodb.bulk import in_groups
from lethe.adapters.dynamodb.database import TRANSACTION_LIMIT, Database, Transaction
from lethe.adapters.dynamodb.failures import ATTEMPTS, ConditionFailed, WriteConflict, wait
from lethe.adapters.dynamodb.heads import raise_within
from lethe.adapters.dynamodb.memory_items import EMBEDDINGS, embedding_attributes, memory_of
from lethe.domain import keys
from lethe.domain.identity import Space
from lethe.domain.memory import Memory
from lethe.errors import Erased, Throttled
from lethe.ports import OwnedMemory, Page

GROUP = TRANSACTION_LIMIT - 1
"""Versions in one transaction, beside the head."""


class DynamoMemoryVectors:
    """``MemoryVectors`` by a scan and conditional updates."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._row = database.models.memory

    def page(self, limit: int, start: str | None) -> Page[OwnedMemory]:
        """One call; it may bring fewer than ``limit``, and even none, before the end."""
        items, last = self._database.scan_page(
            self._row, (keys.MEMORIES, keys.OLD_MEMORIES), (), None if start is None else json.loads(start), limit
        )
        found = tuple(OwnedMemory(keys.parse_space_partition(str(item["pk"]["S"])), memory_of(item)) for item in items)
        return Page(found, None if last is None else json.dumps(last))

    def replace(self, space: Space, memories: Sequence[Memory]) -> int:
        """Transactions of up to 99 versions and the head, one after the other."""
        return sum(self._replace(space, group) for group in in_groups(memories, GROUP))

    def _replace(self, space: Space, left: list[Memory]) -> int:
        for attempt in range(ATTEMPTS):
            if not left:
                return 0
            try:
                self._database.transact(self._transaction(space, left))
            except WriteConflict:
                wait(attempt)
            except ConditionFailed as failed:
                if failed.found[-1] is not None:
                    raise Erased("the subject was erased meanwhile") from failed
                left = [memory for memory, found in zip(left, failed.found[:-1], strict=True) if found is None]
            else:
                return len(left)
        raise Throttled("too many writes at once to the same memories")

    def _transaction(self, space: Space, memories: Sequence[Memory]) -> Transaction:
        row, partition = self._row, keys.space_partition(space)
        transaction = Transaction()
        for memory in memories:
            key = keys.memory(memory.id)
            if memory.superseded_at is not None:
                key = keys.memory_version(memory.id, memory.version)
            same = row.context.does_not_exist() if memory.context is None else row.context == memory.context
            transaction.update(row(partition, key), self._actions(memory), (row.version == memory.version) & same)
        raise_within(self._database, transaction, space, rewrites=True)
        return transaction

    def _actions(self, memory: Memory) -> list[Action]:
        attributes = embedding_attributes(memory)
        row = self._row
        actions: list[Action] = [row.written.remove()]
        for pair in EMBEDDINGS:
            for name in pair:
                attribute = row.get_attributes()[name]
                value = attributes.get(name)
                # Values are those of an item: what ends in S is text, what ends in B bytes.
                actions.append(attribute.remove() if value is None else attribute.set(next(iter(value.values()))))
        return actions
