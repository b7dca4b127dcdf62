"""Entities: bodies, queries and answers."""

from __future__ import annotations

from typing import Final, Self

from pydantic import Field, JsonValue, model_validator
from pydantic_core import from_json

from lethe.domain.entity import Entity, EntityCategory
from lethe.domain.json_path import JsonPath
from lethe.domain.memory import Origin
from lethe.entry.api.types import (
    Body,
    ClientId,
    Cursor,
    EntityValue,
    Fraction,
    Limit,
    Out,
    Query,
    Time,
    TimeOut,
    UserId,
    Version,
    refused,
)
from lethe.services.entities import EntityQuery, Fact

_EXPIRES_AT: Final = (
    "The first moment at which nobody can read it. While a legal hold covers a value, a change may neither give it an "
    "end that it did not have nor an earlier one: 409."
)


class PutEntity(Body):
    """The value of an entity, and what is known about it."""

    user_id: UserId | None = None
    value: EntityValue
    category: EntityCategory
    origin: Origin = Origin.USER
    confidence: Fraction = 1.0
    session_id: ClientId | None = None
    version: Version | None = None
    sensitive: bool | None = None
    valid_from: Time | None = None
    expires_at: Time | None = Field(default=None, description=_EXPIRES_AT)

    def fact(self, key: str) -> Fact:
        """The same for the service."""
        return Fact(
            key=key,
            value=self.value,
            category=self.category,
            origin=self.origin,
            confidence=self.confidence,
            session_id=self.session_id,
            sensitive=self.sensitive,
            valid_from=self.valid_from,
            expires_at=self.expires_at,
        )


class ReadEntity(Query):
    """An entity of the subject, or with ``session_id`` one that holds in that session only."""

    user_id: UserId | None = None
    session_id: ClientId | None = None


class EntityHistory(ReadEntity):
    """As ``ReadEntity``; ``cursor`` goes on where one answer could not carry more versions."""

    cursor: Cursor | None = None


class ListEntities(Query):
    """Which entities to list. ``equals`` is JSON (``42``, ``"blue"``, ``true``)."""

    user_id: UserId | None = None
    category: EntityCategory | None = None
    origin: Origin | None = None
    session_id: ClientId | None = None
    updated_after: Time | None = None
    path: str | None = Field(default=None, min_length=1, max_length=256)
    equals: str | None = Field(default=None, min_length=1, max_length=4_096)
    limit: Limit = 50
    cursor: Cursor | None = None

    @model_validator(mode="after")
    def _comparable(self) -> Self:
        if self.equals is not None and self.path is None:
            raise refused("needs a path that it is compared at", "equals")
        self.query(reveal=False)
        return self

    def query(self, reveal: bool) -> EntityQuery:
        """The same for the service; sensitive values are compared only when they may be seen."""
        return EntityQuery(
            reveal=reveal,
            category=self.category,
            origin=self.origin,
            session_id=self.session_id,
            updated_after=self.updated_after,
            path=_path(self.path) if self.path is not None else None,
            equals=_json(self.equals) if self.equals is not None else None,
            compares=self.equals is not None,
        )


def _path(text: str) -> JsonPath:
    try:
        return JsonPath.parse(text)
    except ValueError as error:
        raise refused(str(error), "path") from None


def _json(text: str) -> JsonValue:
    try:
        value: JsonValue = from_json(text, allow_inf_nan=False)
    except ValueError:
        raise refused('must be JSON, such as 42, "blue" or true', "equals") from None
    return value


class EntityOut(Out):
    """An entity as it is answered. ``masked``: the value is sensitive and the key may not see it."""

    id: str
    key: str
    user_id: str | None
    value: JsonValue
    masked: bool
    category: EntityCategory
    origin: Origin
    confidence: float
    session_id: str | None
    version: int
    sensitive: bool
    actor: str
    valid_from: TimeOut
    expires_at: TimeOut | None
    created_at: TimeOut
    updated_at: TimeOut

    @classmethod
    def of(cls, entity: Entity, user_id: str | None, reveal: bool) -> EntityOut:
        """The entity; its value is null when it is sensitive and not to be revealed."""
        masked = entity.sensitive and not reveal
        return cls.model_validate(
            {
                "id": entity.id,
                "key": entity.key,
                "user_id": user_id,
                "value": None if masked else entity.value,
                "masked": masked,
                "category": entity.category,
                "origin": entity.origin,
                "confidence": entity.confidence,
                "session_id": entity.session_id,
                "version": entity.version,
                "sensitive": entity.sensitive,
                "actor": entity.actor,
                "valid_from": entity.valid_from,
                "expires_at": entity.expires_at,
                "created_at": entity.created_at,
                "updated_at": entity.updated_at,
            }
        )


class EntitiesOut(Out):
    """A page of entities, by key."""

    entities: list[EntityOut]
    next_cursor: str | None


class EntityVersionsOut(Out):
    """Versions of an entity, oldest first; all of them, unless that is more than one answer carries."""

    versions: list[EntityOut]
    next_cursor: str | None
