"""Changes of a table reach a function as Lambda would hand them over, on dynoxide and on moto, whatever fails."""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from lethe.domain.json_values import JsonValue
from lethe_local.backends import Backend, Choice, TablesWanted, dynamodb_client, open_backend
from lethe_local.checkpoints import Checkpoints
from lethe_local.clock import VirtualClock
from lethe_local.dynoxide import HOW_TO_GET, find_binary
from lethe_local.event_sources import EventSource
from lethe_local.functions import Event, LocalFunction
from lethe_local.stack import LocalStack, StackOptions
from lethe_local.stream_modes import StreamMode
from lethe_local.streams import Page, Streams, StreamsClient, Surroundings, streams_client
from lethe_local.template import Template, read_template

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

ROOT = Path(__file__).resolve().parents[3]
HOUSE = Path(__file__).parent / "stream_house"
PATIENCE = 60.0


def _binary() -> Path:
    found = find_binary(ROOT) or find_binary(ROOT / ".lethe" / "tools")
    if found is None:
        pytest.skip(f"there is no dynoxide, the strict DynamoDB: {HOW_TO_GET}")
    return found


@dataclass
class Listening:
    """A table with its function; ``streams`` delivers between them until it is stopped."""

    template: Template
    backend: Backend
    client: DynamoDBClient
    function: LocalFunction
    module: ModuleType
    state: Path

    @property
    def source(self) -> EventSource:
        return self.template.event_sources[0]

    @contextmanager
    def streams(
        self,
        mode: StreamMode | None = None,
        source: EventSource | None = None,
        wrap: Callable[[StreamsClient], StreamsClient] = lambda client: client,
    ) -> Iterator[Streams]:
        checkpoints = Checkpoints(self.state / "streams.json")
        around = Surroundings(wrap(streams_client(self.backend.url)), checkpoints, self.state, mode or StreamMode())
        functions = {self.source.function: self.function}
        streams = Streams.start([source or self.source], self.backend.streams, functions, around)
        try:
            yield streams
        finally:
            streams.stop()

    def put(self, *sort_keys: str, **attributes: dict[str, Any]) -> None:
        for sort_key in sort_keys:
            item = {"pk": {"S": sort_key[-1]}, "sk": {"S": sort_key}, **attributes}
            self.client.put_item(TableName="lethe-notes", Item=item)

    def told(self) -> list[list[dict[str, Any]]]:
        return [event["Records"] for event in self.module.told]

    def heard(self) -> list[str]:
        """The sort keys that the function was told, over all batches."""
        return [_sort_key(record) for records in self.told() for record in records]


def _sort_key(record: Mapping[str, Any]) -> str:
    return str(record["dynamodb"]["Keys"]["sk"]["S"])


@pytest.fixture(params=["moto", pytest.param("dynoxide", marks=pytest.mark.dynoxide)])
def listening(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listening]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    template = read_template(HOUSE / "template.yaml")
    wanted = TablesWanted(template.tables, template.table_names, frozenset({"NotesTable"}))
    backend = open_backend(wanted, tmp_path, _binary() if request.param == "dynoxide" else None, None)
    client = dynamodb_client(backend.url)
    resource = template.functions["NoticeFunction"]
    function = LocalFunction(resource, resource.environment, VirtualClock(), most_containers=1)
    module = sys.modules["lethe_function_notice"]
    yield Listening(template, backend, client, function, module, tmp_path)
    client.close()
    backend.stop()


