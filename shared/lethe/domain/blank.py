"""Which texts show nothing: white space, controls, and characters that are made not to be seen."""

from __future__ import annotations

import unicodedata
from typing import Final

_UNSEEN_CATEGORIES: Final = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp"))
"""Controls, format characters such as the zero-width space, and white space."""
_UNSEEN: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Joiners, fillers and the empty Braille cell: marks, letters or symbols by their category."""
_SELECTORS: Final = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
"""Variation selectors, which say how the character before them looks."""


def is_blank(text: str) -> bool:
    """Whether nobody would see anything of ``text``."""
    return all(map(_is_unseen, text))


def _is_unseen(character: str) -> bool:
    if unicodedata.category(character) in _UNSEEN_CATEGORIES or character in _UNSEEN:
        return True
    return any(ord(character) in selectors for selectors in _SELECTORS)
