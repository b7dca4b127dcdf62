"""`lethe cost`: every number worked out by hand, from the calls that a request makes and the rules of the bill."""

import hashlib
import re
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from lethe.adapters.dynamodb.memory_items import memory_item
from lethe.domain import keys
from lethe.domain.audit import AuditEvent, Verdict, document, linked
from lethe.domain.chain import ChainEnd
from lethe.domain.json_values import canonical
from lethe.domain.keys import parse_space_partition
from lethe.domain.memory import Embedding, Memory, MemoryKind, MemoryStatus, Origin, Source
from lethe_client.cli.cost_model import (
    AUDIT_BYTES,
    POINTER_BYTES,
    Volumes,
    awake_share,
    monthly,
    recall_units,
    total,
    write_units,
)
from lethe_client.cli.cost_of_erasure import DAYS, HASH_BYTES, MEMORY_BYTES, MILLION, NOTED_READS, NOTED_WRITES
from lethe_client.cli.prices import load_prices
from tests.support.metered import item_bytes
from tests.unit.client.command_line import World

SPACE = parse_space_partition(f"acme#{'a' * 32}#1")
MOMENT = datetime(2026, 3, 4, 5, 6, 7, 123456, tzinfo=UTC)
A_MILLION_WRITES = Volumes(writes=MILLION / DAYS)
A_MILLION_RECALLS = Volumes(recalls=MILLION / DAYS)
A_THOUSAND_ERASURES = Volumes(subjects=10_000, erasures=1_000 / DAYS)
TICKS = 8_760
"""One every five minutes of 730 hours."""


def lines(volumes: Volumes) -> dict[tuple[str, str], float]:
    return {(line.service, line.what): line.usd for line in monthly(volumes, load_prices())}


def test_the_sizes_are_those_of_the_real_items() -> None:
    digest = hashlib.sha256(b"I live in Oslo").hexdigest()
    memory = Memory(
        id="mem_" + "0" * 26,
        text="x" * 100,
        kind=MemoryKind.FACT,
        status=MemoryStatus.CURRENT,
        confidence=0.95,
        language="en",
        source=Source("agent", Origin.USER),
        occurred_at=MOMENT,
        valid_from=MOMENT,
        created_at=MOMENT,
        updated_at=MOMENT,
        content_hash=digest,
        speaker="user",
        embedding=Embedding("bedrock/amazon.titan-embed-text-v2:0@512", np.ones(512, np.float32)),
    )
    stored = memory_item(SPACE, memory, written="0" * 16)
    assert item_bytes(stored) == MEMORY_BYTES + 100 + 1 + 2 * 512 == Volumes().memory_bytes
    held = {"pk": keys.space_partition(SPACE), "sk": keys.content(digest), "memory_id": memory.id}
    assert item_bytes({name: {"S": text} for name, text in held.items()}) == HASH_BYTES


def test_the_sizes_of_an_audit_entry_are_those_of_the_real_items() -> None:
    event = AuditEvent(
        "acme", MOMENT, "c" * 32, "get_memory", Verdict.ALLOWED, "a" * 32, ("mem_" + "0" * 26,), str(UUID(int=0))
    )
    entry = linked(event, 0, ChainEnd(41, "b" * 64))
    partition = keys.ledger_partition("acme")
    stored = {"pk": partition, "sk": keys.audit_entry(0, 42), "entry": canonical(document(entry))}
    assert item_bytes({name: {"S": text} for name, text in stored.items()}) == AUDIT_BYTES <= 1024
    pointer = {"pk": partition, "sk": keys.audit_pointer("a" * 32, MOMENT, 0, 42)}
    assert item_bytes({name: {"S": text} for name, text in pointer.items()}) == POINTER_BYTES


