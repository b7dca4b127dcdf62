"""Operations on sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lethe.domain.identity import Caller
from lethe.domain.session import Session
from lethe.entry.api.memories import UserQuery
from lethe.entry.api.messages import MessageOut
from lethe.entry.api.sessions import (
    AppendedOut,
    AppendMessages,
    AppendOut,
    ListSessions,
    MessagesOut,
    ReadMessages,
    SessionOut,
    SessionsOut,
    SummaryOut,
)
from lethe.entry.call import Answer, Call
from lethe.entry.cursor import Binding, Cursors
from lethe.entry.operations.common import outcomes_out
from lethe.entry.sizes import fitting
from lethe.errors import InvalidInput
from lethe.ports import Clock
from lethe.services.sessions import SessionDesk, Window
from lethe.services.spaces import Spaces

Operations = dict[str, Callable[[Call], Answer]]


class SessionWrites:
    """Operations of the function ``write``."""

    def __init__(self, spaces: Spaces, desk: SessionDesk, clock: Clock) -> None:
        self._spaces = spaces
        self._desk = desk
        self._clock = clock

    def operations(self) -> Operations:
        """By the names that the routes use."""
        return {"append_messages": self.append, "end_session": self.end}

    def append(self, call: Call) -> Answer:
        """Append messages and remember what they state."""
        body = call.body_as(AppendMessages)
        _refuse_repeated_ids(body)
        session_id = call.path["session_id"]
        space = self._spaces.for_writing(call.caller, call.user_id)
        said = [message.said() for message in body.messages]
        done = self._desk.append(
            space, call.caller.actor, session_id, said, body.remember, body.ttl_seconds, call.time_left
        )
        remembered = done.remembered
        out = AppendOut(
            session_id=session_id,
            messages=[
                AppendedOut(id=message.id, sequence=message.sequence, status="duplicate" if known else "stored")
                for message, known in done.messages
            ],
            session=SessionOut.of(done.session, done.due),
            results=outcomes_out(remembered, call, self._clock.now()) if remembered else [],
            notice=remembered.notice if remembered else "",
        )
        return Answer(201, out)

    def end(self, call: Call) -> Answer:
        """Mark a session as ended."""
        space = self._spaces.for_changing(call.caller, call.user_id)
        session = self._desk.end(space, call.path["session_id"])
        return Answer(200, _session_out(self._desk, session))


class SessionReads:
    """Operations of the function ``recall``."""

    def __init__(self, spaces: Spaces, desk: SessionDesk, cursors: Cursors) -> None:
        self._spaces = spaces
        self._desk = desk
        self._cursors = cursors

    def operations(self) -> Operations:
        """By the names that the routes use."""
        return {"read_messages": self.messages, "list_sessions": self.list, "get_session": self.get}

    def messages(self, call: Call) -> Answer:
        """The newest turns, or a page of everything."""
        query = call.query_as(ReadMessages)
        session_id = call.path["session_id"]
        space = self._spaces.for_reading(call.caller, call.user_id)
        binding = {"list": "messages", "subject": space.subject, "session": session_id}
        if query.order is None:
            turns, before = query.turns, None
            if query.cursor is not None:
                turns, before = map(int, str(self._cursors.read(query.cursor, call.caller, binding | _TURNS)).split())
            window = self._desk.window(space, session_id, turns, before)
            return Answer(200, self._newest(window, call.caller, binding | _TURNS))
        start = self._cursors.read(query.cursor, call.caller, binding)
        window, next_key = self._desk.messages(space, session_id, query.limit, start)
        messages = [MessageOut.of(message) for message in window.messages]
        room = fitting(messages)
        if room < len(messages):
            window, next_key = self._desk.messages(space, session_id, room, start)
            messages = [MessageOut.of(message) for message in window.messages]
        next_cursor = self._cursors.write(next_key, call.caller, binding)
        return Answer(200, self._messages_out(window, messages, False, next_cursor))

    def _newest(self, window: Window, caller: Caller, binding: Binding) -> MessagesOut:
        """As many of the newest messages as one answer carries; the cursor goes on to those of these turns that are
        older.
        """
        messages = [MessageOut.of(message) for message in window.messages]
        left = len(messages) - fitting(reversed(messages))
        next_key = None
        if left:
            next_key = f"{messages[left - 1].turn - messages[0].turn + 1} {messages[left].sequence}"
        next_cursor = self._cursors.write(next_key, caller, binding)
        return self._messages_out(window, messages[left:], left > 0, next_cursor)

    def _messages_out(
        self, window: Window, messages: list[MessageOut], truncated: bool, next_cursor: str | None
    ) -> MessagesOut:
        return MessagesOut(
            session=_session_out(self._desk, window.session),
            summary=SummaryOut.of(window.summary),
            messages=messages,
            truncated=truncated,
            next_cursor=next_cursor,
        )

    def list(self, call: Call) -> Answer:
        """The sessions of a user."""
        query = call.query_as(ListSessions)
        space = self._spaces.for_reading(call.caller, call.user_id)
        binding = {"list": "sessions", "subject": space.subject}
        page = self._desk.list(space, query.limit, self._cursors.read(query.cursor, call.caller, binding))
        sessions = [_session_out(self._desk, session) for session in page.items]
        return Answer(
            200, SessionsOut(sessions=sessions, next_cursor=self._cursors.write(page.next_key, call.caller, binding))
        )

    def get(self, call: Call) -> Answer:
        """The head of a session."""
        call.query_as(UserQuery)
        space = self._spaces.for_reading(call.caller, call.user_id)
        return Answer(200, _session_out(self._desk, self._desk.get(space, call.path["session_id"])))


_TURNS: Final = {"order": "newest turns"}
"""What tells a cursor of the newest turns (their number that is left, and the sequence they end before) from others."""


def _session_out(desk: SessionDesk, session: Session) -> SessionOut:
    return SessionOut.of(session, desk.due(session))


def _refuse_repeated_ids(body: AppendMessages) -> None:
    seen: set[str] = set()
    for index, message in enumerate(body.messages):
        if message.id is not None and message.id in seen:
            raise InvalidInput.of(f"messages[{index}].id", "must differ from the other messages' ids")
        if message.id is not None:
            seen.add(message.id)
