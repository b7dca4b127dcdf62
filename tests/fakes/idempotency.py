"""Idempotency records in memory."""

from __future__ import annotations

import threading
from collections.abc import Set
from dataclasses import dataclass
from datetime import datetime

from lethe.domain.idempotency import KEPT, Claim, StoredAnswer
from lethe.domain.identity import Space
from lethe.errors import IdempotencyMismatch, InProgress
from lethe.ports import Clock
from lethe.services.standing import Standing
from tests.fakes.entities import FakeEntities
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.memories import FakeMemories
from tests.fakes.sessions import FakeSessions


@dataclass(slots=True)
class _Claim:
    """``deadline`` is None once the request was answered."""

    request: str
    expires_at: datetime
    deadline: datetime | None


class FakeIdempotencyRecords:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claims: dict[tuple[str, str], _Claim] = {}
        self._answers: dict[tuple[Space, str], tuple[StoredAnswer, datetime]] = {}

    def claim(self, tenant: str, key_digest: str, request_digest: str, now: datetime, deadline: datetime) -> Claim:
        with self._lock:
            standing = self._claims.get((tenant, key_digest))
            if standing is not None and standing.expires_at > now:
                if standing.request != request_digest:
                    raise IdempotencyMismatch
                if standing.deadline is None:
                    return Claim.ANSWERED
                if standing.deadline > now:
                    raise InProgress
            self._claims[tenant, key_digest] = _Claim(request_digest, now + KEPT, deadline)
            return Claim.STARTED

    def store(self, space: Space, tenant: str, key_digest: str, answer: StoredAnswer, now: datetime) -> None:
        with self._lock:
            standing = self._answers.get((space, key_digest))
            if standing is None or standing[1] <= now:
                self._answers[space, key_digest] = (answer, now + KEPT)
            claim = self._claims.get((tenant, key_digest))
            if claim is not None:
                claim.deadline = None

    def answer(self, space: Space, key_digest: str, now: datetime) -> StoredAnswer | None:
        found = self._answers.get((space, key_digest))
        return found[0] if found is not None and found[1] > now else None

    def forget(self, space: Space, about: Set[str]) -> int:
        with self._lock:
            found = [key for key, (answer, _) in self._answers.items() if key[0] == space and answer.about & about]
            for key in found:
                del self._answers[key]
            return len(found)

    def named(self, space: Space) -> frozenset[str]:
        with self._lock:
            return frozenset().union(
                *(answer.about for (owner, _), (answer, _) in self._answers.items() if owner == space)
            )

    def spaces(self) -> set[Space]:
        """Those that hold anything."""
        return {space for space, _ in list(self._answers)}

    def stored(self, space: Space) -> int:
        """How many answers there are, expired ones too."""
        return sum(owner == space for owner, _ in list(self._answers))

    def purge(self, space: Space) -> int:
        """What the eraser does to an epoch that has ended."""
        with self._lock:
            found = [address for address in self._answers if address[0] == space]
            for address in found:
                del self._answers[address]
            return len(found)

    def release(self, tenant: str, key_digest: str, request_digest: str) -> None:
        with self._lock:
            claim = self._claims.get((tenant, key_digest))
            if claim is not None and claim.request == request_digest and claim.deadline is not None:
                del self._claims[tenant, key_digest]


def fake_standing(clock: Clock) -> Standing:
    """Looks into empty stores."""
    heads, sessions = FakeSubjectHeads(), FakeSessions()
    return Standing(heads, FakeMemories(heads, sessions), sessions, FakeEntities(heads), clock)
