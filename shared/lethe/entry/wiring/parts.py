"""The adapters and use cases of a function, each built when it is first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lethe.entry.settings import Audited, DataSettings, WritingSettings
from lethe.entry.wiring.embedding import memory_embedder, open_embedder
from lethe.entry.wiring.stores import open_database, read_master_key

if TYPE_CHECKING:
    from lethe.entry.auditing import Auditor
    from lethe.entry.cursor import Cursors
    from lethe.entry.idempotency import Idempotency
    from lethe.ports import (
        AuditTrail,
        Clock,
        Embedder,
        Entities,
        Holds,
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


class Parts:
    """Adapters of one function, each built when it is first asked for."""

    def __init__(self, settings: DataSettings, clock: Clock | None, *, access: str = "") -> None:
        from concurrent.futures import ThreadPoolExecutor

        from lethe.adapters.system import SystemClock, UlidIds

        self._settings = settings
        self.clock: Clock = clock or SystemClock()
        self.ids = UlidIds(self.clock)
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="lethe")
        self.database = open_database(
            settings.region,
            settings.dynamodb_endpoint,
            subjects=settings.subjects_table,
            sessions=settings.sessions_table,
            entities=settings.entities_table,
            memories=settings.memories_table,
            access=access,
            ledger=settings.ledger_table,
        )

    @cached_property
    def master_key(self) -> bytes:
        return read_master_key(self._settings.region, self._settings.secret_arn, self._settings.master_key)

    @cached_property
    def heads(self) -> SubjectHeads:
        from lethe.adapters.dynamodb.heads import DynamoSubjectHeads

        return DynamoSubjectHeads(self.database)

    @cached_property
    def spaces(self) -> Spaces:
        from lethe.services.spaces import Spaces

        return Spaces(self.heads, self.master_key, self.clock)

    @cached_property
    def audit_trail(self) -> AuditTrail:
        from lethe.adapters.dynamodb.audit import DynamoAuditTrail

        return DynamoAuditTrail(self.database)

    def auditor(self, audited: Audited) -> Auditor:
        """What records the requests of a function that answers HTTP."""
        from concurrent.futures import ThreadPoolExecutor

        from lethe.entry.auditing import Auditor
        from lethe.services.auditing import AuditBook

        # Threads of its own: entries that wait for one another would keep those of the operations.
        threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="audit")
        return Auditor(AuditBook(self.audit_trail, self.master_key, self.clock), threads, audited)

    @cached_property
    def sessions(self) -> Sessions:
        from lethe.adapters.dynamodb.sessions import DynamoSessions

        return DynamoSessions(self.database)

    @cached_property
    def entities(self) -> Entities:
        from lethe.adapters.dynamodb.entities import DynamoEntities

        return DynamoEntities(self.database)

    @cached_property
    def memories(self) -> Memories:
        from lethe.adapters.dynamodb.memories import DynamoMemories

        return DynamoMemories(self.database)

    @cached_property
    def embedder(self) -> Embedder:
        settings = self._settings
        return open_embedder(settings.region, settings.embedder, settings.embedder_url, settings.embedder_key_arn)

    @cached_property
    def memory_embedder(self) -> MemoryEmbedder:
        """Of a function that writes: with the second model, where there is one."""
        from lethe.services.embedding import MemoryEmbedder

        settings = self._settings
        return memory_embedder(settings) if isinstance(settings, WritingSettings) else MemoryEmbedder(self.embedder)

    @cached_property
    def idempotency(self) -> Idempotency:
        from lethe.entry.idempotency import Idempotency
        from lethe.services.standing import Standing

        standing = Standing(self.heads, self.memories, self.sessions, self.entities, self.clock)
        return Idempotency(self.answers, standing, self.master_key, self.clock)

    @cached_property
    def answers(self) -> IdempotencyRecords:
        from lethe.adapters.dynamodb.idempotency import DynamoIdempotencyRecords

        return DynamoIdempotencyRecords(self.database)

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
            self.remember,
            DEFAULT_POLICY,
            self.clock,
            self.ids,
            self.threads,
        )

    @cached_property
    def memory_desk(self) -> MemoryDesk:
        from lethe.services.memories import MemoryDesk

        return MemoryDesk(self.memories, self.memory_embedder, self.holds, self.clock, self.master_key)

    @cached_property
    def holds(self) -> Holds:
        from lethe.adapters.dynamodb.ledger import DynamoHolds

        return DynamoHolds(self.database)

    @cached_property
    def entity_desk(self) -> EntityDesk:
        from lethe.services.entities import EntityDesk

        return EntityDesk(self.entities, self.answers, self.holds, self.clock, self.ids, self.master_key)

    @cached_property
    def cursors(self) -> Cursors:
        from lethe.entry.cursor import Cursors

        return Cursors(self.master_key)
