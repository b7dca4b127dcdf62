"""Idempotency keys: one request, one effect, one answer."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

KEPT = timedelta(hours=24)

_MEMORY_ID: Final = re.compile(r"mem_[0-7][0-9A-HJKMNP-TV-Z]{25}")
_ENTITY_KEY: Final = re.compile(r'"key":"([A-Za-z0-9._:-]{1,128})"')


class Claim(StrEnum):
    """What a claim found: nothing (the request runs now), or an answered request."""

    STARTED = "started"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An HTTP answer, to be given again. ``about`` names what it speaks of, so that it goes when that is deleted."""

    status: int
    body: str
    about: frozenset[str] = frozenset()


def about_session(session_id: str) -> str:
    """The name of a session in ``StoredAnswer.about``. A memory's name is its id."""
    return f"session:{session_id}"


def about_entity(key: str) -> str:
    """The name of an entity in ``StoredAnswer.about``, whatever session it is scoped to."""
    return f"entity:{key}"


def named_in(body: str) -> frozenset[str]:
    """The memories and entities that an answer's JSON speaks of; more may be named than are meant, never fewer."""
    entities = {about_entity(key) for key in _ENTITY_KEY.findall(body)}
    return frozenset(_MEMORY_ID.findall(body)) | entities


def digest(master_key: bytes, *parts: str) -> str:
    """Keyed hash of ``parts``: requests hold content, so a plain hash of a short one could be guessed."""
    message = b"\x00".join(part.encode() for part in ("idempotency", *parts))
    return hmac.new(master_key, message, hashlib.sha256).hexdigest()
