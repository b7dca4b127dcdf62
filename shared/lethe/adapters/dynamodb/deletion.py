"""Deleting memories: each goes whole, with its versions and its content hash, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lethe.adapters.dynamodb.database import TRANSACTION_LIMIT, Database, Transaction
from lethe.adapters.dynamodb.failures import ATTEMPTS, ConditionFailed, Item, wait, with_retries
from lethe.adapters.dynamodb.heads import DynamoSubjectHeads, raise_within
from lethe.domain import keys
from lethe.domain.identity import Space
from lethe.errors import Erased, Throttled, VersionConflict

_VERSIONS = TRANSACTION_LIMIT - 3
"""Old versions of one memory that fit into its transaction, beside its two items and the head."""


def delete_memories(
    database: Database, space: Space, memory_ids: Sequence[str], expected_version: int | None = None
) -> int:
    """Delete what there is of ``memory_ids`` and raise the revision; how many memories went.

    One read, then one transaction with the head; where one is not enough, several at once and the raise after them.
    """
    partition = keys.space_partition(space)
    wanted = [(partition, keys.memory(memory_id)) for memory_id in memory_ids]
    deleted = 0
    for attempt in range(ATTEMPTS):
        found = database.get_many(database.models.memory, wanted, ("id", "version", "content_hash"))
        if not found:
            return deleted
        versions = [int(item["version"]["N"]) for item in found]
        if expected_version is not None and versions != [expected_version] * len(versions):
            raise VersionConflict(next(version for version in versions if version != expected_version))
        _forget_changes(database, partition, found)
        groups = _groups(found)
        with_head = len(groups) == 1
        gone = database.at_once(partial(_delete, database, space, with_head), groups)
        if sum(gone) and not with_head:
            DynamoSubjectHeads(database).raise_revision(space, rewrites=True)
        deleted += sum(gone)
        if all(gone):
            return deleted
        wait(attempt)
    raise Throttled("too many writes at once to the same memories")


def _forget_changes(database: Database, partition: str, found: Sequence[Item]) -> None:
    """Delete the notes that these memories were changed, before they go: nobody would find them afterwards. A memory
    that was never changed has none.
    """
    changed = {str(item["id"]["S"]) for item in found if int(item["version"]["N"]) > 1}
    if not changed:
        return
    note = database.models.change
    notes = database.query(note, partition, keys.beginning_with(keys.CHANGES), attributes=("sk", "memory_id"))
    database.delete_many(
        note, [(partition, str(item["sk"]["S"])) for item in notes if item["memory_id"]["S"] in changed]
    )


def _groups(found: Sequence[Item]) -> list[list[Item]]:
    """Memories that share a transaction, the head's place kept free."""
    groups: list[list[Item]] = []
    room = 0
    for item in found:
        size = 2 + min(_old_versions(item), _VERSIONS)
        if size > room:
            groups.append([])
            room = TRANSACTION_LIMIT - 1
        groups[-1].append(item)
        room -= size
    return groups


def _old_versions(item: Item) -> int:
    """Versions count from 1 without gaps, and all but the newest are old."""
    return int(item["version"]["N"]) - 1


def _delete(database: Database, space: Space, with_head: bool, group: Sequence[Item]) -> int:
    """How many memories went: all of the group, or none because one was changed since it was read."""
    row, pointer, partition = database.models.memory, database.models.content, keys.space_partition(space)
    transaction = Transaction()
    for item in group:
        memory_id, version = item["id"]["S"], int(item["version"]["N"])
        transaction.delete(row(partition, keys.memory(memory_id)), row.version == version)
        held = pointer(partition, keys.content(item["content_hash"]["S"]))
        transaction.delete(held, pointer.memory_id == memory_id)
        old = [keys.memory_version(memory_id, n) for n in range(1, version)]
        database.delete_many(row, [(partition, key) for key in old[_VERSIONS:]])
        for key in old[:_VERSIONS]:
            transaction.delete(row(partition, key))
    if with_head:
        raise_within(database, transaction, space, rewrites=True)
    try:
        with_retries(lambda: database.transact(transaction))
    except ConditionFailed as failed:
        if with_head and failed.found[-1] is not None:
            raise Erased("the subject was erased since the request began") from failed
        return 0
    return len(group)
