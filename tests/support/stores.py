"""The storage ports over one backend, and what tests need beside the ports."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lethe.adapters.dynamodb import (
    Database,
    DynamoAccessStore,
    DynamoAuditTrail,
    DynamoEntities,
    DynamoIdempotencyRecords,
    DynamoMemories,
    DynamoSessions,
    DynamoSubjectHeads,
    TableNames,
    Timeouts,
)
from lethe.domain import keys
from lethe.domain.head import SubjectHead, SubjectState
from lethe.domain.identity import Space
from lethe.domain.json_values import JsonObject
from lethe.domain.session import SessionSummary
from lethe.domain.times import epoch_seconds
from lethe.ports import AccessStore, AuditTrail, Entities, IdempotencyRecords, Memories, Sessions, SubjectHeads
from lethe_local.tables import create_tables
from lethe_local.template import read_template
from tests.fakes.access import FakeAccessStore
from tests.fakes.audit import FakeAuditTrail
from tests.fakes.entities import FakeEntities
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.idempotency import FakeIdempotencyRecords
from tests.fakes.memories import FakeMemories
from tests.fakes.sessions import FakeSessions

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

ROOT = Path(__file__).resolve().parents[2]
REGION = "eu-central-1"

# The machine is shared and slow at times: tests of behaviour wait longer than a Lambda function would.
PATIENT = Timeouts(connect=5, read=30, attempts=3)

_TABLES = {
    "subjects": "SubjectsTable",
    "sessions": "SessionsTable",
    "entities": "EntitiesTable",
    "memories": "MemoriesTable",
    "access": "AccessTable",
    "ledger": "LedgerTable",
}


@dataclass(frozen=True, slots=True)
class Stores:
    """All storage ports over one backend. ``database`` is None for the fakes."""

    backend: str
    heads: SubjectHeads
    sessions: Sessions
    entities: Entities
    memories: Memories
    access: AccessStore
    idempotency: IdempotencyRecords
    audit: AuditTrail
    put_head: Callable[[SubjectHead], None]
    put_summary: Callable[[Space, SessionSummary], None]
    database: Database | None = None

    def new_space(self, tenant: str = "") -> Space:
        """The space of a new subject, whose head stands."""
        name, subject = tenant or f"t-{secrets.token_hex(6)}", secrets.token_hex(16)
        return Space(name, subject, self.heads.create(name, subject).epoch)

    def revision(self, space: Space) -> int:
        """The revision that the space's head has now."""
        head = self.heads.read(space.tenant, space.subject)
        assert head is not None
        return head.revision

    def begin_erasure(self, space: Space) -> Space:
        """What erasure writes first: the epoch raised, the state no longer active. The space of the next epoch."""
        head = self.heads.read(space.tenant, space.subject)
        assert head is not None
        self.put_head(replace(head, epoch=head.epoch + 1, state=SubjectState.ERASING))
        return replace(space, epoch=space.epoch + 1)

    def admit(self, space: Space) -> None:
        """What admission writes: the subject may be written to again, in its present epoch."""
        head = self.heads.read(space.tenant, space.subject)
        assert head is not None
        self.put_head(replace(head, state=SubjectState.ACTIVE))


def fake_stores() -> Stores:
    """The ports in memory."""
    heads, sessions = FakeSubjectHeads(), FakeSessions()
    return Stores(
        "fake",
        heads,
        sessions,
        FakeEntities(heads),
        FakeMemories(heads, sessions),
        FakeAccessStore(),
        FakeIdempotencyRecords(),
        FakeAuditTrail(),
        heads.put,
        sessions.put_summary,
    )


@cache
def template_tables() -> Mapping[str, JsonObject]:
    """The tables as the template describes them, by logical id."""
    return read_template(ROOT / "template.yaml").tables


def new_tables(client: DynamoDBClient) -> TableNames:
    """A fresh set of the template's tables behind ``client``."""
    mark = secrets.token_hex(4)
    names = {ours: f"test-{mark}-{ours}" for ours in _TABLES}
    resources = {logical_id: template_tables()[logical_id] for logical_id in _TABLES.values()}
    create_tables(client, resources, {_TABLES[ours]: name for ours, name in names.items()})
    return TableNames(**names)


def drop_tables(client: DynamoDBClient, tables: TableNames) -> None:
    """Delete what ``new_tables`` made."""
    for ours in _TABLES:
        client.delete_table(TableName=getattr(tables, ours))


def stores_over(backend: str, database: Database) -> Stores:
    """The ports over ``database``."""
    models = database.models

    def put_head(head: SubjectHead) -> None:
        partition = keys.subject_partition(head.tenant, head.subject)
        row = models.head(partition, keys.HEAD, epoch=head.epoch, state=head.state.value, revision=head.revision)
        database.put(row)

    def put_summary(space: Space, summary: SessionSummary) -> None:
        session = DynamoSessions(database).get(space, summary.session_id, summary.created_at)
        assert session is not None
        row = models.summary(
            keys.space_partition(space),
            keys.summary(summary.session_id, summary.through_sequence),
            session_id=summary.session_id,
            text=summary.text,
            through_sequence=summary.through_sequence,
            created_at=summary.created_at,
            ttl=epoch_seconds(session.expires_at),
        )
        database.put(row)

    return Stores(
        backend,
        DynamoSubjectHeads(database),
        DynamoSessions(database),
        DynamoEntities(database),
        DynamoMemories(database),
        DynamoAccessStore(database),
        DynamoIdempotencyRecords(database),
        DynamoAuditTrail(database),
        put_head,
        put_summary,
        database,
    )
