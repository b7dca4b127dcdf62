"""The verifier: every table and the index, looked through for what should be gone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from lethe.adapters.inspection.ended import Count, Ended, nothing
from lethe.adapters.inspection.heads import Heads
from lethe.adapters.inspection.index import Entries
from lethe.adapters.inspection.judgement import ENTITIES, MEMORIES, SESSIONS, SUBJECTS, Facts, Reader
from lethe.adapters.inspection.parts import Part
from lethe.adapters.inspection.tables import Tables
from lethe.domain.erasure import WholeSubject, WholeTenant
from lethe.domain.holds import Hold
from lethe.errors import SubjectErasing
from lethe.ports import Search, Seen, TimeLeft

TABLES: Final = (SUBJECTS, SESSIONS, ENTITIES, MEMORIES)
TO_GO_ON: Final = 30.0
"""Seconds that must be left for another round of segments, or for the index, which may have to be waited for."""
_AT_ONCE: Final = 4


class Inspector:
    """``Verifier``. With ``whole_tables`` the erasure of a whole subject is verified by scans of all tables, which also
    find what lies where it should not; else, for parts of a subject, and for one of whom nothing was known, by its
    partitions. That of a tenant, whose subjects nothing lists but the tables themselves, is always verified by scans.
    """

    def __init__(self, tables: Tables, entries: Entries | None, key: bytes, whole_tables: bool) -> None:
        self._tables = tables
        self._entries = entries
        self._key = key
        self._whole_tables = whole_tables

    def method(self, search: Search) -> str:
        """How it looks."""
        return "table_scan" if self._scans(search) else "partition_query"

    def _scans(self, search: Search) -> bool:
        if isinstance(search.scope, WholeTenant):
            return True
        return self._whole_tables and search.known and isinstance(search.scope, WholeSubject)

    def look(self, search: Search, holds: Sequence[Hold], cursor: str | None, time_left: TimeLeft) -> Seen:
        """Tables stretch by stretch, then the index. Raises Unavailable or Throttled."""
        count = nothing()
        if isinstance(search.scope, WholeSubject | WholeTenant):
            cursor = self._whole(search, holds, cursor, time_left, count)
        else:
            cursor = None
            self._part(search, holds, count)
        return Seen(tuple(sorted(count.remaining.items())), tuple(sorted(count.held.items())), cursor)

    def _whole(
        self, search: Search, holds: Sequence[Hold], cursor: str | None, time_left: TimeLeft, count: Count
    ) -> str | None:
        """Where to go on, None at the end."""
        ended = Ended(search, Heads(self._tables, search.tenant), holds)
        if self._scans(search):
            cursor = self._scan(search, ended, cursor, time_left, count)
            if cursor is not None:
                return cursor
        else:
            self._count(search, ended, self._partitions(search, range(1, search.epochs + 1)), count)
        self._count_entries(search, ended, count)
        return None

    def _scan(self, search: Search, ended: Ended, cursor: str | None, time_left: TimeLeft, count: Count) -> str | None:
        """Segments of one table after the other, some at once; where to go on, None when only the index is left."""
        place: dict[str, int] = json.loads(cursor) if cursor is not None else {"table": 0, "segment": 0, "of": 0}
        for number in range(place["table"], len(TABLES)):
            store = TABLES[number]
            segments = place["of"] or self._tables.segments(store)
            first, place = place["segment"], {"table": number + 1, "segment": 0, "of": 0}
            for segment in range(first, segments, _AT_ONCE):
                some = range(segment, min(segment + _AT_ONCE, segments))
                self._segments(search, ended, store, some, segments, count)
                if time_left() < TO_GO_ON:
                    return json.dumps({"table": number, "segment": some.stop, "of": segments})
        return None

    def _segments(self, search: Search, ended: Ended, store: str, some: range, segments: int, count: Count) -> None:
        def one(segment: int) -> Count:
            part = nothing()
            reader = Reader(search.tenant, self._key)
            found = (reader.facts(store, item) for item in self._tables.scan(store, segment, segments))
            self._count(search, ended, (facts for facts in found if facts is not None), part)
            return part

        with ThreadPoolExecutor(len(some)) as threads:
            for part in threads.map(one, some):
                count.add(part)

    def _partitions(self, search: Search, epochs: range) -> Iterator[Facts]:
        """The items of some epochs of a subject, and what lies beside its head or in a partition without an epoch."""
        reader = Reader(search.tenant, self._key)
        beside = f"{search.tenant}#{search.subject}"
        for store in TABLES:
            places = [beside] if store == SUBJECTS else [beside, *(f"{beside}#{epoch}" for epoch in epochs)]
            for place in places:
                for item in self._tables.partition(store, place):
                    facts = reader.facts(store, item)
                    if facts is not None:
                        yield facts

    def _count(self, search: Search, ended: Ended, found: Iterator[Facts], count: Count) -> None:
        reader = Reader(search.tenant, self._key)

        def newest(facts: Facts) -> Facts | None:
            """The newest version of the memory, when another segment of the scan holds it."""
            place = f"{search.tenant}#{facts.subject}#{facts.epoch}"
            item = self._tables.item(MEMORIES, place, f"MEM#{facts.memory_id}")
            return None if item is None else reader.facts(MEMORIES, item)

        ended.count(found, newest, count)

    def _count_entries(self, search: Search, ended: Ended, count: Count) -> None:
        if self._entries is None:
            return
        self._entries.settle()
        for group in self._entries.groups(search.tenant, search.subject):
            ended.count_entries(group.subject, group.epoch, group.entries, count)

    def _part(self, search: Search, holds: Sequence[Hold], count: Count) -> None:
        """What is left of a part of a subject that stays readable; where the subject was erased whole since, of the
        epoch that the part was in. Holds may keep some of it in epochs that were erased whole.
        """
        head = Heads(self._tables, search.tenant).now(search.subject or "")
        if head is not None and head.state == "erasing":
            raise SubjectErasing("the whole subject is being erased; this is verified after it")
        part = Part(search, holds, self._tables, self._key)
        ended_epochs = 0 if head is None else min(head.epoch - 1, search.epoch)
        if ended_epochs < search.epoch:
            part.count(self._entries, count)
        else:
            count.remaining.update(self._ended_since(search, holds).remaining)
        if holds:
            part.count_held_unread(range(1, ended_epochs + 1), count)

    def _ended_since(self, search: Search, holds: Sequence[Hold]) -> Count:
        """What is in the epoch that the part was in, which was erased whole since."""
        count = nothing()
        ended_then = Search(search.tenant, search.subject, WholeSubject(), search.epoch, 0, search.until)
        ended = Ended(ended_then, Heads(self._tables, search.tenant), holds)
        self._count(ended_then, ended, self._partitions(ended_then, range(search.epoch, search.epoch + 1)), count)
        self._count_entries(ended_then, ended, count)
        return count
