"""What a caller hands in: the shapes of messages, memories and filters, as typed dictionaries."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

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
