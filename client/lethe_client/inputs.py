"""What a caller hands in: the shapes of messages, memories and filters, as typed dictionaries."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias, TypedDict

from lethe_client.fields import When, time_text
from lethe_client.json_types import JsonInput

Role: TypeAlias = Literal["user", "assistant", "system", "tool"]
Category: TypeAlias = Literal["preference", "commitment", "profile", "parameter"]
Origin: TypeAlias = Literal["user", "agent", "tool", "import", "admin"]


class _MessageRequired(TypedDict):
    role: Role
    content: str


class MessageInput(_MessageRequired, total=False):
    """A message to append: role and content (at most 32,768 bytes), and what is known beside them.

    `created_at` is RFC 3339 with an offset; `id` makes the message idempotent.
    """

    name: str
    created_at: str
    id: str
    metadata: Mapping[str, JsonInput]


class MemoryInput(TypedDict, total=False):
    """One item of a batch: `text` (at most 2,000 characters) and what is known about it."""

    text: str
    kind: str
    confidence: float
    session_id: str
    speaker: str
    occurred_at: str
    context: str
    metadata: Mapping[str, JsonInput]
    valid_from: str
    valid_until: str
    origin: Origin


class HoldScope(TypedDict, total=False):
    """What a hold keeps: one of `subject` (everything of the user), `session_id`, `memory_ids`, or a range.

    A range is memories of these kinds (any, when there is no `kind`) that were created after and before these times.
    """

    subject: Literal[True]
    session_id: str
    memory_ids: Sequence[str]
    kind: str | Sequence[str]
    created_after: When
    created_before: When


class ErasureScope(HoldScope, total=False):
    """What shall be erased: as of a hold, or `tenant`, which is everything of every user."""

    tenant: Literal[True]


class SearchFilters(TypedDict, total=False):
    """What a search may be narrowed to; every member given must hold. A list means any of its values."""

    kind: str | Sequence[str]
    status: str | Sequence[str]
    session_id: str
    origin: Origin | Sequence[Origin]
    created_after: str
    created_before: str
    valid_at: str
    metadata: Mapping[str, JsonInput]


def scope_body(scope: HoldScope) -> dict[str, object]:
    """A scope as it is sent.

    Raises:
        ValueError: a time without an offset.
    """
    sent: dict[str, object] = dict(scope)
    for name in ("created_after", "created_before"):
        value = sent.get(name)
        if isinstance(value, datetime):
            sent[name] = time_text(value)
    return sent
