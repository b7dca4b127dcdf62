"""The composition root: settings in, applications out. Everything is imported where it is built, so that a cold
start loads only what its function uses: the authorizer does without the routes, their models and numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

from lethe.entry.settings import (
    AccessSettings,
    AuthorizeSettings,
    DataSettings,
    IndexSettings,
    RecallSettings,
    Settings,
    WriteSettings,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_secretsmanager.client import SecretsManagerClient

    from lethe.adapters.dynamodb.database import Database
    from lethe.adapters.opensearch.connection import Cluster
    from lethe.adapters.opensearch.writer import OpenSearchWriter
    from lethe.entry.application import Application
    from lethe.entry.authorizer import Authorizer
    from lethe.entry.cursor import Cursors
    from lethe.entry.idempotency import Idempotency
    from lethe.entry.stream import StreamApplication
    from lethe.ports import (
        AccessStore,
        Clock,
        Embedder,
        Entities,
        IdempotencyRecords,
        Memories,
        SearchIndex,
        Sessions,
        SubjectHeads,
    )
    from lethe.services.access import Access
    from lethe.services.entities import EntityDesk
    from lethe.services.memories import MemoryDesk
    from lethe.services.reconcile import Reconciler
    from lethe.services.remember import Remember
    from lethe.services.sessions import SessionDesk
    from lethe.services.spaces import Spaces

_THREADS = 8
_MEGABYTE = 1024 * 1024
_INDEX_READ_SECONDS = 2.5
"""How long a recall waits for the index before the table answers instead."""
_INDEX_WRITE_SECONDS = 20.0


def build_authorize(environment: Mapping[str, str], clock: Clock | None = None) -> Authorizer:
    """The function ``authorize``. ``clock`` is taken for likeness with the others; nothing here tells the time."""
    from lethe.entry.authorizer import Authorizer
    from lethe.services.access import authenticate

    settings = AuthorizeSettings.from_environment(environment)
    store = _access_store(settings, settings.access_table)
    return Authorizer(lambda presented: authenticate(store, presented))


def build_write(environment: Mapping[str, str], clock: Clock | None = None) -> Application:
    """The function ``write``."""
    from lethe.entry.application import Application
    from lethe.entry.observability import PowertoolsObserver
    from lethe.entry.operations.entities import EntityWrites
    from lethe.entry.operations.memories import MemoryWrites
    from lethe.entry.operations.sessions import SessionWrites

    parts = _Parts(WriteSettings.from_environment(environment), clock)
    operations = {
        **SessionWrites(parts.spaces, parts.session_desk, parts.clock).operations(),
        **MemoryWrites(parts.spaces, parts.remember, parts.memory_desk, parts.clock, parts.ids).operations(),
        **EntityWrites(parts.spaces, parts.entity_desk, parts.clock).operations(),
    }
    return Application(operations, parts.spaces.for_writing, parts.idempotency, PowertoolsObserver("write"))


def build_recall(environment: Mapping[str, str], clock: Clock | None = None) -> Application:
    """The function ``recall``."""
    from lethe.adapters.cached_entities import CachedEntities
    from lethe.domain.policy import DEFAULT_POLICY
    from lethe.entry.application import Application
    from lethe.entry.observability import PowertoolsObserver
    from lethe.entry.operations.entities import EntityReads
    from lethe.entry.operations.memories import MemoryReads
    from lethe.entry.operations.recall import RecallReads, ServiceReads
    from lethe.entry.operations.sessions import SessionReads
    from lethe.services.recall import Recall
    from lethe.services.subjects import SubjectDesk

    settings = RecallSettings.from_environment(environment)
    parts = _Parts(settings, clock)
    index = _search_index(settings, parts.memories, parts.threads)
    entities = CachedEntities(parts.entities, settings.cache_seconds)
    recall = Recall(
        parts.spaces, index, parts.sessions, entities, parts.embedder, DEFAULT_POLICY, parts.clock, parts.threads
    )
    subjects = SubjectDesk(parts.spaces, parts.sessions, parts.entities, parts.memories, parts.clock)
    operations = {
        **SessionReads(parts.spaces, parts.session_desk, parts.cursors).operations(),
        **MemoryReads(parts.spaces, parts.memory_desk, recall, parts.cursors, parts.clock).operations(),
        **EntityReads(parts.spaces, parts.entity_desk, parts.cursors).operations(),
        **RecallReads(recall, subjects, parts.clock).operations(),
        **ServiceReads(parts.heads, index, parts.embedder).operations(),
    }
    return Application(operations, parts.spaces.for_reading, parts.idempotency, PowertoolsObserver("recall"))


def build_index(environment: Mapping[str, str], clock: Clock | None = None) -> StreamApplication:
    """The function ``index``."""
    from concurrent.futures import ThreadPoolExecutor

    from lethe.adapters.dead_letters import NoDeadLetters, QueueDeadLetters
    from lethe.adapters.dynamodb.heads import DynamoSubjectHeads
    from lethe.adapters.dynamodb.memories import DynamoMemories
    from lethe.adapters.system import SystemClock
    from lethe.entry.observability import PowertoolsIndexObserver
    from lethe.entry.stream import StreamApplication
    from lethe.services.indexing import Indexer

    settings = IndexSettings.from_environment(environment)
    clock = clock or SystemClock()
    database = _database(
        settings.region,
        settings.dynamodb_endpoint,
        subjects=settings.subjects_table,
        memories=settings.memories_table,
    )
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="lethe")
    writer = _index_writer(settings, clock)
    indexer = Indexer(DynamoSubjectHeads(database), DynamoMemories(database), writer, threads, _INDEX_WRITE_SECONDS)
    url = settings.dead_letters_url
    letters = QueueDeadLetters(settings.region, url) if url is not None else NoDeadLetters()
    return StreamApplication(indexer.apply, letters, PowertoolsIndexObserver(), clock)


def reconciler(environment: Mapping[str, str]) -> Reconciler:
    """The search index's upkeep, for the command line and the laptop."""
    from lethe.adapters.dynamodb.heads import DynamoSubjectHeads
    from lethe.adapters.dynamodb.memories import DynamoMemories
    from lethe.adapters.dynamodb.table_scan import DynamoMemoryTable
    from lethe.adapters.embedders import make_embedder
    from lethe.adapters.opensearch.administration import IndexAdministration
    from lethe.adapters.system import SystemClock
    from lethe.services.reconcile import Reconciler

    settings = IndexSettings.from_environment(environment)
    database = _database(
        settings.region,
        settings.dynamodb_endpoint,
        subjects=settings.subjects_table,
        memories=settings.memories_table,
    )
    model = make_embedder(settings.embedder, region=settings.region, url=settings.embedder_url).model
    cluster = _cluster(settings.region, settings.opensearch_url, settings.opensearch_flavour)
    clock = SystemClock()
    return Reconciler(
        DynamoSubjectHeads(database),
        DynamoMemories(database),
        DynamoMemoryTable(database),
        _index_writer(settings, clock),
        IndexAdministration(cluster, settings.opensearch_alias, model),
        clock,
    )


