"""The indexes of two models, kept in step at once while one model takes the other's place.

The second one may not be there yet. What it misses then is nothing: whoever makes it fills it from the table
afterwards, and the table has what was written before.
"""

from __future__ import annotations

from collections.abc import Sequence

from lethe.adapters.opensearch.connection import IndexMissing
from lethe.domain.identity import Space
from lethe.domain.indexing import Change, Outcome
from lethe.ports import IndexWriter

_WORST = (Outcome.RETRY, Outcome.REFUSED)


class TwoIndexes:
    """``IndexWriter`` of two: a change is done when both have it."""

    def __init__(self, first: IndexWriter, second: IndexWriter) -> None:
        self._first = first
        self._second = second

    def apply(self, changes: Sequence[Change], within: float) -> tuple[Outcome, ...]:
        """The worse of both outcomes, each. Each index may take half of the time."""
        first = self._first.apply(changes, within / 2)
        try:
            second = self._second.apply(changes, within / 2)
        except IndexMissing:
            return first
        return tuple(map(_worse, first, second))

    def clear(self, space: Space) -> int:
        """Of both."""
        cleared = self._first.clear(space)
        try:
            return cleared + self._second.clear(space)
        except IndexMissing:
            return cleared


def _worse(one: Outcome, other: Outcome) -> Outcome:
    return next((outcome for outcome in _WORST if outcome in (one, other)), one)