def test_the_audit_trail() -> None:
    kept = 1e6 * (AUDIT_BYTES + POINTER_BYTES + 200) / 2**30 * 0.45
    for volumes in (A_MILLION_WRITES, A_MILLION_RECALLS):
        assert lines(volumes)["DynamoDB", "audit trail"] == pytest.approx(6 * 0.625)
        assert lines(volumes)["DynamoDB", "audit storage"] == pytest.approx(kept)
        assert lines(replace(volumes, audit="off"))["DynamoDB", "audit trail"] == 0
    assert lines(replace(A_MILLION_WRITES, batch=10))["DynamoDB", "audit trail"] == pytest.approx(0.6 * 0.625)
    assert lines(replace(A_MILLION_WRITES, audit="writes"))["DynamoDB", "audit trail"] == pytest.approx(6 * 0.625)
    assert lines(replace(A_MILLION_RECALLS, audit="writes"))["DynamoDB", "audit storage"] == 0


def test_write_units_of_one_memory() -> None:
    # 1,649 bytes are two units, twice in a transaction; hash and head one each, twice; claim, answer and mark one each.
    assert write_units(Volumes()) == 2 * 2 + 2 + 2 + 3
    # In a request of ten the head and the key are shared.
    assert write_units(Volumes(batch=10)) == 2 * 2 + 2 + (2 + 3) / 10
    # 524 + 100 + 1 + 2,048 bytes are three units.
    assert write_units(Volumes(dimensions=1024)) == 2 * 3 + 2 + 2 + 3


def test_read_units_of_a_recall() -> None:
    # Key, head, three tiers; cold: 100 × 1,649 / 4,096 = 40.3 and 100 × 151 / 4,096 = 3.7, each rounded up.
    assert recall_units(Volumes()) == 5 + 41 + 4
    assert recall_units(Volumes(cold_share=0)) == 5 + 1
    assert recall_units(Volumes(cold_share=0.5)) == 5 + 22.5 + 0.5
    # With an index: the 100 candidates, a unit each, and two queries; how many memories there are does not matter.
    assert (
        recall_units(Volumes(mode="managed")) == 5 + 100 + 2 == recall_units(Volumes(mode="managed", memories=10_000))
    )
    assert recall_units(Volumes(mode="serverless", memories=10)) == 5 + 10 + 2


def test_a_million_writes() -> None:
    bill = lines(A_MILLION_WRITES)
    assert bill["DynamoDB", "writes"] == pytest.approx(11 * 0.625)
    assert bill["DynamoDB", "reads of writes"] == pytest.approx(2 * 0.125)
    assert bill["API Gateway", "requests"] == pytest.approx(1.0)
    assert bill["Lambda", "invocations"] == pytest.approx((2 + TICKS / 1e6) * 0.20)
    # 150 ms of 1,769 MB and 20 ms of 1,024 MB.
    assert bill["Lambda", "write"] == pytest.approx(150_000 * 1769 / 1024 * 0.0000133334)
    assert bill["Lambda", "authorize"] == pytest.approx(20_000 * 0.0000133334)
    assert bill["Bedrock", "titan"] == pytest.approx(1e6 * 100 / 4 / 1e6 * 0.02)
    # Less than one a second: every invocation of both functions is recorded.
    assert bill["X-Ray", "traces"] == pytest.approx((2 + TICKS / 1e6) * 5.0)
    assert bill["CloudWatch", "logs"] == pytest.approx((2_500e6 + 1_000 * TICKS) / 2**30 * 0.50)
    assert ("OpenSearch", "storage") not in bill


def test_traces_beyond_one_a_second_are_sampled() -> None:
    # 730 hours have 2,628,000 seconds; of the other 7,372,000 of ten million a twentieth is recorded.
    bill = lines(Volumes(recalls=10 * MILLION / DAYS))
    assert bill["X-Ray", "traces"] == pytest.approx((2 * (2.628 + 0.05 * 7.372) + TICKS / 1e6) * 5.0)


def test_a_million_recalls() -> None:
    bill = lines(A_MILLION_RECALLS)
    assert bill["DynamoDB", "reads of recalls"] == pytest.approx(50 * 0.125)
    assert bill["Lambda", "recall"] == pytest.approx(200_000 * 1769 / 1024 * 0.0000133334)
    assert bill["Bedrock", "titan"] == pytest.approx(60 / 4 * 0.02)
    assert bill["DynamoDB", "writes"] == 0


