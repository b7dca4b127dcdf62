"""Deleting parts of a subject that stays readable: single memories, a session, what is within kinds and times.

What goes is chosen anew in every call from what is there, so a call that is cut short has only to be made again. The
order is that of the steps: entries of the index, what was derived, the memories themselves, entities, the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Final

from lethe.domain.erasure import DELETING, Erasure, MemoriesWithin, OneSession, StepName, TheseMemories
from lethe.domain.holds import Hold, HoldTarget, covers, holding
from lethe.domain.idempotency import about_session, session_named
from lethe.domain.identity import Space, session_of
from lethe.domain.immutable import immutable
from lethe.domain.indexing import Change, Outcome, Remove
from lethe.domain.lineage import Lineage, consequences
from lethe.errors import Erased, VersionConflict
from lethe.ports import (
    Entities,
    Holds,
    IdempotencyRecords,
    IndexWriter,
    Memories,
    Sessions,
    SubjectHeads,
    TimeLeft,
)
from lethe.services.erasure.rebuilding import Rebuilding
from lethe.services.erasure.stretch import Counted, Deleted
from lethe.services.spaces import ended_spaces, readable_space

CHUNK: Final = 200
"""Memories that go between two looks at the time."""
TO_GO_ON: Final = 3.0
_LAST: Final = (StepName.ARCHIVE, StepName.SWEEP)
"""Steps that look for what holds keep in epochs that were erased whole."""
_WITHIN: Final = 20.0
"""Seconds that a request to the index may take at most."""


@immutable
class _Chosen:
    """What goes now: memories, those that lose their context, and session ids; and the holds that keep others."""

    memories: tuple[Lineage, ...]
    dropped: tuple[tuple[Lineage, ...], ...]
    """Level by level, as ``Consequences`` has them."""
    rebuilt: frozenset[str]
    sessions: tuple[str, ...]
    held: int
    """How many of those that are wanted, not counting what rests on them."""
    holds: tuple[str, ...]
    gone: tuple[str, ...] = ()
    """Memories that were named and have no row any more; an entry of theirs may still come late."""
    owed: tuple[str, ...] = ()


class PartialDeletion:
    """The deleting steps of an erasure that leaves its subject readable. ``writer`` is None where no index is kept."""

    def __init__(
        self,
        heads: SubjectHeads,
        memories: Memories,
        sessions: Sessions,
        entities: Entities,
        answers: IdempotencyRecords,
        rebuilding: Rebuilding,
        writer: IndexWriter | None,
        holds: Holds,
        master_key: bytes,
    ) -> None:
        self._heads = heads
        self._memories = memories
        self._sessions = sessions
        self._entities = entities
        self._answers = answers
        self._rebuilding = rebuilding
        self._writer = writer
        self._holds = holds
        self._master_key = master_key

    def count(self, erasure: Erasure) -> Counted:
        """What there is to delete now."""
        space = self._space(erasure)
        if space is None:
            return Counted(True)
        chosen = self._choose(erasure, space)
        found = (
            (StepName.DERIVED, sum(map(len, chosen.dropped)) + len(chosen.rebuilt)),
            (StepName.MEMORIES, len(chosen.memories)),
            (StepName.SESSIONS, len(chosen.sessions)),
        )
        nothing = not any(count for _, count in found)
        return Counted(True, found, unreadable=nothing, held=chosen.held, owed=chosen.owed)

    def demand(self, erasure: Erasure, version: int) -> None:
        """Raises VersionConflict unless ``version`` is the newest one of the single memory that goes."""
        space = self._space(erasure)
        assert isinstance(erasure.scope, TheseMemories)
        memory = None if space is None else self._memories.get(space, erasure.scope.memory_ids[0])
        if memory is not None and memory.version != version:
            raise VersionConflict(memory.version)

    def delete(self, erasure: Erasure, step: StepName, cursor: str | None, time_left: TimeLeft) -> Deleted:
        """A stretch of a deleting step. Raises what the ports raise."""
        space = self._space(erasure)
        stretch = Deleted(True)
        if space is not None:
            # Where the whole subject is erased meanwhile, nobody reads this any more.
            with suppress(Erased):
                stretch = self._delete(erasure, space, step, time_left)
        if step not in _LAST or not stretch.done:
            return stretch
        return replace(stretch, holds=tuple(sorted({*stretch.holds, *self._held_unread(erasure)})))

    def _held_unread(self, erasure: Erasure) -> frozenset[str]:
        """The holds that keep something of what was asked for in epochs that were erased whole: it is there, unread,
        and goes with the whole subject's erasure when they end.
        """
        assert erasure.subject is not None
        holds = self._holds.of_subject(erasure.tenant, erasure.subject)
        head = self._heads.read(erasure.tenant, erasure.subject) if holds else None
        found = set[str]()
        last = 0 if head is None else min(head.epoch - 1, erasure.epoch)
        for space in ended_spaces(erasure.tenant, erasure.subject, last):
            lineages = self._memories.lineages(space)
            for lineage in lineages:
                if lineage.id in erasure.owed or self._wanted(erasure, space, lineage, None):
                    found |= self._holding(space, holds, lineage)
            if isinstance(erasure.scope, OneSession) and self._sessions_named(erasure, space, lineages):
                found |= holding(holds, HoldTarget(session=erasure.scope.session))
        return frozenset(found)

    def _delete(self, erasure: Erasure, space: Space, step: StepName, time_left: TimeLeft) -> Deleted:
        if step is StepName.SWEEP:
            swept = Deleted(True)
            for each in DELETING:
                stretch = self._delete(erasure.owing(swept.owed), space, each, time_left)
                swept = replace(stretch, deleted=swept.deleted + stretch.deleted)
                if not stretch.done:
                    break
            return swept
        chosen = self._choose(erasure, space)
        stretch = self._delete_chosen(erasure, space, step, chosen, time_left)
        return replace(stretch, holds=chosen.holds, owed=chosen.owed)

    def _delete_chosen(
        self, erasure: Erasure, space: Space, step: StepName, chosen: _Chosen, time_left: TimeLeft
    ) -> Deleted:
        match step:
            case StepName.INDEX:
                return Deleted(True, self._unindex(space, chosen, time_left))
            case StepName.DERIVED:
                return self._derived(erasure, space, chosen, time_left)
            case StepName.MEMORIES:
                return self._delete_memories(space, chosen.memories, time_left)
            case StepName.ENTITIES:
                return Deleted(True, sum(self._entities.delete_session(space, each) for each in chosen.sessions))
            case StepName.SESSIONS:
                return Deleted(True, sum(self._sessions.delete(space, each) for each in chosen.sessions))
            case _:
                return Deleted(True)

    def _unindex(self, space: Space, chosen: _Chosen, time_left: TimeLeft) -> int:
        """Take the entries out now; the stream will find them gone. A tenth of the time may go to it."""
        if self._writer is None:
            return 0
        goes = (*chosen.memories, *chain.from_iterable(chosen.dropped))
        changes: list[Change] = [Remove(space, lineage.id, lineage.version) for lineage in goes]
        changes += [Remove(space, memory_id) for memory_id in chosen.gone]
        outcomes = self._writer.apply(changes, min(_WITHIN, time_left() / 10))
        return sum(outcome is Outcome.APPLIED for outcome in outcomes[: len(goes)])

    def _derived(self, erasure: Erasure, space: Space, chosen: _Chosen, time_left: TimeLeft) -> Deleted:
        """Stored answers, memories that rest on those that go, and contexts that repeat what they were taken from."""
        about = {lineage.id for lineage in (*chosen.memories, *chain.from_iterable(chosen.dropped))} | chosen.rebuilt
        if isinstance(erasure.scope, TheseMemories):
            about |= set(erasure.scope.memory_ids)
        about |= {about_session(session_id) for session_id in chosen.sessions}
        answers = self._answers.forget(space, about) if about else 0
        # Contexts first: which messages they repeat is known by the memories that go.
        deleted = answers + self._rebuilding.without_context(space, sorted(chosen.rebuilt))
        for level in reversed(chosen.dropped):
            dropped = self._delete_memories(space, level, time_left)
            deleted += dropped.deleted
            if not dropped.done or (level is not chosen.dropped[0] and time_left() < TO_GO_ON):
                return Deleted(False, deleted)
        return Deleted(True, deleted)

    def _delete_memories(self, space: Space, lineages: Sequence[Lineage], time_left: TimeLeft) -> Deleted:
        deleted = 0
        for start in range(0, len(lineages), CHUNK):
            deleted += self._memories.delete(space, [lineage.id for lineage in lineages[start : start + CHUNK]])
            if start + CHUNK < len(lineages) and time_left() < TO_GO_ON:
                return Deleted(False, deleted)
        return Deleted(True, deleted)

    def _space(self, erasure: Erasure) -> Space | None:
        """The subject's space while it is the one that the erasure is about; an erased one is nobody's any more."""
        assert erasure.subject is not None
        head = self._heads.read(erasure.tenant, erasure.subject)
        try:
            space = None if head is None else readable_space(head)
        except Erased:
            return None
        return space if space is not None and space.epoch == erasure.epoch else None

    def _choose(self, erasure: Erasure, space: Space) -> _Chosen:
        lineages = self._memories.lineages(space)
        holds = self._holds.of_subject(space.tenant, space.subject)
        named = self._sessions_named(erasure, space, lineages)
        anew = self._begun_anew(erasure, space, named)
        keeping = {lineage.id: self._holding(space, holds, lineage) for lineage in lineages} if holds else {}
        owed = set(erasure.owed)
        wanted = [each for each in lineages if each.id in owed or self._wanted(erasure, space, each, anew)]
        goes = [lineage for lineage in wanted if not keeping.get(lineage.id)]
        gone = self._gone(erasure, lineages)
        follows = consequences(lineages, {lineage.id for lineage in goes} | set(gone))
        resting = [[lineage for lineage in lineages if lineage.id in level] for level in follows.dropped]
        sessions, keeps_session = self._sessions_of(erasure, holds, () if anew is not None else named)
        names = keeps_session.union(*(keeping.get(lineage.id, ()) for lineage in chain(wanted, *resting)))
        return _Chosen(
            tuple(goes),
            tuple(tuple(lineage for lineage in level if not keeping.get(lineage.id)) for level in resting),
            follows.rebuilt,  # also under a hold: a context is a copy, and no hold keeps copies
            sessions,
            len(wanted) - len(goes) + bool(keeps_session),
            tuple(sorted(names)),
            gone,
            (*sorted(owed), *(each.id for each in chain.from_iterable(resting) if keeping.get(each.id))),
        )

    def _gone(self, erasure: Erasure, lineages: Sequence[Lineage]) -> tuple[str, ...]:
        named = erasure.scope.memory_ids if isinstance(erasure.scope, TheseMemories) else ()
        standing = {lineage.id for lineage in lineages}
        return tuple(memory_id for memory_id in named if memory_id not in standing)

    def _wanted(self, erasure: Erasure, space: Space, lineage: Lineage, anew: datetime | None) -> bool:
        """Whether a memory is within the scope. What was made after the request is none of its business, unless it was
        taken from a session that goes; ``anew`` is when another session was begun under its id.
        """
        if isinstance(erasure.scope, MemoriesWithin) and lineage.created_at > erasure.requested_at:
            return False
        if anew is not None and lineage.created_at >= anew:
            return False
        return covers(erasure.scope, self._target(space, lineage))

    def _target(self, space: Space, lineage: Lineage) -> HoldTarget:
        session = None if lineage.session_id is None else self._named(space, lineage.session_id)
        return HoldTarget(lineage.id, lineage.kind, lineage.created_at, session)

    def _holding(self, space: Space, holds: Sequence[Hold], lineage: Lineage) -> frozenset[str]:
        return holding(holds, self._target(space, lineage))

    def _sessions_named(self, erasure: Erasure, space: Space, lineages: Sequence[Lineage]) -> tuple[str, ...]:
        """The id of the session that goes, found by its keyed hash in whatever names sessions: its messages may have
        expired long before its memories, its values and the answers that speak of it.
        """
        if not isinstance(erasure.scope, OneSession):
            return ()
        names = [*self._sessions.ids(space), *self._entities.sessions(space)]
        names += [lineage.session_id for lineage in lineages if lineage.session_id is not None]
        names += [name for each in self._answers.named(space) if (name := session_named(each)) is not None]
        return tuple(name for name in dict.fromkeys(names) if self._named(space, name) == erasure.scope.session)

    def _begun_anew(self, erasure: Erasure, space: Space, session_ids: Sequence[str]) -> datetime | None:
        """When a session was begun after the request under the id of the one that goes: that one is gone then, and the
        other is not meant.
        """
        heads = (self._sessions.get(space, session_id, erasure.requested_at) for session_id in session_ids)
        later = (head.created_at for head in heads if head is not None and head.created_at > erasure.requested_at)
        return next(later, None)

    def _sessions_of(
        self, erasure: Erasure, holds: Sequence[Hold], session_ids: tuple[str, ...]
    ) -> tuple[tuple[str, ...], frozenset[str]]:
        """The sessions that go, or the holds that keep them."""
        if not session_ids or not isinstance(erasure.scope, OneSession):
            return (), frozenset()
        names = holding(holds, HoldTarget(session=erasure.scope.session))
        return ((), names) if names else (session_ids, names)

    def _named(self, space: Space, session_id: str) -> str:
        return session_of(space.tenant, space.subject, session_id, self._master_key)
