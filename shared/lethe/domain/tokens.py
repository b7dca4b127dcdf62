"""An estimate of how many tokens a language model counts for a text."""

from __future__ import annotations

import re
from typing import Final

# One character a token: scripts without spaces, emoji and other symbols. Byte-pair vocabularies come out at or
# below that for CJK, so a budget that is kept here is kept there.
_DENSE: Final = re.compile(r"[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U0001f000-\U0003ffff]")


def estimate_tokens(text: str) -> int:
    """Characters of dense scripts, plus a quarter of the others' count, rounded up; 0 for the empty text.

    A quarter: about four characters a token is what English averages in common vocabularies.
    """
    dense = len(_DENSE.findall(text))
    return dense + -((dense - len(text)) // 4)
