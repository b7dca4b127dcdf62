"""Entities: confirmed facts that an agent uses as they are."""

import json
from collections.abc import Iterator

from lethe_client.fields import Fields, When, time_text
from lethe_client.inputs import Category, Origin
from lethe_client.json_types import JsonInput
from lethe_client.models import Entity, Page
from lethe_client.paging import every, page_of
from lethe_client.transport import Call, Transport, path_of


class Entities:
    """Writes and reads entities. `user_id` may be left out with a key for exactly one user.

    With a `session_id`, the entity is one that holds in that session only.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def put(
        self,
        key: str,
        value: JsonInput,
        *,
        category: Category,
        user_id: str | None = None,
        origin: Origin | None = None,
        confidence: float | None = None,
        session_id: str | None = None,
        version: int | None = None,
        sensitive: bool | None = None,
        valid_from: When | None = None,
        expires_at: When | None = None,
        idempotency_key: str | None = None,
    ) -> Entity:
        """Set the value of a key: a new entity, or a new version of the one there is.

        A changing caller names the `version` that it saw.

        Raises:
            VersionConflictError: the version is not the current one.
        """
        body: dict[str, object] = {
            "user_id": user_id,
            "category": category,
            "origin": origin,
            "confidence": confidence,
            "session_id": session_id,
            "version": version,
            "sensitive": sensitive,
            "valid_from": time_text(valid_from),
            "expires_at": time_text(expires_at),
        }
        call = Call(
            "PUT",
            path_of("v1", "entities", key),
            body=body,
            always={"value": value},
            changes=True,
            idempotency_key=idempotency_key,
        )
        return Entity.parse(self._transport.send(call).body)

    def get(self, key: str, *, user_id: str | None = None, session_id: str | None = None) -> Entity:
        """One entity.

        Raises:
            NotFoundError: there is none with this key for this user.
        """
        call = Call("GET", path_of("v1", "entities", key), {"user_id": user_id, "session_id": session_id})
        return Entity.parse(self._transport.send(call).body)

    def list(
        self,
        *,
        user_id: str | None = None,
        category: Category | None = None,
        origin: Origin | None = None,
        session_id: str | None = None,
        updated_after: When | None = None,
        path: str | None = None,
        equals: JsonInput = None,
        page_size: int | None = None,
    ) -> Iterator[Entity]:
        """All entities that match.

        `path` is a JSON path into the value (`$.size`); with `equals` it must hold that JSON value.
        """

        def fetch(cursor: str | None) -> Page[Entity]:
            query = {
                "user_id": user_id,
                "category": category,
                "origin": origin,
                "session_id": session_id,
                "updated_after": time_text(updated_after),
                "path": path,
                "equals": None if equals is None else json.dumps(equals, allow_nan=False),
                "limit": page_size,
                "cursor": cursor,
            }
            return page_of(self._transport.send(Call("GET", "/v1/entities", query)).body, "entities", Entity.parse)

        return every(fetch)

    def history(self, key: str, *, user_id: str | None = None, session_id: str | None = None) -> tuple[Entity, ...]:
        """Every version of one entity, oldest first."""
        call = Call("GET", path_of("v1", "entities", key, "history"), {"user_id": user_id, "session_id": session_id})
        return Fields(self._transport.send(call).body, "history").objects("versions", Entity.parse)

    def delete(self, key: str, *, user_id: str | None = None, session_id: str | None = None) -> None:
        """Delete one entity; also when it was already gone."""
        self._transport.send(
            Call("DELETE", path_of("v1", "entities", key), {"user_id": user_id, "session_id": session_id})
        )
