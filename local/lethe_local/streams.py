"""Reads the tables' streams and hands their changes to functions, as Lambda does for event source mappings.

One thread a mapping. It polls, gathers a batch, delivers it (``stream_delivery``), and keeps how far it came
(``checkpoints``), so that the next stack goes on from there.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypedDict, cast

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from lethe.domain.json_values import JsonValue
from lethe_local.checkpoints import Checkpoints, write_given_up
from lethe_local.event_sources import EventSource, stream_arn
from lethe_local.functions import LocalFunction
from lethe_local.intrinsics import REGION
from lethe_local.stream_delivery import Batch, Delivery, GivenUp
from lethe_local.stream_filters import matches
from lethe_local.stream_modes import MOST_READ, StreamMode
from lethe_local.stream_records import RecordRead, StreamRecord, lambda_record

_POLL_SECONDS = 0.25  # four times a second, as Lambda
_TROUBLE_SECONDS = 1.0
_STOP_SECONDS = 5.0
_MOST_BYTES = 6_000_000  # of one invocation
_CLOSED = "closed"
_log = logging.getLogger("lethe_local.streams")


class _Shard(TypedDict, total=False):
    ShardId: str
    ParentShardId: str


class _Stream(TypedDict, total=False):
    Shards: Sequence[_Shard]
    LastEvaluatedShardId: str


class _Description(TypedDict):
    StreamDescription: _Stream


class _Iterator(TypedDict):
    ShardIterator: str


class Page(TypedDict, total=False):
    """An answer of GetRecords; a shard that was read to its end has no next iterator."""

    Records: Sequence[RecordRead]
    NextShardIterator: str


class StreamsClient(Protocol):
    """What is used of the client of DynamoDB Streams, for which the installed types have nothing."""

    def describe_stream(self, *, StreamArn: str, ExclusiveStartShardId: str = ...) -> _Description:  # noqa: N803  # AWS's names
        """The shards."""
        ...

    def get_shard_iterator(
        self,
        *,
        StreamArn: str,  # noqa: N803  # AWS's name
        ShardId: str,  # noqa: N803  # AWS's name
        ShardIteratorType: str,  # noqa: N803  # AWS's name
        SequenceNumber: str = ...,  # noqa: N803  # AWS's name
    ) -> _Iterator:
        """A place to read from."""
        ...

    def get_records(self, *, ShardIterator: str, Limit: int) -> Page:  # noqa: N803  # AWS's names
        """Records from there on."""
        ...

    def close(self) -> None:
        """Close its connections."""
        ...


def streams_client(endpoint: str) -> StreamsClient:
    """A client for the streams of the tables at ``endpoint``."""
    config = Config(
        retries={"total_max_attempts": 1},  # the next poll tries again
        connect_timeout=5,
        read_timeout=20,
        parameter_validation=False,  # dynoxide's shard ids are shorter than AWS's can be
        account_id_endpoint_mode="disabled",
    )
    return cast(
        StreamsClient, boto3.client("dynamodbstreams", endpoint_url=endpoint, region_name=REGION, config=config)
    )


@dataclass(slots=True)
class _Reading:
    """Where a poller is in one shard. ``empty_at`` is when it asked last and had everything."""

    shard: str
    parent: str | None
    iterator: str | None = None
    empty_at: float = float("-inf")
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What pollers share: client, checkpoints, the folder for what is given up, the mode, and epoch seconds."""

    client: StreamsClient
    checkpoints: Checkpoints
    folder: Path
    mode: StreamMode = field(default_factory=StreamMode)
    now: Callable[[], float] = time.time


