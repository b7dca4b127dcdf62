"""Chains of documents, each of which names the hash of the one before it: audit trail and receipts."""

from __future__ import annotations

import hashlib
from typing import Final

from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonObject, canonical

NOTHING: Final = "0" * 64
"""What the first document names, since there is none before it."""


@immutable
class ChainEnd:
    """The end of a tenant's chain: how many links it has, and the hash of the last (64 zeros before the first)."""

    length: int
    hash: str


EMPTY: Final = ChainEnd(0, NOTHING)
"""The end of a chain without links."""


def hash_of(document: JsonObject) -> str:
    """SHA-256 of the canonical JSON in UTF-8, in 64 hex digits."""
    return hashlib.sha256(canonical(document).encode()).hexdigest()
