"""Memories as they are answered to keys that may write and not read."""

from __future__ import annotations

from typing import Final

from pydantic import Field, JsonValue

from lethe.domain.memory import MemoryKind, MemoryStatus
from lethe.entry.api.types import Out, TimeOut

_UNSAID: Final = Field(default=None, exclude_if=lambda value: value is None)


class KnownMemoryOut(Out):
    """What a key without the permission ``read`` may know of a memory that it did not write, or only in part: which it
    is, where it stands, and the fields that this very request has set.
    """

    id: str
    user_id: str | None
    status: MemoryStatus
    version: int
    text: str | None = _UNSAID
    kind: MemoryKind | None = _UNSAID
    confidence: float | None = _UNSAID
    metadata: dict[str, JsonValue] | None = _UNSAID
    valid_until: TimeOut | None = _UNSAID
    pinned: bool | None = _UNSAID
    frozen: bool | None = _UNSAID
