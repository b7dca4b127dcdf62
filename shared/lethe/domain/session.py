"""Sessions: the newest messages of a conversation, grouped in turns."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonObject


class Role(StrEnum):
    """Who speaks in a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@immutable
class Message:
    """One message of a session. ``sequence`` counts from 1 without gaps inside its session."""

    id: str
    session_id: str
    sequence: int
    role: Role
    content: str
    created_at: datetime
    name: str | None = None
    metadata: JsonObject | None = None
    turn: int = 0
    """The turn it belongs to: the number of user messages up to and including it."""


@immutable
class Session:
    """The head of a session: counters, expiry and what a summary has covered."""

    id: str
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    messages: int
    turns: int
    ended_at: datetime | None = None
    summarised_turns: int = 0
    summarised_at: datetime | None = None
    ttl_seconds: int = 0


@immutable
class SessionSummary:
    """What stands for the messages up to ``through_sequence``; written by the summariser."""

    session_id: str
    text: str
    through_sequence: int
    created_at: datetime


@immutable
class Due:
    """Whether a summary is due, and why (``turns`` or ``idle``)."""

    summary_due: bool
    reason: str | None
