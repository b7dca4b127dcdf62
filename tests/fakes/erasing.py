"""Ledger, holds, deleters and verifier in memory, over the other fakes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from lethe.domain.erasure import Erasure, ErasureState
from lethe.domain.head import SubjectHead, SubjectState
from lethe.domain.holds import Hold, HoldTarget, holding
from lethe.domain.identity import Space
from lethe.errors import Conflict, Erased, NotFound, VersionConflict
from lethe.ports import Page, Purged, Search, Seen, Stock, TimeLeft
from tests.fakes.entities import FakeEntities
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.idempotency import FakeIdempotencyRecords
from tests.fakes.memories import FakeMemories
from tests.fakes.sessions import FakeSessions


class FakeLedger:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str], Erasure] = {}
        self._admitted: dict[tuple[str, str], int] = {}
        self._ended: dict[tuple[str, str], dict[str, int]] = {}

    def begin(self, erasure: Erasure) -> Erasure:
        with self._lock:
            return self._rows.setdefault((erasure.tenant, erasure.id), replace(erasure, version=1))

    def read(self, tenant: str, erasure_id: str) -> Erasure | None:
        return self._rows.get((tenant, erasure_id))

    def save(self, erasure: Erasure) -> Erasure:
        with self._lock:
            standing = self._rows.get((erasure.tenant, erasure.id))
            if standing is None:
                raise NotFound
            if standing.version != erasure.version:
                raise VersionConflict(standing.version)
            saved = replace(erasure, version=erasure.version + 1)
            self._rows[erasure.tenant, erasure.id] = saved
            return saved

    def withdraw(self, erasure: Erasure) -> None:
        with self._lock:
            self._rows.pop((erasure.tenant, erasure.id), None)

    def page(self, tenant: str, limit: int, start: str | None) -> Page[Erasure]:
        rows = [row for (owner, _), row in sorted(self._rows.items(), reverse=True) if owner == tenant]
        rows = [row for row in rows if start is None or row.id < start]
        return Page(tuple(rows[:limit]), rows[limit - 1].id if len(rows) > limit else None)

    def open(self) -> tuple[tuple[str, str], ...]:
        return tuple(place for place, row in sorted(self._rows.items()) if row.state is not ErasureState.COMPLETED)

    def everything(self, limit: int, start: str | None) -> Page[Erasure]:
        return Page(tuple(self._rows.values()), None)

    def admit(self, tenant: str, subject: str, epoch: int, now: datetime) -> None:
        with self._lock:
            self._admitted[tenant, subject] = max(epoch, self._admitted.get((tenant, subject), 0))

    def admitted(self, tenant: str, subject: str) -> int:
        return self._admitted.get((tenant, subject), 0)

    def reopen(self, erasure: Erasure) -> Erasure:
        return self.save(erasure)

    def note_ended(self, tenant: str, erasure_id: str, subject: str, epoch: int) -> None:
        with self._lock:
            self._ended.setdefault((tenant, erasure_id), {})[subject] = epoch

    def ended(self, tenant: str, erasure_id: str) -> Iterator[tuple[str, int]]:
        return iter(sorted(self._ended.get((tenant, erasure_id), {}).items()))


class FakeHolds:
    def __init__(self, heads: FakeSubjectHeads) -> None:
        self._heads = heads
        self._holds: dict[tuple[str, str], Hold] = {}

    def place(self, tenant: str, hold: Hold) -> Hold:
        with self._heads.lock:
            standing = self._holds.get((tenant, hold.name))
            if standing is not None:
                if (standing.subject, standing.scope) != (hold.subject, hold.scope):
                    raise Conflict
                return standing
            head = self._heads.read(tenant, hold.subject)
            if head is None:
                raise NotFound
            if head.state is not SubjectState.ACTIVE:
                raise Conflict if head.state is SubjectState.ERASING else Erased
            self._holds[tenant, hold.name] = hold
            return hold

    def release(self, tenant: str, name: str) -> bool:
        return self._holds.pop((tenant, name), None) is not None

    def hold(self, tenant: str, name: str) -> Hold | None:
        return self._holds.get((tenant, name))

    def of_tenant(self, tenant: str, limit: int, start: str | None) -> Page[Hold]:
        found = [
            hold for (owner, name), hold in sorted(self._holds.items()) if owner == tenant and name > (start or "")
        ]
        return Page(tuple(found[:limit]), found[limit - 1].name if len(found) > limit else None)

    def of_subject(self, tenant: str, subject: str) -> tuple[Hold, ...]:
        return tuple(hold for (owner, _), hold in self._holds.items() if owner == tenant and hold.subject == subject)


class FakeSubjects:
    def __init__(self, heads: FakeSubjectHeads) -> None:
        self._heads = heads

    def of_tenant(self, tenant: str, limit: int, start: str | None) -> Page[SubjectHead]:
        return Page(tuple(head for head in self._heads.everybody() if head.tenant == tenant), None)


class FakeStores:
    """What the deleters and the verifier look into, each in its own way."""

    def __init__(
        self,
        memories: FakeMemories,
        entities: FakeEntities,
        sessions: FakeSessions,
        answers: FakeIdempotencyRecords,
        name_session: Callable[[Space, str], str],
    ) -> None:
        self.of_memories, self.of_entities = memories, entities
        self.of_sessions, self.of_answers = sessions, answers
        self.name_session = name_session

    def count(self, space: Space) -> Stock:
        return Stock(
            len(self.of_memories.lineages(space)),
            self.of_entities.stored(space),
            len(self.of_sessions.ids(space)),
            self.of_answers.stored(space),
        )

    def memories(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        found = self.of_memories.lineages(space)
        keeping = {each.id: holding(holds, self._target(space, each)) for each in found}
        goes = [memory_id for memory_id, names in keeping.items() if not names]
        self.of_memories.purge(space, goes)
        return Purged(len(goes), done=True, holds=frozenset().union(*keeping.values()))

    def _target(self, space: Space, each: object) -> HoldTarget:
        session = getattr(each, "session_id", None)
        return HoldTarget(
            getattr(each, "id", None),
            getattr(each, "kind", None),
            getattr(each, "created_at", None),
            None if session is None else self.name_session(space, session),
        )

    def entities(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        everything = holding(holds, HoldTarget())
        if everything and self.of_entities.stored(space):
            return Purged(0, done=True, holds=everything)
        return Purged(self.of_entities.purge(space), done=True)

    def sessions(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        deleted, held = 0, set[str]()
        for session_id in self.of_sessions.ids(space):
            names = holding(holds, HoldTarget(session=self.name_session(space, session_id)))
            if names:
                held |= names
            else:
                self.of_sessions.delete(space, session_id)
                deleted += 1
        return Purged(deleted, done=True, holds=frozenset(held))

    def answers(self, space: Space, time_left: TimeLeft) -> Purged:
        return Purged(self.of_answers.purge(space), done=True)

    def method(self, search: Search) -> str:
        return "table_scan"

    def look(self, search: Search, holds: Sequence[Hold], cursor: str | None, time_left: TimeLeft) -> Seen:
        remaining, held = Counter[str](), Counter[str]()
        for space in self.spaces():
            if space.tenant == search.tenant and space.subject == search.subject and space.epoch <= search.epochs:
                stock = self.count(space)
                counter = held if holding(holds, HoldTarget()) else remaining
                counter["memories"] += stock.memories
                counter["entities"] += stock.entities
                counter["sessions"] += stock.sessions
                remaining["answers"] += stock.answers
        return Seen(tuple(sorted((+remaining).items())), tuple(sorted((+held).items())), None)

    def spaces(self) -> set[Space]:
        return (
            self.of_memories.spaces() | self.of_entities.spaces() | self.of_sessions.spaces() | self.of_answers.spaces()
        )
