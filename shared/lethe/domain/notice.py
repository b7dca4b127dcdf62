"""The one line that an agent can tell the user about what was remembered (requirement G6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SHOWN: Final = 3
_SHOWN_CHARACTERS: Final = 80


def notice(remembered: Sequence[str], language: str) -> str:
    """A short notice in the user's language (Chinese, else English); says so when nothing was remembered."""
    chinese = language.startswith("zh")
    if not remembered:
        return "没有新的内容需要记住。" if chinese else "Nothing new was remembered."
    quoted = [_shorten(text) for text in remembered[:_SHOWN]]
    more = len(remembered) - len(quoted)
    if chinese:
        return "已记住：" + "；".join(f"“{text}”" for text in quoted) + (f"，另有{more}条。" if more else "。")
    return "Remembered: " + "; ".join(f"“{text}”" for text in quoted) + (f"; and {more} more." if more else ".")


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN_CHARACTERS else flat[: _SHOWN_CHARACTERS - 1].rstrip() + "…"
