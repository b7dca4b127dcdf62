"""What the commands of the benchmarks share: lists of sizes in options, and tables that are put into a page."""

import sys
from collections.abc import Sequence
from pathlib import Path


def sizes(text: str) -> list[int]:
    """An option such as ``50,1000``, in ascending order. Raises ValueError, which argparse tells."""
    return sorted(int(part) for part in text.split(","))


def put_into(page: Path, name: str, parts: Sequence[str]) -> None:
    """Put ``parts`` between ``<!-- name:begin -->`` and ``<!-- name:end -->`` of ``page``; ends the program when the
    page has no such place.
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{page} has no place marked {begin} … {end}")
    page.write_text(before + begin + "\n" + "\n".join(parts) + end + after, encoding="utf-8")
