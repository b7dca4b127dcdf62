"""Entities as items of their table, and back."""

from __future__ import annotations

import json

from lethe.adapters.dynamodb.models import EntityRow
from lethe.domain import keys
from lethe.domain.entity import Entity, EntityCategory
from lethe.domain.identity import Space
from lethe.domain.json_values import canonical
from lethe.domain.memory import Origin
from lethe.domain.times import epoch_seconds
from lethe.errors import TooLarge

MAXIMUM_VALUE_BYTES = 300_000


def entity_row(row: type[EntityRow], space: Space, entity: Entity, sort_key: str | None = None) -> EntityRow:
    """The item of ``entity``: its current version, or the one that ``sort_key`` names. Raises TooLarge."""
    text = canonical(entity.value)
    if len(text.encode()) > MAXIMUM_VALUE_BYTES:
        raise TooLarge(f"value: at most {MAXIMUM_VALUE_BYTES} bytes")
    return row(
        keys.space_partition(space),
        sort_key or keys.entity(entity.key, entity.session_id),
        ttl=None if entity.expires_at is None else epoch_seconds(entity.expires_at),
        id=entity.id,
        key=entity.key,
        session_id=entity.session_id,
        json=text,
        category=entity.category.value,
        origin=entity.origin.value,
        confidence=entity.confidence,
        version=entity.version,
        actor=entity.actor,
        valid_from=entity.valid_from,
        created_at=entity.created_at,
        updated_at=entity.updated_at,
        expires_at=entity.expires_at,
        superseded_at=entity.superseded_at,
        sensitive=entity.sensitive,
    )


def entity_of(row: EntityRow) -> Entity:
    """The entity in an item."""
    return Entity(
        id=row.id,
        key=row.key,
        value=json.loads(row.json),
        category=EntityCategory(row.category),
        origin=Origin(row.origin),
        confidence=row.confidence,
        version=row.version,
        actor=row.actor,
        valid_from=row.valid_from,
        created_at=row.created_at,
        updated_at=row.updated_at,
        session_id=row.session_id,
        sensitive=row.sensitive,
        expires_at=row.expires_at,
        superseded_at=row.superseded_at,
    )
