"""Prints results: tables and sentences for a person, JSON for a program."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TextIO

_NAMED_AT_MOST = 10
"""Ids and numbers in one line."""


class Output:
    """Where results go; `as_json` says in which of the two forms."""

    def __init__(self, stream: TextIO, as_json: bool) -> None:
        self._stream = stream
        self.as_json = as_json

    def json(self, value: object) -> None:
        """Print one JSON document."""
        self.line(json.dumps(value, ensure_ascii=False, indent=2))

    def line(self, text: str = "") -> None:
        """Print one line, whatever characters the stream can show."""
        encoding = self._stream.encoding or "utf-8"
        print(text.encode(encoding, "replace").decode(encoding), file=self._stream)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print columns as wide as their widest cell; Chinese characters count two."""
        widths = [max(display_width(row[column]) for row in (header, *rows)) for column in range(len(header))]
        for row in (header, *rows):
            cells = (cell + " " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True))
            self.line("  ".join(cells).rstrip())

    def counts(self, numbers: Mapping[str, int]) -> None:
        """Print what a run counted, in either form."""
        if self.as_json:
            self.json(numbers)
        else:
            self.table(("", "count"), [(name.replace("_", " "), str(value)) for name, value in numbers.items()])


def utc(moment: datetime) -> str:
    """A time as the API writes it: RFC 3339 in UTC, with ``Z`` and microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def display_width(text: str) -> int:
    """Columns that a terminal gives the text: 2 for wide and full-width characters, 0 for combining ones.

    Unicode Standard Annex 11, East Asian Width.
    """
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def shorten(text: str, width: int) -> str:
    """The text on one line in at most `width` columns, with an ellipsis where it was cut."""
    flat = " ".join(text.split())
    if display_width(flat) <= width:
        return flat
    kept = ""
    for character in flat:
        if display_width(kept + character) > width - 1:
            break
        kept += character
    return kept.rstrip() + "…"


def some(values: Sequence[object]) -> str:
    """The first ten of them in one line, and how many there are beside."""
    more = f" and {len(values) - _NAMED_AT_MOST} more" if len(values) > _NAMED_AT_MOST else ""
    return ", ".join(map(str, values[:_NAMED_AT_MOST])) + more
