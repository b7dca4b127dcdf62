"""Whose an item is, and whether a hold explains that it is still there."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from lethe.domain.erasure import MemoriesWithin, OneSession, Scope, TheseMemories, WholeSubject, WholeTenant
from lethe.domain.holds import Hold
from lethe.domain.immutable import immutable

Item: TypeAlias = "Mapping[str, Mapping[str, Any]]"

SUBJECTS, SESSIONS, ENTITIES, MEMORIES = "subjects", "sessions", "entities", "memories"
ANSWERS, INDEX = "answers", "index"

_KEPT_BESIDE_SUBJECTS: Final = ("HEAD",)


@immutable
class Facts:
    """What is known of an item as far as scopes and holds ask."""

    store: str
    subject: str
    epoch: int
    memory_id: str | None = None
    kind: str | None = None
    created_at: datetime | None = None
    session: str | None = None
    sources: tuple[str, ...] = ()


def text(item: Item, name: str) -> str | None:
    """A text attribute, or None."""
    value = item.get(name)
    return None if value is None else str(value.get("S"))


class Reader:
    """Reads items of one tenant as facts. ``key`` is the root key that names of sessions are hashed with."""

    def __init__(self, tenant: str, key: bytes) -> None:
        self._tenant = tenant
        self._key = key

    def facts(self, table: str, item: Item) -> Facts | None:
        """What an item is; None for one of another tenant, and for what speaks about subjects without their content."""
        owner, _, rest = str(item["pk"]["S"]).partition("#")
        if owner != self._tenant:
            return None
        subject, _, epoch = rest.partition("#")
        parts = str(item["sk"]["S"]).split("#")
        if table == SUBJECTS:
            return self._beside(subject, parts)
        number = int(epoch) if epoch.isdigit() else 0
        read = {SESSIONS: self._session, ENTITIES: self._entity, MEMORIES: self._memory}[table]
        return read(subject, number, parts, item)

    def _beside(self, subject: str, parts: Sequence[str]) -> Facts | None:
        """In the table of subjects: heads carry no content, names with @ are no subjects, the rest are answers."""
        if subject.startswith("@") or parts[0] in _KEPT_BESIDE_SUBJECTS:
            return None
        epoch = int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0
        return Facts(ANSWERS, subject, epoch)

    def _session(self, subject: str, epoch: int, parts: Sequence[str], item: Item) -> Facts:
        return Facts(SESSIONS, subject, epoch, session=self.hidden(subject, parts[1]))

    def _entity(self, subject: str, epoch: int, parts: Sequence[str], item: Item) -> Facts:
        scope, _, session_id = parts[1].partition(":")
        session = self.hidden(subject, session_id) if scope == "session" else None
        return Facts(ENTITIES, subject, epoch, session=session)

    def _memory(self, subject: str, epoch: int, parts: Sequence[str], item: Item) -> Facts:
        memory_id = parts[1] if parts[0] in ("MEM", "OLD") else text(item, "memory_id")
        created, session_id = text(item, "created_at"), text(item, "session_id")
        return Facts(
            MEMORIES,
            subject,
            epoch,
            memory_id,
            text(item, "kind"),
            None if created is None else datetime.fromisoformat(created),
            None if session_id is None else self.hidden(subject, session_id),
            tuple(_listed(text(item, "derived_from"))),
        )

    def hidden(self, subject: str, session_id: str) -> str:
        """The name of a session: HMAC-SHA-256, 32 hex digits, of ``session``, tenant, subject and id, with zero bytes between."""
        message = b"\x00".join(part.encode() for part in ("session", self._tenant, subject, session_id))
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()[:32]


def _listed(canonical: str | None) -> Iterable[str]:
    """The ids in a JSON list of ids, which hold no quotes."""
    return [] if canonical is None else [part for part in canonical.strip("[]").replace('"', "").split(",") if part]


def within(scope: Scope, facts: Facts) -> bool:
    """Whether an item is within ``scope``."""
    match scope:
        case WholeTenant() | WholeSubject():
            return True
        case OneSession(session):
            return facts.session == session
        case TheseMemories(memory_ids):
            return facts.memory_id in memory_ids or any(source in memory_ids for source in facts.sources)
        case MemoriesWithin(kinds, after, before):
            return (
                facts.store in (MEMORIES, INDEX)
                and facts.created_at is not None
                and (not kinds or facts.kind in [kind.value for kind in kinds])
                and not (after is not None and facts.created_at <= after)
                and not (before is not None and facts.created_at >= before)
            )


def explained(holds: Sequence[Hold], newest: Callable[[str, str], Facts | None], facts: Facts) -> bool:
    """Whether a hold explains that the item is there. A memory's versions, hash and notes are judged by its newest
    version, which ``newest`` finds by subject and id; answers and entries of the index are copies, which none keeps.
    """
    if facts.store in (ANSWERS, INDEX):
        return False
    judged = facts
    if facts.store == MEMORIES and facts.memory_id is not None:
        judged = newest(facts.subject, facts.memory_id) or facts
    return any(hold.subject == facts.subject and _keeps(hold.scope, judged) for hold in holds)


def _keeps(scope: Scope, facts: Facts) -> bool:
    if isinstance(scope, TheseMemories):
        return facts.memory_id in scope.memory_ids
    return within(scope, facts)
