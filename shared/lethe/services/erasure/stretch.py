"""What one call of a deleting step brought."""

from __future__ import annotations

from lethe.domain.erasure import StepName
from lethe.domain.immutable import immutable


@immutable
class Counted:
    """What there is to delete, by the step that deletes it, and how many a hold keeps; ``unreadable`` is whether nobody
    can read any of it any more, ``owed`` as of an ``Erasure``.
    """

    done: bool
    found: tuple[tuple[StepName, int], ...] = ()
    cursor: str | None = None
    unreadable: bool = True
    held: int = 0
    owed: tuple[str, ...] = ()


@immutable
class Deleted:
    """How many items went, which holds kept some, what is owed, and where it goes on."""

    done: bool
    deleted: int = 0
    holds: tuple[str, ...] = ()
    cursor: str | None = None
    owed: tuple[str, ...] = ()
