"""A whole house of erasure over one DynamoDB, without the state machine: its steps are called in its order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING, cast

from lethe.adapters.dynamodb import Database
from lethe.adapters.dynamodb.access import DynamoAccessStore
from lethe.adapters.dynamodb.entities import DynamoEntities
from lethe.adapters.dynamodb.heads import DynamoSubjectHeads, DynamoSubjects
from lethe.adapters.dynamodb.idempotency import DynamoIdempotencyRecords
from lethe.adapters.dynamodb.ledger import DynamoHolds, DynamoLedger
from lethe.adapters.dynamodb.memories import DynamoMemories
from lethe.adapters.dynamodb.models import table_of
from lethe.adapters.dynamodb.purge import DynamoPurge
from lethe.adapters.dynamodb.receipts import DynamoReceipts
from lethe.adapters.dynamodb.sessions import DynamoSessions
from lethe.adapters.inspection import Inspector
from lethe.adapters.inspection.index import Entries
from lethe.adapters.inspection.tables import Tables
from lethe.domain.erasure import Erasure, ErasureState, StepName
from lethe.domain.identity import EVERY_USER, Caller, Permission, Space, session_of
from lethe.domain.json_values import JsonObject
from lethe.ports import (
    AccessStore,
    Entities,
    Holds,
    IdempotencyRecords,
    IndexWriter,
    Ledger,
    Memories,
    Purge,
    Receipts,
    Sessions,
    SubjectHeads,
    Subjects,
    Verifier,
)
from lethe.services.embedding import MemoryEmbedder
from lethe.services.erasure.partial import PartialDeletion
from lethe.services.erasure.rebuilding import Rebuilding
from lethe.services.erasure.receipts import ReceiptWriter
from lethe.services.erasure.requests import ErasureRequests, Wanted
from lethe.services.erasure.tick import Tick
from lethe.services.erasure.verification import Looking
from lethe.services.erasure.whole import WholeDeletion
from lethe.services.erasure.worker import Done, LeftBehind, Worker
from lethe.services.holds import HoldDesk
from lethe.services.spaces import Spaces
from tests.fakes.access import FakeAccessStore
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.entities import FakeEntities
from tests.fakes.erasing import FakeHolds, FakeLedger, FakeStores, FakeSubjects
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.idempotency import FakeIdempotencyRecords
from tests.fakes.memories import FakeMemories
from tests.fakes.receipts import FakeReceipts, FakeSigner
from tests.fakes.sessions import FakeSessions
from tests.fakes.time_and_ids import FixedClock, SequentialIds
from tests.support.receipts import RETENTION

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

KEY = b"k" * 32
ORDER = tuple(name for name in StepName if name is not StepName.DRAIN)


class StartedExecutions:
    """``Executions`` that only notes what was started."""

    def __init__(self) -> None:
        self.started: list[tuple[str, str, int]] = []

    def start(self, tenant: str, erasure_id: str, run: int) -> None:
        if (tenant, erasure_id, run) not in self.started:
            self.started.append((tenant, erasure_id, run))


@dataclass
class Erasing:
    """Everything that erases, over ``database``; ``inspected`` is the client that the verifier reads with."""

    database: Database
    inspected: DynamoDBClient
    writer: IndexWriter | None = None
    entries: Entries | None = None
    clock: FixedClock = field(default_factory=FixedClock)
    executions: StartedExecutions = field(default_factory=StartedExecutions)
    signer: FakeSigner = field(default_factory=FakeSigner)
    whole_tables: bool = True
    at_drain: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.ids = SequentialIds()
        self._open_stores()
        self._build()

    def _open_stores(self) -> None:
        """The ports, over the database."""
        database, models = self.database, self.database.models
        self.heads: SubjectHeads = DynamoSubjectHeads(database)
        self.memories: Memories = DynamoMemories(database)
        self.sessions: Sessions = DynamoSessions(database)
        self.entities: Entities = DynamoEntities(database)
        self.answers: IdempotencyRecords = DynamoIdempotencyRecords(database)
        self.ledger: Ledger = DynamoLedger(database)
        self.held: Holds = DynamoHolds(database)
        self.receipts: Receipts = DynamoReceipts(database)
        self.access: AccessStore = DynamoAccessStore(database)
        self.purge: Purge = DynamoPurge(database, KEY)
        self.subjects: Subjects = DynamoSubjects(database)
        names = {
            "subjects": table_of(models.head),
            "sessions": table_of(models.session),
            "entities": table_of(models.entity),
            "memories": table_of(models.memory),
            "access": table_of(models.tenant),
        }
        self.verifier: Verifier = Inspector(Tables(self.inspected, names), self.entries, KEY, self.whole_tables)

    def _build(self) -> None:
        """The use cases, over the ports."""
        self.spaces = Spaces(self.heads, KEY, self.clock)
        self.embedder = FakeEmbedder()
        rebuilding = Rebuilding(self.memories, MemoryEmbedder(self.embedder))
        self.partial = PartialDeletion(
            self.heads,
            self.memories,
            self.sessions,
            self.entities,
            self.answers,
            rebuilding,
            self.writer,
            self.held,
            KEY,
        )
        whole = WholeDeletion(
            self.ledger,
            self.heads,
            self.subjects,
            self.access,
            self.purge,
            self.writer,
            self.held,
        )
        looking = Looking(self.verifier, self.held)
        receipts = ReceiptWriter(self.receipts, self.held, self.signer, RETENTION, looking.method, "test", self.clock)
        self.worker = Worker(self.ledger, whole, self.partial, looking, receipts, self.clock)
        self.tick = Tick(self.ledger, self.held, self.executions, self.clock)
        self.requests = ErasureRequests(
            self.spaces,
            self.heads,
            self.ledger,
            self.access,
            self.partial,
            self.executions,
            self.clock,
            self.ids,
            KEY,
        )
        self.holds = HoldDesk(self.spaces, self.held, self.clock, KEY)

    def caller(self, tenant: str, *users: str) -> Caller:
        """An administrator's key; of these users alone, if any are named."""
        everybody = Caller(tenant, "tester", frozenset({Permission.ADMIN}), (EVERY_USER,), "KEY" + "0" * 23)
        subjects = tuple(self.spaces.subject(everybody, user) for user in users)
        return replace(everybody, subjects=subjects) if subjects else everybody

    def write(self, caller: Caller, user: str) -> Space:
        """The space that a writer gets."""
        return self.spaces.for_writing(caller, user)

    def begin(self, caller: Caller, user: str | None, wanted: Wanted) -> Erasure:
        """Begin an erasure, with all the time that there is."""
        return self.requests.begin(caller, user, wanted, None, lambda: inf)

    def drive(self, erasure: Erasure, time_left: Callable[[], float] = lambda: inf) -> Erasure:
        """What the state machine does: every task until it is done, the drain between, failure at the end."""
        task: StepName | None = ORDER[0]
        while task is not None:
            try:
                done = self.worker.run(task, erasure.tenant, erasure.id, time_left)
            except LeftBehind as error:
                self.worker.fail(erasure.tenant, erasure.id, error.code)
                break
            task = self.following(task, done)
        return self.read(erasure)

    def following(self, task: StepName, done: Done) -> StepName | None:
        """The task that comes next; None behind the last, and where something else has to end first. The drain is
        waited out in between.
        """
        if done.later:
            return None
        if not done.done:
            return done.following or task
        if task is StepName.PROBE:
            self.at_drain()
            self.clock.move(timedelta(seconds=60))
        return next(itertools.islice(ORDER, ORDER.index(task) + 1, None), None)

    def read(self, erasure: Erasure) -> Erasure:
        """The row as it stands."""
        found = self.ledger.read(erasure.tenant, erasure.id)
        assert found is not None
        return found

    def erase(self, caller: Caller, user: str | None, wanted: Wanted) -> Erasure:
        """Begin and drive to the end."""
        return self.drive(self.begin(caller, user, wanted))

    def receipt(self, erasure: Erasure) -> JsonObject:
        """The newest receipt's document."""
        assert erasure.receipt_id is not None
        document = self.receipts.read(erasure.tenant, erasure.receipt_id)
        assert document is not None
        return document


