"""Entities in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lethe.domain.entity import Entity
from lethe.domain.identity import Space
from lethe.errors import Held, VersionConflict
from tests.fakes.heads import FakeSubjectHeads


class FakeEntities:
    """Every version of every value that a key ever had, by space, key and session, oldest first."""

    def __init__(self, heads: FakeSubjectHeads) -> None:
        self._heads = heads
        self._versions: dict[tuple[Space, str, str | None], list[Entity]] = {}

    def put(
        self,
        space: Space,
        entity: Entity,
        expected_version: int | None,
        keep_sensitive: bool = False,
        held: bool = False,
    ) -> Entity:
        address = (space, entity.key, entity.session_id)
        with self._heads.lock:
            self._heads.check(space)
            current = self.get(space, entity.key, entity.session_id, entity.updated_at)
            version = 0 if current is None else current.version
            if expected_version is not None and expected_version != version:
                raise VersionConflict(version)
            if held and current is not None and current.outlasts(entity):
                raise Held
            stored = replace(entity, version=version + 1, superseded_at=None)
            if current is None:
                self._versions.setdefault(address, []).append(stored)
            else:
                sensitive = stored.sensitive or (keep_sensitive and current.sensitive)
                stored = replace(stored, id=current.id, created_at=current.created_at, sensitive=sensitive)
                self._versions[address][-1:] = [replace(current, superseded_at=entity.updated_at), stored]
            self._heads.raise_revision(space)
            return stored

    def get(self, space: Space, key: str, session_id: str | None, now: datetime) -> Entity | None:
        versions = self._versions.get((space, key, session_id))
        return versions[-1] if versions and not versions[-1].expired(now) else None

    def list(self, space: Space, now: datetime) -> tuple[Entity, ...]:
        current = [versions[-1] for (owner, _, _), versions in self._versions.items() if owner == space]
        alive = [entity for entity in current if not entity.expired(now)]
        return tuple(sorted(alive, key=lambda entity: (entity.key, entity.session_id or "")))

    def history(self, space: Space, key: str, session_id: str | None, now: datetime) -> tuple[Entity, ...]:
        current = self.get(space, key, session_id, now)
        if current is None:
            return ()
        versions = self._versions[space, key, session_id]
        return tuple(entity for entity in versions if entity.id == current.id and not entity.expired(now))

    def delete(self, space: Space, key: str, session_id: str | None, expected_version: int | None = None) -> int:
        with self._heads.lock:
            versions = self._versions.get((space, key, session_id))
            if versions and expected_version not in (None, versions[-1].version):
                raise VersionConflict(versions[-1].version)
            gone = self._versions.pop((space, key, session_id), ())
            if gone:
                self._heads.raise_revision(space)
            return len(gone)

    def sessions(self, space: Space) -> tuple[str, ...]:
        named = [session_id for owner, _, session_id in self._versions if owner == space and session_id is not None]
        return tuple(dict.fromkeys(named))

    def spaces(self) -> set[Space]:
        """Those that hold anything."""
        return {space for space, _, _ in list(self._versions)}

    def stored(self, space: Space) -> int:
        """How many values there are, expired ones too."""
        return sum(owner == space for owner, _, _ in list(self._versions))

    def purge(self, space: Space) -> int:
        """What the eraser does to an epoch that has ended."""
        with self._heads.lock:
            found = [address for address in self._versions if address[0] == space]
            for address in found:
                del self._versions[address]
            return len(found)

    def delete_session(self, space: Space, session_id: str) -> int:
        with self._heads.lock:
            addresses = [address for address in self._versions if address[0] == space and address[2] == session_id]
            gone = sum(len(self._versions.pop(address)) for address in addresses)
            if gone:
                self._heads.raise_revision(space)
            return gone