class StreamPoller:
    """Delivers one mapping. ``stream`` is the table's stream as its endpoint calls it."""

    def __init__(self, source: EventSource, stream: str, function: LocalFunction, around: Surroundings) -> None:
        self._source = source
        self._stream = stream
        self._arn = stream_arn(source.table, stream.rpartition("/")[2])
        self._function = function
        self._around = around
        self._order = random.Random(around.mode.seed)
        self._stopping, self._wake = threading.Event(), threading.Event()
        self._caught_up = threading.Condition()
        self._readings: dict[str, _Reading] = {}
        self._none_at = float("-inf")
        self._hurried = False
        self._look_again = True
        self._delivering = ""
        self._delivery = Delivery(
            source, around.mode.poisoned(self._invoke), self._give_up, self._stopping.wait, around.now
        )
        self._thread = threading.Thread(target=self._run, name=f"stream-{source.logical_id}", daemon=True)

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Begin nothing new."""
        self._stopping.set()
        self._wake.set()

    def join(self, seconds: float) -> None:
        """Wait for the end. An invocation that takes longer is left behind; its batch is delivered again."""
        self._thread.join(seconds)

    def wait_until_caught_up(self, seconds: float) -> bool:
        """Wait until all changes made before the call were delivered or given up; whether that happened in time."""
        asked, ends = time.monotonic(), time.monotonic() + seconds
        self._hurried = True
        self._wake.set()
        with self._caught_up:
            return self._caught_up.wait_for(lambda: self._empty_since(asked), max(0.0, ends - time.monotonic()))

    def _empty_since(self, moment: float) -> bool:
        if not self._readings:
            return self._none_at >= moment
        return all(reading.is_closed or reading.empty_at >= moment for reading in self._readings.values())

    def _run(self) -> None:
        pause = 0.0
        while not self._wait(pause):
            pause = _POLL_SECONDS
            try:
                self._round()
            except (ClientError, BotoCoreError) as error:
                self._begin_again(error)
                pause = _TROUBLE_SECONDS
            except Exception:  # whatever it is, the changes are still in the stream
                _log.exception("%s: reading the stream failed", self._source.logical_id)
                self._begin_again(None)
                pause = _TROUBLE_SECONDS

    def _round(self) -> None:
        # Shards only appear when others close; to ask for them more often makes dynoxide count all records.
        if self._look_again or all(reading.is_closed for reading in self._readings.values()):
            self._find_shards()
            self._look_again = False
        for reading in list(self._readings.values()):
            self._turn(reading)

    def _wait(self, seconds: float) -> bool:
        """Wait until something is asked; whether that is to stop."""
        self._wake.wait(seconds)
        self._wake.clear()
        return self._stopping.is_set()

    def _begin_again(self, error: ClientError | BotoCoreError | None) -> None:
        """Read from the checkpoints again; from the oldest record that is left where a checkpoint is gone."""
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
        if error is not None and code != "ExpiredIteratorException":
            _log.warning("%s: the stream cannot be read now: %s", self._source.logical_id, code)
        self._look_again = True
        for reading in self._readings.values():
            reading.iterator = None
            if code == "TrimmedDataAccessException":
                self._around.checkpoints.forget(self._source.logical_id, self._stream, reading.shard)

    def _find_shards(self) -> None:
        """Shards that are new; a child waits until its parent is read to the end, so that nothing is out of order."""
        client, start, asked = self._around.client, "", time.monotonic()
        while True:
            more = {"ExclusiveStartShardId": start} if start else {}
            stream = client.describe_stream(StreamArn=self._stream, **more)["StreamDescription"]
            with self._caught_up:
                for shard in stream.get("Shards", ()):
                    name = shard["ShardId"]
                    self._readings.setdefault(name, _Reading(name, shard.get("ParentShardId")))
            start = stream.get("LastEvaluatedShardId", "")
            if not start:
                break
        with self._caught_up:
            self._none_at = asked
            self._caught_up.notify_all()

    def _turn(self, reading: _Reading) -> None:
        """Read one batch of a shard and deliver it."""
        parent = self._readings.get(reading.parent or "")
        if reading.is_closed or (parent is not None and not parent.is_closed) or self._stopping.is_set():
            return
        if not self._place(reading):
            return
        records = self._gather(reading)
        self._delivering = reading.shard
        for batch in self._batches(records):
            if not self._deliver(reading, batch):
                return
        if reading.iterator is None:
            self._note(reading, _CLOSED)
            with self._caught_up:
                reading.is_closed = True
                self._caught_up.notify_all()
            self._look_again = True

    def _place(self, reading: _Reading) -> bool:
        """Make sure that there is an iterator; False for a shard that an earlier stack read to its end."""
        if reading.iterator is not None:
            return True
        checkpoint = self._around.checkpoints.get(self._source.logical_id, self._stream, reading.shard)
        if checkpoint == _CLOSED:
            reading.is_closed = True
            return False
        begin = "TRIM_HORIZON" if self._source.from_start or reading.parent is not None else "LATEST"
        after = {"SequenceNumber": checkpoint} if checkpoint is not None else {}
        reading.iterator = self._around.client.get_shard_iterator(
            StreamArn=self._stream,
            ShardId=reading.shard,
            ShardIteratorType="AFTER_SEQUENCE_NUMBER" if checkpoint is not None else begin,
            **after,
        )["ShardIterator"]
        return True

    def _gather(self, reading: _Reading) -> list[StreamRecord]:
        """Records until there are enough for an invocation, the window has passed, or somebody waits for them."""
        most = self._source.batch_size if self._around.mode.is_plain else MOST_READ
        gathered: list[StreamRecord] = []
        ends = 0.0
        while len(gathered) < most and reading.iterator is not None and not self._stopping.is_set():
            asked = time.monotonic()
            page = self._around.client.get_records(
                ShardIterator=reading.iterator, Limit=min(MOST_READ, most - len(gathered))
            )
            read = [lambda_record(record, self._arn) for record in page.get("Records", ())]
            reading.iterator = page.get("NextShardIterator")
            if not gathered:
                ends = asked + self._source.window_seconds
            gathered += read
            if not read:
                if not gathered:
                    self._is_empty(reading, asked)
                if not gathered or self._hurried or time.monotonic() >= ends:
                    break
                self._wait(min(_POLL_SECONDS, max(0.0, ends - time.monotonic())))
        return gathered

    def _is_empty(self, reading: _Reading, asked: float) -> None:
        with self._caught_up:
            reading.empty_at = asked
            self._hurried = False
            self._caught_up.notify_all()

    def _batches(self, records: Iterable[StreamRecord]) -> Iterable[Batch]:
        """Batches that fit into an invocation."""
        batch: list[StreamRecord] = []
        size = 0
        for record in records:
            if batch and size + record.size > _MOST_BYTES:
                yield tuple(batch)
                batch, size = [], 0
            batch.append(record)
            size += record.size
        if batch:
            yield tuple(batch)

    def _deliver(self, reading: _Reading, batch: Batch) -> bool:
        """Deliver what the filters let through; False when it was told to stop in between."""
        wanted = tuple(record for record in batch if matches(record.event, self._source.filters))
        left = {record.sequence for record in wanted}
        mode = self._around.mode

        def done(records: Batch) -> None:
            if mode.is_plain:
                left.difference_update(record.sequence for record in records)
                self._note(reading, _all_before(batch, left))

        for part in mode.batches(wanted, self._source.batch_size, self._order) if wanted else ():
            if not self._delivery.deliver(part, done):
                return False
        self._note(reading, batch[-1].sequence)
        return True

    def _note(self, reading: _Reading, sequence: str | None) -> None:
        if sequence is not None:
            self._around.checkpoints.put(self._source.logical_id, self._stream, reading.shard, sequence)

    def _invoke(self, event: dict[str, JsonValue]) -> JsonValue:
        return self._function.invoke(event, self._function.resource.timeout_seconds + 1.0)

    def _give_up(self, what: GivenUp) -> None:
        source = self._source
        _log.error("%s: gave up %d records: %s", source.logical_id, len(what.records), what.condition)
        if source.destination is not None:
            file = self._around.folder / f"{source.destination}.jsonl"
            write_given_up(file, what, self._function.arn, self._delivering, self._arn)


def _all_before(batch: Batch, left: set[str]) -> str | None:
    """The last sequence number before the first record that is ``left``."""
    place = None
    for record in batch:
        if record.sequence in left:
            return place
        place = record.sequence
    return place


class Streams:
    """The pollers of all mappings of a stack."""

    def __init__(self, pollers: Sequence[StreamPoller], around: Surroundings) -> None:
        self._pollers = pollers
        self._around = around

    @classmethod
    def start(
        cls,
        sources: Sequence[EventSource],
        streams: Mapping[str, str],
        functions: Mapping[str, LocalFunction],
        around: Surroundings,
    ) -> Streams:
        """Begin to deliver ``sources``; ``streams`` are the streams of tables, by name, ``functions`` by logical id."""
        pollers = [
            StreamPoller(source, streams[source.table], functions[source.function], around) for source in sources
        ]
        for poller in pollers:
            poller.start()
        return cls(pollers, around)

    def wait_until_caught_up(self, seconds: float) -> bool:
        """Wait until all changes made before the call were delivered or given up; whether that happened in time."""
        ends = time.monotonic() + seconds
        return all(poller.wait_until_caught_up(ends - time.monotonic()) for poller in self._pollers)

    def stop(self) -> None:
        """End; what was not delivered is delivered by the next stack. Again is no error."""
        for poller in self._pollers:
            poller.ask_to_stop()
        ends = time.monotonic() + _STOP_SECONDS
        for poller in self._pollers:
            poller.join(max(0.0, ends - time.monotonic()))
        self._around.checkpoints.close()
        self._around.client.close()
