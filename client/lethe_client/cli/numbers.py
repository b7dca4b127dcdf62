"""Numbers as options take them: written as JSON writes them, and within limits that the refusal names."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final

_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?", re.ASCII)
MOST: Final = 10**15


def number(least: float, most: float = MOST) -> Callable[[str], float]:
    """A parser of numbers from ``least`` to ``most``."""

    def parse(text: str) -> float:
        return float(_within(text, least, most))

    return parse


def whole(least: int, most: int = MOST) -> Callable[[str], int]:
    """A parser of whole numbers from ``least`` to ``most``; ``1e3`` is one."""

    def parse(text: str) -> int:
        value = _within(text, least, most)
        if value != value.to_integral_value():
            raise argparse.ArgumentTypeError(f"{text} is not a whole number")
        return int(value)

    return parse


def _within(text: str, least: float, most: float) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 12, 0.5 or 1e6")
    value = Decimal(text)
    if not Decimal(str(least)) <= value <= Decimal(str(most)):
        raise argparse.ArgumentTypeError(f"{text} is not from {_shown(least)} to {_shown(most)}")
    return value


def _shown(limit: float) -> str:
    return f"{limit:,}" if limit >= 1_000 else f"{limit:g}"
