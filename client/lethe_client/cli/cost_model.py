"""What a stack costs a month, computed from volumes: units by our own calls and item sizes, times prices.

Request units follow DynamoDB's rules (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/
read-write-operations.html): a write unit is 1 KB, twice that in a transaction; a consistent read unit is 4 KB, counted
for each item of a batch and for the sum of a query. Which calls a request makes is measured in docs/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, exp
from typing import Final, Literal

from lethe_client.cli.cost_of_erasure import (
    DAYS,
    GB,
    HASH_BYTES,
    HOURS,
    MEMORY_BYTES,
    MILLION,
    SECONDS,
    TASKS,
    TICKS,
    Line,
    Stored,
    Verified,
    erasing,
)
from lethe_client.cli.prices import Prices

Mode = Literal["scan", "managed", "serverless"]
Audited = Literal["all", "writes", "off"]

AUDIT_BYTES: Final = 486
"""Of an entry of the audit trail that names one memory."""
POINTER_BYTES: Final = 87
"""Of the item that points to it from its subject."""
AUDIT_UNITS: Final = 2 * 3
"""Write units of an entry: itself, its pointer and the end of its strand, in a transaction."""
STORED_EXTRA: Final = 100
"""What DynamoDB adds to each item for storage."""
CANDIDATES: Final = 100
"""Memories that a search through the index reads again, at least."""
TIERS: Final = 3
"""Reads of session, newest turns and entities, each within 4 KB."""
BATCH: Final = 200
"""Records that the indexer takes at once, or what came within `WINDOW` seconds."""
WINDOW: Final = 2
IDLE_HOURS: Final = 1 / 6
"""After this long without a request a NextGen collection sleeps and is not billed."""


@dataclass(frozen=True, slots=True)
class Volumes:
    """What is stored and asked. Numbers a day are of the whole stack.

    Attributes:
        subjects: how many there are, each with `memories` memories.
        writes: memories stored a day, `batch` in one request (at most 49, one transaction).
        recalls: recalls a day, each with its session and entities.
        erasures: users erased a day, each with `memories` memories, in one go and without holds.
        characters: bytes of a memory's text and context in UTF-8; a Chinese character has three.
        dimensions: numbers of a vector.
        cold_share: scan only: the share of recalls that meet a container without the subject's memories.
        audit: which requests leave an entry in the audit trail, the template's `Audit`.
        verify: where the verifier looks for what is left of a user, the template's `ErasureVerification`.
        index_bytes: of an entry of the index on disk, one copy.
        search_units, index_units: OCUs of a collection while it is awake, for searching and for indexing.
        write_ms, recall_ms, authorize_ms, index_ms, erase_ms: how long the functions run; `index_ms` is for a batch,
            `erase_ms` for a task of an erasure, its request, and a tick.
    """

    mode: Mode = "scan"
    subjects: int = 0
    memories: int = 100
    writes: float = 0
    recalls: float = 0
    erasures: float = 0
    characters: int = 100
    dimensions: int = 512
    embedder: str = "titan"
    batch: int = 1
    cold_share: float = 1.0
    audit: Audited = "all"
    verify: Verified = "tables"
    architecture: str = "arm64"
    instance_type: str = "r7g.large.search"
    instances: int = 2
    gigabytes: int = 100
    index_bytes: float | None = None
    search_units: float = 2
    index_units: float = 1
    write_ms: float = 150
    recall_ms: float = 200
    authorize_ms: float = 20
    index_ms: float = 500
    erase_ms: float = 200

    @property
    def memory_bytes(self) -> int:
        """Of a memory's item: all else, the text, a byte and two for each dimension."""
        return MEMORY_BYTES + self.characters + 1 + 2 * self.dimensions

    @property
    def stored(self) -> int:
        """Memories in all."""
        return self.subjects * self.memories

    @property
    def written(self) -> float:
        """Memories written a month."""
        return self.writes * DAYS

    @property
    def write_requests(self) -> float:
        """Requests that write, a month."""
        return self.written / self.batch

    @property
    def recalled(self) -> float:
        """Recalls a month."""
        return self.recalls * DAYS

    @property
    def erased(self) -> float:
        """Users erased a month."""
        return self.erasures * DAYS

    @property
    def requests(self) -> float:
        """Requests of the API a month."""
        return self.write_requests + self.recalled + self.erased

    @property
    def audited(self) -> float:
        """Entries of the audit trail a month: one a request."""
        return {"all": self.requests, "writes": self.write_requests + self.erased, "off": 0.0}[self.audit]

    @property
    def index_batches(self) -> float:
        """Invocations of the indexer a month: one a request, or one every two seconds, or one for 200 records."""
        if self.mode == "scan":
            return 0
        return max(self.written / BATCH, min(self.write_requests, SECONDS / WINDOW))

    @property
    def bytes_an_entry(self) -> float:
        """Of the index. 5.5 KB an entry of 384 dimensions with its texts, without graphs, are a third more than was
        measured at a million (docs/scale.md); vectors, twice (numbers and JSON), are most of it, so it is scaled by the
        dimensions.
        """
        return self.index_bytes if self.index_bytes is not None else 5_500 * self.dimensions / 384


