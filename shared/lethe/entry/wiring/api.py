"""The functions ``write`` and ``recall``: what the HTTP API calls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from lethe.entry.settings import DataSettings, RecallSettings, WriteSettings
from lethe.entry.wiring.embedding import memory_embedder, open_embedder
from lethe.entry.wiring.search import search_index
from lethe.entry.wiring.stores import open_database, read_master_key

if TYPE_CHECKING:
    from lethe.entry.application import Application
    from lethe.entry.cursor import Cursors
    from lethe.entry.idempotency import Idempotency
    from lethe.ports import (
        Clock,
        Embedder,
        Entities,
        IdempotencyRecords,
        Memories,
        Sessions,
        SubjectHeads,
    )
    from lethe.services.embedding import MemoryEmbedder
    from lethe.services.entities import EntityDesk
    from lethe.services.memories import MemoryDesk
    from lethe.services.remember import Remember
    from lethe.services.sessions import SessionDesk
    from lethe.services.spaces import Spaces

_THREADS = 8


def build_write(environment: Mapping[str, str], clock: Clock | None = None) -> Application:
    """The function ``write``."""
    from lethe.entry.application import Application
    from lethe.entry.observability import PowertoolsObserver
    from lethe.entry.operations.entities import EntityWrites
    from lethe.entry.operations.memories import MemoryWrites
    from lethe.entry.operations.sessions import SessionWrites

    parts = _Parts(WriteSettings.from_environment(environment), clock)
    operations = {
        **SessionWrites(parts.spaces, parts.session_desk, parts.clock).operations(),
        **MemoryWrites(parts.spaces, parts.remember, parts.memory_desk, parts.clock, parts.ids).operations(),
        **EntityWrites(parts.spaces, parts.entity_desk, parts.clock).operations(),
    }
    return Application(operations, parts.spaces.for_writing, parts.idempotency, PowertoolsObserver("write"))


def build_recall(environment: Mapping[str, str], clock: Clock | None = None) -> Application:
    """The function ``recall``."""
    from lethe.adapters.cached_entities import CachedEntities
    from lethe.domain.policy import DEFAULT_POLICY
    from lethe.entry.application import Application
    from lethe.entry.observability import PowertoolsObserver
    from lethe.entry.operations.entities import EntityReads
    from lethe.entry.operations.memories import MemoryReads
    from lethe.entry.operations.recall import RecallReads, ServiceReads
    from lethe.entry.operations.sessions import SessionReads
    from lethe.services.recall import Recall
    from lethe.services.subjects import SubjectDesk

    settings = RecallSettings.from_environment(environment)
    parts = _Parts(settings, clock)
    index = search_index(settings, parts.memories, parts.threads)
    entities = CachedEntities(parts.entities, settings.cache_seconds)
    recall = Recall(
        parts.spaces, index, parts.sessions, entities, parts.embedder, DEFAULT_POLICY, parts.clock, parts.threads
    )
    subjects = SubjectDesk(parts.spaces, parts.sessions, parts.entities, parts.memories, parts.clock)
    operations = {
        **SessionReads(parts.spaces, parts.session_desk, parts.cursors).operations(),
        **MemoryReads(parts.spaces, parts.memory_desk, recall, parts.cursors, parts.clock).operations(),
        **EntityReads(parts.spaces, parts.entity_desk, parts.cursors).operations(),
        **RecallReads(recall, subjects, parts.clock).operations(),
        **ServiceReads(parts.heads, index, parts.embedder).operations(),
    }
    return Application(operations, parts.spaces.for_reading, parts.idempotency, PowertoolsObserver("recall"))


class _Parts:
    """Adapters of one function, each built when it is first asked for."""

    def __init__(self, settings: DataSettings, clock: Clock | None) -> None:
        from concurrent.futures import ThreadPoolExecutor

        from lethe.adapters.system import SystemClock, UlidIds

        self._settings = settings
        self.clock: Clock = clock or SystemClock()
        self.ids = UlidIds(self.clock)
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="lethe")
        self._database = open_database(
            settings.region,
            settings.dynamodb_endpoint,
            subjects=settings.subjects_table,
            sessions=settings.sessions_table,
            entities=settings.entities_table,
            memories=settings.memories_table,
        )

    @cached_property
    def master_key(self) -> bytes:
        return read_master_key(self._settings.region, self._settings.secret_arn, self._settings.master_key)

    @cached_property
    def heads(self) -> SubjectHeads:
        from lethe.adapters.dynamodb.heads import DynamoSubjectHeads

        return DynamoSubjectHeads(self._database)

    @cached_property
    def spaces(self) -> Spaces:
        from lethe.services.spaces import Spaces

        return Spaces(self.heads, self.master_key, self.clock)

    @cached_property
    def sessions(self) -> Sessions:
        from lethe.adapters.dynamodb.sessions import DynamoSessions

        return DynamoSessions(self._database)

    @cached_property
    def entities(self) -> Entities:
        from lethe.adapters.dynamodb.entities import DynamoEntities

        return DynamoEntities(self._database)

    @cached_property
    def memories(self) -> Memories:
        from lethe.adapters.dynamodb.memories import DynamoMemories

        return DynamoMemories(self._database)

    @cached_property
    def embedder(self) -> Embedder:
        settings = self._settings
        return open_embedder(settings.region, settings.embedder, settings.embedder_url, settings.embedder_key_arn)

    @cached_property
    def memory_embedder(self) -> MemoryEmbedder:
        """Of a function that writes: with the second model, where there is one."""
        from lethe.services.embedding import MemoryEmbedder

        settings = self._settings
        return memory_embedder(settings) if isinstance(settings, WriteSettings) else MemoryEmbedder(self.embedder)

    @cached_property
    def idempotency(self) -> Idempotency:
        from lethe.entry.idempotency import Idempotency
        from lethe.services.standing import Standing

        standing = Standing(self.memories, self.sessions, self.entities, self.clock)
        return Idempotency(self.answers, standing, self.master_key, self.clock)

    @cached_property
    def answers(self) -> IdempotencyRecords:
        from lethe.adapters.dynamodb.idempotency import DynamoIdempotencyRecords

        return DynamoIdempotencyRecords(self._database)

    @cached_property
    def remember(self) -> Remember:
        from lethe.services.remember import Remember

        return Remember(self.memories, self.memory_embedder, self.clock, self.ids, self.threads)

    @cached_property
    def session_desk(self) -> SessionDesk:
        from lethe.domain.policy import DEFAULT_POLICY
        from lethe.services.sessions import SessionDesk

        return SessionDesk(
            self.sessions,
            self.entities,
            self.memories,
            self.answers,
            self.remember,
            DEFAULT_POLICY,
            self.clock,
            self.ids,
            self.threads,
        )

    @cached_property
    def memory_desk(self) -> MemoryDesk:
        from lethe.services.memories import MemoryDesk

        return MemoryDesk(self.memories, self.answers, self.memory_embedder, self.clock)

    @cached_property
    def entity_desk(self) -> EntityDesk:
        from lethe.services.entities import EntityDesk

        return EntityDesk(self.entities, self.answers, self.clock, self.ids)

    @cached_property
    def cursors(self) -> Cursors:
        from lethe.entry.cursor import Cursors

        return Cursors(self.master_key)
