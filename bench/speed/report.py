"""The results as tables: text for the terminal, Markdown for docs/benchmarks.md, all numbers as JSON."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench.speed.cold import FLOOR, Starts
from bench.speed.latency import Scenario
from bench.speed.peer import Beside
from bench.speed.places import ordered

_SHOWN = 0.00005
"""Seconds below which a step is left out of the table of steps."""


@dataclass(frozen=True)
class Table:
    """A table with a heading; cells are text already."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""

    def markdown(self) -> str:
        lines = [f"### {self.title}", ""]
        lines += ["| " + " | ".join(self.columns) + " |", "|" + " --- |" * len(self.columns)]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join([*lines, "", self.note, ""] if self.note else [*lines, ""])

    def text(self) -> str:
        widths = [max(len(row[n]) for row in [self.columns, *self.rows]) for n in range(len(self.columns))]
        lines = [self.title, ""]
        for row in [self.columns, tuple("-" * width for width in widths), *self.rows]:
            cells = [
                cell.ljust(w) if n == 0 else cell.rjust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, *([self.note] if self.note else []), ""])


@dataclass
class Results:
    """Everything that one run measured; parts that were not asked for are empty."""

    embed_ms: float = 0.0
    scenarios: list[Scenario] = field(default_factory=list)
    batch: tuple[float, float] | None = None
    starts: list[Starts] = field(default_factory=list)
    imports: dict[str, dict[str, float]] = field(default_factory=dict)
    beside: list[Beside] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def tables(self) -> list[Table]:
        tables = []
        if self.scenarios:
            tables += [self._latency(), self._trips(), *self._steps()]
        if self.batch:
            tables.append(self._batch(*self.batch))
        if self.starts:
            tables.append(self._cold())
        tables += [_imports(name, costs) for name, costs in self.imports.items()]
        if self.beside:
            tables.append(self._mem0())
        return tables

    def _latency(self) -> Table:
        rows = [
            (s.name, f"{s.size:,}", _ms(s.p50), _ms(s.p95), _ms(s.p50_without_embedding), str(len(s.runs)))
            for s in self.scenarios
        ]
        columns = ("request", "memories", "p50 ms", "p95 ms", "p50 without embedding", "runs")
        return Table(
            "Inside the handlers", columns, rows, f"Embedding one question takes {self.embed_ms:.1f} ms (p50)."
        )

    def _trips(self) -> Table:
        rows = [(s.name, f"{s.size:,}", str(s.calls), str(s.rounds_to_store), str(s.rounds)) for s in self.scenarios]
        columns = ("request", "memories", "calls to DynamoDB", "sequential", "sequential, embedding counted")
        return Table("Round trips", columns, rows, "Calls that overlap in time count as one round.")

    def _steps(self) -> list[Table]:
        tables = []
        for name in dict.fromkeys(s.name for s in self.scenarios):
            same = [s for s in self.scenarios if s.name == name]
            own, beside = [s.steps() for s in same], [s.beside() for s in same]
            rows = _step_rows(own, "") + _step_rows(beside, " (beside)")
            tables.append(Table(f"{name}: by step, ms", ("step", *(f"{s.size:,}" for s in same)), rows))
        return tables

    def _batch(self, total: float, without: float) -> Table:
        rows = [
            ("embedding in", f"{total:.2f}", f"{1000 / total:,.0f}"),
            ("embedding out", f"{without:.2f}", f"{1000 / without:,.0f}"),
        ]
        return Table("A batch of 1,000", ("", "seconds", "memories a second"), rows)

    def _cold(self) -> Table:
        floor = next(s for s in self.starts if s.name == FLOOR)
        rows = [
            (
                s.name,
                f"{s.p50('built'):.0f}",
                f"{s.p50():.0f}",
                f"{s.p50() / floor.p50():.2f}",
                f"{s.p50_processor():.0f}",
                f"{s.p50_processor() / floor.p50_processor():.2f}",
            )
            for s in self.starts
        ]
        columns = ("start", "built ms", "first answer", "× boto3", "processor ms", "× boto3 (processor)")
        return Table("Cold start", columns, rows, f"Medians of {len(floor.clock['answered'])} fresh processes each.")

    def _mem0(self) -> Table:
        rows = [
            (
                f"{b.size:,}",
                _ms(b.our_search),
                _ms(b.their_search),
                f"{b.our_search / b.their_search:.2f}",
                f"{b.our_rate:,.0f}",
                f"{b.their_rate:,.0f}",
                f"{b.our_rate / b.their_rate:.1f}",
            )
            for b in self.beside
        ]
        columns = ("memories", "search p50 ms", "mem0's", "ratio", "bulk add a second", "mem0's", "ratio")
        return Table("Beside mem0 2.2.1, embedding out of both", columns, rows)


def _step_rows(columns: Sequence[dict[str, float]], mark: str) -> list[tuple[str, ...]]:
    names = ordered({name: 0.0 for column in columns for name in column})
    return [
        (name + mark, *(_ms(column.get(name, 0.0)) for column in columns))
        for name in names
        if any(abs(column.get(name, 0.0)) >= _SHOWN for column in columns)
    ]


def _imports(name: str, costs: dict[str, float]) -> Table:
    rows = [(package, f"{ms:.1f}") for package, ms in list(costs.items())[:14]]
    return Table(f"What {name} imports: ms of its own by package", ("package", "ms"), rows)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f}" if seconds < 0.01 else f"{1000 * seconds:.1f}"


def heading(tables_on: str) -> str:
    """Date, machine and load, so that a number can be judged."""
    moment = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    python = f"Python {platform.python_version()} on {platform.machine()}"
    return f"{moment}; {_processor()}, {os.cpu_count()} cores, load {load}; {python}; {tables_on}"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
