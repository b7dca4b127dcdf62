"""The answers about erasures and legal holds, as frozen records (see `models` for the rest)."""

from dataclasses import dataclass, field
from datetime import datetime

from lethe_client.fields import Fields
from lethe_client.json_types import JsonObject

UNDER_WAY = frozenset({"accepted", "running"})


@dataclass(frozen=True, slots=True)
class ErasureStep:
    """One step (`pending`, `running`, `done` or `failed`): how many items it found and deleted, and how often it was
    worked on. `failed` is the step at which a failed erasure gave up.
    """

    name: str
    state: str
    found: int
    deleted: int
    attempts: int

    @classmethod
    def parse(cls, data: JsonObject) -> "ErasureStep":
        """Read it from an answer."""
        fields = Fields(data, "step")
        return cls(
            fields.text("name"),
            fields.text("state"),
            fields.integer("found", 0),
            fields.integer("deleted", 0),
            fields.integer("attempts", 0),
        )


@dataclass(frozen=True, slots=True)
class Verification:
    """A look of the verifier: what was still there, and what a hold keeps, by store."""

    at: datetime
    remaining: dict[str, int]
    held: dict[str, int]

    @classmethod
    def parse(cls, data: JsonObject) -> "Verification":
        """Read it from an answer."""
        fields = Fields(data, "verification")
        return cls(fields.time("at"), fields.integers("remaining"), fields.integers("held"))


@dataclass(frozen=True, slots=True)
class Erasure:
    """How far an erasure has come.

    `state` is `accepted`, `running`, `completed`, `completed_with_holds` or `failed`. What was asked for can be read by
    nobody since `unreadable_since`; None when it was too much for one request, and is still being deleted.
    `scope` names a session by a keyed hash. `held` is how many records the legal holds named in `holds` keep;
    `receipts` are the ids of all its receipts, `receipt_id` is the newest. `failure` is a code, when it failed: the
    service then tries again by itself, soon after `retry_at`, or at once when the user or tenant is
    asked for again.
    """

    id: str
    state: str
    scope: JsonObject
    requested_at: datetime
    unreadable_since: datetime | None
    ended_at: datetime | None
    steps: tuple[ErasureStep, ...]
    verified: tuple[Verification, ...]
    held: int
    holds: tuple[str, ...]
    failure: str | None
    retry_at: datetime | None
    receipt_id: str | None
    receipts: tuple[str, ...]
    raw: JsonObject = field(repr=False, compare=False)

    @property
    def failed_step(self) -> str | None:
        """The step at which it gave up, when it failed."""
        return next((step.name for step in self.steps if step.state == "failed"), None)

    @property
    def under_way(self) -> bool:
        """Whether it has not ended, well or not."""
        return self.state in UNDER_WAY

    @classmethod
    def parse(cls, data: JsonObject) -> "Erasure":
        """Read it from an answer."""
        fields = Fields(data, "erasure")
        return cls(
            id=fields.text("id"),
            state=fields.text("state"),
            scope=fields.object("scope"),
            requested_at=fields.time("requested_at"),
            unreadable_since=fields.optional_time("unreadable_since"),
            ended_at=fields.optional_time("ended_at"),
            steps=fields.objects("steps", ErasureStep.parse),
            verified=fields.objects("verified", Verification.parse),
            held=fields.integer("held", 0),
            holds=fields.texts("holds"),
            failure=fields.optional_text("failure"),
            retry_at=fields.optional_time("retry_at"),
            receipt_id=fields.optional_text("receipt_id"),
            receipts=fields.texts("receipts"),
            raw=data,
        )


@dataclass(frozen=True, slots=True)
class Hold:
    """A legal hold: what of a user no erasure deletes while it stands. `subject` is the user's keyed hash."""

    name: str
    subject: str
    scope: JsonObject
    created_at: datetime
    raw: JsonObject = field(repr=False, compare=False)

    @classmethod
    def parse(cls, data: JsonObject) -> "Hold":
        """Read it from an answer."""
        fields = Fields(data, "hold")
        return cls(fields.text("name"), fields.text("subject"), fields.object("scope"), fields.time("created_at"), data)


def erasure_at(location: str | None) -> str | None:
    """The id of the erasure that a Location points to, such as `/v1/erasures/er_…`; None when it points to none."""
    last = (location or "").rpartition("/")[2]
    return last if last.startswith("er_") else None
