"""An estimate of how many tokens a language model counts for a text."""

from __future__ import annotations

import re
from typing import Final

_LETTERS: Final = re.compile(r"[A-Za-z ]")
_SHORT: Final = re.compile(r"[\x00-\x1f!-@\[-`{-\u04ff]")


def estimate_tokens(text: str) -> int:
    """A quarter of the basic Latin letters and spaces, half of digits, punctuation and other Latin, Greek or Cyrillic
    letters, and every other character whole, rounded up; 0 for the empty text.

    About four letters a token is what English averages in common vocabularies; digits and punctuation come in pairs or
    alone; of scripts without spaces, emoji and rare scripts a character is about a token. So a budget that is kept here
    is kept, or nearly so, by real tokenizers.
    """
    letters, short = len(_LETTERS.findall(text)), len(_SHORT.findall(text))
    return -(-(letters + 2 * short + 4 * (len(text) - letters - short)) // 4)
