"""An erasure as the ledger knows it: what it is about, how far it has come, what it counted.

Nothing here holds content: subjects, sessions and reasons are keyed hashes, memories are named by the ids that Lethe
made. So the record may outlive what was erased, drive its repetition, and be replayed over a restored table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from lethe.domain.immutable import immutable
from lethe.domain.memory import MemoryKind

ABSENT_FOR: Final = timedelta(days=30)
"""How long an erased subject answers 404 and 410, unless it is admitted before (requirement X7)."""

MARGIN_SECONDS: Final = 30
"""Added to the longest time-out: what was sent may still arrive, and clocks differ."""


class ErasureState(StrEnum):
    """Where an erasure stands. The last three are ends; ``failed`` is one until it is started again."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    COMPLETED = "completed"
    COMPLETED_WITH_HOLDS = "completed_with_holds"
    FAILED = "failed"

    @property
    def is_end(self) -> bool:
        """Whether nothing runs any more."""
        return self not in (ErasureState.ACCEPTED, ErasureState.RUNNING)


class StepName(StrEnum):
    """The steps, in the order in which they run; the state machine's tasks carry the same names."""

    LEDGER = "ledger"
    FENCE = "fence"
    INDEX = "index"
    DERIVED = "derived"
    MEMORIES = "memories"
    ENTITIES = "entities"
    SESSIONS = "sessions"
    ARCHIVE = "archive"
    PROBE = "probe"
    DRAIN = "drain"
    SWEEP = "sweep"
    VERIFY = "verify"
    RECEIPT = "receipt"


class StepState(StrEnum):
    """Where a step stands. ``failed`` is the one at which a failed erasure gave up."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@immutable
class Step:
    """One step: how many items it found and deleted, how often a task worked on it (failures among them), and where it
    goes on (``cursor``).
    """

    name: StepName
    state: StepState = StepState.PENDING
    found: int = 0
    deleted: int = 0
    attempts: int = 0
    cursor: str | None = None


@immutable
class WholeTenant:
    """Every subject of a tenant."""


@immutable
class WholeSubject:
    """Everything of one subject, in every epoch up to the one that the fence ended."""


@immutable
class OneSession:
    """One session and what was taken from it. ``session`` is the keyed hash of its id (``identity.session_of``)."""

    session: str


@immutable
class TheseMemories:
    """Single memories, by id, with what rests on them."""

    memory_ids: tuple[str, ...]


@immutable
class MemoriesWithin:
    """Memories of some kinds (none named: of all) created after and before given times, both exclusive."""

    kinds: tuple[MemoryKind, ...] = ()
    created_after: datetime | None = None
    created_before: datetime | None = None


Scope: TypeAlias = "WholeTenant | WholeSubject | OneSession | TheseMemories | MemoriesWithin"


@immutable
class Verification:
    """A look of the verifier: when, and what it still found that no hold explains, by store."""

    at: datetime
    remaining: tuple[tuple[str, int], ...]
    held: tuple[tuple[str, int], ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether nothing was left."""
        return not any(count for _, count in self.remaining)


@immutable
class Erasure:
    """A row of the ledger.

    ``epochs`` is the last epoch that it erases (0: none, as for the scopes that leave the subject readable, which are
    about the epoch ``epoch`` alone);
    ``actor`` and ``reason`` are keyed hashes; ``holds`` names the holds that kept something; ``owed`` are memories that
    a hold keeps though what they were made of goes: once that is gone, nothing else tells that they belong to what was
    asked for; ``failures`` counts failures in a row, ``starts`` executions of the state machine; ``touched_at`` is when
    it was saved last; ``version`` counts saves. ``known`` is whether the subject could have anything when it was asked
    for: of one of whom nothing was ever stored, or who was erased already, nothing is sought beyond its own partitions.
    """

    id: str
    tenant: str
    subject: str | None
    scope: Scope
    requested_at: datetime
    actor: str
    reason: str | None = None
    state: ErasureState = ErasureState.ACCEPTED
    epochs: int = 0
    epoch: int = 0
    known: bool = True
    unreadable_since: datetime | None = None
    steps: tuple[Step, ...] = ()
    holds: tuple[str, ...] = ()
    held: int = 0
    owed: tuple[str, ...] = ()
    verified: tuple[Verification, ...] = ()
    receipts: tuple[str, ...] = ()
    ended_at: datetime | None = None
    failure: str | None = None
    failures: int = 0
    starts: int = 0
    touched_at: datetime | None = None
    version: int = 0

    @property
    def receipt_id(self) -> str | None:
        """The newest receipt, or None."""
        return self.receipts[-1] if self.receipts else None

    @property
    def is_whole(self) -> bool:
        """Whether it is about whole subjects, whose epochs end with it, and not about parts of one."""
        return isinstance(self.scope, WholeSubject | WholeTenant)

    def owing(self, memory_ids: Iterable[str]) -> Erasure:
        """The same with these among what is owed."""
        owed = {*self.owed, *memory_ids}
        return self if len(owed) == len(self.owed) else replace(self, owed=tuple(sorted(owed)))

    def step(self, name: StepName) -> Step:
        """One of its steps."""
        return next((step for step in self.steps if step.name is name), Step(name))

    def with_step(self, step: Step) -> Erasure:
        """The same with ``step`` in the place of the one with its name."""
        known = {each.name: each for each in self.steps} | {step.name: step}
        return replace(self, steps=tuple(known[name] for name in StepName if name in known))


