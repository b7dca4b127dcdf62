"""Chooses what holds the tables: another endpoint by a setting, dynoxide when it can be had, else moto."""

from __future__ import annotations

import base64
import platform
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

import boto3
from botocore.config import Config

from lethe.domain.json_values import JsonObject
from lethe_local.dynoxide import HOW_TO_GET, Dynoxide, find_binary
from lethe_local.intrinsics import REGION
from lethe_local.moto_tables import MotoTables, read_items
from lethe_local.processes import end_leftover
from lethe_local.state import write_private
from lethe_local.stream_index import add_stream_index
from lethe_local.tables import create_tables

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import WriteRequestUnionTypeDef

Choice: TypeAlias = Literal["auto", "dynoxide", "moto"]

_VERSION = "1.2.1"
_INSTALL_SECONDS = 60.0
_PID_FILE = "dynoxide.pid"


@dataclass(frozen=True, slots=True)
class Backend:
    """Running tables: their endpoint, one line that says what they are, how to stop them, and what they are in a word.

    ``containers`` is how many requests a function may serve at once without the tables becoming slow. ``streams`` are
    the tables' streams by table name, and ``late_streams`` the names of tables that had items before their stream.
    ``keeps_streams`` is whether the next run can go on with them.
    """

    url: str
    description: str
    stop: Callable[[], None]
    kind: Literal["dynamodb", "dynoxide", "moto"]
    containers: int = 4
    streams: Mapping[str, str] = field(default_factory=dict)
    late_streams: frozenset[str] = frozenset()
    keeps_streams: bool = True


@dataclass(frozen=True, slots=True)
class TablesWanted:
    """The template's tables: their resources and real names, both by logical id, and whose stream somebody reads."""

    resources: Mapping[str, JsonObject]
    names: Mapping[str, str]
    streams: frozenset[str] = frozenset()

    def create(self, client: DynamoDBClient) -> frozenset[str]:
        """Create what is missing, as ``create_tables`` does."""
        return create_tables(client, self.resources, self.names, streams=self.streams)

    def stream_arns(self, client: DynamoDBClient) -> dict[str, str]:
        """The streams that somebody reads, by table name, as this DynamoDB calls them."""
        tables = [self.names[logical_id] for logical_id in self.streams]
        return {table: client.describe_table(TableName=table)["Table"]["LatestStreamArn"] for table in tables}


def open_backend(wanted: TablesWanted, state: Path, binary: Path | None, endpoint: str | None) -> Backend:
    """Start what holds the tables, and create those that are missing: ``endpoint``, else ``binary``, else moto.

    ``state`` is the folder that the data lives in. Raises what ``create_tables`` raises, and StateUnreadable.
    """
    if endpoint is not None:
        client = dynamodb_client(endpoint)
        late = wanted.create(client)
        line = f"tables on the DynamoDB at {endpoint}"
        return Backend(endpoint, line, lambda: None, "dynamodb", streams=wanted.stream_arns(client), late_streams=late)
    return _on_dynoxide(binary, state, wanted) if binary is not None else _on_moto(state, wanted)


def tables_wanted(environment: Mapping[str, str]) -> Choice:
    """What LETHE_LOCAL_TABLES asks for; ``auto`` where it is silent. Raises ValueError for anything else."""
    named = environment.get("LETHE_LOCAL_TABLES") or "auto"
    for choice in get_args(Choice):
        if named == choice:
            return cast("Choice", choice)
    raise ValueError(f"LETHE_LOCAL_TABLES must be one of {', '.join(get_args(Choice))}")


def choose_binary(choice: Choice, root: Path, tools: Path, say: Callable[[str], None]) -> Path | None:
    """The dynoxide to use, installed by npm into ``tools`` if need be; None means moto.

    ``say`` hears of an installation, which happens once. Raises RuntimeError when dynoxide is demanded and there is
    none.
    """
    binary = None if choice == "moto" else _find_or_install(root, tools, say)
    if binary is None and choice == "dynoxide":
        raise RuntimeError(f"there is no dynoxide: {HOW_TO_GET}")
    return binary