def _index_writer(settings: IndexSettings, clock: Clock) -> OpenSearchWriter:
    """Writes to the index of the embedder's model."""
    from lethe.adapters.embedders import make_embedder
    from lethe.adapters.opensearch.mapping import index_name
    from lethe.adapters.opensearch.writer import OpenSearchWriter

    model = make_embedder(settings.embedder, region=settings.region, url=settings.embedder_url).model
    cluster = _cluster(settings.region, settings.opensearch_url, settings.opensearch_flavour)
    return OpenSearchWriter(cluster, index_name(settings.opensearch_alias, model), model.label, clock)


@cache
def _cluster(region: str, url: str, flavour: str) -> Cluster:
    """One client a process."""
    from lethe.adapters.opensearch.connection import Cluster, make_client
    from lethe.adapters.opensearch.flavours import Flavour

    return Cluster(make_client(url, Flavour(flavour), region), Flavour(flavour))


def _search_index(settings: RecallSettings, memories: Memories, threads: Executor) -> SearchIndex:
    from lethe.adapters.scan_index import ScanIndex

    scan = ScanIndex(memories, settings.cache_megabytes * _MEGABYTE, settings.cache_seconds)
    if settings.search_engine == "scan":
        return scan
    if settings.opensearch_url is None:
        raise ValueError("set LETHE_OPENSEARCH_URL, or LETHE_SEARCH_ENGINE to scan")
    from lethe.adapters.opensearch.engine import OpenSearchIndex

    cluster = _cluster(settings.region, settings.opensearch_url, settings.opensearch_flavour)
    return OpenSearchIndex(memories, cluster, settings.opensearch_alias, scan, threads, _INDEX_READ_SECONDS)


def access_service(environment: Mapping[str, str]) -> Access:
    """Tenants and keys, for the command line and the laptop."""
    from lethe.adapters.system import SystemClock, UlidIds
    from lethe.services.access import Access

    settings = AccessSettings.from_environment(environment)
    clock = SystemClock()
    store = _access_store(settings, settings.access_table)
    return Access(store, _master_key(settings.region, settings.secret_arn, settings.master_key), clock, UlidIds(clock))


