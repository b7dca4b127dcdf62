"""Ids that Lethe makes: a prefix and a ULID (48 bits of milliseconds, 80 random bits, Crockford base 32).

ULIDs sort by time as text, so they serve as sort keys: https://github.com/ulid/spec.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
ULID: Final = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
"""A regular expression; an id of ours is a prefix and one of these."""
_ULID: Final = re.compile(ULID, re.ASCII)

WRITER_LIVES = timedelta(seconds=90)
"""Longer than a request takes from making an id to writing what it names, with clocks that differ (docs/adr/0006). Who
has read everything at some moment finds what is new by the ids from so long before it on.
"""

MESSAGE, MEMORY, ENTITY, ERASURE, RECEIPT = "msg_", "mem_", "ent_", "er_", "rc_"


def ulid(moment: datetime, randomness: int) -> str:
    """The ULID of ``moment`` with the low 80 bits of ``randomness``."""
    milliseconds = max(int(moment.timestamp() * 1000), 0) & (2**48 - 1)
    value = (milliseconds << 80) | (randomness & (2**80 - 1))
    return "".join([_PAIRS[(value >> shift) & 1023] for shift in range(120, -1, -10)])


def first_memory(moment: datetime) -> str:
    """The least id that a memory of ``moment`` or later has."""
    return MEMORY + ulid(moment, 0)


def is_id(text: str, prefix: str) -> bool:
    """Whether ``text`` has the form of an id with ``prefix``; says nothing of its existence."""
    return text.startswith(prefix) and _ULID.fullmatch(text, len(prefix)) is not None
