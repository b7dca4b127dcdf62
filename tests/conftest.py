"""Fixtures for all tests: the strict DynamoDB and moto, each started once, and the storage ports over them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from lethe.adapters.dynamodb import Database, TableNames, build_models, make_client
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.known import KnownSubjects
from lethe.entry.observability import PowertoolsEraseObserver, PowertoolsIndexObserver, PowertoolsObserver
from lethe.entry.routes import ROUTES
from lethe_local.dynoxide import HOW_TO_GET, Dynoxide, find_binary
from lethe_local.moto_tables import MotoTables
from lethe_local.opensearch_node import OpenSearchNode
from tests.support.api import Api, ApiStack, TenantOnStack, running_stack
from tests.support.real_node import why_no_node
from tests.support.search_bodies import RecordingConnection
from tests.support.search_worlds import World, dropped, fake_world, node_world, scan_world
from tests.support.stores import PATIENT, REGION, ROOT, Stores, drop_tables, fake_stores, new_tables, stores_over

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

pytest_plugins = ("tests.support.spreading",)

# botocore signs requests even to loopback.
os.environ.setdefault("AWS_ACCESS_KEY_ID", "testing")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "testing")

# Nodes of OpenSearch live for seconds here, and java's second compiler takes more time than it saves: a start is 17
# seconds of processor with it, and 8 without.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session", autouse=True)
def _loggers_of_the_run() -> None:
    """The functions' loggers keep for ever the output that they were made with. It must be that of the run: the output
    of a test that captures its own is closed when the test ends, and whatever logs after it would be told of that.
    """
    PowertoolsEraseObserver()
    PowertoolsIndexObserver()
    for function in {route.function for route in ROUTES}:
        PowertoolsObserver(function)


@pytest.fixture(scope="session")
def dynoxide() -> Iterator[str]:
    """The address of a dynoxide in memory; skips without the binary."""
    binary = find_binary(ROOT) or find_binary(ROOT / ".lethe" / "tools")
    if binary is None:
        pytest.skip(f"there is no dynoxide, the strict DynamoDB: {HOW_TO_GET}")
    server = Dynoxide.start(binary)
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """The address of moto's DynamoDB."""
    server = MotoTables(None)
    yield server.url
    server.discard()


@dataclass(slots=True)
class Shared:
    """What tests share, by backend: a client, which takes long to make, and tables.

    Tests keep apart by tenant, as customers do.
    """

    clients: dict[str, DynamoDBClient] = field(default_factory=dict)
    tables: dict[str, TableNames] = field(default_factory=dict)

    def client(self, backend: str, url: str) -> DynamoDBClient:
        if backend not in self.clients:
            self.clients[backend] = make_client(REGION, url, PATIENT)
        return self.clients[backend]


@pytest.fixture(scope="session")
def shared() -> Iterator[Shared]:
    """One for all tests of a run."""
    shared = Shared()
    yield shared
    for client in shared.clients.values():
        client.close()


def _over(backend: str, request: pytest.FixtureRequest, shared: Shared, *, empty: bool = False) -> Iterator[Stores]:
    if backend == "fake":
        yield fake_stores()
        return
    client = shared.client(backend, request.getfixturevalue(backend))
    tables = new_tables(client) if empty else shared.tables.get(backend) or new_tables(client)
    database = Database(client, build_models(tables, REGION))
    yield stores_over(backend, database)
    database.end_threads()
    if empty:
        drop_tables(client, tables)
    else:
        shared.tables[backend] = tables


@pytest.fixture(params=["fake", "moto", pytest.param("dynoxide", marks=pytest.mark.dynoxide)])
def stores(request: pytest.FixtureRequest, shared: Shared) -> Iterator[Stores]:
    """The ports over each backend, one after the other."""
    yield from _over(request.param, request, shared)


