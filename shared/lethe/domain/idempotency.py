"""Idempotency keys: one request, one effect, one answer."""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta
from enum import StrEnum

from lethe.domain.immutable import immutable

KEPT = timedelta(hours=24)


class Claim(StrEnum):
    """What a claim found: nothing (the request runs now), or an answered request."""

    STARTED = "started"
    ANSWERED = "answered"


@immutable
class StoredAnswer:
    """An HTTP answer, to be given again. ``about`` names what it speaks of, so that it goes when that is deleted."""

    status: int
    body: str
    about: frozenset[str] = frozenset()
    whole: bool = True
    """One that is not whole is never kept: the request is to be sent again."""
    location: str | None = None
    """Where the answer says to look, by a header."""


def about_session(session_id: str) -> str:
    """The name of a session in ``StoredAnswer.about``. A memory's name is its id."""
    return f"session:{session_id}"


def session_named(name: str) -> str | None:
    """The session id of a name that ``about_session`` made; None for other names."""
    return name.removeprefix("session:") if name.startswith("session:") else None


def about_entity(key: str) -> str:
    """The name of an entity in ``StoredAnswer.about``, whatever session it is scoped to."""
    return f"entity:{key}"


def about_subject(subject: str) -> str:
    """The name of a subject in ``StoredAnswer.about``, where an answer says that it may be written to."""
    return f"subject:{subject}"


def subject_named(name: str) -> str | None:
    """The subject of a name that ``about_subject`` made; None for other names."""
    return name.removeprefix("subject:") if name.startswith("subject:") else None


def about_value(key: str, session_id: str | None) -> str:
    """The name of an entity's value that an answer shows as one that anybody may see who may read. No key and no
    session id holds a slash.
    """
    return f"value:{key}/{session_id or ''}"


def is_value(name: str) -> bool:
    """Whether ``about_value`` made this name."""
    return name.startswith("value:")


def digest(master_key: bytes, *parts: str) -> str:
    """Keyed hash of ``parts``: requests hold content, so a plain hash of a short one could be guessed."""
    message = b"\x00".join(part.encode() for part in ("idempotency", *parts))
    return hmac.new(master_key, message, hashlib.sha256).hexdigest()
