"""Deleting whole epochs of a subject: every item of its partitions, except what a hold covers.

Keys come from consistent queries of the partition itself, never from an index or a list that somebody kept. While a
page is deleted the next one is read. What a call has read and not deleted is forgotten with it, so one that is cut
short has only to be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from lethe.adapters.dynamodb.database import Database
from lethe.adapters.dynamodb.failures import Item
from lethe.adapters.dynamodb.models import Row
from lethe.domain import keys
from lethe.domain.holds import Hold, HoldTarget, holding
from lethe.domain.identity import Space, session_of
from lethe.domain.keys import KeyRange
from lethe.domain.memory import MemoryKind
from lethe.ports import Purged, Stock, TimeLeft

TO_GO_ON: Final = 5.0
"""Seconds that must be left for one more page."""

_PAGE: Final = 1_000
"""Items of a page: 40 calls that delete them, which take longer than one that reads as many."""

Keeps = Callable[[Item], frozenset[str]]
"""The holds that cover an item."""


class DynamoPurge:
    """``Purge`` on the data tables."""

    def __init__(self, database: Database, master_key: bytes) -> None:
        self._database = database
        self._master_key = master_key

    def count(self, space: Space) -> Stock:
        """Four counts at once."""
        models, partition = self._database.models, keys.space_partition(space)
        answers = keys.beginning_with(keys.answers(space.epoch))
        ranges: list[tuple[type[Row], str, KeyRange]] = [
            (models.memory, partition, keys.everything()),
            (models.entity, partition, keys.everything()),
            (models.session, partition, keys.everything()),
            (models.answer, keys.subject_partition(space.tenant, space.subject), answers),
        ]
        return Stock(*self._database.at_once(lambda one: self._database.count(*one), ranges))

    def memories(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        """The partition in the table of memories. What belongs to a held memory stays with it; a hold on everything
        keeps whatever is there.
        """
        row, partition = self._database.models.memory, keys.space_partition(space)
        if not holds:
            return self._purge(row, partition, keys.everything(), time_left)
        described = ("id", "kind", "created_at", "session_id")
        rows = self._database.query(row, partition, keys.beginning_with(keys.MEMORIES), attributes=described)
        held = {str(item["id"]["S"]): holding(holds, self._memory(space, item)) for item in rows}
        everything = holding(holds, HoldTarget())
        return self._purge(
            row,
            partition,
            keys.everything(),
            time_left,
            lambda item: held.get(_memory_of(item) or "", everything),
            ("sk", "memory_id"),
        )

    def _memory(self, space: Space, item: Item) -> HoldTarget:
        session = item.get("session_id")
        return HoldTarget(
            str(item["id"]["S"]),
            MemoryKind(item["kind"]["S"]),
            datetime.fromisoformat(item["created_at"]["S"]),
            self._session(space, str(session["S"])) if session else None,
        )

    def entities(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        """The partition in the table of entities. Values that hold in a session are held with it."""
        row, partition = self._database.models.entity, keys.space_partition(space)
        keeps = self._keeps(space, holds, keys.entity_session)
        return self._purge(row, partition, keys.everything(), time_left, keeps)

    def sessions(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        """The partition in the table of sessions."""
        row, partition = self._database.models.session, keys.space_partition(space)
        keeps = self._keeps(space, holds, keys.session_named_in)
        return self._purge(row, partition, keys.everything(), time_left, keeps)

    def answers(self, space: Space, time_left: TimeLeft) -> Purged:
        """The stored answers of the epoch, in the subject's own partition."""
        row, partition = self._database.models.answer, keys.subject_partition(space.tenant, space.subject)
        return self._purge(row, partition, keys.beginning_with(keys.answers(space.epoch)), time_left)

    def _keeps(self, space: Space, holds: Sequence[Hold], session_in: Callable[[str], str | None]) -> Keeps | None:
        """Which items holds on a session, or on everything, cover."""
        if not holds:
            return None
        known: dict[str | None, frozenset[str]] = {None: holding(holds, HoldTarget())}

        def keeps(item: Item) -> frozenset[str]:
            session_id = session_in(str(item["sk"]["S"]))
            if session_id not in known:
                assert session_id is not None  # it is known
                known[session_id] = holding(holds, HoldTarget(session=self._session(space, session_id)))
            return known[session_id]

        return keeps

    def _session(self, space: Space, session_id: str) -> str:
        return session_of(space.tenant, space.subject, session_id, self._master_key)

    def _purge(
        self,
        row: type[Row],
        partition: str,
        within: KeyRange,
        time_left: TimeLeft,
        keeps: Keeps | None = None,
        attributes: Sequence[str] = ("sk",),
    ) -> Purged:
        """Delete page after page while there is time, one at least; the next one is read beside."""
        deleted, held = 0, set[str]()
        pages = self._database.pages(row, partition, within, limit=_PAGE, attributes=attributes)
        items = next(pages, None)
        while items is not None:
            keeping = [frozenset[str]() if keeps is None else keeps(item) for item in items]
            held = held.union(*keeping)
            goes = [item for item, names in zip(items, keeping, strict=True) if not names]
            following = self._database.delete_beside(row, _places(partition, goes), lambda: next(pages, None))
            deleted += len(goes)
            if following is not None and time_left() < TO_GO_ON:
                return Purged(deleted, done=False, holds=frozenset(held))
            items = following
        return Purged(deleted, done=True, holds=frozenset(held))


def _places(partition: str, items: Iterable[Item]) -> list[tuple[str, str]]:
    return [(partition, str(item["sk"]["S"])) for item in items]


def _memory_of(item: Item) -> str | None:
    """The memory that an item of the memories table belongs to; None for one with a key that Lethe does not give."""
    if "memory_id" in item:
        return str(item["memory_id"]["S"])
    sort_key = str(item["sk"]["S"])
    return keys.memory_named_in(sort_key) if sort_key.startswith((keys.MEMORIES, keys.OLD_MEMORIES)) else None
