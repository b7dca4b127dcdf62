"""``python -m bench.erasure``: erasures of subjects from 50 to 100,000 records, and the floor beside them."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from bench.command_line import put_into, sizes
from bench.erasure.measure import Measured, Run, erase, measure
from bench.erasure.world import World, open_world
from bench.speed.report import Table, heading

CALL: Final = 0.010
"""Seconds added to every call to the store in the projections."""
TRANSITION: Final = 0.050
"""Seconds that the state machine takes for a transition. An assumption, on the slow side: AWS publishes no number for
Standard workflows, and this machine has no AWS to measure.
"""
START: Final = 0.100
"""Seconds of the call that starts an execution, assumed likewise."""
COLD: Final = 1.0
"""Seconds until a new container of the function ``erase`` works, assumed from the cold starts of ``bench.speed``."""
AIMS: Final = {50: 1.7, 10_000: 10.0}
"""Seconds from the call to the last deletion at the 99th percentile, by records."""
_PROJECTED_RUNS: Final = {50: 40, 10_000: 3}


def main() -> int:
    """Parse the options, measure, print, write."""
    options = _options()
    with open_world() as world:
        measured = []
        for records in options.sizes:
            measured.append(measure(world, records, _repetitions(records)))
            _say(f"{records:,} records: {measured[-1].ratio:.2f} x the floor")
        projected = {records: _projected(world, records) for records in AIMS if records in options.sizes}
        about = heading("dynoxide in memory")
        if world.client.met_limits:
            raise RuntimeError("the store did not take whole batches: nothing here can be compared")
    tables = [_times(measured), _calls(measured), *([_projections(projected)] if projected else [])]
    print(f"{about}\n")
    for table in tables:
        print(table.text())
    if options.docs:
        put_into(options.docs, "erasure", [about, "", *(table.markdown() for table in tables)])
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.erasure", description=__doc__)
    parser.add_argument("--sizes", type=sizes, default=[50, 1_000, 10_000, 100_000], help="50,1000,10000,100000")
    parser.add_argument("--docs", type=Path, metavar="FILE", help="put the tables between the marks in that page")
    return parser.parse_args()


def _repetitions(records: int) -> int:
    """More of what is short, since it varies more."""
    return 15 if records <= 100 else 7 if records <= 1_000 else 3 if records <= 10_000 else 1


def _projected(world: World, records: int) -> list[Run]:
    runs = [erase(world, world.fill(records), CALL) for _ in range(_PROJECTED_RUNS[records])]
    _say(f"{records:,} records with {CALL * 1000:.0f} ms a call: {median(run.deleted_after for run in runs):.2f} s")
    return runs


def _times(measured: Sequence[Measured]) -> Table:
    rows = [
        (
            f"{m.records:,}",
            f"{1000 * median(run.answered for run in m.runs):.0f}",
            f"{m.work:.2f}",
            f"{1000 * m.work / m.records:.2f}",
            f"{m.floor:.2f}",
            f"{m.ratio:.2f}",
            str(len(m.runs)),
        )
        for m in measured
    ]
    columns = ("records", "not retrievable after ms", "deleting work s", "ms a record", "floor s", "x floor", "runs")
    return Table(
        "Time, without any network",
        columns,
        rows,
        "Medians; the ratio is the median over neighbouring runs. The floor is the bare deletion of as many keys, "
        "known beforehand, all batch calls sent by 24 threads at once.",
    )


def _calls(measured: Sequence[Measured]) -> Table:
    rows = []
    for m in measured:
        run = m.runs[-1]
        deletions = run.calls["batch_write_item"]
        total = run.requested.total() + run.calls.total()
        rows.append(
            (
                f"{m.records:,}",
                str(run.requested.total()),
                str(run.calls.total() - deletions),
                f"{deletions:,}",
                f"{total / m.records:.3f}",
            )
        )
    columns = ("records", "in the request", "reads and notes", "batches of deletions", "calls a record")
    return Table("Calls to DynamoDB up to the last deletion", columns, rows)


def _projections(projected: dict[int, list[Run]]) -> Table:
    rows = []
    for records, runs in projected.items():
        seconds = [run.deleted_after + START + TRANSITION * _transitions(run) for run in runs]
        p50, p99 = (float(value) for value in np.percentile(np.array(seconds), [50, 99]))
        rows.append(
            (
                f"{records:,}",
                f"{p50:.2f}",
                f"{p99:.2f}",
                f"{p99 + COLD:.2f}",
                f"{AIMS[records]:.1f}",
                str(runs[-1].tasks),
                str(len(runs)),
            )
        )
    columns = ("records", "p50 s", "p99 s", "p99, cold container", "aim", "tasks", "runs")
    return Table(
        f"Projected, from call to last deletion, {CALL * 1000:.0f} ms added to each call",
        columns,
        rows,
        f"Assumed besides: {START * 1000:.0f} ms to start the execution, {TRANSITION * 1000:.0f} ms for each "
        f"transition up to the last deletion, {COLD:.1f} s for a new container.",
    )


def _transitions(run: Run) -> int:
    """Into the first task, and from each to the next by way of the choice between them."""
    return 2 * run.tasks - 1


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
