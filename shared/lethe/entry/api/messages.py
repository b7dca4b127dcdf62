"""Messages as they come and go."""

from __future__ import annotations

from pydantic import JsonValue

from lethe.domain.session import Message, Role
from lethe.entry.api.types import Body, ClientId, Content, Metadata, Out, Speaker, Time, TimeOut
from lethe.services.sessions import Said


class MessageIn(Body):
    """A message as a client sends it; an ``id`` of the client's makes it idempotent in its session."""

    role: Role
    content: Content
    name: Speaker | None = None
    created_at: Time | None = None
    id: ClientId | None = None
    metadata: Metadata | None = None

    def said(self) -> Said:
        """The same for the service."""
        return Said(self.role, self.content, self.name, self.created_at, self.id, self.metadata)


class MessageOut(Out):
    """A stored message."""

    id: str
    sequence: int
    turn: int
    role: Role
    content: str
    name: str | None
    created_at: TimeOut
    metadata: dict[str, JsonValue] | None

    @classmethod
    def of(cls, message: Message) -> MessageOut:
        """The message."""
        return cls(
            id=message.id,
            sequence=message.sequence,
            turn=message.turn,
            role=message.role,
            content=message.content,
            name=message.name,
            created_at=message.created_at,
            metadata=dict(message.metadata) if message.metadata is not None else None,
        )