def test_records_look_as_lambdas(listening: Listening) -> None:
    blob = b"\x00\xffnine"
    listening.put(
        "note#1", blob={"B": blob}, blobs={"BS": [b"a"]}, deep={"M": {"x": {"L": [{"B": blob}, {"NULL": True}]}}}
    )
    listening.put("note#1", n={"N": "1.5"})
    listening.client.delete_item(TableName="lethe-notes", Key={"pk": {"S": "1"}, "sk": {"S": "note#1"}})
    before = time.time()
    with listening.streams() as streams:
        assert streams.wait_until_caught_up(PATIENCE)
    ((put, changed, removed),) = listening.told()
    text = base64.b64encode(blob).decode()
    keys = {"pk": {"S": "1"}, "sk": {"S": "note#1"}}
    image = {
        **keys,
        "blob": {"B": text},
        "blobs": {"BS": ["YQ=="]},
        "deep": {"M": {"x": {"L": [{"B": text}, {"NULL": True}]}}},
    }
    assert put["dynamodb"].pop("NewImage") == image
    assert [record["eventName"] for record in (put, changed, removed)] == ["INSERT", "MODIFY", "REMOVE"]
    assert (changed["dynamodb"]["OldImage"], changed["dynamodb"]["NewImage"]) == (image, {**keys, "n": {"N": "1.5"}})
    assert removed["dynamodb"].keys() & {"OldImage", "NewImage"} == {"OldImage"}
    for record in (put, changed, removed):
        assert record.keys() == {
            "eventID", "eventName", "eventVersion", "eventSource", "awsRegion", "dynamodb", "eventSourceARN"
        }  # fmt: skip
        assert (record["eventSource"], record["awsRegion"]) == ("aws:dynamodb", "us-east-1")
        assert record["eventSourceARN"].startswith("arn:aws:dynamodb:us-east-1:000000000000:table/lethe-notes/stream/")
        change = record["dynamodb"]
        assert change["Keys"] == keys
        assert change["StreamViewType"] == "NEW_AND_OLD_IMAGES"
        assert isinstance(change["SequenceNumber"], str)
        assert before - 60 < change["ApproximateCreationDateTime"] < before + 1
    assert len({record["eventID"] for record in (put, changed, removed)}) == 3
    json.dumps(listening.told())


def test_batches_filters_and_restarts(listening: Listening) -> None:
    listening.put(*(f"note#{number:02}" for number in range(25)))
    listening.put("other#1", "other#2")
    with listening.streams() as streams:
        assert streams.wait_until_caught_up(PATIENCE)
        assert listening.heard() == [f"note#{number:02}" for number in range(25)]
        assert [len(records) for records in listening.told()] == [10, 10, 5]
    listening.put("note#later")
    with listening.streams() as streams:
        assert streams.wait_until_caught_up(PATIENCE)
    assert listening.heard()[25:] == ["note#later"]
    with listening.streams() as streams:
        assert streams.wait_until_caught_up(PATIENCE)
    assert len(listening.heard()) == 26


def test_a_mapping_that_begins_with_the_latest_hears_only_of_what_follows(listening: Listening) -> None:
    listening.put("note#old")
    with listening.streams(source=replace(listening.source, from_start=False)) as streams:
        assert streams.wait_until_caught_up(PATIENCE)
        listening.put("note#new")
        assert streams.wait_until_caught_up(PATIENCE)
    assert listening.heard() == ["note#new"]


def test_an_empty_stream_is_caught_up_with(listening: Listening) -> None:
    with listening.streams() as streams:
        assert streams.wait_until_caught_up(PATIENCE)
    assert listening.told() == []


def test_a_reported_failure_comes_again_with_what_follows_it(listening: Listening) -> None:
    failed: list[str] = []

    def fail_once(event: Event) -> JsonValue:
        records: Any = event["Records"]
        third = [r["dynamodb"]["SequenceNumber"] for r in records if _sort_key(r) == "note#3" and not failed]
        failed.extend(third)
        return {"batchItemFailures": [{"itemIdentifier": sequence} for sequence in third]}

    listening.put("note#1", "note#2", "note#3", "note#4")
    listening.module.fail.append(fail_once)
    with listening.streams() as streams:
        assert streams.wait_until_caught_up(PATIENCE)
    assert [[_sort_key(r) for r in records] for records in listening.told()] == [
        ["note#1", "note#2", "note#3", "note#4"],
        ["note#3", "note#4"],
    ]


