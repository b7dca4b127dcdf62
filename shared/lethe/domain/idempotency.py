"""Idempotency keys: one request, one effect, one answer."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

KEPT = timedelta(hours=24)


class Claim(StrEnum):
    """What a claim found: nothing (the request runs now), or an answered request."""

    STARTED = "started"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An HTTP answer, to be given again."""

    status: int
    body: str


def digest(master_key: bytes, *parts: str) -> str:
    """Keyed hash of ``parts``: requests hold content, so a plain hash of a short one could be guessed."""
    message = b"\x00".join(part.encode() for part in ("idempotency", *parts))
    return hmac.new(master_key, message, hashlib.sha256).hexdigest()
