"""The search index: as recall asks it, as the function ``index`` keeps it, and for its upkeep."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lethe.entry.settings import ErasingSettings, IndexSettings, RecallSettings
from lethe.entry.wiring.embedding import open_embedder
from lethe.entry.wiring.stores import open_database

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from lethe.adapters.opensearch.connection import Cluster
    from lethe.adapters.opensearch.mapping import IndexShape
    from lethe.adapters.opensearch.writer import OpenSearchWriter
    from lethe.domain.embedding import EmbeddingModel
    from lethe.entry.stream import StreamApplication
    from lethe.ports import Clock, DeadLetters, IndexWriter, Memories, SearchIndex
    from lethe.services.reconcile import Reconciler

_THREADS = 8
_MEGABYTE = 1024 * 1024
_READ_SECONDS = 2.5
"""How long a recall waits for the index before the table answers instead."""
_WRITE_SECONDS = 20.0


def search_index(settings: RecallSettings, memories: Memories, threads: Executor) -> SearchIndex:
    """The engine that recall searches with. Raises ValueError when the settings name no index where one is needed."""
    from lethe.adapters.scan_index import ScanIndex

    scan = ScanIndex(memories, settings.cache_megabytes * _MEGABYTE, settings.cache_seconds)
    if settings.search_engine == "scan":
        return scan
    if settings.opensearch_url is None:
        raise ValueError("set LETHE_OPENSEARCH_URL, or LETHE_SEARCH_ENGINE to scan")
    from lethe.adapters.opensearch.engine import OpenSearchIndex
    from lethe.adapters.opensearch.known import KnownSubjects
    from lethe.adapters.opensearch.mapping import searched_name

    cluster = _cluster(settings.region, settings.opensearch_url, settings.opensearch_flavour)
    name = searched_name(settings.opensearch_alias, _model(settings))
    known = KnownSubjects(scan)
    return OpenSearchIndex(memories, cluster, name, scan, threads, _READ_SECONDS, known=known)


def build_index(environment: Mapping[str, str], clock: Clock | None = None) -> StreamApplication:
    """The function ``index``."""
    from concurrent.futures import ThreadPoolExecutor

    from lethe.adapters.dynamodb.heads import DynamoSubjectHeads
    from lethe.adapters.dynamodb.memories import DynamoMemories
    from lethe.adapters.system import SystemClock
    from lethe.entry.observability import PowertoolsIndexObserver
    from lethe.entry.stream import StreamApplication
    from lethe.services.indexing import Indexer

    settings = IndexSettings.from_environment(environment)
    clock = clock or SystemClock()
    database = open_database(
        settings.region,
        settings.dynamodb_endpoint,
        subjects=settings.subjects_table,
        memories=settings.memories_table,
    )
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="lethe")
    writer = index_writer(settings, settings.opensearch_url, clock)
    indexer = Indexer(DynamoSubjectHeads(database), DynamoMemories(database), writer, threads, _WRITE_SECONDS)
    return StreamApplication(indexer.apply, dead_letters(settings), PowertoolsIndexObserver(), clock)


def dead_letters(settings: IndexSettings) -> DeadLetters:
    """Where goes what the index never takes."""
    from lethe.adapters.dead_letters import FileDeadLetters, NoDeadLetters, QueueDeadLetters

    if settings.dead_letters_url is not None:
        return QueueDeadLetters(settings.region, settings.dead_letters_url)
    return FileDeadLetters(Path(settings.dead_letters_file)) if settings.dead_letters_file else NoDeadLetters()


def reconciler(environment: Mapping[str, str]) -> Reconciler:
    """The search index's upkeep, for the command line and the laptop."""
    from concurrent.futures import ThreadPoolExecutor

    from lethe.adapters.dynamodb.heads import DynamoSubjectHeads
    from lethe.adapters.dynamodb.memories import DynamoMemories
    from lethe.adapters.dynamodb.table_scan import DynamoMemoryTable
    from lethe.adapters.opensearch.administration import IndexAdministration
    from lethe.adapters.system import SystemClock
    from lethe.services.reconcile import Reconciler

    settings = IndexSettings.from_environment(environment)
    database = open_database(
        settings.region,
        settings.dynamodb_endpoint,
        subjects=settings.subjects_table,
        memories=settings.memories_table,
    )
    model = _model(settings)
    beside = _second_model(settings)
    cluster = _cluster(settings.region, settings.opensearch_url, settings.opensearch_flavour)
    clock = SystemClock()
    return Reconciler(
        DynamoSubjectHeads(database),
        DynamoMemories(database),
        DynamoMemoryTable(database),
        _writer(settings, settings.opensearch_url, model, clock),
        IndexAdministration(cluster, settings.opensearch_alias, model, index_shape(settings), beside),
        clock,
        threads=ThreadPoolExecutor(_THREADS, thread_name_prefix="lethe-index"),
    )


def index_writer(settings: IndexSettings | ErasingSettings, url: str, clock: Clock) -> IndexWriter:
    """Writes to the index of the embedder's model, and to that of the second one's where there is one. ``url`` is that
    of the settings, which not all of them must have.
    """
    from lethe.adapters.opensearch.two_indexes import TwoIndexes

    model, second = _model(settings), _second_model(settings)
    writer = _writer(settings, url, model, clock)
    return writer if second in (None, model) else TwoIndexes(writer, _writer(settings, url, second, clock))


def begin_compaction(settings: ErasingSettings) -> int:
    """Have deleted entries leave the files of the index, which goes on by itself; how many merges were begun: none
    without an index.
    """
    if settings.opensearch_url is None:
        return 0
    from lethe.adapters.opensearch.compaction import Compaction

    cluster = _cluster(settings.region, settings.opensearch_url, settings.opensearch_flavour)
    return Compaction(cluster, settings.opensearch_alias).begin()


def index_shape(settings: IndexSettings) -> IndexShape:
    """What an index is made like."""
    from lethe.adapters.opensearch.mapping import NO_GRAPHS, IndexShape

    return IndexShape(shards=settings.opensearch_shards, graph_threshold=settings.opensearch_graphs or NO_GRAPHS)


def _model(settings: RecallSettings | IndexSettings | ErasingSettings) -> EmbeddingModel:
    return open_embedder(settings.region, settings.embedder, settings.embedder_url).model


def _second_model(settings: IndexSettings | ErasingSettings) -> EmbeddingModel | None:
    if settings.second_embedder is None:
        return None
    return open_embedder(settings.region, settings.second_embedder, settings.second_embedder_url).model


def _writer(
    settings: IndexSettings | ErasingSettings, url: str, model: EmbeddingModel, clock: Clock
) -> OpenSearchWriter:
    from lethe.adapters.opensearch.mapping import index_name
    from lethe.adapters.opensearch.writer import OpenSearchWriter

    cluster = _cluster(settings.region, url, settings.opensearch_flavour)
    return OpenSearchWriter(cluster, index_name(settings.opensearch_alias, model), model.label, clock)


@cache
def _cluster(region: str, url: str, flavour: str) -> Cluster:
    """One client a process."""
    from lethe.adapters.opensearch.connection import Cluster, make_client
    from lethe.adapters.opensearch.flavours import Flavour

    return Cluster(make_client(url, Flavour(flavour), region), Flavour(flavour))
