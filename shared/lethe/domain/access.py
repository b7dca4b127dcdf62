"""Tenants and API keys."""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from datetime import datetime

from lethe.domain.blank import is_blank
from lethe.domain.identity import Permission
from lethe.domain.immutable import immutable

TENANT_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?", re.ASCII)
_KEYS_OWN_NAME = "key:"
MAXIMUM_ACTOR = 128
_PRESENTED = re.compile(r"lk_([0-9A-HJKMNP-TV-Z]{26})_([A-Za-z0-9_-]{43})", re.ASCII)


@immutable
class Tenant:
    """A tenant; its name is its id: lower-case letters, digits and hyphens, at most 64.

    ``fenced`` is the erasure of the whole tenant, from its beginning until the tenant is admitted again.
    """

    name: str
    created_at: datetime
    fenced: str | None = None


@immutable
class ApiKey:
    """An API key as it is stored: never the secret, only its SHA-256; never users, only their subject hashes.

    A plain hash is enough because the secret is 256 random bits: there is nothing to guess. ``fenced`` is its tenant's.
    """

    id: str
    tenant: str
    actor: str
    secret_hash: str
    permissions: frozenset[Permission]
    subjects: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None = None
    fenced: str | None = None

    def opens_with(self, secret: str) -> bool:
        """Whether ``secret`` is this key's, and it is not revoked; takes the same time for every wrong one."""
        matches = hmac.compare_digest(hash_secret(secret), self.secret_hash)
        return matches and self.revoked_at is None


def own_actor(key_id: str) -> str:
    """The actor of a key for which nobody chose a name."""
    return _KEYS_OWN_NAME + key_id


def chosen_actor(name: str) -> str:
    """``name`` as the actor of a key. Raises ValueError unless it has 1 to 128 characters that can be seen, and when it
    begins, in whatever letters, as the names do that keys have of themselves: one key could pass for another.
    """
    if not 1 <= len(name) <= MAXIMUM_ACTOR or not name.isprintable() or is_blank(name):
        raise ValueError(f"must be 1 to {MAXIMUM_ACTOR} printable characters")
    if unicodedata.normalize("NFKC", name).strip().casefold().startswith(_KEYS_OWN_NAME):
        raise ValueError(f"must not begin with {_KEYS_OWN_NAME}, the beginning of the names of keys without an actor")
    return name


def hash_secret(secret: str) -> str:
    """SHA-256 of a key's secret, hex."""
    return hashlib.sha256(secret.encode()).hexdigest()


def format_key(key_id: str, secret: str) -> str:
    """The text that a client presents: ``lk_<key id>_<secret>``."""
    return f"lk_{key_id}_{secret}"


def parse_key(presented: str) -> tuple[str, str] | None:
    """Key id and secret of a presented key, or None when it has not the form of one."""
    match = _PRESENTED.fullmatch(presented)
    return (match[1], match[2]) if match else None
