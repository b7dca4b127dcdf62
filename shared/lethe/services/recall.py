"""Recall: route, gather, gate, rerank, deduplicate, cut, assemble; and search, which is the middle of it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, Future
from datetime import datetime
from typing import Final, Literal

from lethe.domain.entity import Entity, held_at
from lethe.domain.identity import Caller, Space
from lethe.domain.immutable import immutable
from lethe.domain.memory import Embedding, MemoryFilter
from lethe.domain.policy import Policy
from lethe.domain.recall import stages
from lethe.domain.recall.assemble import Assembled, assemble
from lethe.domain.recall.route import Route, Tier, route
from lethe.domain.search import Candidate, SearchQuery
from lethe.domain.session import Message, Session, SessionSummary
from lethe.domain.session_due import summary_due
from lethe.errors import Throttled, Unavailable
from lethe.ports import Clock, Embedder, EntityLists, SearchIndex, SearchResult, Sessions
from lethe.services.spaces import Spaces

RecallOutcome = Literal["found", "nothing_stored", "nothing_relevant"]

_EXPLAINED: Final = 500
"""How many candidates an explanation lists at most."""


@immutable
class Question:
    """What is asked of memory. ``explain`` asks for every candidate, not only for those that can be answered."""

    text: str
    top_k: int
    threshold: float
    filters: MemoryFilter
    as_of: datetime | None = None
    explain: bool = False

    @property
    def candidates(self) -> int:
        """How many candidates the index is asked for: enough that what later stages drop leaves ``top_k``."""
        return _EXPLAINED if self.explain else 4 * self.top_k + 20


@immutable
class Found:
    """Every candidate with its decisions, best first, and what the answer is called."""

    candidates: tuple[Candidate, ...]
    outcome: RecallOutcome
    degraded: bool

    @property
    def kept(self) -> tuple[Candidate, ...]:
        """The candidates that are answered."""
        return tuple(candidate for candidate in self.candidates if candidate.kept)


@immutable
class Recalled:
    """The prompt-ready block and all that went into it."""

    route: Route
    assembled: Assembled
    outcome: RecallOutcome
    degraded: bool
    summary_due: bool


@immutable
class _Tiers:
    """What the other tiers hold."""

    session: Session | None = None
    messages: tuple[Message, ...] = ()
    summary: SessionSummary | None = None
    entities: tuple[Entity, ...] = ()
    """Those that hold at the moment that is asked about."""
    entities_stored: bool = False


class Recall:
    """Finds what is worth telling an agent now."""

    def __init__(
        self,
        spaces: Spaces,
        index: SearchIndex,
        sessions: Sessions,
        entities: EntityLists,
        embedder: Embedder,
        policy: Policy,
        clock: Clock,
        executor: Executor,
    ) -> None:
        self._spaces = spaces
        self._index = index
        self._sessions = sessions
        self._entities = entities
        self._embedder = embedder
        self._policy = policy
        self._clock = clock
        self._executor = executor

    def search(self, caller: Caller, user_id: str | None, question: Question) -> Found:
        """Memories only. The head is read and the query embedded at once."""
        embedding = self._executor.submit(self._embed, question.text)
        space = self._spaces.for_reading(caller, user_id)
        return self._found(space, user_id, question, embedding)

    def recall(
        self,
        caller: Caller,
        user_id: str | None,
        question: Question,
        session_id: str | None,
        tiers: Sequence[Tier] | None,
        token_budget: int,
    ) -> Recalled:
        """All tiers that the router chooses, assembled within the token budget."""
        chosen = route(question.text, tiers, session_id, question.threshold)
        embedding = self._executor.submit(self._embed, question.text) if chosen.reads(Tier.MEMORIES) else None
        space = self._spaces.for_reading(caller, user_id)
        gathered = self._gather(space, chosen, session_id)
        found = (
            self._found(space, user_id, question, embedding)
            if embedding is not None
            else Found((), "nothing_relevant", False)
        )
        others = self._tiers(space, gathered, question.as_of)
        reveal = caller.may_see_sensitive()
        block = assemble(token_budget, others.entities, others.summary, found.candidates, others.messages, reveal)
        due = others.session is not None and summary_due(others.session, self._policy, self._clock.now()).summary_due
        return Recalled(chosen, block, _outcome(found, embedding is not None, block, others), found.degraded, due)

    def _embed(self, text: str) -> Embedding | None:
        """The query's vector; None, and so words alone, when the model does not answer."""
        try:
            return Embedding(self._embedder.model.label, self._embedder.embed([text], "query")[0])
        except (Unavailable, Throttled):
            return None

    def _found(
        self, space: Space, user_id: str | None, question: Question, embedding: Future[Embedding | None]
    ) -> Found:
        now = self._clock.now()
        vector = embedding.result()
        result = self._index.search(
            space,
            SearchQuery(question.text, vector, user_id),
            question.filters,
            now,
            question.candidates,
            question.as_of,
        )
        candidates = self._judged(result, question, now)
        kept = any(candidate.kept for candidate in candidates)
        outcome: RecallOutcome = "found" if kept else "nothing_relevant" if result.stored else "nothing_stored"
        return Found(tuple(candidates), outcome, result.degraded or vector is None)

    def _judged(self, result: SearchResult, question: Question, now: datetime) -> list[Candidate]:
        # A threshold of 0 asks for the best, whatever it is worth: then confidence does not drop it either.
        minimum = self._policy.minimum_confidence if question.threshold > 0 else 0.0
        ranked = stages.rerank(result.candidates, self._policy, question.as_of or now)
        sure = stages.confidence(stages.gate(ranked, question.threshold), minimum)
        distinct = stages.deduplicate(sure, None if question.explain else question.top_k)
        return stages.cut(distinct, question.top_k)

    def _gather(self, space: Space, chosen: Route, session_id: str | None) -> _Gathering:
        now = self._clock.now()
        submit, within = self._executor.submit, session_id if chosen.reads(Tier.SESSION) else None
        turns = self._policy.window_turns
        return _Gathering(
            started=now,
            session_id=session_id,
            session=submit(self._sessions.get, space, within, now) if within is not None else None,
            messages=submit(self._sessions.newest, space, within, now, turns) if within is not None else None,
            summary=submit(self._sessions.summary, space, within, now) if within is not None else None,
            entities=submit(self._entities.list, space, now) if chosen.reads(Tier.ENTITIES) else None,
        )

    def _tiers(self, space: Space, gathering: _Gathering, as_of: datetime | None) -> _Tiers:
        """What the reads found. ``as_of`` is about values alone: turns and summary are those of the conversation."""
        stored = gathering.entities.result() if gathering.entities else ()
        moment = as_of or gathering.started
        return _Tiers(
            session=gathering.session.result() if gathering.session else None,
            messages=gathering.messages.result() if gathering.messages else (),
            summary=gathering.summary.result() if gathering.summary else None,
            entities=_in_session(self._held(space, stored, gathering.started, moment), gathering.session_id),
            entities_stored=bool(_in_session(stored, gathering.session_id)),
        )

    def _held(self, space: Space, current: Sequence[Entity], now: datetime, moment: datetime) -> tuple[Entity, ...]:
        """The versions that hold at ``moment``. Only values that begin later, and have a past, are read again."""

        def earlier(entity: Entity) -> Future[tuple[Entity, ...]] | None:
            if entity.version == 1 or entity.begun(moment):
                return None
            return self._executor.submit(self._entities.history, space, entity.key, entity.session_id, now)

        pasts = [earlier(entity) for entity in current]
        held = (
            held_at((entity,) if past is None else past.result(), moment)
            for entity, past in zip(current, pasts, strict=True)
        )
        return tuple(entity for entity in held if entity is not None)


@immutable
class _Gathering:
    """Reads of the other tiers that are under way."""

    started: datetime
    session_id: str | None
    session: Future[Session | None] | None = None
    messages: Future[tuple[Message, ...]] | None = None
    summary: Future[SessionSummary | None] | None = None
    entities: Future[tuple[Entity, ...]] | None = None


def _in_session(entities: Sequence[Entity], session_id: str | None) -> tuple[Entity, ...]:
    """What holds now: the session's own values stand before the subject's of the same key."""
    own = {entity.key for entity in entities if session_id is not None and entity.session_id == session_id}
    return tuple(
        entity
        for entity in entities
        if (entity.session_id is None and entity.key not in own)
        or (session_id is not None and entity.session_id == session_id)
    )


def _outcome(found: Found, searched: bool, block: Assembled, others: _Tiers) -> RecallOutcome:
    """``found`` when a memory is relevant, be there room for it or not, or when no memories were asked for and
    something else is answered; ``nothing_stored`` only when no tier that was read holds anything.
    """
    if found.outcome == "found" or (not searched and (block.entities or block.messages or block.summary)):
        return "found"
    if found.outcome == "nothing_stored" and (others.entities_stored or others.messages or others.summary):
        return "nothing_relevant"
    return found.outcome
