"""``python -m bench.scale``: one index grown from size to size, and measured at each."""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from bench.command_line import put_into, sizes
from bench.scale.node import Index, Size, ask, exact
from bench.scale.peer import Beside, compare
from bench.scale.world import Subject, Table, subjects
from bench.speed.report import Table as Report
from bench.speed.report import heading
from lethe.adapters.opensearch.mapping import IndexShape
from lethe.domain.indexing import Change, Put
from lethe.ports import SearchIndex
from lethe_local.opensearch_node import OpenSearchNode

EACH: Final = 50
"""Memories of a subject: 20,000 subjects at a million."""
ODD_SIZES: Final = (10, 1_000, 20_000)
"""Subjects of other sizes, in every index."""
_FIRST_ODD: Final = 10_000_000
_ASKED: Final = 100
_SEARCHES: Final = 300
_WARM_UP: Final = 5
"""Rounds of all questions before the clock starts: the node compiles its code as it runs, 100 ms a search to 28."""
_WRITE_SECONDS: Final = 20.0


@dataclass(frozen=True)
class Times:
    """Milliseconds of many calls."""

    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Times":
        p50, p95, p99 = np.percentile(np.array(seconds) * 1000, [50, 95, 99])
        return cls(float(p50), float(p95), float(p99))


@dataclass
class Measured:
    """Everything of one index at one size."""

    memories: int
    rate: float
    size: Size
    alone: Times
    eight: Times
    agreement: float
    odd: dict[int, Times] = field(default_factory=dict)
    reads_beside: Times | None = None
    writes_beside: Times | None = None
    written_a_second: float = 0.0


def main() -> int:
    """Parse the options, measure, print, write."""
    options = _options()
    say = _say if not options.quiet else lambda text: None
    wanted: list[tuple[str, IndexShape, list[int]]] = [("no graphs", IndexShape(), options.sizes)]
    if options.graphs:
        wanted.append(("HNSW", IndexShape(engine="lucene", graph_threshold=0), options.graphs))
    runs: dict[str, list[Measured]] = {}
    home = Path(options.home)
    home.mkdir(parents=True, exist_ok=True)
    node = OpenSearchNode.start(home, say=say, heap=options.heap)
    try:
        for name, shape, grown in wanted:
            runs[name] = _grow(Index(node.url, f"bench-{name.split()[0].lower()}", shape), grown, say)
        beside = compare(node.url, options.mem0, say) if options.mem0 else "not asked for"
    finally:
        node.stop()
    tables = [*_tables(runs), *_mem0(beside)]
    for table in tables:
        print(table.text())
    if options.docs:
        put_into(
            options.docs, "scale", [heading(f"OpenSearch 2.19.1, heap {options.heap}"), *(t.markdown() for t in tables)]
        )
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--sizes", type=sizes, default=[10_000, 100_000, 1_000_000], help="10000,100000,1000000")
    parser.add_argument("--graphs", type=sizes, default=[10_000, 100_000], help="sizes measured with HNSW graphs too")
    parser.add_argument("--home", default=".lethe/bench-scale", help="where the node keeps its data")
    parser.add_argument("--heap", default="4g", help="of the node")
    parser.add_argument("--mem0", type=int, default=10_000, help="memories put into mem0 on the same node; 0: none")
    parser.add_argument("--docs", type=Path, help="a page to write the tables into, between its marks")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser.parse_args()


