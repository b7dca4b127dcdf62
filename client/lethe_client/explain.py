"""Why a search kept or dropped each candidate, as frozen records."""

from dataclasses import dataclass, field

from lethe_client.fields import Fields
from lethe_client.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class Leg:
    """How one leg of the search (words, vector) saw a candidate; `rank` is None where it did not find it."""

    rank: int | None
    score: float

    @classmethod
    def parse(cls, data: JsonObject) -> "Leg":
        """Read it from an answer."""
        fields = Fields(data, "leg")
        return cls(None if data.get("rank") is None else fields.integer("rank"), fields.number("score"))


@dataclass(frozen=True, slots=True)
class Decision:
    """What one stage said of a candidate, with its reason code."""

    stage: str
    kept: bool
    reason: str

    @classmethod
    def parse(cls, data: JsonObject) -> "Decision":
        """Read it from an answer."""
        fields = Fields(data, "decision")
        return cls(fields.text("stage"), fields.flag("kept"), fields.text("reason"))


@dataclass(frozen=True, slots=True)
class ExplainedCandidate:
    """A candidate with everything that decided over it.

    `relevance` (0 to 1) is what the threshold is compared with; `score` what the answer is sorted by.
    """

    id: str
    text: str
    relevance: float
    score: float
    kept: bool
    legs: dict[str, Leg]
    features: dict[str, float]
    decisions: tuple[Decision, ...]
    raw: JsonObject = field(repr=False, compare=False)

    @classmethod
    def parse(cls, data: JsonObject) -> "ExplainedCandidate":
        """Read it from an answer."""
        fields = Fields(data, "explained candidate")
        legs = Fields(fields.object("legs"), "legs")
        features = Fields(fields.object("features"), "features")
        return cls(
            id=fields.text("id"),
            text=fields.text("text"),
            relevance=fields.number("relevance"),
            score=fields.number("score"),
            kept=fields.flag("kept"),
            legs={name: Leg.parse(legs.object(name)) for name in legs.data},
            features={name: features.number(name) for name in features.data},
            decisions=fields.objects("decisions", Decision.parse),
            raw=data,
        )


def explanation(fields: Fields) -> tuple[ExplainedCandidate, ...] | None:
    """The explanation in an answer; None when none was asked for."""
    return None if fields.value("explain") is None else fields.objects("explain", ExplainedCandidate.parse)
