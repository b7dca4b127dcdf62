"""What is in the tables, as PynamoDB models: one class for each kind of item.

The models give attributes their types, make requests and conditions, and read answers; the calls go through
``database.Database``, so that one client serves them all and failures are translated in one place.
PynamoDB takes the table's name from a class, so ``build_models`` makes classes from the settings.
"""

from __future__ import annotations

from types import new_class
from typing import TypeVar, cast

from pynamodb.attributes import BinaryAttribute, BooleanAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from lethe.adapters.dynamodb.attributes import (
    FloatAttribute,
    IntAttribute,
    JsonAttribute,
    TextsAttribute,
    TimeAttribute,
)
from lethe.domain.immutable import immutable


class Row(Model):
    """What every item has: its two keys, and when DynamoDB may remove it (epoch seconds)."""

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    ttl = IntAttribute(null=True)


class HeadRow(Row):
    """A subject head."""

    epoch = IntAttribute()
    state = UnicodeAttribute()
    revision = IntAttribute()
    rewritten = IntAttribute(default=0)
    written = UnicodeAttribute(null=True)
    erasure = UnicodeAttribute(null=True)
    erased_until = TimeAttribute(null=True)


class AnswerRow(Row):
    """The answer that a request with an idempotency key got; content, hence in the subject's partition."""

    status = IntAttribute()
    body = BinaryAttribute(legacy_encoding=False)
    parts = IntAttribute()
    about = TextsAttribute(null=True)
    location = UnicodeAttribute(null=True)


class ClaimRow(Row):
    """Which request uses an idempotency key. ``deadline``, epoch seconds, is there while it runs."""

    request = UnicodeAttribute()
    deadline = NumberAttribute(null=True)


class SessionRow(Row):
    """A session's head. ``messages`` is the last sequence that was given."""

    id = UnicodeAttribute()
    created_at = TimeAttribute()
    updated_at = TimeAttribute()
    expires_at = TimeAttribute()
    messages = IntAttribute()
    turns = IntAttribute()
    ended_at = TimeAttribute(null=True)
    summarised_turns = IntAttribute()
    summarised_at = TimeAttribute(null=True)
    ttl_seconds = IntAttribute()


class MessageRow(Row):
    """A message."""

    id = UnicodeAttribute()
    session_id = UnicodeAttribute()
    sequence = IntAttribute()
    turn = IntAttribute()
    role = UnicodeAttribute()
    content = UnicodeAttribute()
    created_at = TimeAttribute()
    name = UnicodeAttribute(null=True)
    metadata = JsonAttribute(null=True)
    append = UnicodeAttribute(null=True)
    """The mark of the append that this message came with."""


class ClientRow(Row):
    """The pointer from a client's message id to the message's sequence."""

    sequence = IntAttribute()


class SummaryRow(Row):
    """A summary of a session."""

    session_id = UnicodeAttribute()
    text = UnicodeAttribute()
    through_sequence = IntAttribute()
    created_at = TimeAttribute()


class EntityRow(Row):
    """A version of an entity, current or old."""

    id = UnicodeAttribute()
    key = UnicodeAttribute()
    session_id = UnicodeAttribute(null=True)
    json = UnicodeAttribute()
    """The value as canonical JSON, so that ``null`` is a value too: PynamoDB takes None for no value at all."""
    category = UnicodeAttribute()
    origin = UnicodeAttribute()
    confidence = FloatAttribute()
    version = IntAttribute()
    actor = UnicodeAttribute()
    valid_from = TimeAttribute()
    created_at = TimeAttribute()
    updated_at = TimeAttribute()
    expires_at = TimeAttribute(null=True)
    superseded_at = TimeAttribute(null=True)
    sensitive = BooleanAttribute()


class MemoryRow(Row):
    """A version of a memory, newest or old; ``memory_items`` reads it."""

    id = UnicodeAttribute()
    text = UnicodeAttribute()
    kind = UnicodeAttribute()
    status = UnicodeAttribute()
    confidence = FloatAttribute()
    language = UnicodeAttribute()
    actor = UnicodeAttribute()
    origin = UnicodeAttribute()
    session_id = UnicodeAttribute(null=True)
    message_ids = TextsAttribute(null=True)
    occurred_at = TimeAttribute()
    valid_from = TimeAttribute()
    valid_until = TimeAttribute(null=True)
    created_at = TimeAttribute()
    updated_at = TimeAttribute()
    superseded_at = TimeAttribute(null=True)
    content_hash = UnicodeAttribute()
    speaker = UnicodeAttribute(null=True)
    context = UnicodeAttribute(null=True)
    metadata = JsonAttribute(null=True)
    version = IntAttribute()
    heat = FloatAttribute()
    pinned = BooleanAttribute(null=True)
    frozen = BooleanAttribute(null=True)
    derived_from = TextsAttribute(null=True)
    context_from = TextsAttribute(null=True)
    written = UnicodeAttribute(null=True)
    """The mark of the write that this version came with; the stream carries it to the index."""
    model = UnicodeAttribute(null=True)
    vector = BinaryAttribute(legacy_encoding=False, null=True)
    second_model = UnicodeAttribute(null=True)
    second_vector = BinaryAttribute(legacy_encoding=False, null=True)


