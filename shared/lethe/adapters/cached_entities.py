"""Confirmed facts of the subjects that a container served lately, valid while the head's revision stands."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from time import monotonic
from typing import Final

from lethe.domain.entity import Entity
from lethe.domain.identity import Space
from lethe.domain.immutable import immutable
from lethe.ports import EntityLists

_MOST_SUBJECTS: Final = 256
_MOST_ENTITIES: Final = 200
"""Subjects with more are read anew each time, so that the cache stays small."""


@immutable
class _Seen:
    revision: int
    loaded: float
    entities: tuple[Entity, ...]


class CachedEntities:
    """Reads lists of entities through a cache; every change of an entity raises the revision, which ends it."""

    def __init__(self, entities: EntityLists, cache_seconds: float, seconds: Callable[[], float] = monotonic) -> None:
        self._entities = entities
        self._cache_seconds = cache_seconds
        self._seconds = seconds
        self._seen: OrderedDict[Space, _Seen] = OrderedDict()
        self._lock = threading.Lock()

    def list(self, space: Space, now: datetime) -> tuple[Entity, ...]:
        """All current values, by key. Expiry is judged at ``now``, also of what is cached."""
        with self._lock:
            self._drop_the_old()
            seen = self._seen.get(space)
            if seen and seen.revision >= space.revision:
                self._seen.move_to_end(space)
                return tuple(entity for entity in seen.entities if not entity.expired(now))
        loaded = self._seconds()
        entities = self._entities.list(space, now)
        with self._lock:
            self._seen.pop(space, None)
            if len(entities) <= _MOST_ENTITIES:
                self._seen[space] = _Seen(space.revision, loaded, entities)
            while len(self._seen) > _MOST_SUBJECTS:
                self._seen.popitem(last=False)
        return entities

    def _drop_the_old(self) -> None:
        """An erased subject is never asked for again under its old epoch, so nothing else would take it out."""
        now = self._seconds()
        for space in [space for space, seen in self._seen.items() if now - seen.loaded >= self._cache_seconds]:
            del self._seen[space]

    def history(self, space: Space, key: str, session_id: str | None, now: datetime) -> tuple[Entity, ...]:
        """All versions, oldest first; never cached, since recall seldom asks for the past."""
        return self._entities.history(space, key, session_id, now)
