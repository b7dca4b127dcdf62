"""Who calls, and whose memory it is about."""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from dataclasses import field
from enum import StrEnum

from lethe.domain.immutable import immutable

EVERY_USER = "*"


class Permission(StrEnum):
    """What an API key may do. ``admin`` includes all others."""

    READ = "read"
    WRITE = "write"
    ERASE = "erase"
    GOVERN = "govern"
    ADMIN = "admin"


@immutable
class Caller:
    """The authenticated caller, as the authorizer found it; made from nothing that a request body says.

    ``subjects`` are the subject hashes that the key may act for, or ``("*",)``; ``actor`` is the name that what it
    writes carries, and no proof of anything. ``fenced`` is whether its whole tenant was erased, or is being.
    """

    tenant: str
    actor: str
    permissions: frozenset[Permission]
    subjects: tuple[str, ...]
    key_id: str
    fenced: bool = False

    @property
    def identity(self) -> tuple[str, ...]:
        """What is bound to a caller is bound to this: the key itself and all that it may do. Not the actor, which is a
        name that several keys may carry.
        """
        return (self.tenant, self.key_id, " ".join(sorted(self.permissions)), " ".join(sorted(self.subjects)))

    def may(self, permission: Permission) -> bool:
        """Whether the key carries ``permission``."""
        return permission in self.permissions or Permission.ADMIN in self.permissions

    def may_see_sensitive(self) -> bool:
        """Whether sensitive values are shown unmasked: to keys that govern or administer."""
        return self.may(Permission.GOVERN)

    def covers(self, subject: str) -> bool:
        """Whether the key may act for ``subject`` (a subject hash)."""
        return EVERY_USER in self.subjects or subject in self.subjects


@immutable
class Space:
    """The handle of one subject's memory in one epoch.

    Only ``services.spaces`` makes one. Every port method that touches data takes a Space, and every stored key
    begins with it, so code that forgets the scope does not type-check and a write of an old epoch lands where
    no reader looks.

    ``revision`` is the head's revision when the space was opened. It says how fresh a cached view must be and is
    no part of the identity; ``rewritten`` says since which revision memories were only added, and ``written`` which
    write was the newest (``SubjectHead``).
    """

    tenant: str
    subject: str
    epoch: int
    revision: int = field(default=0, compare=False)
    rewritten: int = field(default=0, compare=False)
    written: str | None = field(default=None, compare=False)


def normalise_user_id(user_id: str) -> str:
    """NFC, so that one name typed in two ways is one subject. Raises ValueError with the limit."""
    normal = unicodedata.normalize("NFC", user_id)
    if not 1 <= len(normal) <= 256:
        raise ValueError("must be 1 to 256 characters")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in normal):
        raise ValueError("must not contain control characters")
    return normal


def subject_of(tenant: str, user_id: str, master_key: bytes) -> str:
    """The keyed hash under which a tenant's user is stored: HMAC-SHA-256, 32 hex digits (128 bits).

    The tenant is part of the message: the same user id has unrelated subjects in two tenants.
    Raises ValueError as ``normalise_user_id`` does.
    """
    message = f"subject\x00{tenant}\x00{normalise_user_id(user_id)}".encode()
    return hmac.new(master_key, message, hashlib.sha256).hexdigest()[:32]


def session_of(tenant: str, subject: str, session_id: str, master_key: bytes) -> str:
    """The keyed hash under which the ledger names a session, whose id its client chose: 32 hex digits."""
    message = f"session\x00{tenant}\x00{subject}\x00{session_id}".encode()
    return hmac.new(master_key, message, hashlib.sha256).hexdigest()[:32]


def key_of(tenant: str, key_id: str, master_key: bytes) -> str:
    """The keyed hash by which the ledger and the audit trail name an API key: 32 hex digits."""
    return hidden("key", tenant, key_id, master_key)


def hidden(kind: str, tenant: str, text: str, master_key: bytes) -> str:
    """The keyed hash of ``text`` for the ledger and the audit trail: who knows the text and the key can prove that it
    was this one, nobody else can guess it. ``kind`` keeps hashes of different things apart.
    """
    message = f"{kind}\x00{tenant}\x00{text}".encode()
    return hmac.new(master_key, message, hashlib.sha256).hexdigest()[:32]