def monthly(volumes: Volumes, prices: Prices) -> list[Line]:
    """Every item of the bill. Raises KeyError for an instance type without a price."""
    stored = Stored(volumes.memories, volumes.subjects, volumes.memory_bytes)
    return [
        *_dynamodb(volumes, prices),
        *_functions(volumes, prices),
        *_index(volumes, prices),
        *_embedding(volumes, prices),
        *erasing(volumes.erased, stored, volumes.verify, prices),
        *_watching(volumes, prices),
    ]


def total(lines: list[Line]) -> float:
    """Dollars a month."""
    return sum(line.usd for line in lines)


def write_units(volumes: Volumes) -> float:
    """Write units of one memory: its item and its hash, its share of the head and of the three small writes of an
    idempotency key (claim, answer, mark), which the client sends with every change.
    """
    once = 2 * 1 + 3
    return 2 * ceil(volumes.memory_bytes / 1024) + 2 * ceil(HASH_BYTES / 1024) + once / volumes.batch


def recall_units(volumes: Volumes) -> float:
    """Read units of one recall: key, head and tiers, then the memories.

    With an index the candidates are read again and two queries look for what it does not show yet; they are left out
    where its mark is the head's. Without one a cold container reads all memories and their hashes, a warm one asks once
    what came since.
    """
    item = ceil(volumes.memory_bytes / 4096)
    if volumes.mode != "scan":
        return 2 + TIERS + min(CANDIDATES, volumes.memories) * item + 2
    whole = ceil(volumes.memories * volumes.memory_bytes / 4096) + ceil(volumes.memories * HASH_BYTES / 4096)
    return 2 + TIERS + volumes.cold_share * whole + (1 - volumes.cold_share) * 1


def _dynamodb(v: Volumes, prices: Prices) -> Iterator[Line]:
    each = write_units(v)
    price = prices.usd("dynamodb.write")
    formula = f"{v.written:,.0f} memories × {each:.2f} WRU × ${price}/M"
    yield Line("DynamoDB", "writes", formula, v.written * each * price / MILLION)
    price = prices.usd("dynamodb.read")
    reads = v.write_requests * 2
    yield Line("DynamoDB", "reads of writes", f"{v.write_requests:,.0f} × 2 RRU × ${price}/M", reads * price / MILLION)
    each = recall_units(v)
    formula = f"{v.recalled:,.0f} recalls × {each:.2f} RRU × ${price}/M"
    yield Line("DynamoDB", "reads of recalls", formula, v.recalled * each * price / MILLION)
    if v.mode != "scan":
        each = 1 + ceil(v.memory_bytes / 4096)
        formula = f"{v.written:,.0f} memories × {each} RRU × ${price}/M (the stream itself: $0)"
        yield Line("DynamoDB", "reads of the indexer", formula, v.written * each * price / MILLION)
    price = prices.usd("dynamodb.write")
    formula = f"{v.audited:,.0f} requests × {AUDIT_UNITS} WRU × ${price}/M"
    yield Line("DynamoDB", "audit trail", formula, v.audited * AUDIT_UNITS * price / MILLION)
    size = v.audited * (AUDIT_BYTES + POINTER_BYTES + 2 * STORED_EXTRA) / GB
    price = prices.usd("dynamodb.storage") + prices.usd("dynamodb.recovery")
    formula = f"{size:,.3f} GB × ${price:g}: what one month adds, for each month that it is kept"
    yield Line("DynamoDB", "audit storage", formula, size * price)
    size = v.stored * (v.memory_bytes + HASH_BYTES + 2 * STORED_EXTRA) / GB
    for what, name in (("storage", "dynamodb.storage"), ("point-in-time recovery", "dynamodb.recovery")):
        price = prices.usd(name)
        yield Line("DynamoDB", what, f"{size:,.3f} GB × ${price}", size * price)


def _functions(v: Volumes, prices: Prices) -> Iterator[Line]:
    requests = v.requests
    price = prices.usd("api.request")
    yield Line("API Gateway", "requests", f"{requests:,.0f} × ${price}/M", requests * price / MILLION)
    tasks = v.erased * TASKS + TICKS
    price, invocations = prices.usd("lambda.request"), 2 * requests + v.index_batches + tasks
    formula = f"(2 × {requests:,.0f} + {v.index_batches:,.0f} batches + {tasks:,.0f} tasks and ticks) × ${price}/M"
    yield Line("Lambda", "invocations", formula, invocations * price / MILLION)
    price = prices.usd(f"lambda.{v.architecture}")
    for name, count, milliseconds, megabytes in (
        ("authorize", requests, v.authorize_ms, 1024),
        ("write", v.write_requests, v.write_ms, 1769),
        ("recall", v.recalled, v.recall_ms, 1769),
        ("index", v.index_batches, v.index_ms, 1024),
        ("govern, erase", v.erased + tasks, v.erase_ms, 1769),
    ):
        seconds = count * milliseconds / 1000 * megabytes / 1024
        formula = f"{count:,.0f} × {milliseconds:g} ms × {megabytes} MB = {seconds:,.0f} GB-s × ${price}"
        yield Line("Lambda", name, formula, seconds * price)


