"""Adding memories: exact duplicates found, everything else written, whatever else goes on beside it.

Up to 49 memories go out at once, in one transaction with the head, and nothing is read before: a taken hash cancels
the transaction and is named in the reasons. More of them are written in transactions of 49 without the head, some at
once; the caller raises the revision afterwards. Once one of these met stored statements (a big import run twice is all
duplicates), those that follow are first compared with the stored hashes: a cancelled transaction costs as much as one
that writes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lethe.adapters.dynamodb.database import Database, Transaction
from lethe.adapters.dynamodb.failures import ConditionFailed, Item, WriteConflict, wait
from lethe.adapters.dynamodb.heads import new_mark, raise_within
from lethe.adapters.dynamodb.memory_items import item_bytes, memory_item
from lethe.domain import keys
from lethe.domain.identity import Space
from lethe.domain.memory import Memory
from lethe.domain.session import Session
from lethe.errors import Conflict, Erased, Throttled
from lethe.ports import Stored

GROUP = 49
"""Memories in one transaction: two items each, and the head, are at most 99 of the 100 that are allowed."""

GROUP_BYTES = 3_000_000
"""Of the 4 MB that one transaction may hold."""

_AT_ONCE = 4
"""Transactions at once: they all go to one partition, which takes 1,000 write units a second, some 150 memories."""

_PATIENCE = 16
"""Attempts of one transaction. A big import is throttled by the partition's limit; waiting is better than failing."""


@dataclass(slots=True)
class _Added:
    """What became of a group: ids of the memories that hold duplicates' hashes, and whether the revision is raised."""

    holders: dict[str, str] = field(default_factory=dict)
    stored: int = 0
    revision_raised: bool = True


def add_all(
    database: Database, space: Space, memories: Sequence[Memory], within: Session | None
) -> tuple[tuple[Stored, ...], bool]:
    """Store what is new; one result a memory, in order, and whether the caller must raise the revision."""
    first: dict[str, Memory] = {}
    for memory in memories:
        first.setdefault(memory.content_hash, memory)
    groups_added = _write(database, space, list(first.values()), within)
    holders = {content: holder for added in groups_added for content, holder in added.holders.items()}
    raise_needed = any(added.stored and not added.revision_raised for added in groups_added)
    return tuple(_result(memory, first, holders) for memory in memories), raise_needed


def _result(memory: Memory, first: dict[str, Memory], holders: dict[str, str]) -> Stored:
    holder = holders.get(memory.content_hash, first[memory.content_hash].id)
    # Our own id: stored now, or by an earlier attempt that was cut short.
    return Stored(memory, None if holder == memory.id else holder)


def _write(database: Database, space: Space, memories: list[Memory], within: Session | None) -> list[_Added]:
    groups = list(in_groups(memories, GROUP))
    if not groups:
        return []
    if len(groups) == 1:
        return [_add_group(database, space, groups[0], within, with_head=True)]
    met_stored = threading.Event()

    def add(group: list[Memory]) -> _Added:
        known = _known(database, space, group) if met_stored.is_set() else _Added(revision_raised=False)
        fresh = [memory for memory in group if memory.content_hash not in known.holders]
        added = _add_group(database, space, fresh, within, with_head=False)
        if added.holders:
            met_stored.set()
        return _Added(known.holders | added.holders, known.stored + added.stored, revision_raised=False)

    return database.at_once(add, groups, most=_AT_ONCE)


def _known(database: Database, space: Space, memories: Sequence[Memory]) -> _Added:
    """What is stored of ``memories``, be it by an earlier attempt of our own."""
    holders = known_holders(database, space, [memory.content_hash for memory in memories])
    return _Added(holders, sum(holders.get(memory.content_hash) == memory.id for memory in memories), False)


def known_holders(database: Database, space: Space, content_hashes: Sequence[str]) -> dict[str, str]:
    """Content hash to the memory that holds it, of those that are taken; batches of 100, at once."""
    partition = keys.space_partition(space)
    asked = [(partition, keys.content(content_hash)) for content_hash in dict.fromkeys(content_hashes)]
    taken = database.get_many(database.models.content, asked)
    return {keys.split(item["sk"]["S"])[1]: str(item["memory_id"]["S"]) for item in taken}


def in_groups(memories: Sequence[Memory], most: int) -> Iterator[list[Memory]]:
    """What one transaction takes: up to ``most`` memories, and no more bytes than are allowed."""
    group: list[Memory] = []
    size = 0
    for memory in memories:
        length = item_bytes(memory)
        if group and (len(group) == most or size + length > GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(memory)
        size += length
    if group:
        yield group


def _add_group(
    database: Database, space: Space, memories: list[Memory], within: Session | None, *, with_head: bool
) -> _Added:
    added = _Added(revision_raised=with_head)
    left = memories
    for attempt in range(_PATIENCE):
        if not left:
            return added
        try:
            database.transact(_transaction(database, space, left, within, added.revision_raised))
        except Throttled:
            wait(attempt, longest=1.5)
        except WriteConflict:
            # Somebody writes to the same head. Without it there is nothing to conflict about, and raises of the
            # revision, plain updates, queue up in the store instead of failing.
            added.revision_raised = False
            wait(attempt)
        except ConditionFailed as failed:
            holders = _holders(left, failed, within is not None, added.revision_raised)
            own = sum(holders.get(memory.content_hash) == memory.id for memory in left)
            if own:
                # An earlier attempt wrote them, and its answer was lost or it was cut short before the revision.
                added.stored += own
                added.revision_raised = False
            added.holders |= holders
            left = [memory for memory in left if memory.content_hash not in holders]
        else:
            break
    else:
        raise Throttled("too many writes at once to the same memories")
    added.stored += len(left)
    return added


def _transaction(
    database: Database, space: Space, memories: Sequence[Memory], within: Session | None, with_head: bool
) -> Transaction:
    row, pointer = database.models.memory, database.models.content
    partition = keys.space_partition(space)
    transaction = Transaction()
    written = new_mark(len(memories))
    held: list[Item] = [
        {"pk": {"S": partition}, "sk": {"S": keys.content(memory.content_hash)}, "memory_id": {"S": memory.id}}
        for memory in memories
    ]
    items = [memory_item(space, memory, written=written) for memory in memories]
    transaction.put_items(row, items, row.pk.does_not_exist())
    transaction.put_items(pointer, held, pointer.pk.does_not_exist())
    if within is not None:
        session = database.models.session
        standing = session(partition, keys.session(within.id))
        transaction.check(standing, session.created_at == within.created_at)
    if with_head:
        raise_within(database, transaction, space, written=written)
    return transaction


def _holders(
    memories: Sequence[Memory], failed: ConditionFailed, with_session: bool, with_head: bool
) -> dict[str, str]:
    """Content hash to the memory that holds it. Raises Erased or Conflict when the head or the session did not hold."""
    if with_head and failed.found[-1] is not None:
        raise Erased("the subject was erased since the request began") from failed
    if with_session and failed.found[2 * len(memories)] is not None:
        raise Conflict("the session was deleted since the request began") from failed
    holders = {}
    size = len(memories)
    for memory, there, taken in zip(memories, failed.found[:size], failed.found[size : 2 * size], strict=True):
        if taken is not None:
            holders[memory.content_hash] = str(taken["memory_id"]["S"])
        elif there is not None:
            raise Conflict("the id of a new memory is taken") from failed
    return holders