def _grow(index: Index, sizes: Sequence[int], say: Callable[[str], None]) -> list[Measured]:
    index.make()
    odd = [Subject(_FIRST_ODD + n, size) for n, size in enumerate(ODD_SIZES)]
    index.fill(odd)
    held = 0
    measured = []
    for size in sizes:
        seconds = index.fill(subjects(held // EACH, size - held, EACH))
        rate = (size - held) / seconds
        held = size
        say(f"{size:,} memories, {rate:,.0f} a second")
        measured.append(_measure(index, size, rate, odd, say))
    index.drop()
    return measured


def _measure(index: Index, size: int, rate: float, odd: Sequence[Subject], say: Callable[[str], None]) -> Measured:
    chance = np.random.default_rng(size)
    asked = [Subject(int(number), EACH) for number in chance.choice(size // EACH, _ASKED, replace=False)]
    engine = index.engine(Table([*asked, *odd]))
    questions = [(subject, *question) for subject in asked for question in subject.questions(_SEARCHES // _ASKED)]
    for subject, text, vector in questions * _WARM_UP:
        ask(engine, subject, text, vector)
    alone = Times.of([ask(engine, *each) for each in questions])
    with ThreadPoolExecutor(8) as clients:
        eight = Times.of(list(clients.map(lambda each: ask(engine, *each), questions)))
    found = Measured(size, rate, index.size(), alone, eight, _agreement(index, asked))
    for subject in odd:
        found.odd[subject.size] = Times.of([ask(engine, subject, *each) for each in subject.questions(60)])
    _beside(index, engine, questions, found)
    say(f"  p95 {alone.p95:.1f} ms alone, {eight.p95:.1f} with eight clients, agreement {found.agreement:.4f}")
    return found


def _agreement(index: Index, asked: Sequence[Subject]) -> float:
    """Share of the exact ten nearest that the index finds inside one subject."""
    shares = []
    for subject in asked:
        memories = subject.memories()
        for _, vector in subject.questions(2):
            wanted = exact(subject, memories, vector, 10)
            shares.append(len(set(wanted) & set(index.nearest(subject, vector, 10))) / len(wanted))
    return float(np.mean(shares))


def _beside(
    index: Index, engine: SearchIndex, questions: Sequence[tuple[Subject, str, np.ndarray]], found: Measured
) -> None:
    """Batches of 200 written without a pause while searches go on."""
    over = threading.Event()
    writes: list[float] = []

    def write() -> None:
        for number in range(1_000_000):
            if over.is_set():
                return
            subject = Subject(20_000_000 + found.memories + number, 200)
            batch: list[Change] = [Put(subject.space, memory) for memory in subject.memories()]
            began = time.perf_counter()
            index.write(batch)
            writes.append(time.perf_counter() - began)

    writer = threading.Thread(target=write)
    began = time.perf_counter()
    writer.start()
    reads: list[float] = []
    while time.perf_counter() - began < _WRITE_SECONDS:
        reads.append(ask(engine, *questions[len(reads) % len(questions)]))
    over.set()
    writer.join()
    found.reads_beside, found.writes_beside = Times.of(reads), Times.of(writes)
    found.written_a_second = 200 * len(writes) / (time.perf_counter() - began)


def _tables(runs: dict[str, list[Measured]]) -> list[Report]:
    everything = [(name, each) for name, run in runs.items() for each in run]
    built = Report(
        "Built",
        ("index", "memories", "a second", "disk MB", "segments", "heap MB", "exact top 10"),
        [
            (
                name,
                f"{m.memories:,}",
                f"{m.rate:,.0f}",
                f"{m.size.bytes / 1e6:,.0f}",
                f"{m.size.segments}",
                f"{m.size.heap / 1e6:,.0f}",
                f"{m.agreement:.4f}",
            )
            for name, m in everything
        ],
    )
    first = {name: run[0].alone.p95 for name, run in runs.items()}
    asked = Report(
        "Asked, ms",
        ("index", "memories", "p50", "p95", "p95 × smallest", "8 clients p50", "p95"),
        [
            (
                name,
                f"{m.memories:,}",
                f"{m.alone.p50:.1f}",
                f"{m.alone.p95:.1f}",
                f"{m.alone.p95 / first[name]:.2f}",
                f"{m.eight.p50:.1f}",
                f"{m.eight.p95:.1f}",
            )
            for name, m in everything
        ],
    )
    odd = Report(
        "Subjects of other sizes, ms",
        ("index", "memories", *(f"{size:,}: p50 / p95" for size in ODD_SIZES)),
        [
            (name, f"{m.memories:,}", *(f"{m.odd[size].p50:.1f} / {m.odd[size].p95:.1f}" for size in ODD_SIZES))
            for name, m in everything
        ],
    )
    beside = Report(
        "Reads beside writes, ms",
        ("index", "memories", "written a second", "read p50", "read p99", "batch of 200 p50", "p99"),
        [
            (
                name,
                f"{m.memories:,}",
                f"{m.written_a_second:,.0f}",
                f"{m.reads_beside.p50:.1f}",
                f"{m.reads_beside.p99:.1f}",
                f"{m.writes_beside.p50:.1f}",
                f"{m.writes_beside.p99:.1f}",
            )
            for name, m in everything
            if m.reads_beside is not None and m.writes_beside is not None
        ],
    )
    return [built, asked, odd, beside]


def _mem0(beside: Beside | str) -> list[Report]:
    columns = ("ours answered by", "searches", "p50 ms", "mem0's", "ratio")
    title = "Beside mem0 2.2.1 on the same node, embedding out of both"
    if isinstance(beside, str):
        return [Report(title, columns, [], note=f"Not measured: {beside}")]
    rows = [
        (
            each.way,
            f"{each.count:,}",
            f"{each.ours * 1000:.1f}",
            f"{each.theirs * 1000:.1f}",
            f"{each.ours / each.theirs:.2f}",
        )
        for each in beside.searches
    ]
    put = (
        f"{beside.memories:,}",
        f"{beside.our_rate:,.0f}",
        f"{beside.their_rate:,.0f}",
        f"{beside.our_rate / beside.their_rate:.1f}",
    )
    return [
        Report(f"{title}: {beside.memories:,} memories, {beside.subjects} subjects in turn", columns, rows),
        Report("Put beside mem0", ("memories", "a second", "mem0's", "ratio"), [put]),
    ]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
