"""What the demo prints with: chapters, sentences, tables, a progress bar, and the checks with their outcome.

Colours appear where the terminal has them (and NO_COLOR is not set); without a terminal there is no bar, only
its lines. Rich measures wide characters as two columns, so tables with Chinese in them stay straight.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.text import Text

WIDEST = 100
WITHOUT_TERMINAL = 96
NARROWEST = 80
WIDEST_CELL = 34
MARGIN = "  "


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
        self._indented(Text(text, style))

    def fields(self, rows: Sequence[tuple[str, str]]) -> None:
        """Names with their values, aligned."""
        widest = max(cell_len(name) for name, _ in rows) + 2
        for name, value in rows:
            first = Text(set_cell_size(name, widest), "dim")
            for line in Text(value).wrap(self.console, self._inside - widest):
                self.console.print(Text(MARGIN).append_text(first).append_text(line))
                first = Text(" " * widest)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A compact table, one line a row; the last column takes what width is left, cut with an ellipsis."""
        widths = [
            min(max(cell_len(row[column]) for row in (header, *rows)), WIDEST_CELL) + 2
            for column in range(len(header) - 1)
        ]
        widths.append(self._inside - sum(widths))
        self.console.print()
        self._row(header, widths, "dim")
        self.console.print(Text(MARGIN + "─" * self._inside, "dim"))
        for row in rows:
            self._row(row, widths, "")
        self.console.print()

    def _row(self, cells: Sequence[str], widths: Sequence[int], style: str) -> None:
        line = "".join(set_cell_size(_shortened(cell, width), width) for cell, width in zip(cells, widths, strict=True))
        self.console.print(Text(MARGIN + line.rstrip(), style))

    def block(self, title: str, text: str) -> None:
        """A text that is shown whole, in a frame."""
        panel = Panel(Text(text, overflow="fold"), title=Text(title), title_align="left")
        self.console.print(Padding(panel, (0, 0, 0, len(MARGIN)), expand=False))

    def check(self, claim: str, holds: bool) -> None:
        """Record a claim and print it with a tick or a cross."""
        self.checks.append(Check(claim, holds))
        mark = Text("✓ ", "bold green") if holds else Text("✗ ", "bold red")
        self._indented(Text.assemble(mark, (claim, "" if holds else "red")))

    @property
    def _inside(self) -> int:
        """Columns beside the margin."""
        return self.console.width - len(MARGIN)

    def _indented(self, text: Text) -> None:
        for line in text.wrap(self.console, self._inside):
            self.console.print(Text(MARGIN).append_text(line))

    @contextmanager
    def bar(self, total: int) -> Iterator[Bar]:
        """A progress bar of `total` steps while the block runs; nothing where there is no terminal."""
        if not self.console.is_terminal:
            yield Bar(None, total)
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        # Rich would otherwise print what goes to sys.stdout meanwhile, and those are the functions' logs.
        with Progress(
            *columns, console=self.console, transient=True, redirect_stdout=False, redirect_stderr=False
        ) as progress:
            yield Bar(progress, total)


def _shortened(cell: str, width: int) -> str:
    """The cell in fewer than `width` columns."""
    text = Text(" ".join(cell.split()))
    text.truncate(width - 1, overflow="ellipsis")
    return text.plain


def _console() -> Console:
    # The stream as it is now: the functions of the stack print their logs to sys.stdout, which is led elsewhere.
    stream = sys.stdout
    console = Console(highlight=False, file=stream)
    width = min(max(console.width, NARROWEST), WIDEST) if console.is_terminal else WITHOUT_TERMINAL
    return Console(highlight=False, file=stream, width=width)
