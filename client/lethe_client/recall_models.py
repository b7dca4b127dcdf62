"""The answer of a recall, as frozen records."""

from dataclasses import dataclass

from lethe_client.explain import ExplainedCandidate, explanation
from lethe_client.fields import Fields
from lethe_client.json_types import JsonObject
from lethe_client.models import Entity, Memory
from lethe_client.session_models import Message, SessionSummary, optional_summary


@dataclass(frozen=True, slots=True)
class Route:
    """Which tiers a recall read, why, and whether a summary is due."""

    tiers: tuple[str, ...]
    reasons: JsonObject
    summary_due: bool

    @classmethod
    def parse(cls, data: JsonObject) -> "Route":
        """Read it from an answer."""
        fields = Fields(data, "route")
        return cls(fields.texts("tiers"), fields.object("reasons"), fields.flag("summary_due", False))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many entities, memories and messages were found and had no room in the token budget; 1 for the summary."""

    entities: int
    summary: int
    memories: int
    messages: int

    @classmethod
    def parse(cls, data: JsonObject) -> "LeftOut":
        """Read it from an answer; an older service says nothing of it."""
        fields = Fields(data, "left_out")
        return cls(*(fields.integer(name, 0) for name in ("entities", "summary", "memories", "messages")))


@dataclass(frozen=True, slots=True)
class RecallResult:
    """What the agent needs for its next answer: `context` goes into the prompt as it is.

    `tokens` is the size of the context by the service's own count; `left_out` what it had no room for.
    """

    context: str
    memories: tuple[Memory, ...]
    entities: tuple[Entity, ...]
    summary: SessionSummary | None
    messages: tuple[Message, ...]
    route: Route
    outcome: str
    degraded: bool
    tokens: int
    left_out: LeftOut
    explain: tuple[ExplainedCandidate, ...] | None

    @classmethod
    def parse(cls, data: JsonObject) -> "RecallResult":
        """Read it from an answer."""
        fields = Fields(data, "answer")
        return cls(
            context=fields.text("context"),
            memories=fields.objects("memories", Memory.parse),
            entities=fields.objects("entities", Entity.parse),
            summary=optional_summary(fields),
            messages=fields.objects("messages", Message.parse),
            route=Route.parse(fields.object("route")),
            outcome=fields.text("outcome"),
            degraded=fields.flag("degraded", False),
            tokens=fields.integer("tokens"),
            left_out=LeftOut.parse(fields.object("left_out")),
            explain=explanation(fields),
        )