def dynamodb_client(endpoint: str) -> DynamoDBClient:
    """A client for the tables at ``endpoint``."""
    config = Config(retries={"total_max_attempts": 3}, connect_timeout=5, read_timeout=20)
    client: DynamoDBClient = boto3.client("dynamodb", endpoint_url=endpoint, region_name=REGION, config=config)
    return client


def _on_dynoxide(binary: Path, state: Path, wanted: TablesWanted) -> Backend:
    database, left_by_moto = state / "dynoxide.db", state / "tables.json"
    is_new = not database.exists()
    end_leftover(state / _PID_FILE, database)
    server = Dynoxide.start(binary, db_path=database)
    try:
        write_private(state / _PID_FILE, str(server.pid))
        client = dynamodb_client(server.url)
        late = wanted.create(client)
        if wanted.streams:
            add_stream_index(database)
        moved = ""
        if is_new and left_by_moto.exists():
            moved = f"; {_import(client, left_by_moto)} items moved here from moto"
            left_by_moto.unlink()
    except BaseException:
        server.stop()
        raise
    line = f"tables on dynoxide, durable in {database.name}{moved}"

    def stop() -> None:
        server.stop()
        (state / _PID_FILE).unlink(missing_ok=True)

    return Backend(server.url, line, stop, "dynoxide", streams=wanted.stream_arns(client), late_streams=late)


def _on_moto(state: Path, wanted: TablesWanted) -> Backend:
    server = MotoTables(state / "tables.json")
    try:
        client = dynamodb_client(server.url)
        wanted.create(client)
        server.load()
    except BaseException:
        server.discard()
        raise
    left = "; what was stored on dynoxide before is not visible" if (state / "dynoxide.db").exists() else ""
    line = f"tables on moto, in memory, saved in tables.json{left}; durable and faster: {HOW_TO_GET}"
    # One call at a time goes through moto: more would only wait there until the client's time-out.
    streams = wanted.stream_arns(client)
    return Backend(server.url, line, server.stop, "moto", containers=2, streams=streams, keeps_streams=False)


def _find_or_install(root: Path, tools: Path, say: Callable[[str], None]) -> Path | None:
    found = find_binary(root) or find_binary(tools)
    npm = shutil.which("npm")
    if found is not None or npm is None:
        return found
    package = f"@dynoxide/{_system()}@{_VERSION}"
    tools.mkdir(parents=True, exist_ok=True)
    say(f"installing {package} with npm, once")
    options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(tools)]
    command = [npm, "install", *options, package]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_INSTALL_SECONDS, stdin=subprocess.DEVNULL)
    except (subprocess.SubprocessError, OSError) as error:
        say(f"npm could not install it ({type(error).__name__}); moto holds the tables instead")
        return None
    return find_binary(tools)


def _system() -> str:
    """The name that npm gives this kind of machine, such as ``linux-x64``."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), "arm64")
    system = {"windows": "win32"}.get(platform.system().lower(), platform.system().lower())
    return f"{system}-{machine}"


def _import(client: DynamoDBClient, file: Path) -> int:
    """Put the items that moto left into the tables behind ``client``; how many."""
    count = 0
    for table, items in read_items(file).items():
        for start in range(0, len(items), 25):
            batch = [{"PutRequest": {"Item": _binary_decoded(item)}} for item in items[start : start + 25]]
            requests: Mapping[str, Sequence[WriteRequestUnionTypeDef]] = {
                table: cast("list[WriteRequestUnionTypeDef]", batch)
            }
            while requests:
                requests = client.batch_write_item(RequestItems=requests)["UnprocessedItems"]
        count += len(items)
    return count


def _binary_decoded(value: object) -> object:
    """An item as the wire has it, with its base64 texts as the bytes that a client takes."""
    if isinstance(value, dict):
        return {name: _decoded_member(name, member) for name, member in value.items()}
    return [_binary_decoded(member) for member in value] if isinstance(value, list) else value


def _decoded_member(name: str, member: object) -> object:
    if name == "B" and isinstance(member, str):
        return base64.b64decode(member)
    if name == "BS" and isinstance(member, list) and all(isinstance(text, str) for text in member):
        return [base64.b64decode(text) for text in member]
    return _binary_decoded(member)
