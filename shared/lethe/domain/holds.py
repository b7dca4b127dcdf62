"""Legal holds: what must not be deleted while they stand."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from lethe.domain.erasure import Erasure, MemoriesWithin, OneSession, Scope, TheseMemories
from lethe.domain.immutable import immutable
from lethe.domain.memory import MemoryKind


@immutable
class Hold:
    """A named hold on records of one subject. ``scope`` is any but a tenant's; sessions are named by keyed hash."""

    name: str
    subject: str
    scope: Scope
    created_at: datetime


@immutable
class HoldTarget:
    """What a record is, as far as a hold asks: a memory's id, kind and creation, the keyed hash of a session.

    None means that it has none: an entity of the subject's own has no session, a message no memory.
    """

    memory_id: str | None = None
    kind: MemoryKind | None = None
    created_at: datetime | None = None
    session: str | None = None


def covers(scope: Scope, record: HoldTarget) -> bool:
    """Whether ``record`` is within ``scope``; the tenant and the subject are known to be the same."""
    if isinstance(scope, OneSession):
        return record.session == scope.session
    if isinstance(scope, TheseMemories):
        return record.memory_id in scope.memory_ids
    if isinstance(scope, MemoriesWithin):
        return (
            record.memory_id is not None
            and record.kind is not None
            and record.created_at is not None
            and (not scope.kinds or record.kind in scope.kinds)
            and (scope.created_after is None or record.created_at > scope.created_after)
            and (scope.created_before is None or record.created_at < scope.created_before)
        )
    return True


def still_keeps(hold: Hold | None, erasure: Erasure) -> bool:
    """Whether the hold that stands under a name now is the one that kept something from ``erasure``, and not another
    that was given the name since.
    """
    return (
        hold is not None
        and erasure.subject in (None, hold.subject)
        and (erasure.ended_at is None or hold.created_at <= erasure.ended_at)
    )


def holding(holds: Iterable[Hold], record: HoldTarget) -> frozenset[str]:
    """The names of all holds that cover ``record``; of one that is nothing in particular, the holds on everything."""
    return frozenset(hold.name for hold in holds if covers(hold.scope, record))
