"""The answers of the service, as frozen records.

Times are aware datetimes in UTC. Each record keeps the object that it was made from in `raw`, for members
that the contract gained after this version.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from lethe_client.explain import ExplainedCandidate, explanation
from lethe_client.fields import Fields
from lethe_client.json_types import JsonObject, JsonValue

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list, and the cursor of the next; None after the last."""

    items: tuple[T, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Source:
    """Why a memory is known: where and by whom it was said."""

    session_id: str | None
    message_ids: tuple[str, ...]
    actor: str | None
    origin: str

    @classmethod
    def parse(cls, data: JsonObject) -> "Source":
        """Read it from an answer."""
        fields = Fields(data, "source")
        return cls(
            fields.optional_text("session_id"),
            fields.texts("message_ids"),
            fields.optional_text("actor"),
            fields.text("origin", ""),
        )


@dataclass(frozen=True, slots=True)
class Memory:
    """One long-term memory.

    A key without the permission `read` is told id, status, version and what it sent itself of a memory that another
    wrote: texts are "" then, and times None.

    `confidence` and `score` are 0 to 1; `score` is there in answers of a search or recall only.
    `occurred_at` is when it was said, `valid_from` to `valid_until` when it holds. `user_id` is echoed as it was
    sent: None when it was left out.
    """

    id: str
    user_id: str | None
    text: str
    kind: str
    status: str
    confidence: float
    version: int
    speaker: str | None
    occurred_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    created_at: datetime | None
    updated_at: datetime | None
    language: str | None
    metadata: JsonObject
    source: Source
    heat: float
    pinned: bool
    frozen: bool
    derived_from: tuple[str, ...]
    score: float | None
    raw: JsonObject = field(repr=False, compare=False)

    @classmethod
    def parse(cls, data: JsonObject) -> "Memory":
        """Read it from an answer."""
        fields = Fields(data, "memory")
        return cls(
            id=fields.text("id"),
            user_id=fields.optional_text("user_id"),
            text=fields.text("text", ""),
            kind=fields.text("kind", ""),
            status=fields.text("status"),
            confidence=fields.number("confidence", 0.0),
            version=fields.integer("version"),
            speaker=fields.optional_text("speaker"),
            occurred_at=fields.optional_time("occurred_at"),
            valid_from=fields.optional_time("valid_from"),
            valid_until=fields.optional_time("valid_until"),
            created_at=fields.optional_time("created_at"),
            updated_at=fields.optional_time("updated_at"),
            language=fields.optional_text("language"),
            metadata=fields.object("metadata"),
            source=Source.parse(fields.object("source")),
            heat=fields.number("heat", 0.0),
            pinned=fields.flag("pinned", False),
            frozen=fields.flag("frozen", False),
            derived_from=fields.texts("derived_from"),
            score=None if data.get("score") is None else fields.number("score"),
            raw=data,
        )


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """What became of one candidate: stored, pending, superseded, duplicate, dropped, rejected or redacted."""

    event: str
    reason: str
    detail: str
    memory: Memory | None
    replaces: tuple[str, ...]
    raw: JsonObject = field(repr=False, compare=False)

    @classmethod
    def parse(cls, data: JsonObject) -> "MemoryResult":
        """Read it from an answer."""
        fields = Fields(data, "result")
        memory = fields.optional_object("memory")
        return cls(
            fields.text("event"),
            fields.text("reason", ""),
            fields.optional_text("detail") or "",
            None if memory is None else Memory.parse(memory),
            fields.texts("replaces"),
            data,
        )


@dataclass(frozen=True, slots=True)
class AddResult:
    """Answer to adding memories: a result for each candidate, and a line for the agent to tell the user."""

    results: tuple[MemoryResult, ...]
    notice: str
    replayed: bool

    @classmethod
    def parse(cls, data: JsonObject, replayed: bool) -> "AddResult":
        """Read it from an answer."""
        fields = Fields(data, "answer")
        return cls(fields.objects("results", MemoryResult.parse), fields.optional_text("notice") or "", replayed)


@dataclass(frozen=True, slots=True)
class BatchItem:
    """What became of one item of a batch; `error` is set when it was refused."""

    index: int
    event: str | None
    id: str | None
    error: JsonValue
    raw: JsonObject = field(repr=False, compare=False)

    @classmethod
    def parse(cls, data: JsonObject) -> "BatchItem":
        """Read it from an answer."""
        fields = Fields(data, "batch result")
        return cls(
            fields.integer("index"),
            fields.optional_text("event"),
            fields.optional_text("id"),
            fields.value("error"),
            data,
        )


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Answer to a batch, in the order of its items, with the number of each event."""

    results: tuple[BatchItem, ...]
    counts: dict[str, int]
    replayed: bool

    @classmethod
    def parse(cls, data: JsonObject, replayed: bool) -> "BatchResult":
        """Read it from an answer."""
        fields = Fields(data, "answer")
        return cls(fields.objects("results", BatchItem.parse), fields.integers("counts"), replayed)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Memories found, best first, and what it means when there are none (`outcome`)."""

    memories: tuple[Memory, ...]
    outcome: str
    degraded: bool
    explain: tuple[ExplainedCandidate, ...] | None

    @classmethod
    def parse(cls, data: JsonObject) -> "SearchResult":
        """Read it from an answer."""
        fields = Fields(data, "answer")
        return cls(
            fields.objects("memories", Memory.parse),
            fields.text("outcome"),
            fields.flag("degraded", False),
            explanation(fields),
        )


@dataclass(frozen=True, slots=True)
class Entity:
    """One confirmed fact: a key and its JSON value.

    `masked` says that the value is sensitive and this key may not see it; `value` is None then.
    """

    id: str
    key: str
    value: JsonValue
    category: str
    version: int
    origin: str
    confidence: float
    session_id: str | None
    sensitive: bool
    masked: bool
    actor: str | None
    valid_from: datetime | None
    expires_at: datetime | None
    created_at: datetime | None
    updated_at: datetime | None
    raw: JsonObject = field(repr=False, compare=False)

    @classmethod
    def parse(cls, data: JsonObject) -> "Entity":
        """Read it from an answer."""
        fields = Fields(data, "entity")
        return cls(
            id=fields.text("id", ""),
            key=fields.text("key"),
            value=fields.value("value"),
            category=fields.text("category", ""),
            version=fields.integer("version", 1),
            origin=fields.text("origin", ""),
            confidence=fields.number("confidence", 1.0),
            session_id=fields.optional_text("session_id"),
            sensitive=fields.flag("sensitive", False),
            masked=fields.flag("masked", False),
            actor=fields.optional_text("actor"),
            valid_from=fields.optional_time("valid_from"),
            expires_at=fields.optional_time("expires_at"),
            created_at=fields.optional_time("created_at"),
            updated_at=fields.optional_time("updated_at"),
            raw=data,
        )


@dataclass(frozen=True, slots=True)
class Subject:
    """State of one user's memory (`active` or `erasing`) and how much it holds."""

    state: str
    counts: dict[str, int]

    @classmethod
    def parse(cls, data: JsonObject) -> "Subject":
        """Read it from an answer."""
        fields = Fields(data, "subject")
        return cls(fields.text("state"), fields.integers("counts"))


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the service works, and what it runs on."""

    status: str
    version: str
    engine: str
    embedder: str

    @classmethod
    def parse(cls, data: JsonObject) -> "Health":
        """Read it from an answer."""
        fields = Fields(data, "health")
        return cls(fields.text("status"), fields.text("version"), fields.text("engine"), fields.text("embedder"))
