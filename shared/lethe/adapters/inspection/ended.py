"""What is left of whole subjects: the judgement of every item that bears their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from lethe.adapters.inspection.heads import Head, Heads
from lethe.adapters.inspection.judgement import INDEX, Facts, explained
from lethe.domain.holds import Hold
from lethe.domain.immutable import immutable
from lethe.ports import Search


@immutable
class Count:
    """What a stretch found, by store."""

    remaining: Counter[str]
    held: Counter[str]

    def add(self, other: Count) -> None:
        """Add what another stretch found."""
        self.remaining.update(other.remaining)
        self.held.update(other.held)


def nothing() -> Count:
    """A count that has not begun."""
    return Count(Counter(), Counter())


class Judgement(Enum):
    """What an item is to an erasure: none of its business, left of an epoch that it ended, or where nothing may be."""

    OTHER, LEFT, ASTRAY = range(3)


Find = Callable[[Facts], Facts | None]


class Ended:
    """Judges items of one look. ``epochs`` narrows it to a single epoch that another erasure has ended since."""

    def __init__(self, search: Search, heads: Heads, holds: Sequence[Hold]) -> None:
        self._search = search
        self._heads = heads
        self._holds = holds
        self._fenced = search.subject is None and heads.tenant_is_fenced()

    def count(self, found: Iterable[Facts], find: Find, into: Count) -> None:
        """Count what is left; what a hold explains apart from the rest. ``find`` gives the newest version of the memory
        that an item belongs to, where it was not among ``found``.
        """
        judged = [(facts, judgement) for facts in found if (judgement := self.judgement(facts)) is not Judgement.OTHER]
        newest = {_named(facts): facts for facts, _ in judged if facts.is_newest}
        for facts, judgement in judged:
            kept = judgement is Judgement.LEFT and explained(
                self._holds,
                facts,
                lambda each: newest.get(_named(each)) or find(each),
            )
            (into.held if kept else into.remaining)[facts.store] += 1

    def count_entries(self, subject: str, epoch: int | None, entries: int, into: Count) -> None:
        """Count entries of the index, which no hold keeps."""
        if self.judgement(Facts(INDEX, subject, epoch)) is not Judgement.OTHER:
            into.remaining[INDEX] += entries

    def judgement(self, facts: Facts) -> Judgement:
        """What the item is. An epoch that the erasure of a subject ended is left over by its number alone.

        Of other epochs nothing is counted that a reader may see or another erasure is about. But in an epoch that no
        writer was ever let into nothing may be: who is admitted later would find it there.
        """
        subject = self._search.subject
        if subject is not None and facts.subject != subject:
            return Judgement.OTHER
        if facts.epoch is None:
            return Judgement.ASTRAY
        if subject is not None and facts.epoch <= self._search.epochs:
            return Judgement.LEFT
        judgement = self._beyond(facts.epoch, self._heads.seen(facts.subject))
        if judgement is Judgement.ASTRAY:  # unless the subject was admitted since its head was seen
            judgement = self._beyond(facts.epoch, self._heads.now(facts.subject))
        return judgement

    def _beyond(self, epoch: int, head: Head | None) -> Judgement:
        if head is None or epoch > head.epoch:
            return Judgement.ASTRAY
        if epoch < head.epoch:
            return Judgement.LEFT if self._search.subject is None else Judgement.OTHER
        return Judgement.OTHER if head.is_active and not self._fenced else Judgement.ASTRAY


def _named(facts: Facts) -> tuple[str, int | None, str | None]:
    return facts.subject, facts.epoch, facts.memory_id
