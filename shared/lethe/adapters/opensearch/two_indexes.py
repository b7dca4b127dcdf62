"""The indexes of two models, kept in step at once while one model takes the other's place.

The second one may not be there yet. What it misses then is nothing: whoever makes it fills it from the table
afterwards, and the table has what was written before.
"""

from __future__ import annotations

from collections.abc import Sequence

from lethe.adapters.opensearch.connection import IndexMissing
from lethe.domain.identity import Space
from lethe.domain.indexing import Change, Indexed, Outcome
from lethe.ports import IndexWriter, Page

_WORST = (Outcome.RETRY, Outcome.REFUSED)


class TwoIndexes:
    """``IndexWriter`` of two: a change is done when both have it. What is asked is asked of the first."""

    def __init__(self, first: IndexWriter, second: IndexWriter) -> None:
        self._first = first
        self._second = second

    def apply(self, changes: Sequence[Change], within: float) -> tuple[Outcome, ...]:
        """The worse of both outcomes, each."""
        first = self._first.apply(changes, within)
        try:
            second = self._second.apply(changes, within)
        except IndexMissing:
            return first
        return tuple(map(_worse, first, second))

    def count(self, space: Space) -> int:
        """Of the first."""
        return self._first.count(space)

    def clear(self, space: Space) -> int:
        """Of both."""
        cleared = self._first.clear(space)
        try:
            return cleared + self._second.clear(space)
        except IndexMissing:
            return cleared

    def refresh(self) -> None:
        """Of the first."""
        self._first.refresh()

    def page(self, limit: int, start: str | None) -> Page[Indexed]:
        """Of the first."""
        return self._first.page(limit, start)

    def versions(self, space: Space, memory_ids: Sequence[str]) -> dict[str, int]:
        """Of the first."""
        return self._first.versions(space, memory_ids)


def _worse(one: Outcome, other: Outcome) -> Outcome:
    return next((outcome for outcome in _WORST if outcome in (one, other)), one)
