"""Recall, subjects and health: bodies and answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lethe.domain.recall.route import Tier
from lethe.entry.api.entities import EntityOut
from lethe.entry.api.explain import CandidateOut
from lethe.entry.api.memories import ScoredMemoryOut, SearchFilters
from lethe.entry.api.messages import MessageOut
from lethe.entry.api.sessions import SummaryOut
from lethe.entry.api.types import Body, ClientId, Fraction, Out, QueryText, Time, UserId


class RecallMemory(Body):
    """What an agent wants to know before it answers."""

    user_id: UserId | None = None
    query: QueryText
    session_id: ClientId | None = None
    top_k: int = Field(default=5, ge=1, le=100)
    threshold: Fraction = 0.55
    token_budget: int = Field(default=1_500, ge=50, le=100_000)
    tiers: list[Tier] | None = Field(default=None, min_length=1, max_length=3)
    filters: SearchFilters = Field(default_factory=SearchFilters)
    as_of: Time | None = None
    explain: bool = False


class RouteOut(Out):
    """Which tiers were read and why, and whether a summary of the session is due."""

    tiers: list[Tier]
    reasons: dict[str, str]
    summary_due: bool


class LeftOutOut(Out):
    """How many entities, memories and messages of the answer found no room in ``token_budget``; 1 for the summary."""

    entities: int
    summary: int
    memories: int
    messages: int


class RecalledOut(Out):
    """The block for the prompt, and all that went into it. ``left_out`` tells what the budget had no room for: it was
    found, so ``outcome`` is ``found`` even when nothing fitted.
    """

    context: str
    memories: list[ScoredMemoryOut]
    entities: list[EntityOut]
    summary: SummaryOut | None
    messages: list[MessageOut]
    route: RouteOut
    outcome: Literal["found", "nothing_stored", "nothing_relevant"]
    degraded: bool
    tokens: int
    left_out: LeftOutOut
    explain: list[CandidateOut] | None = Field(default=None, exclude_if=lambda trace: trace is None)


class SubjectOut(Out):
    """Where a subject stands, in numbers."""

    user_id: str | None
    state: Literal["active", "erasing"]
    counts: dict[str, int]


class HealthOut(Out):
    """Whether the service answers, and what it runs on."""

    status: Literal["ok", "degraded"] = Field(
        description="`degraded` when the store of subjects does not answer, or the search index (`engine: opensearch`) "
        "is away: recall then answers from the table, more slowly. What the index did last holds for five seconds; the "
        "embedder is not asked."
    )
    version: str
    engine: Literal["scan", "opensearch"]
    embedder: str
