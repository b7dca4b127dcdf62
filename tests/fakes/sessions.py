"""Sessions in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil

from lethe.domain.identity import Space
from lethe.domain.session import Message, Role, Session, SessionSummary
from lethe.errors import NotFound
from lethe.ports import AppendResult, NewMessage, Page


@dataclass(slots=True)
class _Stored:
    """A session with its messages and summaries, each with its last second; client ids point to messages."""

    head: Session
    messages: list[tuple[Message, int]] = field(default_factory=list)
    client_ids: dict[str, Message] = field(default_factory=dict)
    summaries: list[SessionSummary] = field(default_factory=list)


def _ttl(moment: datetime) -> int:
    return ceil(moment.timestamp())


class FakeSessions:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: dict[tuple[Space, str], _Stored] = {}

    def _alive(self, space: Space, session_id: str, now: datetime) -> _Stored | None:
        stored = self._sessions.get((space, session_id))
        return stored if stored is not None and _ttl(stored.head.expires_at) > now.timestamp() else None

    def stands(self, space: Space, session: Session) -> bool:
        """Whether this very session is still there."""
        stored = self._sessions.get((space, session.id))
        return stored is not None and stored.head.created_at == session.created_at

    def ids(self, space: Space) -> tuple[str, ...]:
        return tuple(session_id for of, session_id in self._sessions if of == space)

    def spaces(self) -> set[Space]:
        """Those that hold anything."""
        return {space for space, _ in list(self._sessions)}

    def append(
        self, space: Space, session_id: str, messages: Sequence[NewMessage], now: datetime, ttl_seconds: int
    ) -> AppendResult:
        expires_at = now + timedelta(seconds=ttl_seconds)
        with self._lock:
            stored = self._alive(space, session_id, now)
            if stored is None:
                head = Session(session_id, now, now, expires_at, 0, 0, ttl_seconds=ttl_seconds)
                stored = self._sessions[space, session_id] = _Stored(head)
            alive = {message.id for message, ttl in stored.messages if ttl > now.timestamp()}
            results = []
            for new in messages:
                known = stored.client_ids.get(new.client_id) if new.client_id is not None else None
                if known is not None and known.id in alive:
                    results.append((known, True))
                    continue
                message = self._place(stored, new.message, expires_at)
                alive.add(message.id)
                if new.client_id is not None:
                    stored.client_ids[new.client_id] = message
                results.append((message, False))
            if not all(old for _, old in results):
                stored.head = replace(
                    stored.head,
                    updated_at=max(now, stored.head.updated_at),
                    expires_at=max(expires_at, stored.head.expires_at),
                    ended_at=None,
                    ttl_seconds=ttl_seconds,
                )
            return AppendResult(tuple(results), stored.head)

    def _place(self, stored: _Stored, message: Message, expires_at: datetime) -> Message:
        head = stored.head
        turns = head.turns + (message.role is Role.USER)
        placed = replace(message, session_id=head.id, sequence=head.messages + 1, turn=turns)
        stored.head = replace(head, messages=placed.sequence, turns=turns)
        stored.messages.append((placed, _ttl(expires_at)))
        return placed

    def get(self, space: Space, session_id: str, now: datetime) -> Session | None:
        stored = self._alive(space, session_id, now)
        return None if stored is None else stored.head

    def list(self, space: Space, now: datetime, limit: int, start: str | None) -> Page[Session]:
        ids = sorted(session_id for owner, session_id in self._sessions if owner == space)
        heads = [self.get(space, session_id, now) for session_id in ids if start is None or session_id > start]
        found = [head for head in heads if head is not None]
        return Page(tuple(found[:limit]), found[limit - 1].id if len(found) > limit else None)

    def _messages(self, space: Space, session_id: str, now: datetime) -> Sequence[Message]:
        stored = self._sessions.get((space, session_id))
        return [] if stored is None else [message for message, ttl in stored.messages if ttl > now.timestamp()]

    def newest(
        self, space: Space, session_id: str, now: datetime, turns: int, before: int | None = None
    ) -> tuple[Message, ...]:
        found = [m for m in self._messages(space, session_id, now) if before is None or m.sequence < before]
        return tuple(m for m in found if m.turn > found[-1].turn - turns) if turns > 0 else ()

    def page(self, space: Space, session_id: str, now: datetime, limit: int, start: str | None) -> Page[Message]:
        found = [m for m in self._messages(space, session_id, now) if m.sequence > int(start or 0)]
        return Page(tuple(found[:limit]), str(found[limit - 1].sequence) if len(found) > limit else None)

    def summary(self, space: Space, session_id: str, now: datetime) -> SessionSummary | None:
        stored = self._alive(space, session_id, now)
        return stored.summaries[-1] if stored is not None and stored.summaries else None

    def put_summary(self, space: Space, summary: SessionSummary) -> None:
        """What the summariser does, for tests."""
        self._sessions[space, summary.session_id].summaries.append(summary)

    def end(self, space: Space, session_id: str, now: datetime) -> Session:
        with self._lock:
            stored = self._alive(space, session_id, now)
            if stored is None:
                raise NotFound
            stored.head = replace(stored.head, ended_at=stored.head.ended_at or now)
            return stored.head

    def delete(self, space: Space, session_id: str) -> int:
        with self._lock:
            stored = self._sessions.pop((space, session_id), None)
            if stored is None:
                return 0
            return 1 + len(stored.messages) + len(stored.client_ids) + len(stored.summaries)