def test_one_poison_is_given_up_alone_and_its_place_is_written_without_content(listening: Listening) -> None:
    listening.put(*(f"note#{number:02}" for number in range(20)), text={"S": "SECRET"})
    mode = StreamMode(poison=lambda record: _sort_key(record) == "note#13")
    with listening.streams(mode) as streams:
        assert streams.wait_until_caught_up(PATIENCE)
    assert sorted(listening.heard()) == [f"note#{number:02}" for number in range(20) if number != 13]
    text = (listening.state / "lethe-Failed.jsonl").read_text(encoding="utf-8")
    (line,) = text.splitlines()
    letter = json.loads(line)
    assert letter["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert letter["requestContext"]["approximateInvokeCount"] == 3
    where = letter["DDBStreamBatchInfo"]
    assert where["batchSize"] == 1
    assert where["startSequenceNumber"] == where["endSequenceNumber"] != ""
    assert where["shardId"]
    assert "SECRET" not in text
    assert "note#" not in text


def test_what_failed_before_a_stop_is_delivered_by_the_next_run(listening: Listening) -> None:
    def fail(event: Event) -> JsonValue:
        raise ValueError("on purpose")

    listening.put("note#1", "note#2")
    listening.module.fail.append(fail)
    for_ever = replace(listening.source, most_retries=None)
    with listening.streams(source=for_ever) as streams:
        assert not streams.wait_until_caught_up(1.0)
    assert not (listening.state / "lethe-Failed.jsonl").exists()
    listening.module.fail.clear()
    listening.module.told.clear()
    with listening.streams(source=for_ever) as streams:
        assert streams.wait_until_caught_up(PATIENCE)
    assert listening.heard() == ["note#1", "note#2"]


def test_copies_and_shards_in_any_order(listening: Listening) -> None:
    names = [f"note#{number:02}" for number in range(60)]
    listening.put(*names)
    with listening.streams(StreamMode(copies=3, shards=4, seed=1)) as streams:
        assert streams.wait_until_caught_up(PATIENCE)
    heard = listening.heard()
    assert sorted(heard) == sorted(names * 3)
    assert heard[:60] != names
    with listening.streams() as streams:
        assert streams.wait_until_caught_up(PATIENCE)
    assert len(listening.heard()) == 180


class Flaky:
    """A client of streams whose reads fail at first, with what AWS raises."""

    def __init__(self, client: StreamsClient, codes: list[str]) -> None:
        self._client, self._codes = client, codes
        self.describe_stream = client.describe_stream
        self.get_shard_iterator = client.get_shard_iterator
        self.close = client.close

    def get_records(self, *, ShardIterator: str, Limit: int) -> Page:  # noqa: N803  # AWS's names
        if self._codes:
            raise ClientError({"Error": {"Code": self._codes.pop(), "Message": ""}}, "GetRecords")
        return self._client.get_records(ShardIterator=ShardIterator, Limit=Limit)


def test_a_stream_that_cannot_be_read_for_a_while(listening: Listening) -> None:
    listening.put("note#1")
    codes = ["ExpiredIteratorException", "TrimmedDataAccessException", "InternalServerError"]
    with listening.streams(wrap=lambda client: Flaky(client, codes)) as streams:
        assert streams.wait_until_caught_up(PATIENCE)
    assert codes == []
    assert listening.heard() == ["note#1"]


def test_checkpoints_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    file = tmp_path / "streams.json"
    for text in ("{", "[]"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=r"streams\.json"):
            Checkpoints(file)


@pytest.mark.parametrize("tables", ["moto", pytest.param("dynoxide", marks=pytest.mark.dynoxide)])
def test_a_stack_delivers_over_restarts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: Choice) -> None:
    if tables == "dynoxide":
        monkeypatch.setenv("LETHE_DYNOXIDE", str(_binary()))
    options = StackOptions(HOUSE, tmp_path / "state", tables=tables, settings={"LETHE_EMBEDDER": "local"}, say=print)
    for number in (1, 2):
        with LocalStack.start(options) as stack:
            module = sys.modules["lethe_function_notice"]
            client = dynamodb_client(stack.environment["LETHE_DYNAMODB_ENDPOINT"])
            client.put_item(TableName="lethe-notes", Item={"pk": {"S": "p"}, "sk": {"S": f"note#{number}"}})
            client.close()
            assert stack.wait_until_indexed(PATIENCE)
            heard = [_sort_key(record) for event in module.told for record in event["Records"]]
            # moto's streams begin anew with every run, and tell of what was loaded.
            assert heard == (["note#1", "note#2"][:number] if tables == "moto" else [f"note#{number}"])
    with LocalStack.start(replace(options, fresh=True)) as stack:
        assert stack.wait_until_indexed(PATIENCE)
        assert sys.modules["lethe_function_notice"].told == []
