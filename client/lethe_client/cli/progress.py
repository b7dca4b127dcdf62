"""How far a command is that goes through whole tables."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final, TextIO

_LINE_SECONDS: Final = 1.0


class Progress:
    """Says how far it is: on a terminal on one line, elsewhere on a line of its own every second."""

    def __init__(self, stream: TextIO, seconds: Callable[[], float] = monotonic) -> None:
        self._stream = stream
        self._on_one_line = stream.isatty()
        self._seconds = seconds
        self._said = seconds()

    def show(self, line: str) -> None:
        """Show the counts so far."""
        if self._on_one_line:
            print(f"\r{line}\x1b[K", end="", file=self._stream, flush=True)
        elif self._seconds() - self._said >= _LINE_SECONDS:
            self._said = self._seconds()
            print(line, file=self._stream, flush=True)

    def end(self) -> None:
        """Leave the line as it is."""
        if self._on_one_line:
            print(file=self._stream)
