"""Confirmed facts in the table of entities: current values in one range of keys, superseded ones in another.

Each change carries the head's revision with it, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from lethe.adapters.dynamodb.database import TRANSACTION_LIMIT, Database, Transaction
from lethe.adapters.dynamodb.entity_items import entity_of, entity_row
from lethe.adapters.dynamodb.failures import ATTEMPTS, ConditionFailed, wait, with_retries
from lethe.adapters.dynamodb.heads import DynamoSubjectHeads, raise_within
from lethe.domain import keys
from lethe.domain.entity import Entity
from lethe.domain.identity import Space
from lethe.errors import Erased, Held, Throttled, VersionConflict


class DynamoEntities:
    """``Entities`` in the table of entities."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._row = database.models.entity
        self._heads = DynamoSubjectHeads(database)

    def put(
        self,
        space: Space,
        entity: Entity,
        expected_version: int | None,
        keep_sensitive: bool = False,
        held: bool = False,
    ) -> Entity:
        """A new entity: one transaction, which tells what stands there when the key is taken. A change: two calls.

        ``entity.updated_at`` is the time of the write, by which an expired value counts as gone: what stands is put
        among the old versions all the same, until its own time to live takes it.
        """
        current: Entity | None = None
        if expected_version:
            current = self.get(space, entity.key, entity.session_id, entity.updated_at)
        for attempt in range(ATTEMPTS):
            live = None if current is None or current.expired(entity.updated_at) else current
            version = 0 if live is None else live.version
            if expected_version is not None and expected_version != version:
                raise VersionConflict(version)
            if held and live is not None and live.outlasts(entity):
                raise Held("; its expires_at may not come earlier")
            stored = _following(entity, live)
            if keep_sensitive and live is not None and live.sensitive:
                stored = replace(stored, sensitive=True)
            try:
                self._replace(space, stored, current)
            except ConditionFailed as failed:
                current = self._standing(failed)
                if current is not None and current.id == entity.id:
                    return current  # an earlier attempt made it under this new id, and only its answer was lost
                if attempt:
                    wait(attempt)
            else:
                return stored
        raise Throttled("too many writes at once to the same entity")

    def _replace(self, space: Space, stored: Entity, current: Entity | None) -> None:
        transaction = Transaction()
        if current is None:
            transaction.put(entity_row(self._row, space, stored), self._row.pk.does_not_exist())
        else:
            unchanged = (self._row.version == current.version) & (self._row.id == current.id)
            transaction.put(entity_row(self._row, space, stored), unchanged)
            old = replace(current, superseded_at=stored.updated_at)
            key = keys.entity_version(current.key, current.session_id, current.id, current.version)
            transaction.put(entity_row(self._row, space, old, key))
        raise_within(self._database, transaction, space)
        with_retries(lambda: self._database.transact(transaction))

    def _standing(self, failed: ConditionFailed) -> Entity | None:
        """The value that stood in the way. Raises Erased when it was the head."""
        if failed.found[-1] is not None:
            raise Erased("the subject was erased since the request began") from failed
        return entity_of(self._row.from_raw_data(failed.found[0])) if failed.found[0] else None

    def get(self, space: Space, key: str, session_id: str | None, now: datetime) -> Entity | None:
        """One read."""
        row = self._database.get(self._row, keys.space_partition(space), keys.entity(key, session_id))
        entity = None if row is None else entity_of(row)
        return None if entity is None or entity.expired(now) else entity

    def list(self, space: Space, now: datetime) -> tuple[Entity, ...]:
        """One query, which meets no old version."""
        found = self._range(space, keys.CURRENT_ENTITIES)
        return tuple(sorted((e for e in found if not e.expired(now)), key=lambda e: (e.key, e.session_id or "")))

    def history(self, space: Space, key: str, session_id: str | None, now: datetime) -> tuple[Entity, ...]:
        """The current value and the old versions of it alone: one that expired or was deleted left no past."""
        current = self.get(space, key, session_id, now)
        if current is None:
            return ()
        old = self._range(space, keys.versions_of_value(key, session_id, current.id))
        lived = [e for e in old if e.version < current.version and not e.expired(now)]
        return (*lived, current)

    def _range(self, space: Space, prefix: str) -> Sequence[Entity]:
        rows = self._database.rows(self._row, keys.space_partition(space), keys.beginning_with(prefix))
        return [entity_of(row) for row in rows]

    def delete(self, space: Space, key: str, session_id: str | None, expected_version: int | None = None) -> int:
        """A look at what there is, then one transaction; a history longer than that goes before it."""
        partition, row = keys.space_partition(space), self._row
        for attempt in range(ATTEMPTS):
            current = self._database.get(row, partition, keys.entity(key, session_id))
            old = self._keys(partition, keys.entity_versions(key, session_id))
            if current is None and not old:
                return 0
            if current is not None and expected_version not in (None, current.version):
                raise VersionConflict(current.version)
            self._database.delete_many(row, [(partition, k) for k in old[_TOGETHER:]])
            transaction = Transaction()
            gone = row(partition, keys.entity(key, session_id))
            transaction.delete(gone, row.pk.does_not_exist() if current is None else row.version == current.version)
            for k in old[:_TOGETHER]:
                transaction.delete(row(partition, k))
            raise_within(self._database, transaction, space)
            try:
                with_retries(lambda: self._database.transact(transaction))  # noqa: B023 - called at once
            except ConditionFailed as failed:
                self._standing(failed)
                wait(attempt)
            else:
                return len(old) + (current is not None)
        raise Throttled("too many writes at once to the same entity")

    def _keys(self, partition: str, prefix: str) -> Sequence[str]:
        items = self._database.query(self._row, partition, keys.beginning_with(prefix), attributes=("sk",))
        return [str(item["sk"]["S"]) for item in items]

    def sessions(self, space: Space) -> tuple[str, ...]:
        """One query over the names of all values."""
        partition = keys.space_partition(space)
        items = self._database.query(self._row, partition, keys.everything(), attributes=("sk",))
        named = (keys.entity_session(str(item["sk"]["S"])) for item in items)
        return tuple(dict.fromkeys(session_id for session_id in named if session_id is not None))

    def delete_session(self, space: Space, session_id: str) -> int:
        """Two queries, batches, and one raise of the revision."""
        partition = keys.space_partition(space)
        ranges = self._database.at_once(lambda p: self._keys(partition, p), keys.session_entities(session_id))
        found = [(partition, key) for one_range in ranges for key in one_range]
        if found:
            self._database.delete_many(self._row, found)
            self._heads.raise_revision(space)
        return len(found)


_TOGETHER = TRANSACTION_LIMIT - 2
"""Old versions that fit into one transaction beside the current one and the head."""


def _following(entity: Entity, current: Entity | None) -> Entity:
    """``entity`` as it is stored after ``current``."""
    if current is None:
        return replace(entity, version=1, superseded_at=None)
    return replace(
        entity, id=current.id, created_at=current.created_at, version=current.version + 1, superseded_at=None
    )