class _Parts:
    """Adapters of one function, each built when it is first asked for."""

    def __init__(self, settings: DataSettings, clock: Clock | None) -> None:
        from concurrent.futures import ThreadPoolExecutor

        from lethe.adapters.system import SystemClock, UlidIds

        self._settings = settings
        self.clock: Clock = clock or SystemClock()
        self.ids = UlidIds(self.clock)
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="lethe")
        self._database = _database(
            settings.region,
            settings.dynamodb_endpoint,
            subjects=settings.subjects_table,
            sessions=settings.sessions_table,
            entities=settings.entities_table,
            memories=settings.memories_table,
        )

    @cached_property
    def master_key(self) -> bytes:
        return _master_key(self._settings.region, self._settings.secret_arn, self._settings.master_key)

    @cached_property
    def heads(self) -> SubjectHeads:
        from lethe.adapters.dynamodb.heads import DynamoSubjectHeads

        return DynamoSubjectHeads(self._database)

    @cached_property
    def spaces(self) -> Spaces:
        from lethe.services.spaces import Spaces

        return Spaces(self.heads, self.master_key)

    @cached_property
    def sessions(self) -> Sessions:
        from lethe.adapters.dynamodb.sessions import DynamoSessions

        return DynamoSessions(self._database)

    @cached_property
    def entities(self) -> Entities:
        from lethe.adapters.dynamodb.entities import DynamoEntities

        return DynamoEntities(self._database)

    @cached_property
    def memories(self) -> Memories:
        from lethe.adapters.dynamodb.memories import DynamoMemories

        return DynamoMemories(self._database)

    @cached_property
    def embedder(self) -> Embedder:
        from lethe.adapters.embedders import make_embedder

        settings = self._settings
        arn = settings.embedder_key_arn
        return make_embedder(
            settings.embedder,
            region=settings.region,
            url=settings.embedder_url,
            api_key=(lambda: _secret(settings.region, arn)) if arn else None,
        )

    @cached_property
    def idempotency(self) -> Idempotency:
        from lethe.entry.idempotency import Idempotency
        from lethe.services.standing import Standing

        standing = Standing(self.memories, self.sessions, self.entities, self.clock)
        return Idempotency(self.answers, standing, self.master_key, self.clock)

    @cached_property
    def answers(self) -> IdempotencyRecords:
        from lethe.adapters.dynamodb.idempotency import DynamoIdempotencyRecords

        return DynamoIdempotencyRecords(self._database)

    @cached_property
    def remember(self) -> Remember:
        from lethe.services.remember import Remember

        return Remember(self.memories, self.embedder, self.clock, self.ids, self.threads)

    @cached_property
    def session_desk(self) -> SessionDesk:
        from lethe.domain.policy import DEFAULT_POLICY
        from lethe.services.sessions import SessionDesk

        return SessionDesk(
            self.sessions,
            self.entities,
            self.memories,
            self.answers,
            self.remember,
            DEFAULT_POLICY,
            self.clock,
            self.ids,
            self.threads,
        )

    @cached_property
    def memory_desk(self) -> MemoryDesk:
        from lethe.services.memories import MemoryDesk

        return MemoryDesk(self.memories, self.answers, self.embedder, self.clock)

    @cached_property
    def entity_desk(self) -> EntityDesk:
        from lethe.services.entities import EntityDesk

        return EntityDesk(self.entities, self.answers, self.clock, self.ids)

    @cached_property
    def cursors(self) -> Cursors:
        from lethe.entry.cursor import Cursors

        return Cursors(self.master_key)


def _access_store(settings: Settings, table: str) -> AccessStore:
    from lethe.adapters.dynamodb.access import DynamoAccessStore

    return DynamoAccessStore(_database(settings.region, settings.dynamodb_endpoint, access=table))


def _database(
    region: str,
    endpoint: str | None,
    *,
    subjects: str = "",
    sessions: str = "",
    entities: str = "",
    memories: str = "",
    access: str = "",
) -> Database:
    """The tables that a function was told of; the others have no name and are never touched."""
    from lethe.adapters.dynamodb.database import Database
    from lethe.adapters.dynamodb.models import TableNames, build_models

    return Database(
        _client(region, endpoint), build_models(TableNames(subjects, sessions, entities, memories, access), region)
    )


@cache
def _client(region: str, endpoint: str | None) -> DynamoDBClient:
    """One client a process: making one is most of a cold start."""
    from lethe.adapters.aws_logging import quiet_botocore
    from lethe.adapters.dynamodb.client import Timeouts, make_client

    quiet_botocore()
    # Another endpoint is an emulator, which on a busy laptop takes seconds for what AWS does in milliseconds.
    return make_client(region, endpoint, Timeouts(read=8.0) if endpoint else None)


def _master_key(region: str, secret_arn: str | None, given: str | None) -> bytes:
    """The root of subject hashes and cursor signatures. Raises ValueError when the settings name none."""
    if given is not None:
        return given.encode()
    if secret_arn is None:
        raise ValueError("set LETHE_SECRET_ARN, or LETHE_MASTER_KEY on a laptop")
    return _secret(region, secret_arn).encode()


@cache
def _secret(region: str, arn: str) -> str:
    """A secret's text, read once a container."""
    from botocore.config import Config

    from lethe.adapters.aws_logging import quiet_botocore
    from lethe.adapters.aws_session import aws_session

    quiet_botocore()
    config = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 3})
    client = cast(
        "SecretsManagerClient", aws_session().create_client("secretsmanager", region_name=region, config=config)
    )
    return client.get_secret_value(SecretId=arn)["SecretString"]
