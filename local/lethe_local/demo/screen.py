"""What the demo prints with: chapters, sentences, tables, a progress bar, and the checks with their outcome.

Colours appear where the terminal has them (and NO_COLOR is not set); without a terminal there is no bar, only
its lines. Rich measures wide characters as two columns, so tables with Chinese in them stay straight.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

WIDEST = 100
WITHOUT_TERMINAL = 96
NARROWEST = 80
WIDEST_CELL = 34


@dataclass(frozen=True, slots=True)
class Check:
    """One claim of the demo and whether the answers bore it out."""

    claim: str
    holds: bool


class Bar:
    """A progress bar under the lines that are printed meanwhile."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total) if progress else None

    def advance(self, label: str) -> None:
        """One step done; `label` says where we are."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=1, description=label)


class Screen:
    """Prints the story, and keeps the checks."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or _console()
        self.checks: list[Check] = []
        self._chapters = 0

    @property
    def failures(self) -> list[Check]:
        """The checks that did not hold."""
        return [check for check in self.checks if not check.holds]

    def title(self, text: str, below: str) -> None:
        """The first lines."""
        self.console.print(Text(text, "bold"))
        self.console.print(Text(below, "dim"))

    def chapter(self, title: str) -> None:
        """The heading of the next chapter."""
        self._chapters += 1
        self.console.print()
        self.console.rule(Text(f"{self._chapters} · {title}", "bold cyan"), align="left", style="cyan")

    def say(self, text: str, style: str = "") -> None:
        """A paragraph."""
        self.console.print(Padding(Text(text, style), (0, 0, 0, 2), expand=False))

    def fields(self, rows: Sequence[tuple[str, str]]) -> None:
        """Names with their values, aligned."""
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in rows:
            grid.add_row(Text(name), Text(value))
        self.console.print(Padding(grid, (0, 0, 0, 2), expand=False))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], last_shortened: bool = True) -> None:
        """A compact table; the last column takes what width is left, cut with an ellipsis or folded."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
        for column, name in enumerate(header[:-1]):
            widest = max(cell_len(row[column]) for row in (header, *rows))
            table.add_column(name, no_wrap=True, overflow="ellipsis", min_width=min(widest, WIDEST_CELL))
        if last_shortened:
            table.add_column(header[-1], ratio=1, no_wrap=True, overflow="ellipsis")
        else:
            table.add_column(header[-1], ratio=1, overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self.console.print(Padding(table, (0, 0, 0, 2), expand=False))

    def block(self, title: str, text: str) -> None:
        """A text that is shown whole, in a frame."""
        self.console.print(
            Padding(
                Panel(Text(text, overflow="fold"), title=Text(title), title_align="left"), (0, 0, 0, 2), expand=False
            )
        )

    def check(self, claim: str, holds: bool) -> None:
        """Record a claim and print it with a tick or a cross."""
        self.checks.append(Check(claim, holds))
        mark = Text("✓ ", "bold green") if holds else Text("✗ ", "bold red")
        self.console.print(Padding(mark.append(claim, "" if holds else "red"), (0, 0, 0, 2), expand=False))

    @contextmanager
    def bar(self, total: int) -> Iterator[Bar]:
        """A progress bar of `total` steps while the block runs; nothing where there is no terminal."""
        if not self.console.is_terminal:
            yield Bar(None, total)
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=self.console, transient=True) as progress:
            yield Bar(progress, total)


def _console() -> Console:
    # The stream as it is now: the functions of the stack print their logs to sys.stdout, which is led elsewhere.
    stream = sys.stdout
    console = Console(highlight=False, file=stream)
    width = min(max(console.width, NARROWEST), WIDEST) if console.is_terminal else WITHOUT_TERMINAL
    return Console(highlight=False, file=stream, width=width)
