"""The answers about sessions, as frozen records (see `models` for the rest)."""

from dataclasses import dataclass, field
from datetime import datetime

from lethe_client.fields import Fields
from lethe_client.json_types import JsonObject, JsonValue
from lethe_client.models import MemoryResult


@dataclass(frozen=True, slots=True)
class Session:
    """The head of a session: how much it holds, until when, and whether a summary is due."""

    session_id: str
    turns: int
    messages: int
    expires_at: datetime | None
    summary_due: bool
    summary_reason: str | None
    raw: JsonObject = field(repr=False, compare=False)

    @classmethod
    def parse(cls, data: JsonObject) -> "Session":
        """Read it from an answer."""
        fields = Fields(data, "session")
        return cls(
            fields.text("session_id", ""),
            fields.integer("turns"),
            fields.integer("messages"),
            fields.optional_time("expires_at"),
            fields.flag("summary_due", False),
            fields.optional_text("summary_reason"),
            data,
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
class SessionWindow:
    """The newest turns of a session, oldest first, with its head and its summary."""

    messages: tuple[Message, ...]
    session: Session
    summary: JsonValue

    @classmethod
    def parse(cls, data: JsonObject, session_id: str) -> "SessionWindow":
        """Read it from an answer."""
        fields = Fields(data, "answer")
        return cls(
            fields.objects("messages", Message.parse),
            Session.parse({"session_id": session_id, **fields.object("session")}),
            fields.value("summary"),
        )
