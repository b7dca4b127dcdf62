"""Writing long-term memory: statements as they are given, and statements taken from messages."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import field
from datetime import datetime
from typing import Final

from lethe.domain import ids
from lethe.domain.controller import Dropped, Proposal, propose
from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonObject
from lethe.domain.memory import Memory, MemoryKind, MemoryStatus, Origin, Source, content_hash
from lethe.domain.notice import notice
from lethe.domain.session import Message, Session
from lethe.domain.text import language
from lethe.errors import Unavailable
from lethe.ports import Clock, Ids, Memories, TimeLeft
from lethe.services.embedding import MemoryEmbedder
from lethe.services.storing import Kept, OpenSpace, Storing, unlimited

STORED, DUPLICATE, DROPPED, REJECTED = "stored", "duplicate", "dropped", "rejected"


@immutable
class Statement:
    """One statement to remember, with what its writer said about it. None means: not said."""

    text: str
    kind: MemoryKind = MemoryKind.FACT
    confidence: float = 1.0
    origin: Origin = Origin.USER
    session_id: str | None = None
    message_ids: tuple[str, ...] = ()
    speaker: str | None = None
    occurred_at: datetime | None = None
    context: str | None = None
    context_from: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    reason: str = "stated_by_caller"

    @property
    def content_hash(self) -> str:
        """What makes it the same as another one."""
        return content_hash(self.text, self.speaker, self.occurred_at, self.valid_from, self.valid_until)

    def ends_before_it_begins(self, now: datetime) -> bool:
        """Whether it was never valid; without a beginning of its own it holds from when it was said, or now."""
        begins = self.valid_from or self.occurred_at or now
        return self.valid_until is not None and self.valid_until <= begins


@immutable
class StatementDefaults:
    """What a caller says of all statements that are taken from its messages. None means: not said."""

    kind: MemoryKind = MemoryKind.FACT
    confidence: float | None = None
    origin: Origin = Origin.USER
    speaker: str | None = None
    context: str | None = None
    metadata: JsonObject = field(default_factory=dict)
    valid_from: datetime | None = None
    valid_until: datetime | None = None


NO_DEFAULTS: Final = StatementDefaults()


@immutable
class StatementOutcome:
    """What became of one statement: the event, a reason code, a sentence, and the memory that now holds it."""

    event: str
    reason: str
    detail: str
    memory: Memory | None = None
    replaces: tuple[str, ...] = ()


@immutable
class Remembered:
    """All outcomes of one request, in order, and the line that the agent may tell the user."""

    outcomes: tuple[StatementOutcome, ...]
    notice: str

    @property
    def whole(self) -> bool:
        """Whether there was time for all of it."""
        return _NOT_REACHED not in self.outcomes


_NOT_REACHED: Final = StatementOutcome(REJECTED, Unavailable.code, "There was no time left for it; send it again.")


_DROPPED_DETAIL = {
    "question": "A question says nothing about the user.",
    "request": "A request to the agent says nothing lasting about the user.",
    "small_talk": "Small talk is not kept.",
    "too_long": "Only the beginning of so long a message is remembered; the session keeps all of it.",
}


class Remember:
    """Stores statements: embed, guard against exact duplicates, write, say what became of each.

    Where to write is given as a call that opens the space: embedding runs beside it.
    """

    def __init__(
        self, memories: Memories, embedder: MemoryEmbedder, clock: Clock, new_ids: Ids, executor: Executor
    ) -> None:
        self._storing = Storing(memories, embedder, executor)
        self._clock = clock
        self._ids = new_ids

    def statements(
        self, open_space: OpenSpace, actor: str, statements: Sequence[Statement], time_left: TimeLeft = unlimited
    ) -> Remembered:
        """Store each statement as it is; one outcome each, in order. What ``time_left`` does not allow is rejected.

        Raises Unavailable or Throttled when not even the first of them could be stored.
        """
        outcomes = self._store(open_space, actor, statements, None, time_left)
        return Remembered(outcomes, _notice(outcomes))

    def messages(
        self,
        open_space: OpenSpace,
        actor: str,
        messages: Sequence[Message],
        before: Message | None,
        session_id: str | None,
        defaults: StatementDefaults = NO_DEFAULTS,
        within: Session | None = None,
        time_left: TimeLeft = unlimited,
    ) -> Remembered:
        """Let the controller take statements from messages; one outcome for each user message or part of one.

        Raises Conflict when ``within``, the session that they stand in, was deleted since they were appended.

        ``defaults`` are what the caller says of all of them; what the messages themselves say goes before it.
        """
        fates = propose(messages, before)
        statements = [_statement(fate, session_id, defaults) for fate in fates if isinstance(fate, Proposal)]
        stored = iter(self._store(open_space, actor, statements, within, time_left))
        outcomes = tuple(_dropped(fate) if isinstance(fate, Dropped) else next(stored) for fate in fates)
        return Remembered(outcomes, _notice(outcomes) if outcomes else notice((), _language_of(messages)))

    def _store(
        self,
        open_space: OpenSpace,
        actor: str,
        statements: Sequence[Statement],
        within: Session | None,
        time_left: TimeLeft,
    ) -> tuple[StatementOutcome, ...]:
        if not statements:
            open_space()  # whoever may not write hears of it, even with nothing to write
            return ()
        now = self._clock.now()
        new = [self._memory(statement, actor, now) for statement in statements]
        kept = self._storing.store(open_space, new, within, time_left)
        return tuple(_outcome(statement, result) for statement, result in zip(statements, kept, strict=True))

    def _memory(self, statement: Statement, actor: str, now: datetime) -> Memory:
        occurred_at = statement.occurred_at or now
        return Memory(
            id=self._ids.new(ids.MEMORY),
            text=statement.text,
            kind=statement.kind,
            status=MemoryStatus.CURRENT,
            confidence=statement.confidence,
            language=language(statement.text),
            source=Source(actor, statement.origin, statement.session_id, statement.message_ids),
            occurred_at=occurred_at,
            valid_from=statement.valid_from or occurred_at,
            valid_until=statement.valid_until,
            created_at=now,
            updated_at=now,
            content_hash=statement.content_hash,
            speaker=statement.speaker,
            context=statement.context,
            context_from=statement.context_from,
            metadata=statement.metadata,
        )


def _statement(fate: Proposal, session_id: str | None, defaults: StatementDefaults) -> Statement:
    message = fate.message
    return Statement(
        text=fate.text,
        kind=defaults.kind,
        confidence=fate.confidence if defaults.confidence is None else defaults.confidence,
        origin=defaults.origin,
        session_id=session_id,
        message_ids=(message.id,),
        speaker=message.name or defaults.speaker or message.role.value,
        occurred_at=message.created_at,
        context=fate.context or defaults.context,
        context_from=(fate.context_from,) if fate.context and fate.context_from else (),
        metadata=defaults.metadata,
        valid_from=defaults.valid_from,
        valid_until=defaults.valid_until,
        reason=fate.reason,
    )


def _outcome(statement: Statement, kept: Kept | None) -> StatementOutcome:
    if kept is None:
        return _NOT_REACHED
    if kept.new:
        return StatementOutcome(STORED, statement.reason, "Stored as it was said.", kept.memory)
    return StatementOutcome(DUPLICATE, "same_statement", "The same statement is already stored.", kept.memory)


def _dropped(fate: Dropped) -> StatementOutcome:
    return StatementOutcome(DROPPED, fate.reason, _DROPPED_DETAIL[fate.reason])


def _notice(outcomes: Sequence[StatementOutcome]) -> str:
    fresh = [o.memory for o in outcomes if o.event == STORED and o.memory is not None]
    known = [o.memory for o in outcomes if o.memory is not None]
    return notice([memory.text for memory in fresh], known[0].language if known else "und")


def _language_of(messages: Sequence[Message]) -> str:
    return language(messages[0].content) if messages else "und"
