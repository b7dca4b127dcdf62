"""Erasures and holds: bodies, queries and answers."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from lethe.domain import ids
from lethe.domain.erasure import MemoriesWithin, TheseMemories, WholeSubject, WholeTenant
from lethe.domain.memory import MemoryKind
from lethe.entry.api.types import Body, ClientId, Cursor, Limit, OneOrMore, Out, Query, Time, TimeOut, UserId, refused
from lethe.services.erasure.requests import NamedSession, Wanted

MOST_MEMORIES = 1_000


def _memory_id(value: str) -> str:
    if not ids.is_id(value, ids.MEMORY):
        raise refused("must be the id of a memory: mem_ and a ULID")
    return value


MemoryId = Annotated[
    str,
    Field(json_schema_extra={"pattern": "^mem_[0-7][0-9A-HJKMNP-TV-Z]{25}$"}),
    AfterValidator(_memory_id),
]


def _true(value: bool) -> bool:
    if not value:
        raise refused("must be true, or left out")
    return value


Everything = Annotated[bool, Field(json_schema_extra={"const": True}), AfterValidator(_true)]
"""``true``; a number that equals it is none."""
Reason = Annotated[str, Field(min_length=1, max_length=500)]


class ScopeIn(Body):
    """What is meant: everything of the user, one session, single memories, or memories of kinds and times."""

    subject: Everything | None = None
    session_id: ClientId | None = None
    memory_ids: list[MemoryId] | None = Field(default=None, min_length=1, max_length=MOST_MEMORIES)
    kind: OneOrMore[MemoryKind] | None = None
    created_after: Time | None = None
    created_before: Time | None = None

    @model_validator(mode="after")
    def _names_one_thing(self) -> Self:
        ranged = [name for name in ("kind", "created_after", "created_before") if getattr(self, name) is not None]
        wholes = [name for name in ("tenant", "subject", "session_id", "memory_ids") if name in type(self).model_fields]
        named = [name for name in wholes if getattr(self, name)]
        if len(named) + bool(ranged) != 1:
            raise refused(
                f"name one thing: {', '.join(wholes)}, or at least one of kind, created_after, created_before"
            )
        if self.kind == []:
            raise refused("name at least one kind, or leave it out", "kind")
        if self.created_after and self.created_before and self.created_after >= self.created_before:
            raise refused("must be later than created_after", "created_before")
        return self

    def wanted(self) -> Wanted:
        """What the request asks for."""
        if self.session_id is not None:
            return NamedSession(self.session_id)
        if self.memory_ids is not None:
            return TheseMemories(tuple(dict.fromkeys(self.memory_ids)))
        if self.subject:
            return WholeSubject()
        kinds = self.kind if isinstance(self.kind, list) else [] if self.kind is None else [self.kind]
        return MemoriesWithin(tuple(dict.fromkeys(kinds)), self.created_after, self.created_before)


class ErasureScopeIn(ScopeIn):
    """As of a hold, or a whole tenant."""

    tenant: Everything | None = None

    def wanted(self) -> Wanted:
        """What the request asks for."""
        return WholeTenant() if self.tenant else super().wanted()


class AskErasure(Body):
    """What shall be erased. Why is kept as a keyed hash alone."""

    user_id: UserId | None = None
    scope: ErasureScopeIn
    reason: Reason | None = None


class ListErasures(Query):
    """Which erasures to list: of all users that the key covers, or of one."""

    user_id: UserId | None = None
    limit: Limit = 50
    cursor: Cursor | None = None


class ReadReceipt(Query):
    """Which receipt of an erasure: the newest, or one that it names."""

    receipt_id: str | None = None


class StepOut(Out):
    """One step: how many items it found and deleted, and how often a task worked on it, failures among them. A step
    that is ``failed`` is where a failed erasure gave up.
    """

    name: str
    state: Literal["pending", "running", "done", "failed"]
    found: int
    deleted: int
    attempts: int


class VerificationOut(Out):
    """A look of the verifier: what it still found, and what a hold keeps, by store."""

    at: TimeOut
    remaining: dict[str, int]
    held: dict[str, int]


class ErasureOut(Out):
    """How far an erasure has come. ``scope`` names a session by its keyed hash."""

    id: str
    state: Literal["accepted", "running", "completed", "completed_with_holds", "failed"]
    subject: str | None
    """The keyed hash of the user, as in receipts and in the audit trail; null for a whole tenant."""
    scope: dict[str, JsonValue]
    requested_at: TimeOut
    unreadable_since: TimeOut | None
    ended_at: TimeOut | None
    steps: list[StepOut]
    verified: list[VerificationOut]
    held: int
    holds: list[str]
    failure: str | None
    retry_at: TimeOut | None
    """When a failed one is started again by itself; asking for the same user or tenant again starts it at once."""
    receipt_id: str | None
    receipts: list[str]


class ErasureBegunOut(Out):
    """The erasure that was begun, or that runs already; where to look is in ``Location``."""

    id: str
    erasure: ErasureOut


class ErasuresOut(Out):
    """A page of erasures, newest first."""

    erasures: list[ErasureOut]
    next_cursor: str | None


class AdmittedOut(Out):
    """A subject that may be written to again."""

    user_id: str | None
    state: Literal["active"]


class PlaceHold(Body):
    """Whose records a hold keeps, and which."""

    user_id: UserId | None = None
    scope: ScopeIn | None = None
    """Without one: everything of the user."""
    reason: Reason | None = None


class HoldOut(Out):
    """A legal hold. The user is named by the keyed hash, a session too."""

    name: str
    subject: str
    scope: dict[str, JsonValue]
    created_at: TimeOut


class HoldsOut(Out):
    """A page of holds, by name."""

    holds: list[HoldOut]
    next_cursor: str | None


class ListHolds(Query):
    """Which holds to list: on all users that the key covers, or on one."""

    user_id: UserId | None = None
    limit: Limit = 50
    cursor: Cursor | None = None
