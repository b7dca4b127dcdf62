"""Sessions: bodies, queries and answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lethe.domain.policy import MAXIMUM_SESSION_TTL, MINIMUM_SESSION_TTL
from lethe.domain.session import Due, Session, SessionSummary
from lethe.entry.api.memories import OutcomeOut
from lethe.entry.api.messages import MessageIn, MessageOut
from lethe.entry.api.types import (
    Body,
    Cursor,
    Limit,
    Out,
    Query,
    QueryNumber,
    TimeOut,
    UserId,
)


class AppendMessages(Body):
    """Messages for the end of a session."""

    user_id: UserId | None = None
    messages: list[MessageIn] = Field(min_length=1, max_length=100)
    remember: bool = True
    ttl_seconds: int | None = Field(
        default=None,
        ge=int(MINIMUM_SESSION_TTL.total_seconds()),
        le=int(MAXIMUM_SESSION_TTL.total_seconds()),
    )


class UserBody(Body):
    """The user whose data is meant."""

    user_id: UserId | None = None


class ListSessions(Query):
    """Which sessions to list."""

    user_id: UserId | None = None
    limit: Limit = 50
    cursor: Cursor | None = None


class ReadMessages(Query):
    """The newest ``turns`` turns, or with ``order=asc`` a page of at most ``limit`` of all messages. A ``cursor`` goes
    with the ``order`` of the answer that gave it.
    """

    user_id: UserId | None = None
    turns: QueryNumber = Field(default=10, ge=1, le=50)
    order: Literal["asc"] | None = None
    limit: Limit = 50
    cursor: Cursor | None = None


class SessionOut(Out):
    """The head of a session."""

    session_id: str
    turns: int
    messages: int
    created_at: TimeOut
    updated_at: TimeOut
    expires_at: TimeOut
    ended_at: TimeOut | None
    summary_due: bool
    summary_reason: str | None

    @classmethod
    def of(cls, session: Session, due: Due) -> SessionOut:
        """The head with what is due."""
        return cls(
            session_id=session.id,
            turns=session.turns,
            messages=session.messages,
            created_at=session.created_at,
            updated_at=session.updated_at,
            expires_at=session.expires_at,
            ended_at=session.ended_at,
            summary_due=due.summary_due,
            summary_reason=due.reason,
        )


class SummaryOut(Out):
    """The newest summary of a session."""

    text: str
    through_sequence: int
    created_at: TimeOut

    @classmethod
    def of(cls, summary: SessionSummary | None) -> SummaryOut | None:
        """The summary, if there is one."""
        if summary is None:
            return None
        return cls(text=summary.text, through_sequence=summary.through_sequence, created_at=summary.created_at)


class AppendedOut(Out):
    """Where a message stands now, and whether it was there before."""

    id: str
    sequence: int
    status: Literal["stored", "duplicate"]


class AppendOut(Out):
    """What became of the messages and of what they state."""

    session_id: str
    messages: list[AppendedOut]
    session: SessionOut
    results: list[OutcomeOut]
    notice: str


class MessagesOut(Out):
    """Messages of a session, oldest first. ``truncated``: the turns asked for hold more than one answer carries, and
    the oldest of their messages are left out; ``next_cursor`` goes on to these, from the newest of them to older ones.
    With ``order=asc`` it goes on to newer messages.
    """

    session: SessionOut
    summary: SummaryOut | None
    messages: list[MessageOut]
    truncated: bool
    next_cursor: str | None


class SessionsOut(Out):
    """A page of sessions."""

    sessions: list[SessionOut]
    next_cursor: str | None
