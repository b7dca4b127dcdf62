"""dynoxide as a process: found, started, stopped; tables made from descriptions, and kept over a restart."""

from __future__ import annotations

import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from lethe.domain.json_values import JsonObject
from lethe_local.backends import dynamodb_client
from lethe_local.dynoxide import HOW_TO_GET, Dynoxide, find_binary
from lethe_local.tables import create_tables

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

ROOT = Path(__file__).resolve().parents[3]
KEYS: JsonObject = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
}
TABLE: JsonObject = {
    **KEYS,
    "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
    "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
    "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
}
ITEM = {"pk": {"S": "p"}, "sk": {"S": "s"}, "text": {"S": "kept"}}


@pytest.fixture
def binary(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    found = find_binary(ROOT) or find_binary(ROOT / ".lethe" / "tools")
    if found is None:
        pytest.skip(f"there is no dynoxide, the strict DynamoDB: {HOW_TO_GET}")
    return found


@pytest.fixture
def client(binary: Path) -> Iterator[DynamoDBClient]:
    server = Dynoxide.start(binary)
    client = dynamodb_client(server.url)
    yield client
    client.close()
    server.stop()


def a_binary(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\necho CANNOT START >&2\nexit 3\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_where_the_binary_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LETHE_DYNOXIDE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_binary(tmp_path) is None
    in_modules = a_binary(tmp_path / "node_modules" / "@dynoxide" / "some-system" / "dynoxide")
    assert find_binary(tmp_path) == in_modules
    on_path = a_binary(tmp_path / "bin" / "dynoxide")
    assert find_binary(tmp_path) == on_path
    named = a_binary(tmp_path / "mine")
    monkeypatch.setenv("LETHE_DYNOXIDE", str(named))
    assert find_binary(tmp_path) == named
    monkeypatch.setenv("LETHE_DYNOXIDE", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="LETHE_DYNOXIDE"):
        find_binary(tmp_path)


def test_a_binary_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="CANNOT START"):
        Dynoxide.start(a_binary(tmp_path / "dynoxide"))


def test_a_port_that_is_taken(binary: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(RuntimeError, match="did not start"):
            Dynoxide.start(binary, port=other.getsockname()[1])


def test_items_survive_a_restart_and_a_stop_is_final(binary: Path, tmp_path: Path) -> None:
    for run in ("first", "second"):
        server = Dynoxide.start(binary, db_path=tmp_path / "tables.db")
        client = dynamodb_client(server.url)
        create_tables(client, {"DataTable": TABLE}, {"DataTable": "data"})
        if run == "first":
            client.put_item(TableName="data", Item=ITEM)
        else:
            assert client.get_item(TableName="data", Key={"pk": ITEM["pk"], "sk": ITEM["sk"]})["Item"] == ITEM
        client.close()
        server.stop()
        server.stop()
        with socket.socket() as probe, pytest.raises(ConnectionRefusedError):
            probe.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))


def test_a_table_is_what_its_description_says(client: DynamoDBClient) -> None:
    index: JsonObject = {
        "IndexName": "due",
        "KeySchema": [{"AttributeName": "sk", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    tables: dict[str, JsonObject] = {"DataTable": {**TABLE, "GlobalSecondaryIndexes": [index]}, "PlainTable": KEYS}
    create_tables(client, tables, {"DataTable": "data", "PlainTable": "plain"})
    made = client.describe_table(TableName="data")["Table"]
    assert made["KeySchema"] == KEYS["KeySchema"]
    assert [i["IndexName"] for i in made["GlobalSecondaryIndexes"]] == ["due"]
    assert "LatestStreamArn" not in made
    ttl = client.describe_time_to_live(TableName="data")["TimeToLiveDescription"]
    assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "ttl")
    plain = client.describe_time_to_live(TableName="plain")["TimeToLiveDescription"]
    assert plain["TimeToLiveStatus"] == "DISABLED"


def test_streams_on_demand(client: DynamoDBClient) -> None:
    tables: dict[str, JsonObject] = {"DataTable": TABLE, "OtherTable": TABLE}
    names = {"DataTable": "data", "OtherTable": "other"}
    assert create_tables(client, tables, names, streams={"DataTable"}) == frozenset()
    made = client.describe_table(TableName="data")["Table"]
    assert made["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert "LatestStreamArn" not in client.describe_table(TableName="other")["Table"]


def test_a_table_of_an_older_run_gets_its_stream_once(client: DynamoDBClient) -> None:
    create_tables(client, {"DataTable": TABLE}, {"DataTable": "data"})
    client.put_item(TableName="data", Item=ITEM)
    assert create_tables(client, {"DataTable": TABLE}, {"DataTable": "data"}, streams={"DataTable"}) == {"data"}
    stream = client.describe_table(TableName="data")["Table"]["LatestStreamArn"]
    assert create_tables(client, {"DataTable": TABLE}, {"DataTable": "data"}, streams={"DataTable"}) == frozenset()
    assert client.describe_table(TableName="data")["Table"]["LatestStreamArn"] == stream
    assert client.get_item(TableName="data", Key={"pk": ITEM["pk"], "sk": ITEM["sk"]})["Item"] == ITEM


def test_a_table_with_other_keys_is_not_taken_over(client: DynamoDBClient) -> None:
    create_tables(client, {"DataTable": TABLE}, {"DataTable": "data"})
    swapped: JsonObject = {
        **TABLE,
        "KeySchema": [{"AttributeName": "sk", "KeyType": "HASH"}, {"AttributeName": "pk", "KeyType": "RANGE"}],
    }
    with pytest.raises(ValueError, match="start fresh"):
        create_tables(client, {"DataTable": swapped}, {"DataTable": "data"})


def test_a_description_that_is_not_written_out_is_refused(client: DynamoDBClient) -> None:
    computed: JsonObject = {**KEYS, "GlobalSecondaryIndexes": [{"IndexName": {"Ref": "Name"}}]}
    with pytest.raises(ValueError, match="DataTable"):
        create_tables(client, {"DataTable": computed}, {"DataTable": "data"})


def test_a_table_that_cannot_be_made(client: DynamoDBClient) -> None:
    with pytest.raises(ClientError, match="ValidationException"):
        create_tables(client, {"DataTable": TABLE}, {"DataTable": "x"})
