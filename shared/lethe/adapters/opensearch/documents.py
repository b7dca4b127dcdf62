"""How a memory becomes an entry of the index."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import numpy as np

from lethe.domain.identity import Space
from lethe.domain.indexing import Mark
from lethe.domain.json_values import JsonValue, canonical
from lethe.domain.memory import Memory, Vector
from lethe.domain.relevance.analysis import analyse
from lethe.domain.relevance.documents import memory_document, search_text
from lethe.domain.times import microseconds

MEMORY: Final = "memory"
MARK: Final = "mark"

_SHORTEST: Final = 1e-6


def entry_id(space: Space, memory_id: str) -> str:
    """The entry's ``_id``. A subject's hash contains its tenant, so it names the space with the epoch alone.

    Letters, digits, hyphens and underscores only, since other characters break signatures.
    """
    return f"{space.subject}-{space.epoch}-{memory_id}"


def facet(key: str, value: JsonValue) -> str:
    """The keyword by which a metadata field is found: a digest, so that the index holds no metadata in the clear."""
    return hashlib.sha256(canonical([key, _numbers_alike(value)]).encode()).hexdigest()[:32]


def _numbers_alike(value: JsonValue) -> JsonValue:
    """1 and 1.0 are equal in JSON, and so in the filter; ``true`` is not 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _numbers_alike(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_numbers_alike(each) for each in value]
    return value


def short_numbers(vector: Vector) -> list[JsonValue]:
    """The vector with six decimals, at half the length in JSON; the table keeps half as many bits as they tell."""
    numbers: list[JsonValue] = np.round(vector.astype(np.float64), 6).tolist()
    return numbers


def mark_id(space: Space) -> str:
    """The ``_id`` of a space's mark; no memory's id is ``mark``."""
    return entry_id(space, MARK)


def mark_entry(mark: Mark, now: datetime) -> dict[str, JsonValue]:
    """The body of a space's mark, noted at ``now``."""
    return _in(mark.space) | {
        "entry": MARK,
        "written": mark.written,
        "changed_at": microseconds(mark.changed_at),
        "marked_at": microseconds(now),
    }


def _in(space: Space) -> dict[str, JsonValue]:
    return {"tenant": space.tenant, "subject": space.subject, "epoch": space.epoch}


def entry(space: Space, memory: Memory, model: str) -> dict[str, JsonValue]:
    """The body of the entry. The vector is left out when ``model`` did not make it."""
    analysed = analyse([memory_document(memory)])[0]
    own, context = search_text(analysed.document)
    body = _in(space) | {
        "entry": MEMORY,
        "memory_id": memory.id,
        "version": memory.version,
        "created_at": microseconds(memory.created_at),
        "valid_from": microseconds(memory.valid_from),
        "kind": memory.kind.value,
        "status": memory.status.value,
        "origin": memory.source.origin.value,
        "facets": [facet(key, value) for key, value in memory.metadata.items()],
        "terms": sorted({*analysed.own, *analysed.context}),
        "length": len(analysed.own) + len(analysed.context),
        "own_length": len(analysed.own),
        "text": own,
        "context": context,
    }
    if memory.valid_until is not None:
        body["valid_until"] = microseconds(memory.valid_until)
    if memory.source.session_id is not None:
        body["session"] = memory.source.session_id
    embedding = memory.embedding_of(model)
    vector = embedding.vector if embedding is not None else None
    if vector is not None and np.isfinite(vector).all() and float(np.linalg.norm(vector)) > _SHORTEST:
        body["embedding"] = short_numbers(vector)
    return body