def _index(v: Volumes, prices: Prices) -> Iterator[Line]:
    size = v.stored * v.bytes_an_entry / GB
    if v.mode == "managed":
        price = prices.usd(f"opensearch.{v.instance_type}")
        formula = f"{v.instances} × {v.instance_type} × {HOURS} h × ${price}"
        yield Line("OpenSearch", "instances", formula, v.instances * HOURS * price)
        price = prices.usd("opensearch.disk")
        formula = f"{v.instances} × {v.gigabytes} GB × ${price} (one copy of the index: {size:,.2f} GB)"
        yield Line("OpenSearch", "disk", formula, v.instances * v.gigabytes * price)
    if v.mode == "serverless":
        price = prices.usd("serverless.unit")
        for what, units, requests in (
            ("search units", v.search_units, v.recalled),
            ("index units", v.index_units, v.index_batches),
        ):
            awake = awake_share(requests)
            formula = f"{units:g} OCU × {HOURS} h × {awake:.1%} awake × ${price}"
            yield Line("OpenSearch", what, formula, units * HOURS * awake * price)
        price = prices.usd("serverless.storage")
        yield Line("OpenSearch", "storage", f"{size:,.3f} GB × ${price}", size * price)


def awake_share(requests: float) -> float:
    """The share of a month in which a collection is awake, when `requests` come at random, evenly over the month: that
    of the moments before which one came within the last ten minutes (1 − e^(−rate × idle time), Poisson).
    """
    return 1 - exp(-requests / HOURS * IDLE_HOURS)


def _embedding(v: Volumes, prices: Prices) -> Iterator[Line]:
    price = prices.usd(f"embedding.{v.embedder}")
    tokens = (v.written * v.characters + v.recalled * _QUESTION_CHARACTERS) / _CHARACTERS_A_TOKEN
    yield Line("Bedrock", v.embedder, f"{tokens:,.0f} tokens × ${price}/M", tokens * price / MILLION)


_QUESTION_CHARACTERS: Final = 60
_CHARACTERS_A_TOKEN: Final = 4
_LOG_BYTES: Final = 2_500
"""Of a request: the access log, a line each of two functions, Lambda's own lines."""
_LOG_BYTES_A_BATCH: Final = 1_000
"""Of a batch of the indexer, a task of an erasure or a tick."""
_SAMPLED: Final = 0.05
"""X-Ray records the first request of a second and five in a hundred of the others, by function."""

ALARM_METRICS: Final = {"scan": 28, "managed": 33, "serverless": 32}
"""Metrics of the template's alarms; one over a table's reads and writes counts two."""


def _watching(v: Volumes, prices: Prices) -> Iterator[Line]:
    requests, tasks = v.requests, v.erased * TASKS + TICKS
    size = (requests * _LOG_BYTES + (v.index_batches + tasks) * _LOG_BYTES_A_BATCH) / GB
    price = prices.usd("logs.written")
    yield Line("CloudWatch", "logs", f"{size:,.3f} GB × ${price}", size * price)
    price = prices.usd("metrics.own")
    # Latency and answers of each route; latency of each task, the tick's always.
    metrics = 2 * (v.writes > 0) + 2 * (v.recalls > 0) + 4 * (v.index_batches > 0) + 1 + (TASKS + 2) * (v.erased > 0)
    yield Line("CloudWatch", "own metrics", f"{metrics} × ${price}", metrics * price)
    price, metrics = prices.usd("alarms.metric"), ALARM_METRICS[v.mode]
    yield Line("CloudWatch", "alarms", f"{metrics} metrics × ${price}", metrics * price)
    yield Line("CloudWatch", "dashboard", f"1 × ${prices.usd('dashboard')}", prices.usd("dashboard"))
    price = prices.usd("traces.recorded")
    traces = sum(map(_traces, (requests, v.write_requests, v.recalled, v.index_batches, v.erased, tasks)))
    yield Line("X-Ray", "traces", f"{traces:,.0f} × ${price}/M", traces * price / MILLION)
    yield Line("Secrets Manager", "master secret", f"1 × ${prices.usd('secret')}", prices.usd("secret"))
    yield Line("KMS", "receipt key", f"1 × ${prices.usd('key')}", prices.usd("key"))


def _traces(invocations: float) -> float:
    """How many invocations of one function are recorded, when they come evenly."""
    return min(invocations, SECONDS) + _SAMPLED * max(0.0, invocations - SECONDS)


ASSUMED: Final = (
    "list prices, no free tiers, no data transfer, no cold starts",
    f"{_CHARACTERS_A_TOKEN} characters a token, {_QUESTION_CHARACTERS} a question",
    f"{_LOG_BYTES} bytes of logs a request",
    "how long functions run (--write-ms, --recall-ms, --authorize-ms, --index-ms, --erase-ms): "
    "look at the metric Duration",
    "requests spread evenly over the month",
)
"""What the numbers rest on beside prices and volumes."""
