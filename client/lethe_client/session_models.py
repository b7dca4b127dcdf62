"""The answers about sessions, as frozen records (see `models` for the rest)."""

from dataclasses import dataclass, field
from datetime import datetime

from lethe_client.fields import Fields
from lethe_client.json_types import JsonObject
from lethe_client.models import MemoryResult


@dataclass(frozen=True, slots=True)
class Session:
    """The head of a session: how much it holds, until when, and whether a summary is due."""

    session_id: str
    turns: int
    messages: int
    created_at: datetime | None
    updated_at: datetime | None
    expires_at: datetime | None
    ended_at: datetime | None
    summary_due: bool
    summary_reason: str | None
    raw: JsonObject = field(repr=False, compare=False)

    @classmethod
    def parse(cls, data: JsonObject) -> "Session":
        """Read it from an answer."""
        fields = Fields(data, "session")
        return cls(
            session_id=fields.text("session_id", ""),
            turns=fields.integer("turns"),
            messages=fields.integer("messages"),
            created_at=fields.optional_time("created_at"),
            updated_at=fields.optional_time("updated_at"),
            expires_at=fields.optional_time("expires_at"),
            ended_at=fields.optional_time("ended_at"),
            summary_due=fields.flag("summary_due", False),
            summary_reason=fields.optional_text("summary_reason"),
            raw=data,
        )


@dataclass(frozen=True, slots=True)
class Message:
    """One stored message of a session."""

    id: str
    sequence: int
    role: str
    content: str
    name: str | None
    created_at: datetime | None
    metadata: JsonObject
    raw: JsonObject = field(repr=False, compare=False)

    @classmethod
    def parse(cls, data: JsonObject) -> "Message":
        """Read it from an answer."""
        fields = Fields(data, "message")
        return cls(
            fields.text("id"),
            fields.integer("sequence", 0),
            fields.text("role"),
            fields.text("content"),
            fields.optional_text("name"),
            fields.optional_time("created_at"),
            fields.object("metadata"),
            data,
        )


@dataclass(frozen=True, slots=True)
class MessageReceipt:
    """What became of one appended message: stored, or a duplicate of what was there."""

    id: str
    sequence: int
    status: str

    @classmethod
    def parse(cls, data: JsonObject) -> "MessageReceipt":
        """Read it from an answer."""
        fields = Fields(data, "message")
        return cls(fields.text("id"), fields.integer("sequence"), fields.text("status"))


@dataclass(frozen=True, slots=True)
class AppendResult:
    """Answer to appended messages: the messages, the session after them, and what was remembered."""

    session_id: str
    messages: tuple[MessageReceipt, ...]
    session: Session
    results: tuple[MemoryResult, ...]
    notice: str
    replayed: bool

    @classmethod
    def parse(cls, data: JsonObject, replayed: bool) -> "AppendResult":
        """Read it from an answer."""
        fields = Fields(data, "answer")
        session_id = fields.text("session_id")
        return cls(
            session_id,
            fields.objects("messages", MessageReceipt.parse),
            Session.parse({"session_id": session_id, **fields.object("session")}),
            fields.objects("results", MemoryResult.parse),
            fields.optional_text("notice") or "",
            replayed,
        )


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What stands for the messages up to `through_sequence`."""

    text: str
    through_sequence: int
    created_at: datetime | None

    @classmethod
    def parse(cls, data: JsonObject) -> "SessionSummary":
        """Read it from an answer."""
        fields = Fields(data, "summary")
        return cls(fields.text("text"), fields.integer("through_sequence", 0), fields.optional_time("created_at"))


def optional_summary(fields: Fields) -> SessionSummary | None:
    """The summary in an answer; None when there is none yet."""
    data = fields.optional_object("summary")
    return None if data is None else SessionSummary.parse(data)


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """The newest turns of a session, oldest first, with its head and its summary.

    `truncated` says that the turns hold more than one answer carries; `next_cursor` leads to the older messages.
    """

    messages: tuple[Message, ...]
    session: Session
    summary: SessionSummary | None
    truncated: bool
    next_cursor: str | None

    @classmethod
    def parse(cls, data: JsonObject, session_id: str) -> "SessionWindow":
        """Read it from an answer."""
        fields = Fields(data, "answer")
        return cls(
            fields.objects("messages", Message.parse),
            Session.parse({"session_id": session_id, **fields.object("session")}),
            optional_summary(fields),
            fields.flag("truncated", False),
            fields.optional_text("next_cursor"),
        )
