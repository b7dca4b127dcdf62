"""Sessions, messages and summaries as items of their table, and back."""

from __future__ import annotations

from typing import cast

from lethe.adapters.dynamodb.models import MessageRow, SessionRow, SummaryRow
from lethe.domain import keys
from lethe.domain.identity import Space
from lethe.domain.json_values import JsonObject
from lethe.domain.session import Message, Role, Session, SessionSummary
from lethe.domain.times import epoch_seconds


def session_row(row: type[SessionRow], space: Space, session: Session) -> SessionRow:
    """The head's item."""
    return row(
        keys.space_partition(space),
        keys.session(session.id),
        id=session.id,
        created_at=session.created_at,
        updated_at=session.updated_at,
        expires_at=session.expires_at,
        ttl=epoch_seconds(session.expires_at),
        messages=session.messages,
        turns=session.turns,
        ended_at=session.ended_at,
        summarised_turns=session.summarised_turns,
        summarised_at=session.summarised_at,
        ttl_seconds=session.ttl_seconds,
    )


def session_of(row: SessionRow) -> Session:
    """The head in an item."""
    return Session(
        id=row.id,
        created_at=row.created_at,
        updated_at=row.updated_at,
        expires_at=row.expires_at,
        messages=row.messages,
        turns=row.turns,
        ended_at=row.ended_at,
        summarised_turns=row.summarised_turns,
        summarised_at=row.summarised_at,
        ttl_seconds=row.ttl_seconds,
    )


def message_row(row: type[MessageRow], space: Space, message: Message, ttl: int, append: str) -> MessageRow:
    """The item of a message that expires at ``ttl`` and came with the append of this mark."""
    return row(
        keys.space_partition(space),
        keys.message(message.session_id, message.sequence),
        ttl=ttl,
        id=message.id,
        session_id=message.session_id,
        sequence=message.sequence,
        turn=message.turn,
        append=append,
        role=message.role.value,
        content=message.content,
        created_at=message.created_at,
        name=message.name,
        metadata=message.metadata,
    )


def message_of(row: MessageRow) -> Message:
    """The message in an item."""
    return Message(
        id=row.id,
        session_id=row.session_id,
        sequence=row.sequence,
        role=Role(row.role),
        content=row.content,
        created_at=row.created_at,
        name=row.name,
        metadata=cast("JsonObject | None", row.metadata),
        turn=row.turn,
    )


def summary_of(row: SummaryRow) -> SessionSummary:
    """The summary in an item."""
    return SessionSummary(row.session_id, row.text, row.through_sequence, row.created_at)
