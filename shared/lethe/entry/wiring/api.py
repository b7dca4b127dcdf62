"""The functions ``write`` and ``recall``: what the HTTP API calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lethe.entry.settings import RecallSettings, WriteSettings
from lethe.entry.wiring.parts import Parts
from lethe.entry.wiring.search import search_index

if TYPE_CHECKING:
    from lethe.entry.application import Application
    from lethe.ports import Clock


def build_write(environment: Mapping[str, str], clock: Clock | None = None) -> Application:
    """The function ``write``."""
    from lethe.entry.application import Application
    from lethe.entry.observability import PowertoolsObserver
    from lethe.entry.operations.entities import EntityWrites
    from lethe.entry.operations.memories import MemoryWrites
    from lethe.entry.operations.sessions import SessionWrites

    settings = WriteSettings.from_environment(environment)
    parts = Parts(settings, clock)
    operations = {
        **SessionWrites(parts.spaces, parts.session_desk, parts.clock).operations(),
        **MemoryWrites(parts.spaces, parts.remember, parts.memory_desk, parts.clock, parts.ids).operations(),
        **EntityWrites(parts.spaces, parts.entity_desk, parts.clock).operations(),
    }
    return Application(
        operations,
        parts.spaces.for_changing,
        parts.idempotency,
        parts.auditor(settings.audit),
        PowertoolsObserver("write"),
    )


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
    parts = Parts(settings, clock)
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
    return Application(
        operations,
        parts.spaces.for_reading,
        parts.idempotency,
        parts.auditor(settings.audit),
        PowertoolsObserver("recall"),
    )
