"""The verifier: every table and the index, looked through for what should be gone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from lethe.adapters.inspection.index import Entries
from lethe.adapters.inspection.judgement import (
    ANSWERS,
    ENTITIES,
    MEMORIES,
    SESSIONS,
    SUBJECTS,
    Facts,
    Item,
    Reader,
    explained,
    within,
)
from lethe.adapters.inspection.tables import Tables
from lethe.domain.erasure import MemoriesWithin, OneSession, TheseMemories, WholeSubject, WholeTenant
from lethe.domain.holds import Hold
from lethe.domain.immutable import immutable
from lethe.errors import Throttled
from lethe.ports import Search, Seen, TimeLeft

TABLES: Final = (SUBJECTS, SESSIONS, ENTITIES, MEMORIES)
TO_GO_ON: Final = 20.0
"""Seconds that must be left for another round of segments."""
_AT_ONCE: Final = 4


@immutable
class _Count:
    """What a stretch found, by store."""

    remaining: Counter[str]
    held: Counter[str]


class Inspector:
    """``Verifier``. With ``whole_tables`` the erasure of a whole subject or tenant is verified by scans of all tables,
    which also find what lies where it should not; else, and for parts of a subject, by its partitions.
    """

    def __init__(self, tables: Tables, entries: Entries | None, key: bytes, whole_tables: bool) -> None:
        self._tables = tables
        self._entries = entries
        self._key = key
        self._whole_tables = whole_tables

    @property
    def method(self) -> str:
        """How whole subjects are looked for."""
        return "table_scan" if self._whole_tables else "partition_query"

    def look(self, search: Search, holds: Sequence[Hold], cursor: str | None, time_left: TimeLeft) -> Seen:
        """Tables stretch by stretch, then the index. Raises Unavailable or Throttled."""
        count = _Count(Counter(), Counter())
        if isinstance(search.scope, WholeTenant) or (self._whole_tables and isinstance(search.scope, WholeSubject)):
            cursor = self._scan(search, holds, cursor, time_left, count)
            if cursor is not None:
                return _seen(count, cursor)
        elif isinstance(search.scope, WholeSubject):
            for epoch in range(1, search.epochs + 1):
                self._judge(search, holds, self._partitions(search, epoch), count)
        else:
            self._part(search, holds, count)
        self._index(search, holds, count)
        return _seen(count, None)

    def _scan(
        self, search: Search, holds: Sequence[Hold], cursor: str | None, time_left: TimeLeft, count: _Count
    ) -> str | None:
        """Segments of one table after the other, some at once; where to go on, None behind the last."""
        place = json.loads(cursor) if cursor is not None else {"table": 0, "segment": 0, "of": None}
        for number in range(place["table"], len(TABLES)):
            store = TABLES[number]
            segments = place["of"] or self._tables.segments(store)
            first, place = place["segment"], {"table": number + 1, "segment": 0, "of": None}
            for segment in range(first, segments, _AT_ONCE):
                some = range(segment, min(segment + _AT_ONCE, segments))
                with ThreadPoolExecutor(_AT_ONCE) as threads:
                    for part in threads.map(lambda n: self._segment(search, holds, store, n, segments), some):  # noqa: B023
                        count.remaining.update(part.remaining)
                        count.held.update(part.held)
                if time_left() < TO_GO_ON:
                    return json.dumps({"table": number, "segment": some.stop, "of": segments})
        return None

    def _segment(self, search: Search, holds: Sequence[Hold], store: str, segment: int, segments: int) -> _Count:
        count = _Count(Counter(), Counter())
        reader = Reader(search.tenant, self._key)
        found = (reader.facts(store, item) for item in self._tables.scan(store, segment, segments))
        self._judge(search, holds, (facts for facts in found if facts is not None), count)
        return count

    def _partitions(self, search: Search, epoch: int) -> Iterator[Facts]:
        """The items of one epoch of a subject."""
        reader = Reader(search.tenant, self._key)
        beside = f"{search.tenant}#{search.subject}"
        places = [(SUBJECTS, beside), *((store, f"{beside}#{epoch}") for store in TABLES[1:])]
        for store, place in places:
            for item in self._tables.partition(store, place):
                facts = reader.facts(store, item)
                if facts is not None and facts.epoch == epoch:
                    yield facts

    def _judge(self, search: Search, holds: Sequence[Hold], found: Iterable[Facts], count: _Count) -> None:
        """Count what belongs to whole subjects of ended epochs; what a hold explains apart from the rest."""
        mine = [facts for facts in found if self._ended(search, facts)]
        newest = {
            (facts.subject, facts.memory_id): facts
            for facts in mine
            if facts.store == MEMORIES and facts.kind is not None and facts.memory_id is not None
        }
        for facts in mine:
            kept = explained(holds, lambda subject, memory_id: newest.get((subject, memory_id)), facts)
            (count.held if kept else count.remaining)[facts.store] += 1

    def _ended(self, search: Search, facts: Facts) -> bool:
        """Whether an item is of an epoch that was erased. A tenant's are all, but for those of later epochs: whoever was
        admitted since began one.
        """
        if search.subject is None:
            return True
        return facts.subject == search.subject and facts.epoch <= search.epochs

    def _part(self, search: Search, holds: Sequence[Hold], count: _Count) -> None:
        """What is left of a part of a subject that stays readable."""
        head = self._tables.item(SUBJECTS, f"{search.tenant}#{search.subject}", "HEAD")
        if head is not None and (head["state"]["S"] == "erasing" or int(head["epoch"]["N"]) != search.epoch):
            if head["state"]["S"] == "erasing":
                raise Throttled("the whole subject is being erased; this is verified after it")
            return self._judge_ended(search, holds, count)
        reader = Reader(search.tenant, self._key)
        place = f"{search.tenant}#{search.subject}#{search.epoch}"
        items = list(self._tables.partition(MEMORIES, place))
        memories = [facts for item in items if (facts := reader.facts(MEMORIES, item)) is not None]
        newest = {facts.memory_id: facts for facts in memories if facts.kind is not None}
        gone = self._gone(search, newest.values())
        for item, facts in zip(items, memories, strict=True):
            judged = newest.get(facts.memory_id) or facts
            if not self._wanted(search, judged) and facts.memory_id not in gone:
                continue
            kept = explained(holds, lambda subject, memory_id: newest.get(memory_id), facts)
            if kept or self._still(search, facts, item):
                (count.held if kept else count.remaining)[MEMORIES] += 1
        if isinstance(search.scope, OneSession):
            self._session(search, holds, reader, place, count)
        self._answers(search, gone | {facts.memory_id for facts in memories if self._wanted(search, facts)}, count)
        return None

    def _judge_ended(self, search: Search, holds: Sequence[Hold], count: _Count) -> None:
        """The epoch was erased as a whole since: nothing of it may be left."""
        whole = Search(search.tenant, search.subject, WholeSubject(), search.epoch, 0, search.until)
        self._judge(whole, holds, self._partitions(whole, search.epoch), count)

    def _gone(self, search: Search, newest: Iterable[Facts]) -> set[str | None]:
        """Memories that rest on erased ones, as far as those are known by id."""
        erased = set(search.scope.memory_ids) if isinstance(search.scope, TheseMemories) else set[str]()
        known = list(newest)
        before = -1
        while len(erased) > before:
            before = len(erased)
            erased |= {facts.memory_id or "" for facts in known if not erased.isdisjoint(facts.sources)}
        return set(erased)

    def _wanted(self, search: Search, facts: Facts) -> bool:
        if isinstance(search.scope, MemoriesWithin) and facts.created_at is not None:
            return facts.created_at <= search.until and within(search.scope, facts)
        return within(search.scope, facts)

    def _still(self, search: Search, facts: Facts, item: Item) -> bool:
        """Whether it is there at a second look: items of one memory are not read in one moment."""
        return self._tables.item(MEMORIES, str(item["pk"]["S"]), str(item["sk"]["S"])) is not None

    def _session(self, search: Search, holds: Sequence[Hold], reader: Reader, place: str, count: _Count) -> None:
        for store in (SESSIONS, ENTITIES):
            for item in self._tables.partition(store, place):
                facts = reader.facts(store, item)
                if facts is not None and self._wanted(search, facts):
                    kept = explained(holds, lambda subject, memory_id: None, facts)
                    (count.held if kept else count.remaining)[store] += 1

    def _answers(self, search: Search, gone: set[str | None], count: _Count) -> None:
        """Stored answers that speak of what is gone."""
        reader = Reader(search.tenant, self._key)
        subject = search.subject or ""
        for item in self._tables.partition(SUBJECTS, f"{search.tenant}#{subject}"):
            about = str(item["about"]["S"]) if "about" in item else "[]"
            names = {str(name) for name in json.loads(about)}
            sessions = {name.removeprefix("session:") for name in names if name.startswith("session:")}
            hidden = {reader.hidden(subject, session_id) for session_id in sessions}
            of_session = isinstance(search.scope, OneSession) and search.scope.session in hidden
            if of_session or not names.isdisjoint(gone):
                count.remaining[ANSWERS] += 1

    def _index(self, search: Search, holds: Sequence[Hold], count: _Count) -> None:
        if self._entries is None:
            return
        self._entries.settle()
        reader = Reader(search.tenant, self._key)
        whole = isinstance(search.scope, WholeSubject | WholeTenant)
        for facts in self._entries.of(search.tenant, search.subject):
            if whole:
                left = self._ended(search, facts)
            elif facts.memory_id is None or facts.epoch != search.epoch:
                left = False
            else:
                session = None if facts.session is None else reader.hidden(facts.subject, facts.session)
                left = self._wanted(search, _with_session(facts, session)) and not self._kept(search, holds, facts)
            if left:
                count.remaining["index"] += 1

    def _kept(self, search: Search, holds: Sequence[Hold], facts: Facts) -> bool:
        """Whether the entry's row stands because of a hold: then it may stay, as the subject can still be read."""
        row = self._tables.item(MEMORIES, f"{search.tenant}#{search.subject}#{search.epoch}", f"MEM#{facts.memory_id}")
        read = None if row is None else Reader(search.tenant, self._key).facts(MEMORIES, row)
        return read is not None and explained(holds, lambda subject, memory_id: read, read)


def _with_session(facts: Facts, session: str | None) -> Facts:
    return Facts(facts.store, facts.subject, facts.epoch, facts.memory_id, facts.kind, facts.created_at, session)


def _seen(count: _Count, cursor: str | None) -> Seen:
    return Seen(tuple(sorted(count.remaining.items())), tuple(sorted(count.held.items())), cursor)
