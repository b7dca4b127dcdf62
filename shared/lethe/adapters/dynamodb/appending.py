"""Appending messages to a session: in order, without gaps, each client id once, beside any other append."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from pynamodb.expressions.condition import Condition

from lethe.adapters.dynamodb.database import MAXIMUM_ITEM_BYTES, Database, Transaction
from lethe.adapters.dynamodb.failures import ATTEMPTS, ConditionFailed, Item, WriteConflict, wait
from lethe.adapters.dynamodb.models import Row
from lethe.adapters.dynamodb.session_items import message_of, message_row, session_of, session_row
from lethe.domain import keys
from lethe.domain.identity import Space
from lethe.domain.immutable import immutable
from lethe.domain.json_values import canonical
from lethe.domain.session import Message, Role, Session
from lethe.domain.times import epoch_seconds
from lethe.errors import Throttled, TooLarge
from lethe.ports import AppendResult, NewMessage

_GROUP_ITEMS, _GROUP_BYTES = 90, 3_000_000
"""Of the 100 items and the 4 MB that one transaction may hold."""


@immutable
class _Seen:
    """What stands before a write: the live head, and the messages that this call's client ids point to."""

    head: Session | None
    known: dict[str, Message]


@immutable
class _Plan:
    """What a write will do: each message in its place and whether it was there before, and the head afterwards."""

    messages: tuple[tuple[Message, bool], ...]
    client_ids: tuple[str | None, ...]
    session: Session

    @property
    def fresh(self) -> list[tuple[Message, str | None]]:
        """The messages to write, with their client ids."""
        pairs = zip(self.messages, self.client_ids, strict=True)
        return [(message, client_id) for (message, old), client_id in pairs if not old]


def append(
    database: Database, space: Space, session_id: str, messages: Sequence[NewMessage], now: datetime, ttl_seconds: int
) -> AppendResult:
    """``Sessions.append``."""
    work = _Append(database, space, session_id, now, ttl_seconds)
    plans = [work.add(group) for group in _groups(messages)]
    return AppendResult(tuple(placed for plan in plans for placed in plan.messages), plans[-1].session)


def _groups(messages: Sequence[NewMessage]) -> Iterator[list[NewMessage]]:
    group: list[NewMessage] = []
    items = size = 0
    for new in messages:
        length = _bytes(new.message)
        if length > MAXIMUM_ITEM_BYTES:
            raise TooLarge(f"content: a message takes at most {MAXIMUM_ITEM_BYTES} bytes in all")
        needed = 1 if new.client_id is None else 2
        if group and (items + needed > _GROUP_ITEMS or size + length > _GROUP_BYTES):
            yield group
            group, items, size = [], 0, 0
        group.append(new)
        items += needed
        size += length
    if group:
        yield group


def _bytes(message: Message) -> int:
    return len(message.content.encode()) + len(canonical(message.metadata).encode()) + 1_000


