"""Long-term memory: one short statement with its provenance, versions and status."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonObject, JsonValue
from lethe.domain.times import to_rfc3339

if TYPE_CHECKING:  # a function that sees no vector does without numpy
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"
"""One-dimensional, of unit length."""


class MemoryKind(StrEnum):
    """What sort of statement a memory is."""

    PROFILE = "profile"
    PREFERENCE = "preference"
    DECISION = "decision"
    FACT = "fact"
    COMMITMENT = "commitment"
    EPISODE = "episode"
    SUMMARY = "summary"


class MemoryStatus(StrEnum):
    """Where a memory stands; only ``current`` ones are recalled by default."""

    CURRENT = "current"
    PENDING = "pending"
    OBSOLETE = "obsolete"
    ARCHIVED = "archived"


class Origin(StrEnum):
    """Where a statement came from."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    IMPORT = "import"
    ADMIN = "admin"


@immutable
class Source:
    """Why a memory is known: the session and messages that it was taken from, who wrote it, and its origin."""

    actor: str
    origin: Origin
    session_id: str | None = None
    message_ids: tuple[str, ...] = ()


@immutable
class Embedding:
    """A unit vector and the model that made it, such as ``local/minilm-use@1``.

    Vectors of two models are never compared.
    """

    model: str
    vector: Vector = field(repr=False, compare=False)


@immutable
class Memory:
    """One version of one memory. ``version`` counts from 1; all but the newest are history."""

    id: str
    text: str
    kind: MemoryKind
    status: MemoryStatus
    confidence: float
    language: str
    source: Source
    occurred_at: datetime
    valid_from: datetime
    created_at: datetime
    updated_at: datetime
    content_hash: str
    speaker: str | None = None
    context: str | None = None
    valid_until: datetime | None = None
    metadata: JsonObject = field(default_factory=dict)
    version: int = 1
    heat: float = 1.0
    pinned: bool = False
    frozen: bool = False
    derived_from: tuple[str, ...] = ()
    context_from: tuple[str, ...] = ()
    """The messages whose words ``context`` repeats, where it was taken from any."""
    superseded_at: datetime | None = None
    """When a newer version took this one's place; None on the newest."""
    embedding: Embedding | None = None
    second_embedding: Embedding | None = None
    """The vector of a second model, while one takes the other's place; a reader takes the one of its own model."""

    def embedding_of(self, model: str | None) -> Embedding | None:
        """The vector that the model with this label made, of the two that there may be."""
        for embedding in (self.embedding, self.second_embedding):
            if embedding is not None and embedding.model == model:
                return embedding
        return None

    def status_at(self, moment: datetime) -> MemoryStatus:
        """The status that a reader sees at ``moment``: past its ``valid_until`` a current memory is archived."""
        ended = self.valid_until is not None and self.valid_until <= moment
        return MemoryStatus.ARCHIVED if ended and self.status is MemoryStatus.CURRENT else self.status

    def was_current_at(self, moment: datetime) -> bool:
        """Whether this version was what held at ``moment`` (valid time).

        The first version holds from ``valid_from``; a later one from the moment it took over (``updated_at``);
        each until the next took over, and never past ``valid_until``.
        """
        begins = self.valid_from if self.version == 1 else self.updated_at
        return (
            begins <= moment
            and (self.superseded_at is None or moment < self.superseded_at)
            and (self.valid_until is None or moment < self.valid_until)
        )


@immutable
class MemoryFilter:
    """Which memories a search or list may return; an empty tuple or None means any.

    ``statuses`` is compared with ``Memory.status_at(now)``, or at ``valid_at`` where that is asked for: what held then
    is current then. ``metadata`` asks for equality of top-level values.
    """

    kinds: tuple[MemoryKind, ...] = ()
    statuses: tuple[MemoryStatus, ...] = (MemoryStatus.CURRENT,)
    origins: tuple[Origin, ...] = ()
    session_id: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    valid_at: datetime | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)

    def accepts(self, memory: Memory, now: datetime) -> bool:
        """Whether ``memory`` passes, as seen at ``now``. ``created_after`` is exclusive, as is ``_before``."""
        return (
            (not self.kinds or memory.kind in self.kinds)
            and (not self.statuses or memory.status_at(self.valid_at or now) in self.statuses)
            and (not self.origins or memory.source.origin in self.origins)
            and (self.session_id is None or memory.source.session_id == self.session_id)
            and (self.created_after is None or memory.created_at > self.created_after)
            and (self.created_before is None or memory.created_at < self.created_before)
            and (self.valid_at is None or _valid_at(memory, self.valid_at))
            and all(
                key in memory.metadata and _same_json(memory.metadata[key], wanted)
                for key, wanted in self.metadata.items()
            )
        )


def _valid_at(memory: Memory, moment: datetime) -> bool:
    return memory.valid_from <= moment and (memory.valid_until is None or moment < memory.valid_until)


def _same_json(one: JsonValue, other: JsonValue) -> bool:
    """Equality of JSON values; unlike Python's, ``true`` is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other


def content_hash(
    text: str,
    speaker: str | None,
    occurred_at: datetime | None,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
) -> str:
    """What makes two statements the same: text (NFKC, case and white space folded), speaker, the end of its validity
    and, where the caller named them, the times at which it was said and from which it holds. SHA-256, hex.

    A statement that has ended is thus never taken for one that goes on.
    """
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    said = to_rfc3339(occurred_at) if occurred_at else ""
    parts = [folded, (speaker or "").casefold(), said]
    if valid_from or valid_until:
        parts.append("/".join(to_rfc3339(moment) if moment else "" for moment in (valid_from, valid_until)))
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


def changed_hash(seen: Memory, changed: Memory) -> str:
    """The content hash of ``changed``, made of the same times as that of ``seen``: what the caller named when the
    memory was made is known by its hash alone.
    """
    for said, begins in product((None, seen.occurred_at), (None, seen.valid_from)):
        if content_hash(seen.text, seen.speaker, said, begins, seen.valid_until) == seen.content_hash:
            return content_hash(changed.text, changed.speaker, said, begins, changed.valid_until)
    return content_hash(changed.text, changed.speaker, None, None, changed.valid_until)