def test_the_indexer_takes_what_comes_in_two_seconds() -> None:
    managed = replace(A_MILLION_WRITES, mode="managed")
    assert managed.index_batches == pytest.approx(1e6)  # one every 2.6 seconds: each alone
    assert replace(managed, writes=10 * MILLION / DAYS).index_batches == 1_314_000  # one every two seconds
    assert replace(managed, writes=1_000 * MILLION / DAYS).index_batches == pytest.approx(5e6)  # 200 at once
    assert replace(managed, batch=10).index_batches == pytest.approx(1e5)
    # The head and the memory, one unit each.
    assert lines(managed)["DynamoDB", "reads of the indexer"] == pytest.approx(2 * 0.125)


def test_storage() -> None:
    # A million memories: 1,649 + 151 bytes, and 100 more for each of the two items.
    gigabytes = 1e6 * 2_000 / 2**30
    bill = lines(Volumes(mode="serverless", subjects=10_000, memories=100, dimensions=512))
    assert bill["DynamoDB", "storage"] == pytest.approx(gigabytes * 0.25)
    assert bill["DynamoDB", "point-in-time recovery"] == pytest.approx(gigabytes * 0.20)
    # 5,500 bytes an entry at 384 dimensions are a third more at 512.
    assert bill["OpenSearch", "storage"] == pytest.approx(1e6 * 5_500 * 4 / 3 / 2**30 * 0.024)
    given = lines(Volumes(mode="serverless", subjects=10_000, memories=100, index_bytes=1_000))
    assert given["OpenSearch", "storage"] == pytest.approx(1e9 / 2**30 * 0.024)


def test_a_domain_is_paid_whether_it_is_used_or_not() -> None:
    bill = lines(Volumes(mode="managed"))
    assert bill["OpenSearch", "instances"] == pytest.approx(2 * 730 * 0.178)
    assert bill["OpenSearch", "disk"] == pytest.approx(2 * 100 * 0.122)


def test_a_collection_is_paid_while_it_is_awake() -> None:
    assert awake_share(0) == 0
    # 730 requests a month are one an hour: in 1 − e^(−1/6) of the time one came within ten minutes.
    assert awake_share(730) == pytest.approx(0.153518, abs=1e-6)
    bill = lines(Volumes(mode="serverless", recalls=730 / DAYS))
    assert bill["OpenSearch", "search units"] == pytest.approx(2 * 730 * 0.153518 * 0.24, rel=1e-5)
    assert bill["OpenSearch", "index units"] == 0
    busy = lines(Volumes(mode="serverless", writes=MILLION / DAYS))
    assert busy["OpenSearch", "index units"] == pytest.approx(730 * 0.24)


def test_idle_by_mode() -> None:
    ticks = TICKS * (0.20 + 5.0 + 0.125) / 1e6 + TICKS * 1_000 / 2**30 * 0.50  # invoked, traced, ledger read, logged
    ticks += TICKS * 0.2 * 1769 / 1024 * 0.0000133334 + 0.30  # the run time, and the one metric of it
    fixed = 3.0 + 0.40 + 1.0 + ticks  # dashboard, secret, the key of receipts
    prices = load_prices()
    assert total(monthly(Volumes(), prices)) == pytest.approx(fixed + 28 * 0.10)
    assert total(monthly(Volumes(mode="serverless"), prices)) == pytest.approx(fixed + 32 * 0.10)
    domain = 2 * 730 * 0.178 + 2 * 100 * 0.122
    assert total(monthly(Volumes(mode="managed"), prices)) == pytest.approx(fixed + 33 * 0.10 + domain)


