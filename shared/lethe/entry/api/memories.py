"""Memories: bodies, queries and answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal, Self, TypeVar

from pydantic import ConfigDict, Field, JsonValue, RootModel, model_validator

from lethe.domain.memory import Memory, MemoryFilter, MemoryKind, MemoryStatus, Origin
from lethe.entry.api.explain import CandidateOut
from lethe.entry.api.known import KnownMemoryOut
from lethe.entry.api.messages import MessageIn
from lethe.entry.api.types import (
    MOST_FILTERED,
    Body,
    ClientId,
    ContextText,
    Cursor,
    Fraction,
    Limit,
    Metadata,
    OneOrMore,
    Out,
    Query,
    QueryText,
    Speaker,
    StatementText,
    Time,
    TimeOut,
    UserId,
    Version,
    refused,
)
from lethe.services.remember import Statement, StatementDefaults

Item = TypeVar("Item")

_VALID_FROM: Final = (
    "From when it holds; without it from `occurred_at`. A memory that begins later is `current` and found, since "
    "plans are worth knowing. `filters.valid_at` and `as_of` leave out what had not begun at their moment."
)
_VALID_UNTIL: Final = (
    "The first moment at which it holds no more. From then on it reads as `archived`, with nothing written: recall and "
    "search leave it out unless `filters.status` names `archived`, lists and GET show it."
)
_ANY: Final = " An empty list asks for any, as if it were not given."


class StatementFields(Body):
    """What may be said about a statement beside its text."""

    kind: MemoryKind = MemoryKind.FACT
    confidence: Fraction = 1.0
    session_id: ClientId | None = None
    speaker: Speaker | None = None
    occurred_at: Time | None = None
    context: ContextText | None = None
    metadata: Metadata = Field(default_factory=dict)
    valid_from: Time | None = Field(default=None, description=_VALID_FROM)
    valid_until: Time | None = Field(default=None, description=_VALID_UNTIL)
    origin: Origin = Origin.USER

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        begins = self.valid_from or self.occurred_at
        if self.valid_until is not None and begins is not None and self.valid_until <= begins:
            raise refused("must be later than valid_from", "valid_until")
        return self

    def _statement(self, text: str) -> Statement:
        return Statement(
            text=text,
            kind=self.kind,
            confidence=self.confidence,
            origin=self.origin,
            session_id=self.session_id,
            speaker=self.speaker,
            occurred_at=self.occurred_at,
            context=self.context,
            metadata=self.metadata,
            valid_from=self.valid_from,
            valid_until=self.valid_until,
        )


class AddMemories(StatementFields):
    """One statement as ``text``, or ``messages`` from which the controller takes statements."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["text"], "properties": {"text": {"type": "string"}}},
                {"required": ["messages"], "properties": {"messages": {"type": "array"}}},
            ]
        }
    )

    user_id: UserId | None = None
    text: StatementText | None = None
    messages: list[MessageIn] | None = Field(default=None, min_length=1, max_length=100)

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        named = [name for name in ("text", "messages") if name in self.model_fields_set]
        if (self.text is None) == (self.messages is None):
            raise refused("give either text or messages", *named)
        return self

    def statement(self) -> Statement:
        """The statement of ``text``."""
        assert self.text is not None
        return self._statement(self.text)

    def defaults(self) -> StatementDefaults:
        """What is said of everything that ``messages`` state."""
        return StatementDefaults(
            kind=self.kind,
            confidence=self.confidence if "confidence" in self.model_fields_set else None,
            origin=self.origin,
            speaker=self.speaker,
            context=self.context,
            metadata=self.metadata,
            valid_from=self.valid_from,
            valid_until=self.valid_until,
        )


class BatchItem(StatementFields):
    """One statement of a batch."""

    text: StatementText

    def statement(self) -> Statement:
        """The statement."""
        return self._statement(self.text)


class AddBatch(Body):
    """Up to 1,000 statements; each is validated by itself."""

    user_id: UserId | None = None
    items: list[JsonValue] = Field(
        min_length=1, max_length=1_000, json_schema_extra={"items": {"$ref": "#/components/schemas/BatchItem"}}
    )


CHANGEABLE = ("text", "kind", "confidence", "metadata", "valid_until", "pinned", "frozen")


