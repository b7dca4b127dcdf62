"""What is left of a part of a subject that stays readable: single memories, a session, what is of kinds and times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from lethe.adapters.inspection.ended import Count
from lethe.adapters.inspection.index import Entries
from lethe.adapters.inspection.judgement import (
    ANSWERS,
    ENTITIES,
    INDEX,
    MEMORIES,
    SESSIONS,
    SUBJECTS,
    Facts,
    Item,
    Reader,
    explained,
    text,
    within,
)
from lethe.adapters.inspection.tables import Tables
from lethe.domain.erasure import MemoriesWithin, OneSession, TheseMemories
from lethe.domain.holds import Hold
from lethe.domain.immutable import immutable
from lethe.ports import Search


@immutable
class _Seen:
    """The memories of the epoch as they were read: every item with its facts, and the newest versions by id."""

    items: tuple[tuple[Item, Facts], ...]
    newest: Mapping[str, Facts]


class Part:
    """One look at a part. What was made after the request is none of its business: neither memories of a kind or time,
    nor a session that was begun anew under the id of the one that was erased.
    """

    def __init__(self, search: Search, holds: Sequence[Hold], tables: Tables, key: bytes) -> None:
        self._search = search
        self._holds = holds
        self._tables = tables
        self._reader = Reader(search.tenant, key)
        self._subject = search.subject or ""
        self._beside = f"{search.tenant}#{self._subject}"
        self._place = f"{self._beside}#{search.epoch}"

    def count(self, entries: Entries | None, into: Count) -> None:
        """Count what is left in all stores. Raises Unavailable or Throttled."""
        sessions = self._facts(SESSIONS) if isinstance(self._search.scope, OneSession) else []
        anew = self._begun_anew(sessions)
        seen = self._memories()
        gone = self._gone(seen, anew)
        for item, facts in seen.items:
            if self._is_left(facts, seen, gone, anew) and self._still(item):
                kept = explained(self._holds, facts, lambda each: seen.newest.get(each.memory_id or ""))
                (into.held if kept else into.remaining)[MEMORIES] += 1
        if anew is None:
            self._of_session(sessions, into)
        self._answers(gone, anew, into)
        if entries is not None:
            self._index(entries, seen, gone, anew, into)

    def count_held_unread(self, epochs: Iterable[int], into: Count) -> None:
        """Count what holds keep of it in epochs that were erased whole. Raises Unavailable or Throttled."""
        for epoch in epochs:
            place = f"{self._beside}#{epoch}"
            memories = self._facts(MEMORIES, place)
            newest = {facts.memory_id: facts for facts in memories if facts.is_newest}
            judged = [newest.get(facts.memory_id) for facts in memories]
            judged += [*self._facts(SESSIONS, place), *self._facts(ENTITIES, place)]
            for facts in judged:  # of a memory's versions, hash and notes each is judged by its newest version
                if facts is not None and self._is_wanted(facts) and self._kept(facts):
                    into.held[facts.store] += 1

    def _is_wanted(self, facts: Facts) -> bool:
        return facts.memory_id in self._search.owed or self._in_scope(facts, None)

    def _facts(self, store: str, place: str | None = None) -> list[Facts]:
        found = (self._reader.facts(store, item) for item in self._tables.partition(store, place or self._place))
        return [facts for facts in found if facts is not None]

    def _memories(self) -> _Seen:
        read = ((item, self._reader.facts(MEMORIES, item)) for item in self._tables.partition(MEMORIES, self._place))
        items = tuple((item, facts) for item, facts in read if facts is not None)
        return _Seen(items, {facts.memory_id or "": facts for _, facts in items if facts.is_newest})

    def _begun_anew(self, sessions: Iterable[Facts]) -> datetime | None:
        """When a session that bears the erased one's id was begun after the request; None when there is none."""
        heads = (facts.created_at for facts in sessions if facts.created_at is not None and self._in_scope(facts, None))
        return next((created for created in heads if created > self._search.until), None)

    def _in_scope(self, facts: Facts, anew: datetime | None) -> bool:
        """Whether it is within the scope and was there at the request."""
        scope = self._search.scope
        if not within(scope, facts):
            return False
        if isinstance(scope, MemoriesWithin):
            return facts.created_at is not None and facts.created_at <= self._search.until
        return not (anew is not None and facts.created_at is not None and facts.created_at >= anew)

    def _kept(self, facts: Facts) -> bool:
        return explained(self._holds, facts, lambda each: facts)

    def _gone(self, seen: _Seen, anew: datetime | None) -> set[str]:
        """Ids of memories that may not be there: those in the scope that no hold keeps, and all that rest on them, also
        on such as are gone already (``owed``).
        """
        scope = self._search.scope
        held = {memory_id for memory_id, facts in seen.newest.items() if self._kept(facts)}
        gone = {memory_id for memory_id, facts in seen.newest.items() if self._in_scope(facts, anew)}
        gone |= set(scope.memory_ids) if isinstance(scope, TheseMemories) else set()
        gone = (gone - held) | set(self._search.owed)
        before = -1
        while len(gone) > before:
            before = len(gone)
            gone |= {memory_id for memory_id, facts in seen.newest.items() if not gone.isdisjoint(facts.sources)}
        return gone

    def _is_left(self, facts: Facts, seen: _Seen, gone: set[str], anew: datetime | None) -> bool:
        """Old versions, hashes and notes go with their memory. What belongs to none is left of some deletion, but for a
        note, which says no more than that a memory was changed.
        """
        newest = seen.newest.get(facts.memory_id or "")
        if newest is not None:
            return facts.memory_id in gone or self._in_scope(newest, anew)
        return facts.memory_id in gone or facts.form != "CHANGED"

    def _still(self, item: Item) -> bool:
        """Whether it is there at a second look: items of one memory are not read in one moment."""
        return self._tables.item(MEMORIES, str(item["pk"]["S"]), str(item["sk"]["S"])) is not None

    def _of_session(self, sessions: Iterable[Facts], into: Count) -> None:
        if not isinstance(self._search.scope, OneSession):
            return
        for facts in (*sessions, *self._facts(ENTITIES)):
            if within(self._search.scope, facts):
                (into.held if self._kept(facts) else into.remaining)[facts.store] += 1

    def _answers(self, gone: set[str], anew: datetime | None, into: Count) -> None:
        """Stored answers that speak of what is gone. A session that a hold keeps is not."""
        scope = self._search.scope
        session = scope.session if isinstance(scope, OneSession) and anew is None else None
        if session is not None and self._kept(Facts(SESSIONS, self._subject, self._search.epoch, "S", session=session)):
            session = None
        for item in self._tables.partition(SUBJECTS, self._beside):
            names = {str(name) for name in json.loads(text(item, "about") or "[]")}
            spoken = {name.removeprefix("session:") for name in names if name.startswith("session:")}
            hidden = {self._reader.hidden(self._subject, session_id) for session_id in spoken}
            if session in hidden or not names.isdisjoint(gone):
                into.remaining[ANSWERS] += 1

    def _index(self, entries: Entries, seen: _Seen, gone: set[str], anew: datetime | None, into: Count) -> None:
        """Entries whose rows stand because of a hold may stay, since the subject can still be read."""
        entries.settle()
        for found in entries.memories(self._search.tenant, self._subject, self._search.epoch):
            session = None if found.session is None else self._reader.hidden(self._subject, found.session)
            facts = replace(found, session=session)
            row = seen.newest.get(facts.memory_id or "")
            if (facts.memory_id in gone or self._in_scope(facts, anew)) and (row is None or not self._kept(row)):
                into.remaining[INDEX] += 1
