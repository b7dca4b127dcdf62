"""Whose an item is, and whether a hold explains that it is still there."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from lethe.domain.erasure import MemoriesWithin, OneSession, Scope, TheseMemories, WholeSubject, WholeTenant
from lethe.domain.holds import Hold
from lethe.domain.immutable import immutable

Item: TypeAlias = "Mapping[str, Mapping[str, Any]]"

SUBJECTS, SESSIONS, ENTITIES, MEMORIES, ACCESS = "subjects", "sessions", "entities", "memories", "access"
ANSWERS, INDEX = "answers", "index"

_WITHOUT_CONTENT: Final = ("@idempotency", "@governance")
"""Names that stand where a subject's would: claims, which are digests, and answers about erasures."""

# How a sort key may begin, and how many parts it has then.
_ORDINARY: Final[Mapping[str, frozenset[tuple[str, int]]]] = {
    SUBJECTS: frozenset({("IDEMPOTENCY", 4)}),
    SESSIONS: frozenset({("SESSION", 2), ("S", 4)}),
    ENTITIES: frozenset({("CURRENT", 3), ("OLD", 4)}),
    MEMORIES: frozenset({("MEM", 2), ("OLD", 3), ("HASH", 2), ("CHANGED", 3)}),
}


@immutable
class Facts:
    """What is known of an item as far as scopes and holds ask.

    ``epoch`` is None when its key names none that a subject can have; ``form`` is how its sort key begins, empty when
    it is none that Lethe gives; ``session`` is the hash of a session's id.
    """

    store: str
    subject: str
    epoch: int | None
    form: str = ""
    memory_id: str | None = None
    kind: str | None = None
    created_at: datetime | None = None
    session: str | None = None
    sources: tuple[str, ...] = ()

    @property
    def is_newest(self) -> bool:
        """Whether it is the newest version of a memory: by it the other items of that memory are judged."""
        return self.store == MEMORIES and self.form == "MEM"


def text(item: Item, name: str) -> str | None:
    """A text attribute, or None."""
    value = item.get(name)
    return None if value is None or "S" not in value else str(value["S"])


class Reader:
    """Reads items of one tenant as facts. ``key`` is the root key that names of sessions are hashed with."""

    def __init__(self, tenant: str, key: bytes) -> None:
        self._tenant = tenant
        self._key = key

    def facts(self, table: str, item: Item) -> Facts | None:
        """What an item is; None for one of another tenant, and for what speaks about subjects without their content."""
        owner, *names = str(item["pk"]["S"]).split("#")
        if owner != self._tenant:
            return None
        sort_key = str(item["sk"]["S"])
        parts = sort_key.split("#")
        subject = names[0] if names else ""
        form = parts[0] if (parts[0], len(parts)) in _ORDINARY[table] else ""
        if table == SUBJECTS:
            if subject in _WITHOUT_CONTENT or (len(names) == 1 and sort_key == "HEAD"):
                return None
            epoch = _number(parts[1]) if form and len(names) == 1 else None
            return Facts(ANSWERS, subject, epoch, form)
        epoch = _number(names[1]) if len(names) == 2 else None
        read = {SESSIONS: self._session, ENTITIES: self._entity, MEMORIES: self._memory}[table]
        return read(Facts(table, subject, epoch, form), parts, item)

    def _session(self, known: Facts, parts: Sequence[str], item: Item) -> Facts:
        session = self.hidden(known.subject, parts[1]) if known.form else None
        created = _time(text(item, "created_at")) if known.form == "SESSION" else None
        return Facts(known.store, known.subject, known.epoch, known.form, created_at=created, session=session)

    def _entity(self, known: Facts, parts: Sequence[str], item: Item) -> Facts:
        scope, _, session_id = parts[1].partition(":") if known.form else ("", "", "")
        session = self.hidden(known.subject, session_id) if scope == "session" else None
        return Facts(known.store, known.subject, known.epoch, known.form, session=session)

    def _memory(self, known: Facts, parts: Sequence[str], item: Item) -> Facts:
        named = parts[1] if known.form in ("MEM", "OLD") else text(item, "memory_id")
        session_id = text(item, "session_id")
        return Facts(
            known.store,
            known.subject,
            known.epoch,
            known.form,
            named,
            text(item, "kind"),
            _time(text(item, "created_at")),
            None if session_id is None else self.hidden(known.subject, session_id),
            _listed(text(item, "derived_from")),
        )

    def hidden(self, subject: str, session_id: str) -> str:
        """The name of a session: HMAC-SHA-256, 32 hex digits, of ``session``, tenant, subject and id, with zero bytes
        between them.
        """
        message = b"\x00".join(part.encode() for part in ("session", self._tenant, subject, session_id))
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()[:32]


def _number(part: str) -> int | None:
    """An epoch as Lethe writes it: from 1 on, without leading zeros."""
    return int(part) if part.isascii() and part.isdigit() and part[0] != "0" else None


def _time(written: str | None) -> datetime | None:
    try:
        return None if written is None else datetime.fromisoformat(written)
    except ValueError:
        return None


def _listed(canonical: str | None) -> tuple[str, ...]:
    """The ids in a JSON list of ids."""
    return () if canonical is None else tuple(map(str, json.loads(canonical)))


def within(scope: Scope, facts: Facts) -> bool:
    """Whether an item is within ``scope``."""
    match scope:
        case WholeTenant() | WholeSubject():
            return True
        case OneSession(session):
            return facts.session == session
        case TheseMemories(memory_ids):
            return facts.memory_id in memory_ids
        case MemoriesWithin(kinds, after, before):
            return (
                facts.store in (MEMORIES, INDEX)
                and facts.created_at is not None
                and (not kinds or facts.kind in [kind.value for kind in kinds])
                and not (after is not None and facts.created_at <= after)
                and not (before is not None and facts.created_at >= before)
            )


def explained(holds: Iterable[Hold], facts: Facts, newest: Callable[[Facts], Facts | None]) -> bool:
    """Whether a hold explains that the item is there. A memory's versions, hash and notes are judged by its newest
    version, which ``newest`` finds: without one nothing explains them. Answers and entries of the index are copies,
    which no hold keeps; what lies in no epoch is kept by nobody, and what has a strange key by a hold on everything.
    """
    if facts.store in (ANSWERS, INDEX) or facts.epoch is None:
        return False
    scopes = [hold.scope for hold in holds if hold.subject == facts.subject]
    if any(isinstance(scope, WholeSubject) for scope in scopes):
        return True
    if not scopes or not facts.form:
        return False
    judged = newest(facts) if facts.store == MEMORIES else facts
    return judged is not None and any(within(scope, judged) for scope in scopes)
