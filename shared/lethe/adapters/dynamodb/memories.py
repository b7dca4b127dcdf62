"""Long-term memory in the table of memories.

A memory is a ``MEM`` item and a ``HASH`` item that come and go in one transaction, and an ``OLD`` item for each
superseded version. The head's revision is raised in the same transaction where it can be, else after it: the items
first, the revision next, the answer last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

from lethe.adapters.dynamodb.bulk import add_all, known_holders
from lethe.adapters.dynamodb.database import Database, Transaction
from lethe.adapters.dynamodb.deletion import delete_memories
from lethe.adapters.dynamodb.failures import ConditionFailed, WriteConflict, with_retries
from lethe.adapters.dynamodb.heads import DynamoSubjectHeads, new_mark, raise_within
from lethe.adapters.dynamodb.lineages import NOTED_FOR, read_lineages, rewrite
from lethe.adapters.dynamodb.memory_items import WITHOUT_VECTOR, memory_item, memory_of
from lethe.adapters.dynamodb.scanning import read_all
from lethe.domain import keys
from lethe.domain.identity import Space
from lethe.domain.lineage import Lineage
from lethe.domain.memory import Memory
from lethe.domain.session import Session
from lethe.domain.times import epoch_seconds
from lethe.errors import Conflict, Erased, LetheError, NotFound, VersionConflict
from lethe.ports import Page, Stored

_MOST = 1_000


class DynamoMemories:
    """``Memories`` in the table of memories."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._row = database.models.memory
        self._pointer = database.models.content
        self._note = database.models.change
        self._heads = DynamoSubjectHeads(database)

    def add(self, space: Space, memories: Sequence[Memory], within: Session | None = None) -> tuple[Stored, ...]:
        """Up to 49: one transaction. More: transactions at once, then the revision."""
        if len(memories) > _MOST:
            raise ValueError(f"at most {_MOST} memories in one call")
        stored, raise_needed = add_all(self._database, space, memories, within)
        if raise_needed:
            self._seal(space, next(result.memory.id for result in stored if result.duplicate_of is None))
        return stored

    def _seal(self, space: Space, memory_id: str) -> None:
        """Raise the revision after writes without the head, with a mark on one of their memories: the stream tells of
        it after all of them.
        """
        row, written = self._row, new_mark()
        transaction = Transaction()
        last = row(keys.space_partition(space), keys.memory(memory_id))
        transaction.update(last, [row.written.set(written)], row.pk.exists())
        raise_within(self._database, transaction, space, written=written)
        try:
            self._database.transact(transaction)
        except (ConditionFailed, WriteConflict):
            # The memory was deleted, or somebody else is at the head: then no write is known to be the newest, and
            # readers look for themselves. A plain update queues up where a transaction would fail again.
            self._heads.raise_revision(space, unmarks=True)

    def get(self, space: Space, memory_id: str) -> Memory | None:
        """One read."""
        item = self._database.get_item(self._row, keys.space_partition(space), keys.memory(memory_id))
        return None if item is None else memory_of(item)

    def get_many(self, space: Space, memory_ids: Sequence[str]) -> dict[str, Memory]:
        """Batches of 100, at once."""
        partition = keys.space_partition(space)
        items = self._database.get_many(self._row, [(partition, keys.memory(memory_id)) for memory_id in memory_ids])
        return {memory.id: memory for memory in map(memory_of, items)}

    def holders(self, space: Space, content_hashes: Sequence[str]) -> dict[str, str]:
        """Batches of 100, at once."""
        return known_holders(self._database, space, content_hashes)

    def page(self, space: Space, limit: int, start: str | None) -> Page[Memory]:
        """One query; the memories come without their embeddings. ``start`` is the last id of the page before."""
        key_range = keys.beginning_with(keys.MEMORIES)
        if start is not None:
            key_range = replace(key_range, last=keys.memory(start))
        items = self._database.query(
            self._row,
            keys.space_partition(space),
            key_range,
            newest_first=True,
            limit=limit + 2,  # the start itself, and one more to see whether the list goes on
            attributes=WITHOUT_VECTOR,
        )
        wanted = (item for item in items if item["id"]["S"] != start)
        found = [memory_of(item) for item in islice(wanted, limit + 1)]
        return Page(tuple(found[:limit]), found[limit - 1].id if len(found) > limit else None)

    def all(self, space: Space) -> tuple[Memory, ...]:
        """See ``scanning``."""
        return tuple(memory_of(item) for item in read_all(self._database, space))

    def since(self, space: Space, first_id: str) -> tuple[Memory, ...]:
        """One key range, mostly one page."""
        new = replace(keys.beginning_with(keys.MEMORIES), first=keys.memory(first_id))
        items = self._database.query(self._row, keys.space_partition(space), new)
        return tuple(memory_of(item) for item in items)

    def changed_since(self, space: Space, moment: datetime) -> tuple[str, ...]:
        """One key range of small items."""
        later = replace(keys.beginning_with(keys.CHANGES), first=keys.changes_since(moment))
        items = self._database.query(self._note, keys.space_partition(space), later)
        return tuple(dict.fromkeys(item["memory_id"]["S"] for item in items))

    def old_versions(self, space: Space) -> tuple[Memory, ...]:
        """One key range."""
        items = self._database.query(self._row, keys.space_partition(space), keys.beginning_with(keys.OLD_MEMORIES))
        return tuple(memory_of(item) for item in items)

    def history(self, space: Space, memory_id: str) -> tuple[Memory, ...]:
        """The newest version, then the old ones."""
        newest = self.get(space, memory_id)
        if newest is None:
            return ()
        key_range = keys.beginning_with(keys.memory_versions(memory_id))
        items = self._database.query(self._row, keys.space_partition(space), key_range)
        return (*map(memory_of, items), newest)

    def update(self, space: Space, seen: Memory, changed: Memory) -> Memory:
        """One transaction: the new version, the old one, the note of the change, the hashes, the head."""
        newest = replace(changed, version=seen.version + 1, superseded_at=None)
        old = replace(seen, superseded_at=newest.updated_at)
        partition = keys.space_partition(space)
        row, pointer = self._row, self._pointer
        transaction = Transaction()
        written = new_mark()
        transaction.put_item(row, memory_item(space, newest, written=written), row.version == seen.version)
        transaction.put_item(row, memory_item(space, old, keys.memory_version(seen.id, seen.version)))
        noted = keys.change(newest.updated_at, newest.id)
        expires = epoch_seconds(newest.updated_at + NOTED_FOR)
        transaction.put(self._note(partition, noted, memory_id=newest.id, ttl=expires))
        if newest.content_hash != seen.content_hash:
            added = pointer(partition, keys.content(newest.content_hash), memory_id=newest.id)
            transaction.put(added, pointer.pk.does_not_exist())
            transaction.delete(pointer(partition, keys.content(seen.content_hash)), pointer.memory_id == seen.id)
        raise_within(self._database, transaction, space, rewrites=True, written=written)
        try:
            with_retries(lambda: self._database.transact(transaction))
        except ConditionFailed as failed:
            raise _why_not_updated(failed) from failed
        return newest

    def delete(self, space: Space, memory_ids: Sequence[str], expected_version: int | None = None) -> int:
        """A read of what there is, then transactions of whole memories; with the head where one is enough."""
        return delete_memories(self._database, space, memory_ids, expected_version)

    def lineages(self, space: Space) -> tuple[Lineage, ...]:
        """See ``lineages``."""
        return read_lineages(self._database, space)

    def rewrite(self, space: Space, versions: Sequence[Memory]) -> None:
        """See ``lineages``."""
        rewrite(self._database, space, versions, datetime.now(UTC))

    def count(self, space: Space) -> int:
        """Counts the small ``HASH`` items, of which each memory has one."""
        return self._database.count(self._pointer, keys.space_partition(space), keys.beginning_with(keys.HASHES))


def _why_not_updated(failed: ConditionFailed) -> LetheError:
    newest, _, _, *hashes, head = failed.found
    if head is not None:
        return Erased("the subject was erased since the request began")
    if newest == {}:
        return NotFound()
    if newest is not None:
        return VersionConflict(int(newest["version"]["N"]))
    return Conflict("another memory says the same" if hashes and hashes[0] else "the memory is being changed")
