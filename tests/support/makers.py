"""Values for tests of the storage ports: short to make, different where it matters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from lethe.adapters.system import SystemClock, UlidIds
from lethe.domain.entity import Entity, EntityCategory
from lethe.domain.json_values import JsonValue
from lethe.domain.memory import Embedding, Memory, MemoryKind, MemoryStatus, Origin, Source, content_hash
from lethe.domain.session import Message, Role
from lethe.ports import NewMessage
from tests.fakes.time_and_ids import START

MODEL = "test/model@1"
IDS = UlidIds(SystemClock())

TEXTS = (
    "",
    "plain",
    "我的猫叫小花，住在杭州。",
    "👩‍👩‍👧‍👦 family 🎸\U0001f9e0",
    "nul \x00 and \x1f controls \x7f",
    "line\r\nbreaks\u2028and\u2029more\ttabs",
    "e\u0301 is not \u00e9",
    '"quotes" \\ back\\slashes \\u0041 {json: [1]}',
    " spaces \u00a0\u3000 ",
    "# separators #CURRENT#",
    "\ufeff\uffff\U0010ffff",
)

JSON_VALUES: tuple[JsonValue, ...] = (
    None,
    True,
    0,
    -0.0,
    12345678901234567890123,
    1e-300,
    1.7976931348623157e308,
    0.1 + 0.2,
    "",
    "text \x00 你好 🎸",
    [],
    {},
    [[[[[[[[[[1]]]]]]]]]],
    {"": {"ключ": [None, {"#": -1}]}, "a.b": 1, "a": {"b": 1}},
)


def unit_vector(seed: int, dimensions: int = 64) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """A unit vector that is the same for the same seed."""
    vector = np.random.default_rng(seed).normal(size=dimensions).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def memory(text: str = "Ana plays the guitar.", moment: datetime = START, **others: object) -> Memory:
    """A new memory; ``others`` are fields that differ from the usual ones."""
    fields: dict[str, object] = {
        "id": IDS.new("mem_"),
        "text": text,
        "kind": MemoryKind.FACT,
        "status": MemoryStatus.CURRENT,
        "confidence": 0.95,
        "language": "en",
        "source": Source("key_1", Origin.USER),
        "occurred_at": moment,
        "valid_from": moment,
        "created_at": moment,
        "updated_at": moment,
        "content_hash": content_hash(text, None, None),
        "embedding": Embedding(MODEL, unit_vector(len(text))),
    }
    return Memory(**{**fields, **others})  # type: ignore[arg-type]  # fields by name


def full_memory(text: str = "Ana plays the guitar.") -> Memory:
    """A memory with every field set to something of its own."""
    return memory(
        text,
        kind=MemoryKind.COMMITMENT,
        status=MemoryStatus.PENDING,
        confidence=1e-300,
        language="zh",
        source=Source("key_2", Origin.TOOL, "ses:1.a_b-c", ("msg_1", "msg_2")),
        occurred_at=START - timedelta(days=400, microseconds=1),
        valid_from=START - timedelta(days=3, microseconds=2),
        created_at=START + timedelta(microseconds=3),
        updated_at=START + timedelta(microseconds=4),
        speaker="Zoë 你好",
        context="before it: ~\x00",
        context_from=("msg_3",),
        valid_until=START + timedelta(days=30, microseconds=5),
        metadata={"values": list(JSON_VALUES[1:])},
        heat=0.1 + 0.2,
        pinned=True,
        frozen=True,
        derived_from=("mem_b", "mem_a"),
    )


def said(content: str, role: Role = Role.USER, client_id: str | None = None, **others: object) -> NewMessage:
    """A message that is not yet in a session."""
    fields: dict[str, object] = {
        "id": IDS.new("msg_"),
        "session_id": "",
        "sequence": 0,
        "role": role,
        "content": content,
        "created_at": START,
    }
    return NewMessage(Message(**{**fields, **others}), client_id)  # type: ignore[arg-type]  # fields by name


def entity(key: str, value: JsonValue = "x", moment: datetime = START, **others: object) -> Entity:
    """An entity as a service hands it to ``put``."""
    fields: dict[str, object] = {
        "id": IDS.new("ent_"),
        "key": key,
        "value": value,
        "category": EntityCategory.PROFILE,
        "origin": Origin.USER,
        "confidence": 1.0,
        "version": 0,
        "actor": "key_1",
        "valid_from": moment,
        "created_at": moment,
        "updated_at": moment,
    }
    return Entity(**{**fields, **others})  # type: ignore[arg-type]  # fields by name


def ulid_time(text: str) -> datetime:
    """The moment in a ULID without prefix, to the millisecond (https://github.com/ulid/spec)."""
    milliseconds = 0
    for character in text[:10]:
        milliseconds = milliseconds * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(character)
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
