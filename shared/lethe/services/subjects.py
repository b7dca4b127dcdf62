"""What is stored about one subject, in numbers."""

from __future__ import annotations

from collections.abc import Mapping

from lethe.domain.head import SubjectState
from lethe.domain.identity import Caller
from lethe.domain.immutable import immutable
from lethe.errors import NotFound
from lethe.ports import Clock, Entities, Memories, Sessions
from lethe.services.spaces import Spaces

_PAGE = 200


@immutable
class SubjectReport:
    """State and counts of a subject."""

    state: SubjectState
    counts: Mapping[str, int]


class SubjectDesk:
    """Use cases on whole subjects."""

    def __init__(
        self, spaces: Spaces, sessions: Sessions, entities: Entities, memories: Memories, clock: Clock
    ) -> None:
        self._spaces = spaces
        self._sessions = sessions
        self._entities = entities
        self._memories = memories
        self._clock = clock

    def describe(self, caller: Caller, user_id: str | None) -> SubjectReport:
        """State and counts. Raises NotFound for a subject that was never written to or is erased."""
        head = self._spaces.head(caller, user_id)
        if head is None or head.state is SubjectState.ERASED:
            raise NotFound
        if head.state is SubjectState.ERASING:
            return SubjectReport(head.state, {})
        space = self._spaces.for_reading(caller, user_id)
        now = self._clock.now()
        sessions, start = 0, None
        while True:
            page = self._sessions.list(space, now, _PAGE, start)
            sessions, start = sessions + len(page.items), page.next_key
            if start is None:
                break
        counts = {
            "memories": self._memories.count(space),
            "entities": len(self._entities.list(space, now)),
            "sessions": sessions,
        }
        return SubjectReport(head.state, counts)
