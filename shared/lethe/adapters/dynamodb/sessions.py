"""Short-term memory in the table of sessions.

An append is a transaction of the messages and their session's head, whose counter orders all appends to it. Heads
outlive their messages, so that an expired head means that nothing is left, and the next append starts from 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from lethe.adapters.dynamodb.appending import append
from lethe.adapters.dynamodb.database import Database
from lethe.adapters.dynamodb.failures import ATTEMPTS, ConditionFailed, WriteConflict, wait, with_retries
from lethe.adapters.dynamodb.session_items import message_of, session_of, summary_of
from lethe.domain import keys
from lethe.domain.identity import Space
from lethe.domain.session import Message, Session, SessionSummary
from lethe.errors import NotFound, Throttled
from lethe.ports import AppendResult, NewMessage, Page

_PER_TURN = 3
"""Messages to read for a turn: a question, an answer, and now and then a tool's."""


class DynamoSessions:
    """``Sessions`` in the table of sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._models = database.models

    def append(
        self, space: Space, session_id: str, messages: Sequence[NewMessage], now: datetime, ttl_seconds: int
    ) -> AppendResult:
        """One read of the head and the client ids, one transaction (two or three for more than 45 messages)."""
        return append(self._database, space, session_id, messages, now, ttl_seconds)

    def get(self, space: Space, session_id: str, now: datetime) -> Session | None:
        """One read."""
        row = self._database.get(self._models.session, keys.space_partition(space), keys.session(session_id))
        return None if row is None or expired(row.ttl, now) else session_of(row)

    def list(self, space: Space, now: datetime, limit: int, start: str | None) -> Page[Session]:
        """One query over the heads. ``start`` is the last id of the page before."""
        key_range = keys.beginning_with(keys.SESSIONS)
        if start is not None:
            key_range = replace(key_range, first=keys.session(start))
        rows = self._database.rows(self._models.session, keys.space_partition(space), key_range, limit=limit + 2)
        alive = (session_of(row) for row in rows if row.id != start and not expired(row.ttl, now))
        found = tuple(islice(alive, limit + 1))
        return Page(found[:limit], found[limit - 1].id if len(found) > limit else None)

    def newest(
        self, space: Space, session_id: str, now: datetime, turns: int, before: int | None = None
    ) -> tuple[Message, ...]:
        """A query from the end that stops at the first message of an older turn."""
        found: list[Message] = []
        if turns < 1 or (before is not None and before <= 1):
            return ()
        limit = turns * _PER_TURN
        for message in self._messages(space, session_id, now, newest_first=True, limit=limit, before=before):
            if found and message.turn <= found[0].turn - turns:
                break
            found.append(message)
        return tuple(reversed(found))

    def page(self, space: Space, session_id: str, now: datetime, limit: int, start: str | None) -> Page[Message]:
        """One query. ``start`` is the last sequence of the page before."""
        after = 0 if start is None else int(start)
        found = tuple(islice(self._messages(space, session_id, now, limit=limit + 1, after=after), limit + 1))
        return Page(found[:limit], str(found[limit - 1].sequence) if len(found) > limit else None)

    def _messages(
        self,
        space: Space,
        session_id: str,
        now: datetime,
        *,
        limit: int,
        newest_first: bool = False,
        after: int = 0,
        before: int | None = None,
    ) -> Iterator[Message]:
        key_range = keys.beginning_with(keys.messages(session_id))
        if after:
            key_range = replace(key_range, first=keys.message(session_id, after + 1))
        if before is not None:
            key_range = replace(key_range, last=keys.message(session_id, before - 1))
        rows = self._database.rows(
            self._models.message, keys.space_partition(space), key_range, newest_first=newest_first, limit=limit
        )
        return (message_of(row) for row in rows if not expired(row.ttl, now))

    def summary(self, space: Space, session_id: str, now: datetime) -> SessionSummary | None:
        """One query from the end."""
        rows = self._database.rows(
            self._models.summary,
            keys.space_partition(space),
            keys.beginning_with(keys.summaries(session_id)),
            newest_first=True,
            limit=1,
        )
        return next((summary_of(row) for row in rows if not expired(row.ttl, now)), None)

    def ids(self, space: Space) -> tuple[str, ...]:
        """One query over the names of all items."""
        partition = keys.space_partition(space)
        items = self._database.query(self._models.session, partition, keys.everything(), attributes=("sk",))
        return tuple(dict.fromkeys(keys.session_named_in(str(item["sk"]["S"])) for item in items))

    def end(self, space: Space, session_id: str, now: datetime) -> Session:
        """One conditional update that keeps the first end."""
        row = self._models.session
        actions = [row.ended_at.set(row.ended_at | now), row.updated_at.set(now)]
        condition = row.pk.exists() & (row.ttl > int(now.timestamp()))
        target = row(keys.space_partition(space), keys.session(session_id))
        try:
            return session_of(with_retries(lambda: self._database.update(target, actions, condition)))
        except ConditionFailed as failed:
            raise NotFound from failed

    def delete(self, space: Space, session_id: str) -> int:
        """The items first, the head last and only if nothing was appended meanwhile: what is cut short is
        finished by the next call, and no message is left behind without its head.
        """
        partition, row = keys.space_partition(space), self._models.session
        deleted = 0
        for attempt in range(ATTEMPTS):
            head = self._database.get(row, partition, keys.session(session_id))
            items = self._database.query(
                self._models.message,
                partition,
                keys.beginning_with(keys.session_items(session_id)),
                attributes=("sk",),
            )
            found = [(partition, str(item["sk"]["S"])) for item in items]
            self._database.delete_many(self._models.message, found)
            deleted += len(found)
            if head is None:
                return deleted
            try:
                unchanged = (row.messages == head.messages) & (row.created_at == head.created_at)
                self._database.delete(head, unchanged)
            except (ConditionFailed, WriteConflict):
                wait(attempt)
            else:
                return deleted + 1
        raise Throttled("too many writes at once to the same session")


def expired(ttl: int | None, now: datetime) -> bool:
    """Whether an item with this TTL may no longer be read at ``now``."""
    return ttl is not None and ttl <= now.timestamp()
