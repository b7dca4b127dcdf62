"""Confirmed facts: setting, reading, listing, deleting."""

from __future__ import annotations

from datetime import datetime

from lethe.domain import ids
from lethe.domain.entity import Entity, EntityCategory, guarded
from lethe.domain.holds import HoldTarget, holding
from lethe.domain.idempotency import about_entity, about_value
from lethe.domain.identity import Space, session_of
from lethe.domain.immutable import immutable
from lethe.domain.json_path import JsonPath
from lethe.domain.json_values import JsonValue
from lethe.domain.memory import Origin
from lethe.errors import Forbidden, Held, NotFound
from lethe.ports import Clock, Entities, Holds, IdempotencyRecords, Ids


@immutable
class Fact:
    """An entity as a client sets it."""

    key: str
    value: JsonValue
    category: EntityCategory
    origin: Origin = Origin.USER
    confidence: float = 1.0
    session_id: str | None = None
    sensitive: bool | None = None
    """None: as it stands, and not sensitive when it is new."""
    valid_from: datetime | None = None
    expires_at: datetime | None = None


@immutable
class EntityQuery:
    """Which entities a list returns; None means any. ``equals`` needs ``path``; without it the path must exist."""

    category: EntityCategory | None = None
    origin: Origin | None = None
    session_id: str | None = None
    updated_after: datetime | None = None
    path: JsonPath | None = None
    equals: JsonValue = None
    compares: bool = False
    reveal: bool = True
    """Whether a path may look into sensitive values: a masked value must not be found out by asking."""

    def accepts(self, entity: Entity) -> bool:
        """Whether ``entity`` passes."""
        return (
            (self.category is None or entity.category is self.category)
            and (self.origin is None or entity.origin is self.origin)
            and (self.session_id is None or entity.session_id == self.session_id)
            and (self.updated_after is None or entity.updated_at > self.updated_after)
            and (self.path is None or self._holds(self.path, entity))
        )

    def _holds(self, path: JsonPath, entity: Entity) -> bool:
        return (self.reveal or not entity.sensitive) and path.matches(entity.value, self.equals, self.compares)


class EntityDesk:
    """Use cases on entities."""

    def __init__(
        self,
        entities: Entities,
        answers: IdempotencyRecords,
        holds: Holds,
        clock: Clock,
        new_ids: Ids,
        master_key: bytes,
    ) -> None:
        self._entities = entities
        self._holds = holds
        self._master_key = master_key
        self._answers = answers
        self._clock = clock
        self._ids = new_ids

    def put(self, space: Space, actor: str, fact: Fact, version: int | None, sees_sensitive: bool) -> Entity:
        """Set the value; with ``version`` only if that is the current one. Raises VersionConflict.

        Marking it as sensitive takes stored answers along that show what stood there before. The mark comes off only
        for those who ``sees_sensitive``: Forbidden for others. While a legal hold covers the value it is given no end
        that it did not have, and no earlier one: Held.
        """
        now = self._clock.now()
        unmarks = fact.sensitive is False and sees_sensitive
        if fact.sensitive is False and not sees_sensitive:
            standing = self._entities.get(space, fact.key, fact.session_id, now)
            if standing is not None and standing.sensitive:
                raise Forbidden("sensitive: only a key with the permission govern may set it to false")
        entity = Entity(
            id=self._ids.new(ids.ENTITY),
            key=fact.key,
            value=fact.value,
            category=fact.category,
            origin=fact.origin,
            confidence=fact.confidence,
            version=1,
            actor=actor,
            valid_from=fact.valid_from or now,
            created_at=now,
            updated_at=now,
            session_id=fact.session_id,
            sensitive=bool(fact.sensitive),
            expires_at=fact.expires_at,
        )
        # Kept also where a mark came between the look above and the write.
        held = fact.expires_at is not None and self._is_held(space, fact.session_id)
        stored = self._entities.put(space, entity, version, keep_sensitive=not unmarks, held=held)
        if fact.sensitive:
            self._answers.forget(space, {about_value(fact.key, fact.session_id)})
        return stored

    def get(self, space: Space, key: str, session_id: str | None) -> Entity:
        """The current value. Raises NotFound."""
        entity = self._entities.get(space, key, session_id, self._clock.now())
        if entity is None:
            raise NotFound
        return entity

    def list(self, space: Space, query: EntityQuery) -> tuple[Entity, ...]:
        """All current values that ``query`` accepts, by key."""
        return tuple(entity for entity in self._entities.list(space, self._clock.now()) if query.accepts(entity))

    def history(self, space: Space, key: str, session_id: str | None) -> tuple[Entity, ...]:
        """All versions, oldest first, each as sensitive as any after it. Raises NotFound."""
        versions = self._entities.history(space, key, session_id, self._clock.now())
        if not versions:
            raise NotFound
        return guarded(versions)

    def delete(self, space: Space, key: str, session_id: str | None, version: int | None = None) -> None:
        """Delete value, history and stored answers that show them; deleting what is gone already is no error.

        With ``version`` only if that is the current one. Raises VersionConflict, and Held when a hold keeps it.
        """
        if self._is_held(space, session_id):
            raise Held
        self._entities.delete(space, key, session_id, version)
        self._answers.forget(space, {about_entity(key)})

    def _is_held(self, space: Space, session_id: str | None) -> bool:
        """Whether a hold on everything, or on the session that a value holds in, keeps it."""
        session = None
        if session_id is not None:
            session = session_of(space.tenant, space.subject, session_id, self._master_key)
        holds = self._holds.of_subject(space.tenant, space.subject)
        return bool(holding(holds, HoldTarget(session=session)))
