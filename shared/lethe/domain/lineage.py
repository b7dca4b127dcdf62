"""What rests on what: which memories go when others go, and which lose a part of what they were made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from lethe.domain.immutable import immutable
from lethe.domain.memory import MemoryKind


@immutable
class Lineage:
    """Where a memory comes from, without a word of it.

    ``message_ids`` are the messages that state it, ``context_from`` those whose words its context repeats, and
    ``derived_from`` the memories or messages that it was made of.
    """

    id: str
    version: int
    kind: MemoryKind
    created_at: datetime
    session_id: str | None
    message_ids: tuple[str, ...]
    derived_from: tuple[str, ...]
    context_from: tuple[str, ...]


@immutable
class Consequences:
    """What the erasure of some memories means for the others: those that go too, and those that lose their context.

    ``dropped`` is level by level: what was made of the erased ones, what was made of that, and so on. Whoever deletes
    begins with the last: what is left at any moment can then still be reached.
    """

    dropped: tuple[frozenset[str], ...]
    rebuilt: frozenset[str]


def consequences(lineages: Collection[Lineage], erased: Collection[str]) -> Consequences:
    """What follows from erasing the memories ``erased``.

    Whatever was made of an erased memory is dropped, and what was made of that, even when it was made of others too:
    what of it came from where cannot be told apart. A context is a copy of one message and can be taken off: from
    every memory whose context repeats a message that an erased memory was taken from.
    """
    gone = set(erased)
    levels: list[frozenset[str]] = []
    while level := frozenset(
        lineage.id for lineage in lineages if lineage.id not in gone and not gone.isdisjoint(lineage.derived_from)
    ):
        levels.append(level)
        gone |= level
    messages = set(_messages(lineage for lineage in lineages if lineage.id in gone))
    rebuilt = {
        lineage.id for lineage in lineages if lineage.id not in gone and not messages.isdisjoint(lineage.context_from)
    }
    return Consequences(tuple(levels), frozenset(rebuilt))


def _messages(lineages: Iterable[Lineage]) -> Iterable[str]:
    return (message for lineage in lineages for message in lineage.message_ids)
