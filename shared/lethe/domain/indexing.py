"""What goes into the search index, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from lethe.domain.identity import Space
from lethe.domain.memory import Memory


@dataclass(frozen=True, slots=True)
class Put:
    """The entry of ``memory`` shall stand as the memory does."""

    space: Space
    memory: Memory

    @property
    def memory_id(self) -> str:
        """The memory's id."""
        return self.memory.id


@dataclass(frozen=True, slots=True)
class Remove:
    """There shall be no entry of this memory. ``version`` is the newest that is known to have been, or None."""

    space: Space
    memory_id: str
    version: int | None = None


Change: TypeAlias = Put | Remove


class Outcome(StrEnum):
    """What became of a change.

    ``superseded``: the index already shows a later version. ``retry``: the index did not take it now. ``refused``: it
    never will take it as it is.
    """

    APPLIED = "applied"
    SUPERSEDED = "superseded"
    RETRY = "retry"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Indexed:
    """An entry of the index, as the reconciler compares it with the table."""

    space: Space
    memory_id: str
    version: int