@pytest.fixture(params=["fake", "moto", pytest.param("dynoxide", marks=pytest.mark.dynoxide)])
def empty_stores(request: pytest.FixtureRequest, shared: Shared) -> Iterator[Stores]:
    """As ``stores``, on tables of their own."""
    yield from _over(request.param, request, shared, empty=True)


@pytest.fixture(params=["fake", pytest.param("dynoxide", marks=pytest.mark.dynoxide)])
def big_stores(request: pytest.FixtureRequest, shared: Shared) -> Iterator[Stores]:
    """As ``stores``, for tests with so much data that moto would take minutes."""
    yield from _over(request.param, request, shared)


@pytest.fixture
def strict_stores(request: pytest.FixtureRequest, shared: Shared) -> Iterator[Stores]:
    """The ports over dynoxide alone: for races and faults, where moto answers green by mistake."""
    yield from _over("dynoxide", request, shared)


@pytest.fixture(scope="session")
def opensearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real OpenSearch node: that of LETHE_OPENSEARCH_URL, else one of its own, ended afterwards."""
    running = os.environ.get("LETHE_OPENSEARCH_URL")
    if running:
        yield running
        return
    missing = why_no_node()
    if missing is not None:
        pytest.skip(f"there is no OpenSearch node: {missing}")
    node = OpenSearchNode.start(tmp_path_factory.mktemp("opensearch"), heap="512m")
    yield node.url
    node.stop()


@pytest.fixture(scope="session")
def search_threads() -> Iterator[Executor]:
    """What the search engine reads beside its request with."""
    with ThreadPoolExecutor(8) as threads:
        yield threads


@pytest.fixture
def make_world(request: pytest.FixtureRequest, search_threads: Executor) -> Iterator[Callable[[str], World]]:
    """Makes memory with a search engine over it, by the engine's name; on a node, with an index of its own."""
    made: list[World] = []

    def make(name: str) -> World:
        if name == "scan":
            return scan_world()
        if name == "known":
            return fake_world(Flavour.MANAGED, search_threads, known=KnownSubjects)
        if name != "node":
            return fake_world(Flavour(name), search_threads)
        made.append(node_world(request.getfixturevalue("opensearch"), RecordingConnection, search_threads))
        return made[-1]

    yield make
    for world in made:
        dropped(world)


_FLAVOURS = [flavour.value for flavour in Flavour]
_NODE = pytest.param("node", marks=pytest.mark.opensearch)


@pytest.fixture(params=["scan", *_FLAVOURS, "known", _NODE])
def world(request: pytest.FixtureRequest, make_world: Callable[[str], World]) -> World:
    """Memory with each search engine over it: the scan, OpenSearch in memory as each flavour, the same with views of
    known subjects, a real node.
    """
    return make_world(request.param)


@pytest.fixture(params=[*_FLAVOURS, _NODE])
def indexed(request: pytest.FixtureRequest, make_world: Callable[[str], World]) -> World:
    """As ``world``, where there is an index."""
    return make_world(request.param)


@pytest.fixture(params=_FLAVOURS)
def faked(request: pytest.FixtureRequest, make_world: Callable[[str], World]) -> World:
    """As ``world``, over each OpenSearch in memory: its clock can be moved, and it fails when told to."""
    return make_world(request.param)


@pytest.fixture(scope="session")
def api_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiStack]:
    """One running stack for all tests of the HTTP API; each takes a tenant of its own."""
    with running_stack(tmp_path_factory.mktemp("stack")) as stack:
        yield stack


@pytest.fixture(scope="module")
def own_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiStack]:
    """A stack for a module that fills its tables: erasures of other tests would read all of it, to be sure."""
    with running_stack(tmp_path_factory.mktemp("own-stack")) as stack:
        yield stack


@pytest.fixture
def tenant(api_stack: ApiStack) -> TenantOnStack:
    """An empty tenant."""
    return api_stack.tenant()


@pytest.fixture
def api(tenant: TenantOnStack) -> Api:
    """A client with a key that may do everything for every user of an empty tenant."""
    return tenant.admin
