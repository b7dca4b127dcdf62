"""Memories as items of their table, and back.

Both ways do without PynamoDB: recall decodes all memories of a subject on a cold container, and a batch writes a
thousand. For 1,000 memories ``memory_of`` takes 37 ms of processor time, PynamoDB's model 58 ms before the domain's
object is even made (2 cores, Python 3.11); making the items through the model was more than half of a batch's time.
The model knows the same attributes; the contract suite holds every field through the round trip.
"""

from __future__ import annotations

import json
from datetime import datetime

from lethe.adapters.dynamodb.attributes import float_text, time_text
from lethe.adapters.dynamodb.database import MAXIMUM_ITEM_BYTES
from lethe.adapters.dynamodb.failures import Item
from lethe.adapters.dynamodb.models import MemoryRow
from lethe.adapters.dynamodb.vectors import decode_vector, encode_vector
from lethe.domain import keys
from lethe.domain.identity import Space
from lethe.domain.json_values import canonical
from lethe.domain.memory import Embedding, Memory, MemoryKind, MemoryStatus, Origin, Source
from lethe.errors import TooLarge

EMBEDDINGS = (("model", "vector"), ("second_model", "second_vector"))
"""The attributes that hold a memory's embedding, and its second one."""

WITHOUT_VECTOR = tuple(
    name
    for name in MemoryRow.get_attributes()
    if name not in ("pk", "sk", *(each for pair in EMBEDDINGS for each in pair))
)
"""The attributes of a memory but for its embeddings."""


def memory_item(space: Space, memory: Memory, sort_key: str | None = None, written: str | None = None) -> Item:
    """The item of ``memory``: its newest version, or the one that ``sort_key`` names; ``written`` is the mark of the
    write that it comes with. Raises TooLarge.
    """
    _check_size(memory)
    source = memory.source
    texts: dict[str, str | None] = {
        "pk": keys.space_partition(space),
        "sk": sort_key or keys.memory(memory.id),
        "id": memory.id,
        "text": memory.text,
        "kind": memory.kind.value,
        "status": memory.status.value,
        "confidence": float_text(memory.confidence),
        "language": memory.language,
        "actor": source.actor,
        "origin": source.origin.value,
        "session_id": source.session_id,
        "message_ids": canonical(source.message_ids) if source.message_ids else None,
        "occurred_at": time_text(memory.occurred_at),
        "valid_from": time_text(memory.valid_from),
        "valid_until": time_text(memory.valid_until) if memory.valid_until else None,
        "created_at": time_text(memory.created_at),
        "updated_at": time_text(memory.updated_at),
        "superseded_at": time_text(memory.superseded_at) if memory.superseded_at else None,
        "content_hash": memory.content_hash,
        "speaker": memory.speaker,
        "context": memory.context,
        "metadata": canonical(memory.metadata) if memory.metadata else None,
        "heat": float_text(memory.heat),
        "derived_from": canonical(memory.derived_from) if memory.derived_from else None,
        "context_from": canonical(memory.context_from) if memory.context_from else None,
        "written": written,
    }
    item: Item = {name: {"S": value} for name, value in texts.items() if value is not None}
    item["version"] = {"N": str(memory.version)}
    if memory.pinned:
        item["pinned"] = {"BOOL": True}
    if memory.frozen:
        item["frozen"] = {"BOOL": True}
    return item | embedding_attributes(memory)


def embedding_attributes(memory: Memory) -> Item:
    """The attributes of the embeddings that ``memory`` has."""
    attributes: Item = {}
    for (model, vector), embedding in zip(EMBEDDINGS, (memory.embedding, memory.second_embedding), strict=True):
        if embedding is not None:
            attributes |= {model: {"S": embedding.model}, vector: {"B": encode_vector(embedding.vector)}}
    return attributes


def item_bytes(memory: Memory) -> int:
    """About what the item of ``memory`` takes: its texts, its vectors, and a thousand bytes for all else."""
    embeddings = (memory.embedding, memory.second_embedding)
    vectors = sum(embedding.vector.size * 2 for embedding in embeddings if embedding is not None)
    return sum(map(_bytes_of, _texts(memory).values())) + vectors + 1_000


def _texts(memory: Memory) -> dict[str, str]:
    return {
        "text": memory.text,
        "context": memory.context or "",
        "metadata": canonical(memory.metadata) if memory.metadata else "",
        "source.message_ids": "".join(memory.source.message_ids),
        "derived_from": "".join(memory.derived_from),
        "speaker": memory.speaker or "",
    }


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _check_size(memory: Memory) -> None:
    if item_bytes(memory) > MAXIMUM_ITEM_BYTES:
        texts = _texts(memory)
        largest = max(texts, key=lambda name: _bytes_of(texts[name]))
        raise TooLarge(f"{largest}: a memory takes at most {MAXIMUM_ITEM_BYTES} bytes in all")


def memory_of(item: Item) -> Memory:
    """The memory in an item. Without the attributes of its vectors it has no embeddings."""

    def text(name: str) -> str | None:
        value = item.get(name)
        return None if value is None else value["S"]

    def time(name: str) -> datetime | None:
        value = item.get(name)
        return None if value is None else datetime.fromisoformat(value["S"])

    def texts(name: str) -> tuple[str, ...]:
        value = item.get(name)
        return () if value is None else tuple(json.loads(value["S"]))

    metadata = item.get("metadata")
    return Memory(
        id=item["id"]["S"],
        text=item["text"]["S"],
        kind=MemoryKind(item["kind"]["S"]),
        status=MemoryStatus(item["status"]["S"]),
        confidence=float(item["confidence"]["S"]),
        language=item["language"]["S"],
        source=Source(item["actor"]["S"], Origin(item["origin"]["S"]), text("session_id"), texts("message_ids")),
        occurred_at=datetime.fromisoformat(item["occurred_at"]["S"]),
        valid_from=datetime.fromisoformat(item["valid_from"]["S"]),
        created_at=datetime.fromisoformat(item["created_at"]["S"]),
        updated_at=datetime.fromisoformat(item["updated_at"]["S"]),
        content_hash=item["content_hash"]["S"],
        speaker=text("speaker"),
        context=text("context"),
        valid_until=time("valid_until"),
        metadata={} if metadata is None else json.loads(metadata["S"]),
        version=int(item["version"]["N"]),
        heat=float(item["heat"]["S"]),
        pinned="pinned" in item,
        frozen="frozen" in item,
        derived_from=texts("derived_from"),
        context_from=texts("context_from"),
        superseded_at=time("superseded_at"),
        embedding=_embedding(item, "model", "vector"),
        second_embedding=_embedding(item, "second_model", "second_vector"),
    )


def _embedding(item: Item, model: str, vector: str) -> Embedding | None:
    return Embedding(item[model]["S"], decode_vector(item[vector]["B"])) if vector in item else None
