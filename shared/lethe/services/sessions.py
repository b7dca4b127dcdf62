"""Short-term memory: appending messages, reading the newest turns, ending sessions; deleting one is an erasure."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from datetime import datetime

from lethe.domain import ids
from lethe.domain.identity import Space
from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonObject
from lethe.domain.policy import Policy
from lethe.domain.session import Due, Message, Role, Session, SessionSummary
from lethe.domain.session_due import summary_due
from lethe.errors import NotFound
from lethe.ports import Clock, Ids, NewMessage, Page, Sessions, TimeLeft
from lethe.services.remember import Remember, Remembered
from lethe.services.storing import unlimited


@immutable
class Said:
    """A message as a client sends it."""

    role: Role
    content: str
    name: str | None = None
    created_at: datetime | None = None
    client_id: str | None = None
    metadata: JsonObject | None = None


@immutable
class Appended:
    """Each message with whether it was there before, the session, and what was remembered of it."""

    messages: tuple[tuple[Message, bool], ...]
    session: Session
    due: Due
    remembered: Remembered | None


@immutable
class Window:
    """The newest turns of a session, with its head and summary."""

    session: Session
    messages: tuple[Message, ...]
    summary: SessionSummary | None


class SessionDesk:
    """Use cases on sessions."""

    def __init__(
        self,
        sessions: Sessions,
        remember: Remember,
        policy: Policy,
        clock: Clock,
        new_ids: Ids,
        executor: Executor,
    ) -> None:
        self._sessions = sessions
        self._remember = remember
        self._policy = policy
        self._clock = clock
        self._ids = new_ids
        self._executor = executor

    def append(
        self,
        space: Space,
        actor: str,
        session_id: str,
        said: Sequence[Said],
        remember: bool,
        ttl_seconds: int | None,
        time_left: TimeLeft = unlimited,
    ) -> Appended:
        """Store messages in order and, with ``remember``, what the user states in those that are new, as far as
        ``time_left`` allows.
        """
        now = self._clock.now()
        before = self._executor.submit(self._sessions.newest, space, session_id, now, 1) if remember else None
        new = [NewMessage(self._message(session_id, message, now), message.client_id) for message in said]
        result = self._sessions.append(
            space, session_id, new, now, ttl_seconds or int(self._policy.session_ttl.total_seconds())
        )
        remembered = None
        if remember and before is not None:
            fresh = [message for message, known in result.messages if not known]
            earlier = [message for message in before.result() if fresh and message.sequence < fresh[0].sequence]
            remembered = self._remember.messages(
                lambda: space,
                actor,
                fresh,
                earlier[-1] if earlier else None,
                session_id,
                within=result.session,
                time_left=time_left,
            )
        return Appended(result.messages, result.session, self.due(result.session), remembered)

    def _message(self, session_id: str, said: Said, now: datetime) -> Message:
        return Message(
            id=said.client_id or self._ids.new(ids.MESSAGE),
            session_id=session_id,
            sequence=0,
            role=said.role,
            content=said.content,
            created_at=said.created_at or now,
            name=said.name,
            metadata=said.metadata,
        )

    def due(self, session: Session) -> Due:
        """Whether a summary of the session is due."""
        return summary_due(session, self._policy, self._clock.now())

    def get(self, space: Space, session_id: str) -> Session:
        """The session's head. Raises NotFound."""
        session = self._sessions.get(space, session_id, self._clock.now())
        if session is None:
            raise NotFound
        return session

    def list(self, space: Space, limit: int, start: str | None) -> Page[Session]:
        """Sessions by id."""
        return self._sessions.list(space, self._clock.now(), limit, start)

    def window(self, space: Space, session_id: str, turns: int, before: int | None = None) -> Window:
        """The newest ``turns`` turns (ahead of the sequence ``before``), oldest first, with head and summary, read at
        once. Raises NotFound.
        """
        now = self._clock.now()
        messages = self._executor.submit(self._sessions.newest, space, session_id, now, turns, before)
        summary = self._executor.submit(self._sessions.summary, space, session_id, now)
        session = self.get(space, session_id)
        return Window(session, messages.result(), summary.result())

    def messages(self, space: Space, session_id: str, limit: int, start: str | None) -> tuple[Window, str | None]:
        """A page of all messages, oldest first, and the key of the next page. Raises NotFound."""
        now = self._clock.now()
        page = self._executor.submit(self._sessions.page, space, session_id, now, limit, start)
        summary = self._executor.submit(self._sessions.summary, space, session_id, now)
        session = self.get(space, session_id)
        found = page.result()
        return Window(session, found.items, summary.result()), found.next_key

    def end(self, space: Space, session_id: str) -> Session:
        """Mark the session as ended. Raises NotFound."""
        return self._sessions.end(space, session_id, self._clock.now())
