"""Operations on entities."""

from __future__ import annotations

from collections.abc import Callable

from lethe.entry.api.entities import (
    EntitiesOut,
    EntityHistory,
    EntityOut,
    EntityVersionsOut,
    ListEntities,
    PutEntity,
    ReadEntity,
)
from lethe.entry.call import Answer, Call
from lethe.entry.cursor import Cursors
from lethe.entry.operations.common import require_vouched, version_seen
from lethe.entry.sizes import fitting
from lethe.errors import InvalidInput
from lethe.ports import Clock
from lethe.services.entities import EntityDesk
from lethe.services.spaces import Spaces

Operations = dict[str, Callable[[Call], Answer]]


class EntityWrites:
    """Operations of the function ``write``."""

    def __init__(self, spaces: Spaces, desk: EntityDesk, clock: Clock) -> None:
        self._spaces = spaces
        self._desk = desk
        self._clock = clock

    def operations(self) -> Operations:
        """By the names that the routes use."""
        return {"put_entity": self.put, "delete_entity": self.delete}

    def put(self, call: Call) -> Answer:
        """Set a confirmed fact."""
        body = call.body_as(PutEntity)
        if body.expires_at is not None and body.expires_at <= self._clock.now():
            raise InvalidInput.of("expires_at", "must be in the future")
        require_vouched(call.caller, body.origin)
        version = version_seen(body.version, call.if_match)
        space = self._spaces.for_writing(call.caller, call.user_id)
        sees = call.caller.may_see_sensitive()
        entity = self._desk.put(space, call.caller.actor, body.fact(call.path["key"]), version, sees)
        out = EntityOut.of(entity, call.user_id, reveal=True)
        return Answer(201 if entity.version == 1 else 200, out)

    def delete(self, call: Call) -> Answer:
        """Delete a confirmed fact; deleting what is not there is the same."""
        query = call.query_as(ReadEntity)
        space = self._spaces.for_changing(call.caller, call.user_id)
        self._desk.delete(space, call.path["key"], query.session_id, call.if_match)
        return Answer(204)


class EntityReads:
    """Operations of the function ``recall``."""

    def __init__(self, spaces: Spaces, desk: EntityDesk, cursors: Cursors) -> None:
        self._spaces = spaces
        self._desk = desk
        self._cursors = cursors

    def operations(self) -> Operations:
        """By the names that the routes use."""
        return {"get_entity": self.get, "list_entities": self.list, "entity_history": self.history}

    def get(self, call: Call) -> Answer:
        """The current value."""
        query = call.query_as(ReadEntity)
        space = self._spaces.for_reading(call.caller, call.user_id)
        entity = self._desk.get(space, call.path["key"], query.session_id)
        return Answer(200, EntityOut.of(entity, call.user_id, call.caller.may_see_sensitive()))

    def list(self, call: Call) -> Answer:
        """A page of current values, by key."""
        query = call.query_as(ListEntities)
        space = self._spaces.for_reading(call.caller, call.user_id)
        asked = query.model_dump(exclude={"cursor", "limit", "user_id"}, exclude_none=True)
        binding = {"list": "entities", "subject": space.subject}
        binding |= {name: str(value) for name, value in asked.items()}
        start = self._cursors.read(query.cursor, call.caller, binding)
        reveal = call.caller.may_see_sensitive()
        matching = [
            entity
            for entity in self._desk.list(space, query.query(reveal))
            if start is None or f"{entity.key}#{entity.session_id or ''}" > start
        ]
        page = [EntityOut.of(entity, call.user_id, reveal) for entity in matching[: query.limit]]
        page = page[: fitting(page)]
        last = page[-1] if len(matching) > len(page) else None
        next_key = f"{last.key}#{last.session_id or ''}" if last else None
        return Answer(
            200,
            EntitiesOut(
                entities=page,
                next_cursor=self._cursors.write(next_key, call.caller, binding),
            ),
        )

    def history(self, call: Call) -> Answer:
        """All versions."""
        query = call.query_as(EntityHistory)
        space = self._spaces.for_reading(call.caller, call.user_id)
        key, reveal = call.path["key"], call.caller.may_see_sensitive()
        binding = {"list": "history", "subject": space.subject, "key": key, "session": query.session_id}
        start = int(self._cursors.read(query.cursor, call.caller, binding) or 0)
        versions = [
            EntityOut.of(version, call.user_id, reveal)
            for version in self._desk.history(space, key, query.session_id)
            if version.version > start
        ]
        page = versions[: fitting(versions)]
        next_key = str(page[-1].version) if len(page) < len(versions) else None
        return Answer(
            200,
            EntityVersionsOut(versions=page, next_cursor=self._cursors.write(next_key, call.caller, binding)),
        )
