"""Writing long-term memory: statements as they are given, and statements taken from messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import field
from datetime import datetime
from typing import Final

from lethe.domain import ids
from lethe.domain.controller import Dropped, Proposal, propose
from lethe.domain.identity import Space
from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonObject
from lethe.domain.memory import Embedding, Memory, MemoryKind, MemoryStatus, Origin, Source, content_hash
from lethe.domain.notice import notice
from lethe.domain.relevance.documents import embedding_text
from lethe.domain.session import Message, Session
from lethe.domain.text import language
from lethe.ports import Clock, Embedder, Ids, Memories

OpenSpace = Callable[[], Space]

STORED, DUPLICATE, DROPPED = "stored", "duplicate", "dropped"


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
class Outcome:
    """What became of one statement: the event, a reason code, a sentence, and the memory that now holds it."""

    event: str
    reason: str
    detail: str
    memory: Memory | None = None
    replaces: tuple[str, ...] = ()


@immutable
class Remembered:
    """All outcomes of one request, in order, and the line that the agent may tell the user."""

    outcomes: tuple[Outcome, ...]
    notice: str


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

    def __init__(self, memories: Memories, embedder: Embedder, clock: Clock, new_ids: Ids, executor: Executor) -> None:
        self._memories = memories
        self._embedder = embedder
        self._clock = clock
        self._ids = new_ids
        self._executor = executor

    def statements(self, open_space: OpenSpace, actor: str, statements: Sequence[Statement]) -> Remembered:
        """Store each statement as it is; one outcome each, in order."""
        outcomes = self._store(open_space, actor, statements)
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
    ) -> Remembered:
        """Let the controller take statements from messages; one outcome for each user message or part of one.

        Raises Conflict when ``within``, the session that they stand in, was deleted since they were appended.

        ``defaults`` are what the caller says of all of them; what the messages themselves say goes before it.
        """
        fates = propose(messages, before)
        statements = [_statement(fate, session_id, defaults) for fate in fates if isinstance(fate, Proposal)]
        stored = iter(self._store(open_space, actor, statements, within))
        outcomes = tuple(_dropped(fate) if isinstance(fate, Dropped) else next(stored) for fate in fates)
        return Remembered(outcomes, _notice(outcomes) if outcomes else notice((), _language_of(messages)))

    def _store(
        self, open_space: OpenSpace, actor: str, statements: Sequence[Statement], within: Session | None = None
    ) -> tuple[Outcome, ...]:
        if not statements:
            open_space()  # whoever may not write hears of it, even with nothing to write
            return ()
        now = self._clock.now()
        texts = [embedding_text(s.speaker or "", s.occurred_at or now, s.text, s.context or "") for s in statements]
        embedding = self._executor.submit(self._embedder.embed, texts, "memory")
        space = open_space()
        vectors = embedding.result()
        label = self._embedder.model.label
        new = [
            self._memory(statement, actor, now, Embedding(label, vector))
            for statement, vector in zip(statements, vectors, strict=True)
        ]
        results = self._memories.add(space, new, within)
        known = dict.fromkeys(result.duplicate_of for result in results if result.duplicate_of is not None)
        first = self._memories.get_many(space, list(known)) if known else {}
        return tuple(
            Outcome(STORED, statement.reason, "Stored as it was said.", result.memory)
            if result.duplicate_of is None
            else Outcome(
                DUPLICATE, "same_statement", "The same statement is already stored.", first.get(result.duplicate_of)
            )
            for statement, result in zip(statements, results, strict=True)
        )

    def _memory(self, statement: Statement, actor: str, now: datetime, embedding: Embedding) -> Memory:
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
            metadata=statement.metadata,
            embedding=embedding,
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
        metadata=defaults.metadata,
        valid_from=defaults.valid_from,
        valid_until=defaults.valid_until,
        reason=fate.reason,
    )


def _dropped(fate: Dropped) -> Outcome:
    return Outcome(DROPPED, fate.reason, _DROPPED_DETAIL[fate.reason])


def _notice(outcomes: Sequence[Outcome]) -> str:
    fresh = [o.memory for o in outcomes if o.event == STORED and o.memory is not None]
    known = [o.memory for o in outcomes if o.memory is not None]
    return notice([memory.text for memory in fresh], known[0].language if known else "und")


def _language_of(messages: Sequence[Message]) -> str:
    return language(messages[0].content) if messages else "und"
