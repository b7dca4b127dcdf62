"""What an answer speaks of, so that a stored one goes with it (``StoredAnswer.about``)."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from lethe.domain.idempotency import about_entity, about_session, about_value
from lethe.entry.api.entities import EntityOut
from lethe.entry.api.known import KnownMemoryOut
from lethe.entry.api.memories import BatchOut, FoundOut, MemoryOut, OutcomeOut, RememberedOut
from lethe.entry.api.recall import RecalledOut
from lethe.entry.api.sessions import AppendOut, SessionOut


def spoken_of(body: BaseModel | str | None, session_id: str | None) -> frozenset[str]:
    """Memories by id, entities and sessions by their names. ``session_id`` is the session that the request names."""
    return frozenset(_names(body, session_id))


def _names(body: BaseModel | str | None, session_id: str | None) -> Iterator[str]:
    if isinstance(body, AppendOut | SessionOut):
        yield about_session(body.session_id)
    if isinstance(body, AppendOut | RememberedOut):
        yield from _outcomes(body.results)
    elif isinstance(body, BatchOut):
        yield from (result.id for result in body.results if result.id is not None)
    elif isinstance(body, MemoryOut | KnownMemoryOut):
        yield body.id
    elif isinstance(body, EntityOut):
        yield from _entity(body)
    elif isinstance(body, FoundOut):
        yield from (candidate.id for candidate in body.explain or body.memories)
    elif isinstance(body, RecalledOut):
        yield from (candidate.id for candidate in body.explain or body.memories)
        for entity in body.entities:
            yield from _entity(entity)
        # A recall may name a session that was never begun; it speaks of one only when it shows its messages.
        if session_id is not None and (body.messages or body.summary):
            yield about_session(session_id)


def _entity(entity: EntityOut) -> Iterator[str]:
    yield about_entity(entity.key)
    if not entity.sensitive:
        yield about_value(entity.key, entity.session_id)


def _outcomes(results: list[OutcomeOut]) -> Iterator[str]:
    return (result.memory.id for result in results if result.memory is not None)