def test_a_thousand_users_erased() -> None:
    bill = lines(A_THOUSAND_ERASURES)
    # 27 states each, and one signature.
    assert bill["Step Functions", "transitions"] == pytest.approx(1_000 * 27 * 25 / 1e6)
    assert bill["KMS", "receipts"] == pytest.approx(1_000 * 15 / 1e6)
    # 100 memories of two units and their hashes of one; beside them the ledger, the fence, the receipt.
    assert bill["DynamoDB", "writes of erasures"] == pytest.approx(1_000 * (300 + NOTED_WRITES) * 0.625 / 1e6)
    # 100 × 1,800 bytes are 44 units, counted once and read once to be deleted.
    assert bill["DynamoDB", "reads of erasures"] == pytest.approx(1_000 * (2 * 44 + NOTED_READS) * 0.125 / 1e6)
    # All 1.8 GB of a million memories and hashes, in whole units of 4 KB, before the drain and after it.
    assert bill["DynamoDB", "verification"] == pytest.approx(1_000 * 2 * 439_454 * 0.125 / 1e6)
    by_partitions = lines(replace(A_THOUSAND_ERASURES, verify="partitions"))
    assert by_partitions["DynamoDB", "verification"] == 0
    # Each is a request too, with its entry in the audit trail, and twelve tasks.
    assert bill["API Gateway", "requests"] == pytest.approx(1_000 / 1e6)
    assert bill["DynamoDB", "audit trail"] == pytest.approx(1_000 * 6 * 0.625 / 1e6)
    assert lines(replace(A_THOUSAND_ERASURES, audit="writes"))["DynamoDB", "audit trail"] > 0
    # Latency of twelve tasks, latency and answers of the route, and the tick's.
    assert bill["CloudWatch", "own metrics"] == pytest.approx(15 * 0.30)
    seconds = (1_000 * 13 + TICKS) * 0.2 * 1769 / 1024
    assert bill["Lambda", "govern, erase"] == pytest.approx(seconds * 0.0000133334)


def test_ticks_come_round_also_where_nothing_is_erased() -> None:
    bill = lines(Volumes())
    assert bill["DynamoDB", "ticks"] == pytest.approx(TICKS * 0.125 / 1e6)
    assert bill["EventBridge", "ticks"] == 0
    assert bill["Step Functions", "transitions"] == bill["KMS", "receipts"] == 0


def test_every_price_has_a_unit_and_a_source_or_says_that_there_is_none() -> None:
    prices = load_prices()
    assert date.fromisoformat(prices.collected) >= date(2026, 1, 1)
    for name, price in prices.by_name.items():
        assert price["usd"] >= 0, name
        assert price["unit"], name
        assert price["source"] or price["note"], name
        assert price["date"] is None or date.fromisoformat(price["date"]) <= date.fromisoformat(prices.collected), name
    assert prices.instance_types()[0] == "t3.small.search"


def test_the_bill_for_a_person_and_as_json(tmp_path: Path) -> None:
    world = World(tmp_path)
    options = ("cost", "--mode", "serverless", "--subjects", "100", "--writes", "500", "--recalls", "1000")
    assert world.run(*options) == 0
    assert re.search(r"^DynamoDB +writes +0\.10 +15,208 memories × 11\.00 WRU × \$0\.625/M$", world.out, re.MULTILINE)
    shown = re.search(r"^total +([0-9.]+)$", world.out, re.MULTILINE)
    assert world.run("--json", *options) == 0
    answer = world.answer()
    assert isinstance(answer, dict)
    assert shown is not None
    assert shown[1] == f"{answer['total_usd']:.2f}"
    assert answer["total_usd"] == pytest.approx(sum(line["usd"] for line in answer["lines"]))
    assert answer["volumes"]["subjects"] == 100


def test_modes_compared(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.run("cost", "--compare", "--json") == 0
    answer = world.answer()
    assert isinstance(answer, dict)
    assert answer["modes"]["scan"]["idle"] == pytest.approx(7.59, abs=0.005)
    # 2,000 bytes of two items a memory, at 0.25 and 0.20 a GB.
    assert answer["modes"]["scan"]["kept"] == pytest.approx(2e9 / 2**30 * 0.45)
    assert world.run("cost", "--compare") == 0
    assert world.out.splitlines()[2].startswith("| `scan` | 7.59 | 0.84 |")


def test_the_page_about_costs_shows_what_the_command_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "cost.md").read_text(encoding="utf-8")
    world = World(tmp_path)
    assert world.run("cost", "--compare") == 0
    assert world.out in page
    recalls, erasures = 4, 5
    for options, column, shown in (
        (("--memories", "1000"), recalls, "78.04"),
        (("--memories", "10000"), recalls, "572.41"),
        (("--cold-share", "0"), recalls, "23.16"),
        (("--verify", "partitions"), erasures, "5.27"),
    ):
        assert world.run("cost", "--compare", *options) == 0
        assert world.out.splitlines()[2].removesuffix(" |").split(" | ")[column] == shown
        assert shown in page
    units = f"100 × 3 + {NOTED_WRITES} write, 2 × 44 + {NOTED_READS} read"
    assert units in page