class _Append:
    """One append to one session."""

    def __init__(self, database: Database, space: Space, session_id: str, now: datetime, ttl_seconds: int) -> None:
        self._database = database
        self._models = database.models
        self._space = space
        self._partition = keys.space_partition(space)
        self._session_id = session_id
        self._now = now
        self._ttl_seconds = ttl_seconds
        self._expires_at = now + timedelta(seconds=ttl_seconds)
        self._mark = str(uuid.uuid4())
        """What is written is told from what others write by this: ids are the clients', and two may send the same."""

    def add(self, group: Sequence[NewMessage]) -> _Plan:
        """Read, write, and again while other appends come between."""
        tried: _Plan | None = None
        for attempt in range(ATTEMPTS):
            seen, landed = self._look(group, tried)
            if tried is not None and landed:
                return tried
            plan = self._plan(group, seen)
            if not plan.fresh:
                return plan
            tried = plan
            try:
                self._database.transact(self._transaction(plan, seen.head))
            except (WriteConflict, ConditionFailed):
                wait(attempt)
            else:
                return plan
        raise Throttled("too many writes at once to the same session")

    def _look(self, group: Sequence[NewMessage], tried: _Plan | None) -> tuple[_Seen, bool]:
        """Head and client ids in one read, and whether a write that was tried is there after all: then only its
        answer was lost. A second read, of the messages themselves, when client ids are known.
        """
        message = self._models.message
        head_key = keys.session(self._session_id)
        client_ids = [new.client_id for new in group if new.client_id is not None]
        pointers = {keys.client_message(self._session_id, client_id): client_id for client_id in client_ids}
        first = None if tried is None else tried.fresh[0][0].sequence
        wanted = [head_key, *pointers, *([] if first is None else [keys.message(self._session_id, first)])]
        alive = {str(item["sk"]["S"]): item for item in self._read(wanted)}
        head = alive.pop(head_key, None)
        sequences = {pointers[key]: int(item["sequence"]["N"]) for key, item in alive.items() if key in pointers}
        landed = first is not None and any(item.get("append", {}).get("S") == self._mark for item in alive.values())
        stored = self._read([keys.message(self._session_id, sequence) for sequence in sequences.values()])
        by_sequence = {int(item["sequence"]["N"]): message_of(message.from_raw_data(item)) for item in stored}
        known = {client_id: by_sequence[n] for client_id, n in sequences.items() if n in by_sequence}
        session = None if head is None else session_of(self._models.session.from_raw_data(head))
        return _Seen(session, known), landed

    def _read(self, sort_keys: Sequence[str]) -> list[Item]:
        items = self._database.get_many(self._models.session, [(self._partition, key) for key in sort_keys])
        return [item for item in items if int(item["ttl"]["N"]) > self._now.timestamp()]

    def _plan(self, group: Sequence[NewMessage], seen: _Seen) -> _Plan:
        known = dict(seen.known)
        sequence, turn = (seen.head.messages, seen.head.turns) if seen.head else (0, 0)
        placed: list[tuple[Message, bool]] = []
        for new in group:
            if new.client_id is not None and new.client_id in known:
                placed.append((known[new.client_id], True))
                continue
            sequence += 1
            turn += new.message.role is Role.USER
            message = replace(new.message, session_id=self._session_id, sequence=sequence, turn=turn)
            placed.append((message, False))
            if new.client_id is not None:
                known[new.client_id] = message
        client_ids = tuple(new.client_id for new in group)
        return _Plan(tuple(placed), client_ids, self._advanced(seen.head, sequence, turn))

    def _advanced(self, head: Session | None, messages: int, turns: int) -> Session:
        """The head after the write; unchanged when every message was there before."""
        if head is None:
            return Session(
                id=self._session_id,
                created_at=self._now,
                updated_at=self._now,
                expires_at=self._expires_at,
                messages=messages,
                turns=turns,
                ttl_seconds=self._ttl_seconds,
            )
        if messages == head.messages:
            return head
        return replace(
            head,
            updated_at=max(self._now, head.updated_at),
            expires_at=max(self._expires_at, head.expires_at),
            messages=messages,
            turns=turns,
            ended_at=None,
            ttl_seconds=self._ttl_seconds,
        )

    def _transaction(self, plan: _Plan, head: Session | None) -> Transaction:
        transaction = Transaction()
        self._write_head(transaction, plan.session, head)
        ttl = epoch_seconds(self._expires_at)
        for message, client_id in plan.fresh:
            row = message_row(self._models.message, self._space, message, ttl, self._mark)
            transaction.put(row, self._free(self._models.message))
            if client_id is not None:
                key = keys.client_message(self._session_id, client_id)
                pointer = self._models.client(self._partition, key, ttl=ttl, sequence=message.sequence)
                transaction.put(pointer, self._free(self._models.client))
        return transaction

    def _free(self, row: type[Row]) -> Condition:
        """Nothing stands there, or only what has expired."""
        free: Condition = row.pk.does_not_exist() | (row.ttl <= int(self._now.timestamp()))
        return free

    def _write_head(self, transaction: Transaction, session: Session, seen: Session | None) -> None:
        """The counter in the condition is what orders appends. Only our own attributes change: the summariser
        may be writing its own.
        """
        row = self._models.session
        item = session_row(row, self._space, session)
        if seen is None:
            transaction.put(item, self._free(row))
            return
        actions = [
            row.updated_at.set(item.updated_at),
            row.expires_at.set(item.expires_at),
            row.ttl.set(item.ttl),
            row.messages.set(item.messages),
            row.turns.set(item.turns),
            row.ttl_seconds.set(item.ttl_seconds),
            row.ended_at.remove(),
        ]
        transaction.update(item, actions, (row.messages == seen.messages) & (row.created_at == seen.created_at))
