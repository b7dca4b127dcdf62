"""Whether what a stored answer speaks of is still there: an answer outlives nothing that it shows."""

from __future__ import annotations

from collections.abc import Set

from lethe.domain import ids
from lethe.domain.head import SubjectState
from lethe.domain.idempotency import about_entity, about_value, is_value, session_named, subject_named
from lethe.domain.identity import Space
from lethe.ports import Clock, Entities, Memories, Sessions, SubjectHeads


class Standing:
    """Reads the truth when a stored answer is asked for again.

    Deleting takes the answers along (``IdempotencyRecords.forget``), but a request that was under way may store its
    answer just after; and what expires is deleted by nobody. So a repetition looks again, also whether a value was
    marked as sensitive since. What said that a subject may be written to is asked again of its head, since nothing
    takes that answer along when the subject is erased once more.
    """

    def __init__(
        self, heads: SubjectHeads, memories: Memories, sessions: Sessions, entities: Entities, clock: Clock
    ) -> None:
        self._heads = heads
        self._memories = memories
        self._sessions = sessions
        self._entities = entities
        self._clock = clock

    def holds(self, space: Space, about: Set[str], reveal: bool) -> bool:
        """Whether every memory, session and entity named in ``about`` can still be read, and every subject written to;
        without ``reveal`` also whether the values named in it are still such as anybody may see.
        """
        subjects = {name: subject for name in about if (subject := subject_named(name)) is not None}
        if not all(self._is_active(space.tenant, subject) for subject in subjects.values()):
            return False
        memories = [name for name in about if name.startswith(ids.MEMORY)]
        if memories and len(self._memories.get_many(space, memories)) < len(memories):
            return False
        now = self._clock.now()
        sessions = [session for name in about if (session := session_named(name)) is not None]
        if any(self._sessions.get(space, session, now) is None for session in sessions):
            return False
        values = {name for name in about if is_value(name)}
        named = {name for name in about if session_named(name) is not None}
        entities = about - subjects.keys() - set(memories) - values - named
        if not entities:
            return True
        stored = self._entities.list(space, now)
        hidden = {about_value(entity.key, entity.session_id) for entity in stored if entity.sensitive and not reveal}
        return values.isdisjoint(hidden) and entities <= {about_entity(entity.key) for entity in stored}

    def _is_active(self, tenant: str, subject: str) -> bool:
        head = self._heads.read(tenant, subject)
        return head is not None and head.state is SubjectState.ACTIVE