def test_what_cannot_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World(tmp_path)
    assert world.run("cost", "--mode", "managed", "--instance-type", "m9.huge.search") == 2
    assert "no price of m9.huge.search" in world.err
    for option, value, why in (
        ("--cold-share", "1.5", "1.5 is not from 0 to 1"),
        ("--batch", "50", "50 is not from 1 to 49"),
        ("--batch", "1.5", "1.5 is not a whole number"),
        ("--writes", "-1", "-1 is not from 0 to 1,000,000,000,000,000"),
        ("--recalls", "1e30", "1e30 is not from 0 to 1,000,000,000,000,000"),
        ("--memories", "1e30", "1e30 is not from 1 to 1,000,000,000,000,000"),
        ("--memories", "0", "0 is not from 1 to 1,000,000,000,000,000"),
        ("--recalls", "1e9999", "1e9999 is not from 0 to"),
        *((option, text, "is not a number such as 12, 0.5 or 1e6")
          for option in ("--recalls", "--memories", "--cold-share")
          for text in ("nan", "inf", "-inf", "1_000", "+5", "05", "٥", "", " 5", "0x10", "many")),
    ):  # fmt: skip
        with pytest.raises(SystemExit) as refused:
            world.run("cost", f"{option}={value}")
        assert refused.value.code == 2
        told = capsys.readouterr().err
        assert option in told
        assert why in told


def test_whole_numbers_and_others_are_written_alike(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.run("--json", "cost", "--memories", "1e3", "--recalls", "1e3", "--subjects", "2.0") == 0
    answer = world.answer()
    assert isinstance(answer, dict)
    assert [answer["volumes"][name] for name in ("memories", "recalls", "subjects")] == [1_000, 1_000.0, 2]


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (("--instances", "3"), "--instances does not apply to --mode scan"),
        (("--mode", "scan", "--index-bytes", "9"), "--index-bytes does not apply to --mode scan"),
        (("--mode", "managed", "--cold-share", "0"), "--cold-share does not apply to --mode managed"),
        (
            ("--mode", "serverless", "--instance-type", "r7g.large.search", "--gigabytes", "9"),
            "--instance-type, --gigabytes does not apply to --mode serverless",
        ),
        (("--mode", "managed", "--search-units", "2"), "--search-units does not apply to --mode managed"),
        (("--compare", "--mode", "scan", "--recalls", "5"), "--mode, --recalls does not apply to --compare"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(
    tmp_path: Path, arguments: tuple[str, ...], refusal: str
) -> None:
    world = World(tmp_path)
    assert world.run("cost", *arguments) == 2
    assert refusal in world.err


@pytest.mark.parametrize("option", [name for name in asdict(Volumes()) if name not in ("mode", "instance_type")])
def test_what_a_mode_takes_changes_its_bill(tmp_path: Path, option: str) -> None:
    """Over volumes of which all are used; what a mode does not take is refused."""
    world = World(tmp_path)
    other = {"embedder": "cohere", "architecture": "x86_64", "audit": "off", "cold_share": "0.5", "batch": "7"}
    other["verify"] = "partitions"
    value = other.get(option, "2345")
    for mode in ("scan", "managed", "serverless"):
        base = ["--json", "cost", "--mode", mode]
        volumes = {"subjects": "1e6", "memories": "200", "writes": "3e6", "recalls": "4e5", "erasures": "9"}
        for name, given in volumes.items():
            base += [] if name == option else [f"--{name}", given]
        assert world.run(*base) == 0
        before = world.answer()
        status = world.run(*base, f"--{option.replace('_', '-')}", value)
        if status == 2:
            assert f"does not apply to --mode {mode}" in world.err
            continue
        assert status == 0
        after = world.answer()
        assert isinstance(before, dict)
        assert isinstance(after, dict)
        assert before["lines"] != after["lines"], (option, mode)