class ChangeMemory(Body):
    """What a person may change; ``valid_until: null`` takes the end away."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": [name]} for name in CHANGEABLE]})

    user_id: UserId | None = None
    version: Version | None = None
    text: StatementText | None = None
    kind: MemoryKind | None = Field(
        default=None, description="While a legal hold covers the memory, none as which it would not: 409."
    )
    confidence: Fraction | None = None
    metadata: Metadata | None = None
    valid_until: Time | None = Field(default=None, description=_VALID_UNTIL + " `null` takes the end away.")
    pinned: bool | None = None
    frozen: bool | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        named = self.model_fields_set - {"user_id", "version"}
        if not named:
            raise refused("name at least one field to change")
        nothing = sorted(name for name in named - {"valid_until"} if getattr(self, name) is None)
        if nothing:
            raise refused("must not be null; only valid_until may", *nothing)
        return self

    def change(self) -> Callable[[Memory], Memory]:
        """The change as a function of the memory; only fields that were named are touched."""
        named = self.named()
        return lambda memory: replace(memory, **named)  # type: ignore[arg-type]  # these are fields of Memory

    def named(self) -> dict[str, object]:
        """The fields to change, as the caller gave them."""
        return {name: getattr(self, name) for name in self.model_fields_set - {"user_id", "version"}}


class UserQuery(Query):
    """The user whose data is meant."""

    user_id: UserId | None = None


class MemoryHistory(UserQuery):
    """``cursor`` goes on where one answer could not carry more versions."""

    cursor: Cursor | None = None


class ListMemories(UserQuery):
    """Which memories to list."""

    status: MemoryStatus | None = None
    kind: MemoryKind | None = None
    session_id: ClientId | None = None
    created_after: Time | None = None
    created_before: Time | None = None
    limit: Limit = 50
    cursor: Cursor | None = None

    def filters(self) -> MemoryFilter:
        """The same as a filter; no status named means every status."""
        return MemoryFilter(
            kinds=(self.kind,) if self.kind else (),
            statuses=(self.status,) if self.status else (),
            session_id=self.session_id,
            created_after=self.created_after,
            created_before=self.created_before,
        )


class SearchFilters(Body):
    """Which memories may be found; ``kind``, ``status`` and ``origin`` take one value or up to 32, and
    ``metadata`` up to 32 names.
    """

    kind: OneOrMore[MemoryKind] | None = Field(default=None, description="The kind, or some of them." + _ANY)
    status: OneOrMore[MemoryStatus] | None = Field(
        default=None,
        description="The status as read now, or at `valid_at`. Without it, and with an empty list, `current`; name all "
        "four for any.",
    )
    session_id: ClientId | None = None
    origin: OneOrMore[Origin] | None = Field(default=None, description="Who said it, or some of them." + _ANY)
    created_after: Time | None = None
    created_before: Time | None = None
    valid_at: Time | None = Field(
        default=None, description="What held at that moment: begun (`valid_from`), and not ended (`valid_until`)."
    )
    metadata: Metadata = Field(
        default_factory=dict,
        max_length=MOST_FILTERED,
        description="Top-level values that must be equal; an empty object asks for nothing.",
    )

    def filters(self) -> MemoryFilter:
        """The same as a filter; no status named means ``current``."""
        return MemoryFilter(
            kinds=_several(self.kind),
            statuses=_several(self.status) or (MemoryStatus.CURRENT,),
            origins=_several(self.origin),
            session_id=self.session_id,
            created_after=self.created_after,
            created_before=self.created_before,
            valid_at=self.valid_at,
            metadata=self.metadata,
        )


def _several(value: Item | list[Item] | None) -> tuple[Item, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else (value,)


class SearchMemories(Body):
    """A question to long-term memory."""

    user_id: UserId | None = None
    query: QueryText
    top_k: int = Field(default=5, ge=1, le=100)
    threshold: Fraction = 0.55
    filters: SearchFilters = Field(default_factory=SearchFilters)
    as_of: Time | None = None
    explain: bool = False


class SourceOut(Out):
    """Why a memory is known."""

    session_id: str | None
    message_ids: list[str]
    actor: str
    origin: Origin


class MemoryOut(Out):
    """A memory as it is answered."""

    id: str
    user_id: str | None
    text: str
    kind: MemoryKind
    speaker: str | None
    occurred_at: TimeOut
    status: MemoryStatus
    confidence: float
    language: str
    metadata: dict[str, JsonValue]
    source: SourceOut
    valid_from: TimeOut
    valid_until: TimeOut | None
    created_at: TimeOut
    updated_at: TimeOut
    version: int
    heat: float
    pinned: bool
    frozen: bool
    derived_from: list[str]


class ChangedMemoryOut(RootModel[MemoryOut | KnownMemoryOut]):
    """The memory after the change; to a key without ``read`` only what it may know of it."""


class ScoredMemoryOut(MemoryOut):
    """A memory that was found, with the score that the answer is sorted by."""

    score: float


class OutcomeOut(Out):
    """What became of one statement."""

    event: Literal["stored", "pending", "superseded", "duplicate", "dropped", "rejected", "redacted"]
    reason: str
    detail: str
    memory: MemoryOut | KnownMemoryOut | None
    replaces: list[str]


class RememberedOut(Out):
    """What became of each statement, and the line for the user."""

    results: list[OutcomeOut]
    notice: str


class BatchErrorOut(Out):
    """Why an item was refused. ``unavailable``: there was no time left for it; send it again."""

    code: str
    message: str
    field: str | None


class BatchResultOut(Out):
    """What became of one item."""

    index: int
    event: Literal["stored", "pending", "superseded", "duplicate", "dropped", "rejected", "redacted"]
    id: str | None
    error: BatchErrorOut | None


class BatchOut(Out):
    """A result for each item, in their order, and how many of each event there were. Items that there was no time for
    are ``rejected`` with the code ``unavailable``; the same request may be sent again for them, also with its
    ``Idempotency-Key``: what is stored is then a ``duplicate``.
    """

    results: list[BatchResultOut]
    counts: dict[str, int]


class MemoriesOut(Out):
    """A page of memories."""

    memories: list[MemoryOut]
    next_cursor: str | None


class MemoryVersionsOut(Out):
    """Versions of a memory, oldest first; all of them, unless that is more than one answer carries."""

    versions: list[MemoryOut]
    next_cursor: str | None


class FoundOut(Out):
    """The answer of a search."""

    memories: list[ScoredMemoryOut]
    outcome: Literal["found", "nothing_stored", "nothing_relevant"]
    degraded: bool
    explain: list[CandidateOut] | None = Field(default=None, exclude_if=lambda trace: trace is None)
