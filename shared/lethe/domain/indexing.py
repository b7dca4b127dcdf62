"""What goes into the search index, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
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


@dataclass(frozen=True, slots=True)
class Mark:
    """The index has come as far as the write ``written`` of this space: that one and all before it are applied.

    ``changed_at`` is the time of what came with it: where it is not the newest write, what is newer is looked for from
    that time on.
    """

    space: Space
    written: str
    changed_at: datetime


def write_mark(token: str, memories: int) -> str:
    """The mark of a write that wrote ``memories`` memories at once; ``token`` is one that no other write has."""
    return f"{token}.{memories}"


def memories_marked(mark: str) -> int:
    """How many memories carry ``mark``. Raises ValueError when it is none."""
    return int(mark.rpartition(".")[2])


Change: TypeAlias = Put | Remove | Mark


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
