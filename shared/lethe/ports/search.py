"""The search index as recall asks it, and as those see it who keep it in step with the table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from lethe.domain.identity import Space
from lethe.domain.immutable import immutable
from lethe.domain.indexing import Change, Indexed, Outcome
from lethe.domain.memory import MemoryFilter
from lethe.domain.search import Candidate, SearchQuery
from lethe.ports.common import Page


@immutable
class SearchResult:
    """Candidates of a search, best first, and how many memories the filter let through.

    ``considered`` counts memories that passed the filter; ``stored`` counts all of the space. ``degraded`` says
    that the engine could not answer whole.
    """

    candidates: tuple[Candidate, ...]
    considered: int
    stored: int
    degraded: bool = False


class SearchIndex(Protocol):
    """Finds candidates of a query inside one space; knows nothing of gates and ranks beyond relevance."""

    def search(
        self,
        space: Space,
        query: SearchQuery,
        filters: MemoryFilter,
        now: datetime,
        limit: int,
        as_of: datetime | None = None,
    ) -> SearchResult:
        """The ``limit`` most relevant memories that ``filters`` accepts. A memory acknowledged before the space
        was opened is found.
        """
        ...

    @property
    def engine(self) -> Literal["scan", "opensearch"]:
        """The name that health answers with."""
        ...

    def answers(self) -> bool:
        """Whether the engine itself answers now, beside whatever stands in for it; by what is known, or one look of a
        second.
        """
        ...


class DeadLetter(NamedTuple):
    """A record of the stream that the index will never take: its place, the memory, why. It holds no content."""

    sequence: str
    memory_id: str
    reason: Literal["refused", "unreadable"]


class DeadLetters(Protocol):
    """Keeps what could not be indexed until somebody looks; ``lethe index repair`` brings the index in step."""

    def add(self, letters: Sequence[DeadLetter]) -> None:
        """Keep them. Raises Unavailable: then the batch comes again."""
        ...


class IndexWriter(Protocol):
    """The search index as those see it who keep it in step with the table."""

    def apply(self, changes: Sequence[Change], within: float) -> tuple[Outcome, ...]:
        """Make the entries so; one outcome a change, in order. ``within`` is in seconds.

        Raises Unavailable or Throttled when the index took nothing of a request; some of the changes may be applied
        then, and all may be sent again.
        """
        ...

    def clear(self, space: Space) -> int:
        """Remove every entry of ``space``, also those applied a moment ago; how many went. Raises Unavailable."""
        ...


class IndexUpkeep(IndexWriter, Protocol):
    """One index, as its reconciler sees it, who also reads it."""

    def refresh(self) -> None:
        """Return when everything applied shows in searches; where the engine cannot be asked to, after a while."""
        ...

    def page(self, limit: int, start: str | None) -> Page[Indexed]:
        """Entries of all spaces, in one order, at most ``limit``; what searches see."""
        ...

    def versions(self, space: Space, memory_ids: Sequence[str]) -> dict[str, int]:
        """The version of each entry that stands, whether searches see it yet or not."""
        ...


class Indexes(Protocol):
    """The index of one model, and whether searches see it."""

    def make(self) -> bool:
        """Make the index of this model unless it is there; whether it was made now. Raises InvalidInput when the
        cluster is of a kind that cannot be used.
        """
        ...

    def show(self) -> None:
        """Let searches with vectors of this model see the index, and delete those that nobody writes to any more."""
        ...


class MemoryTable(Protocol):
    """All memories of all spaces: what an index is compared with and built from."""

    def page(self, limit: int, start: str | None) -> Page[Indexed]:
        """Newest versions, those of one space together, at most ``limit``; consistent."""
        ...
