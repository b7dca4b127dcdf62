"""What erasures cost: of a whole user each, in one go and without holds, and the tick that looks after them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Final, Literal

from lethe_client.cli.prices import Prices

Verified = Literal["tables", "partitions"]

DAYS: Final = 365 / 12
HOURS: Final = 730
SECONDS: Final = HOURS * 3600
GB: Final = 2**30
MILLION: Final = 1_000_000

MEMORY_BYTES: Final = 524
"""Of a memory's item without text and vector: names, keys, times, hash, model (tests hold it to the real item)."""
HASH_BYTES: Final = 151
"""Of the item that guards a statement against being stored twice."""
TASKS: Final = 12
"""Tasks of the state machine, each an invocation of `erase`."""
TRANSITIONS: Final = 27
"""States that it goes through: the tasks, the question behind each whether it is done, the drain, the end."""
TICKS: Final = HOURS * 12
"""A month: one every five minutes."""
LOOKS: Final = 2
"""Of the verifier: before the drain and after it."""
NOTED_READS: Final = 50
"""Read units of an erasure beside the user's own items: the ledger, the head, the holds, and looks at partitions."""
NOTED_WRITES: Final = 42
"""Write units of an erasure beside what it deletes: its row again and again, the fence, the receipt, the head's end."""


@dataclass(frozen=True, slots=True)
class Line:
    """One item of the bill: dollars a month, and how they come about."""

    service: str
    what: str
    formula: str
    usd: float


@dataclass(frozen=True, slots=True)
class Stored:
    """What lies in the tables: `subjects` of them with `memories` memories of `memory_bytes` each."""

    memories: int
    subjects: int
    memory_bytes: int

    @property
    def subject_units(self) -> int:
        """Read units of all items of a subject."""
        return ceil(self.memories * (self.memory_bytes + HASH_BYTES) / 4096)

    @property
    def table_units(self) -> int:
        """Read units of all that there is."""
        return ceil(self.subjects * self.memories * (self.memory_bytes + HASH_BYTES) / 4096)

    @property
    def deleted_units(self) -> int:
        """Write units of deleting all items of a subject: each as much as writing it."""
        return self.memories * (ceil(self.memory_bytes / 1024) + ceil(HASH_BYTES / 1024))


def erasing(erased: float, stored: Stored, verify: Verified, prices: Prices) -> Iterator[Line]:
    """The items of the bill that `erased` users a month add, and the tick's."""
    price = prices.usd("states.transition")
    formula = f"{erased:,.0f} erasures × {TRANSITIONS} × ${price}/M"
    yield Line("Step Functions", "transitions", formula, erased * TRANSITIONS * price / MILLION)
    price = prices.usd("dynamodb.write")
    each = stored.deleted_units + NOTED_WRITES
    formula = f"{erased:,.0f} erasures × {each:,} WRU × ${price}/M"
    yield Line("DynamoDB", "writes of erasures", formula, erased * each * price / MILLION)
    price = prices.usd("dynamodb.read")
    # All that goes is counted behind the fence and read once more, page by page, to be deleted.
    each = 2 * stored.subject_units + NOTED_READS
    formula = f"{erased:,.0f} erasures × {each:,} RRU × ${price}/M"
    yield Line("DynamoDB", "reads of erasures", formula, erased * each * price / MILLION)
    # Consistently, so that each 4 KB are a whole unit. Looks at the partitions alone are among the reads above.
    each = LOOKS * stored.table_units if verify == "tables" else 0
    formula = f"{erased:,.0f} erasures × {each:,} RRU × ${price}/M ({verify})"
    yield Line("DynamoDB", "verification", formula, erased * each * price / MILLION)
    yield Line("DynamoDB", "ticks", f"{TICKS:,} × 1 RRU × ${price}/M", TICKS * price / MILLION)
    price = prices.usd("key.signature")
    yield Line("KMS", "receipts", f"{erased:,.0f} signatures × ${price}/M", erased * price / MILLION)
    price = prices.usd("schedule.event")
    yield Line("EventBridge", "ticks", f"{TICKS:,} × ${price}/M", TICKS * price / MILLION)