class HashRow(Row):
    """The pointer from a content hash to the memory that says it."""

    memory_id = UnicodeAttribute()


class ChangeRow(Row):
    """The note that a memory was changed, for readers whose index does not show it yet."""

    memory_id = UnicodeAttribute()


class TenantRow(Row):
    """A tenant."""

    name = UnicodeAttribute()
    created_at = TimeAttribute()
    fenced = UnicodeAttribute(null=True)


class KeyRow(Row):
    """An API key."""

    id = UnicodeAttribute()
    tenant = UnicodeAttribute()
    actor = UnicodeAttribute()
    secret_hash = UnicodeAttribute()
    permissions = TextsAttribute()
    subjects = TextsAttribute()
    created_at = TimeAttribute()
    revoked_at = TimeAttribute(null=True)
    fenced = UnicodeAttribute(null=True)


class ErasureRow(Row):
    """An erasure. ``record`` is all of it but its version, as JSON; it never expires."""

    record = JsonAttribute()
    version = IntAttribute()


class OpenRow(Row):
    """The note that an erasure has not ended."""


class HoldRow(Row):
    """A hold, and in the same form the pointer to it from its subject."""

    name = UnicodeAttribute()
    subject = UnicodeAttribute()
    scope = JsonAttribute()
    created_at = TimeAttribute()


class AdmissionRow(Row):
    """The epoch at which an erased subject was admitted last."""

    epoch = IntAttribute()
    admitted_at = TimeAttribute()


class EndedRow(Row):
    """The epoch of a subject that the erasure of its tenant ended; its keys say the rest."""

    epoch = IntAttribute()


class AuditRow(Row):
    """An entry of the audit trail, whole, as canonical JSON: what its hash is of, to the letter."""

    entry = UnicodeAttribute()


class AuditPointerRow(Row):
    """The pointer from a subject to an entry about it; its keys say all."""


class ReceiptRow(Row):
    """A signed receipt, whole; it never expires."""

    document = JsonAttribute()


class ReceiptPointerRow(Row):
    """The pointer from a receipt's id to its place in the chain."""

    n = IntAttribute()


class ChainRow(Row):
    """The end of a chain: how many links it has, and the hash of the last."""

    length = IntAttribute()
    hash = UnicodeAttribute()


@immutable
class TableNames:
    """The tables' names."""

    subjects: str
    sessions: str
    entities: str
    memories: str
    access: str
    ledger: str = ""


@immutable
class Models:
    """The models, bound to their tables."""

    head: type[HeadRow]
    answer: type[AnswerRow]
    claim: type[ClaimRow]
    session: type[SessionRow]
    message: type[MessageRow]
    client: type[ClientRow]
    summary: type[SummaryRow]
    entity: type[EntityRow]
    memory: type[MemoryRow]
    content: type[HashRow]
    change: type[ChangeRow]
    tenant: type[TenantRow]
    key: type[KeyRow]
    erasure: type[ErasureRow]
    open: type[OpenRow]
    hold: type[HoldRow]
    admission: type[AdmissionRow]
    ended: type[EndedRow]
    audit: type[AuditRow]
    audit_pointer: type[AuditPointerRow]
    receipt: type[ReceiptRow]
    receipt_pointer: type[ReceiptPointerRow]
    chain: type[ChainRow]


AnyRow = TypeVar("AnyRow", bound=Row)


def build_models(tables: TableNames, region: str) -> Models:
    """The models for these tables. They never connect by themselves."""

    def bound(row: type[AnyRow], table: str) -> type[AnyRow]:
        meta = type("Meta", (), {"table_name": table, "region": region})
        return cast("type[AnyRow]", new_class(row.__name__, (row,), exec_body=lambda body: body.update(Meta=meta)))

    return Models(
        head=bound(HeadRow, tables.subjects),
        answer=bound(AnswerRow, tables.subjects),
        claim=bound(ClaimRow, tables.subjects),
        session=bound(SessionRow, tables.sessions),
        message=bound(MessageRow, tables.sessions),
        client=bound(ClientRow, tables.sessions),
        summary=bound(SummaryRow, tables.sessions),
        entity=bound(EntityRow, tables.entities),
        memory=bound(MemoryRow, tables.memories),
        content=bound(HashRow, tables.memories),
        change=bound(ChangeRow, tables.memories),
        tenant=bound(TenantRow, tables.access),
        key=bound(KeyRow, tables.access),
        erasure=bound(ErasureRow, tables.ledger),
        open=bound(OpenRow, tables.ledger),
        hold=bound(HoldRow, tables.ledger),
        admission=bound(AdmissionRow, tables.ledger),
        ended=bound(EndedRow, tables.ledger),
        audit=bound(AuditRow, tables.ledger),
        audit_pointer=bound(AuditPointerRow, tables.ledger),
        receipt=bound(ReceiptRow, tables.ledger),
        receipt_pointer=bound(ReceiptPointerRow, tables.ledger),
        chain=bound(ChainRow, tables.ledger),
    )


def table_of(row: type[Row]) -> str:
    """The name of the table that a bound model belongs to."""
    name: str = row.Meta.table_name
    return name