class ErasingInMemory(Erasing):
    """The same use cases over ports in memory, for histories by the thousand."""

    def __init__(self) -> None:
        super().__init__(cast("Database", None), cast("DynamoDBClient", None))

    def _open_stores(self) -> None:
        heads, self.fake_sessions = FakeSubjectHeads(), FakeSessions()
        memories, entities = FakeMemories(heads, self.fake_sessions), FakeEntities(heads)
        answers = FakeIdempotencyRecords()
        stores = FakeStores(memories, entities, self.fake_sessions, answers, _name_session)
        self.heads, self.memories, self.sessions = heads, memories, self.fake_sessions
        self.entities, self.answers, self.access = entities, answers, FakeAccessStore()
        self.ledger, self.held, self.receipts = FakeLedger(), FakeHolds(heads), FakeReceipts()
        self.subjects, self.purge, self.verifier = FakeSubjects(heads), stores, stores


def _name_session(space: Space, session_id: str) -> str:
    return session_of(space.tenant, space.subject, session_id, KEY)


def rows(client: DynamoDBClient, names: Sequence[str]) -> Mapping[tuple[str, str, str], object]:
    """Every item of these tables, by table, pk and sk."""
    found = {}
    for name in names:
        for page in client.get_paginator("scan").paginate(TableName=name, ConsistentRead=True):
            for item in page["Items"]:
                found[name, str(item["pk"]["S"]), str(item["sk"]["S"])] = item
    return found


def ended(erasure: Erasure) -> bool:
    """Whether it came to a good end."""
    return erasure.state in (ErasureState.COMPLETED, ErasureState.COMPLETED_WITH_HOLDS)
