"""The look whether anything is left: the verifier's stretches put together into one verdict."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

from lethe.domain.erasure import Erasure, Step
from lethe.domain.holds import Hold
from lethe.domain.immutable import immutable
from lethe.ports import Holds, Search, TimeLeft, Verifier

_HOLDS: Final = 200


@immutable
class Looked:
    """What was counted so far, by store, and how the next call goes on; None when it is a verdict."""

    done: bool
    remaining: tuple[tuple[str, int], ...]
    held: tuple[tuple[str, int], ...]
    cursor: str | None


class Looking:
    """Asks the verifier, stretch by stretch; what was counted before travels in the step's cursor."""

    def __init__(self, verifier: Verifier, holds: Holds) -> None:
        self._verifier = verifier
        self._holds = holds

    def stretch(self, erasure: Erasure, step: Step, time_left: TimeLeft) -> Looked:
        """The next stretch. Raises Unavailable or Throttled."""
        before = json.loads(step.cursor) if step.cursor is not None else {"at": None, "remaining": {}, "held": {}}
        seen = self._verifier.look(_search(erasure), self._standing(erasure), before["at"], time_left)
        remaining = Counter[str](before["remaining"])
        held = Counter[str](before["held"])
        remaining.update(dict(seen.remaining))
        held.update(dict(seen.held))
        cursor = None
        if seen.cursor is not None:
            cursor = json.dumps({"at": seen.cursor, "remaining": remaining, "held": held})
        return Looked(seen.cursor is None, tuple(sorted(remaining.items())), tuple(sorted(held.items())), cursor)

    def method(self, erasure: Erasure) -> str:
        """How it is looked for an erasure."""
        return self._verifier.method(_search(erasure))

    def _standing(self, erasure: Erasure) -> Sequence[Hold]:
        if erasure.subject is not None:
            return self._holds.of_subject(erasure.tenant, erasure.subject)
        found: list[Hold] = []
        start = None
        while True:
            page = self._holds.of_tenant(erasure.tenant, _HOLDS, start)
            found += page.items
            start = page.next_key
            if start is None:
                return found


def _search(erasure: Erasure) -> Search:
    return Search(
        erasure.tenant,
        erasure.subject,
        erasure.scope,
        erasure.epochs,
        erasure.epoch,
        erasure.requested_at,
        erasure.owed,
        erasure.known,
    )