def all_steps(steps: Iterable[Step] = ()) -> tuple[Step, ...]:
    """Every step in order. The first is done where these stand, which is in the ledger; others that are not among
    ``steps`` are still to come.
    """
    known = {step.name: step for step in (Step(StepName.LEDGER, StepState.DONE, attempts=1), *steps)}
    return tuple(known.get(name, Step(name)) for name in StepName)


def restarted(erasure: Erasure, now: datetime) -> Erasure:
    """The erasure as it begins another run: every step is done again. What went is what had been found; the rest is
    counted anew.
    """
    steps = (replace(step, state=StepState.PENDING, cursor=None, found=step.deleted) for step in erasure.steps)
    return replace(
        erasure,
        state=ErasureState.ACCEPTED,
        steps=all_steps(step for step in steps if step.name is not StepName.LEDGER),
        failure=None,
        ended_at=None,
        holds=(),
        held=0,
        verified=(),
        starts=erasure.starts + 1,
        touched_at=now,
    )


def given_up(erasure: Erasure, why: str, now: datetime) -> Erasure:
    """The erasure as it fails, for the reason ``why``: at the last step that was begun and not done, or where none was,
    at the first that is to come.
    """
    begun = [step for step in erasure.steps if step.state is StepState.RUNNING]
    to_come = [step for step in erasure.steps if step.state is StepState.PENDING]
    for step in (*begun[-1:], *to_come[:1])[:1]:
        erasure = erasure.with_step(replace(step, state=StepState.FAILED))
    return replace(erasure, state=ErasureState.FAILED, failure=why, ended_at=now, failures=erasure.failures + 1)


FIRST_REST, LONGEST_REST = timedelta(minutes=5), timedelta(hours=6)
"""How long an erasure that failed rests before it is started again: twice as long after each further failure."""


def rests_until(erasure: Erasure) -> datetime | None:
    """When a failed erasure is due again; None for any other."""
    if erasure.state is not ErasureState.FAILED:
        return None
    rest = min(FIRST_REST * (1 << min(erasure.failures - 1, 10)), LONGEST_REST)
    return (erasure.touched_at or erasure.requested_at) + rest


DELETING: Final = (
    StepName.INDEX,
    StepName.DERIVED,
    StepName.MEMORIES,
    StepName.ENTITIES,
    StepName.SESSIONS,
    StepName.ARCHIVE,
)
"""The steps that delete, in order; a request for a part of a subject goes through them by itself as well."""

STORE_OF: Final = {
    StepName.INDEX: "index",
    StepName.DERIVED: "answers",
    StepName.MEMORIES: "memories",
    StepName.ENTITIES: "entities",
    StepName.SESSIONS: "sessions",
}
"""The store that each deleting step empties, by the name under which the verifier counts it."""


def balanced(erasure: Erasure) -> Erasure:
    """The erasure with counts that agree, once a verification has found nothing left: what was found is what went and
    what is held. A step that was cut short after it deleted and before it noted so has counted too little; a writer
    that came after the count has made it delete more than was found. What a hold let go during the drain the sweep has
    deleted, but it was found before.
    """
    held = dict(erasure.verified[-1].held) if erasure.verified else {}
    before = dict(erasure.verified[-2].held) if len(erasure.verified) > 1 else {}
    let_go = sum(max(0, count - held.get(store, 0)) for store, count in before.items())
    sweep = erasure.step(StepName.SWEEP)
    erasure = erasure.with_step(replace(sweep, deleted=max(0, sweep.deleted - let_go)))
    for name, store in STORE_OF.items():
        step = erasure.step(name)
        deleted = max(step.deleted, step.found - held.get(store, 0))
        erasure = erasure.with_step(replace(step, deleted=deleted, found=deleted + held.get(store, 0)))
    return erasure


def drain_seconds(timeouts: Sequence[int]) -> int:
    """How long after the fence a writer that saw the old head may still write: the longest time-out of the functions
    that write, and the margin.
    """
    return max(timeouts) + MARGIN_SECONDS
