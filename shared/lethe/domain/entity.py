"""Entities: confirmed facts, one current value per subject and key, each change a version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonValue
from lethe.domain.memory import Origin


class EntityCategory(StrEnum):
    """What sort of fact an entity is."""

    PREFERENCE = "preference"
    COMMITMENT = "commitment"
    PROFILE = "profile"
    PARAMETER = "parameter"


@immutable
class Entity:
    """One version of one confirmed fact. ``session_id`` set: it holds in that session only."""

    id: str
    key: str
    value: JsonValue
    category: EntityCategory
    origin: Origin
    confidence: float
    version: int
    actor: str
    valid_from: datetime
    created_at: datetime
    updated_at: datetime
    session_id: str | None = None
    sensitive: bool = False
    expires_at: datetime | None = None
    superseded_at: datetime | None = None
    """When a newer version took this one's place; None on the current one."""

    def expired(self, now: datetime) -> bool:
        """Whether nobody may read it any more, though DynamoDB may still hold it."""
        return self.expires_at is not None and self.expires_at <= now

    def outlasts(self, other: Entity) -> bool:
        """Whether it expires later than ``other``; what has no end outlasts all that has one."""
        if other.expires_at is None:
            return False
        return self.expires_at is None or self.expires_at > other.expires_at

    def begun(self, moment: datetime) -> bool:
        """Whether it holds from ``moment`` or before."""
        return self.valid_from <= moment


def guarded(versions: Sequence[Entity]) -> tuple[Entity, ...]:
    """``versions`` of one entity, oldest first, each as sensitive as any that came after it.

    Whoever marks a value as sensitive means what stood there before as well. Taking the mark off again is said of the
    new version alone.
    """
    shown: list[Entity] = []
    hidden = False
    for version in reversed(versions):
        hidden = hidden or version.sensitive
        shown.append(version if version.sensitive is hidden else replace(version, sensitive=True))
    return tuple(reversed(shown))


def held_at(versions: Sequence[Entity], moment: datetime) -> Entity | None:
    """The version that holds at ``moment``: the newest of those that have begun by then; None when it has expired.

    ``versions`` are those of one entity, oldest first. One that has expired may be missing among them: what stands
    before such a gap ended when the next version took over. The answer is guarded.
    """
    following: Entity | None = None
    for version in reversed(guarded(versions)):
        if version.begun(moment):
            gap = following is not None and following.version > version.version + 1
            ended = gap and version.superseded_at is not None and version.superseded_at <= moment
            return None if ended or version.expired(moment) else version
        following = version
    return None
