"""Every thing that persists, and what becomes of it when a subject is erased: the list that may lack nothing.

``tests/unit/test_registry.py`` holds it against the item types, the sort keys, the template and the laptop's files:
what is new there and not here fails, and so does an entry that names a function that is not there. Content needs a
function that erases it, one that looks for it, and the surfaces of a receipt (``domain.residuals``) on which copies of
it stay for a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from lethe.domain.immutable import immutable


class Holds(StrEnum):
    """What a thing holds of subjects: content, only keyed hashes and ids that Lethe made, or nothing of them."""

    CONTENT = "content"
    IDS = "ids"
    NOTHING = "nothing"


@immutable
class Kept:
    """How a thing is erased, and by whom it is looked for afterwards; names of functions.

    ``expires`` says what takes it away without an erasure; ``residuals`` names the surfaces on which a receipt tells
    that something of it stays for a while.
    """

    holds: Holds
    what: str
    eraser: str | None = None
    verifier: str | None = None
    expires: str | None = None
    residuals: tuple[str, ...] = ()


_PURGE: Final = "lethe.adapters.dynamodb.purge.DynamoPurge"
_SCAN: Final = "lethe.adapters.inspection.inspector.Inspector.look"
_TABLE: Final = ("point_in_time_recovery", "table_file")
_STREAMED: Final = (*_TABLE, "table_streams")
_NEVER: Final = "never"


def _content(what: str, eraser: str, expires: str | None = None, residuals: tuple[str, ...] = _TABLE) -> Kept:
    return Kept(Holds.CONTENT, what, eraser, _SCAN, expires, residuals)


_MEMORIES, _ENTITIES, _SESSIONS = f"{_PURGE}.memories", f"{_PURGE}.entities", f"{_PURGE}.sessions"

ROWS: Final[Mapping[str, Kept]] = {
    "HeadRow": Kept(
        Holds.IDS, "epoch and state of a subject; it keeps what was erased from coming back", None, None, _NEVER
    ),
    "AnswerRow": _content("answers of requests", f"{_PURGE}.answers", "ttl, 24 hours"),
    "ClaimRow": Kept(Holds.IDS, "digests of requests", None, None, "ttl, 24 hours", ("idempotency_claims",)),
    "SessionRow": _content("a session's name, which its client chose", _SESSIONS, "ttl, as its messages"),
    "MessageRow": _content("messages", _SESSIONS, "ttl of the session"),
    "ClientRow": _content("hashes of names that a client chose", _SESSIONS, "ttl of the session"),
    "SummaryRow": _content("summaries of sessions", _SESSIONS, "ttl of the session"),
    "EntityRow": _content("values", _ENTITIES),
    "MemoryRow": _content("memories and their vectors", _MEMORIES, None, _STREAMED),
    "HashRow": _content("hashes of statements, which who knows a statement can tell", _MEMORIES, None, _STREAMED),
    "ChangeRow": _content("that a memory was changed, and when", _MEMORIES, "ttl, 7 days", _STREAMED),
    "TenantRow": Kept(Holds.NOTHING, "a tenant's name, and the erasure that fences it", None, None, _NEVER),
    "KeyRow": Kept(
        Holds.IDS, "keys, by the hashes of their secrets and of the subjects they cover", None, None, _NEVER
    ),
    "ErasureRow": Kept(Holds.IDS, "an erasure's record", None, None, _NEVER),
    "OpenRow": Kept(Holds.IDS, "the note that an erasure has not ended", None, None, "its end"),
    "HoldRow": Kept(Holds.IDS, "a legal hold", None, None, "its release"),
    "AdmissionRow": Kept(Holds.IDS, "the epoch that a subject was admitted at", None, None, _NEVER),
    "EndedRow": Kept(Holds.IDS, "the epoch that a tenant's erasure ended of a subject", None, None, _NEVER),
    "AuditRow": Kept(Holds.IDS, "who did what, by keyed hashes", None, None, _NEVER),
    "AuditPointerRow": Kept(Holds.IDS, "the audit entries about a subject", None, None, _NEVER),
    "ReceiptRow": Kept(Holds.IDS, "receipts", None, None, _NEVER),
    "ReceiptPointerRow": Kept(Holds.IDS, "where a receipt stands in its chain", None, None, _NEVER),
    "ChainRow": Kept(Holds.NOTHING, "the end of a chain", None, None, _NEVER),
}
"""Item types of the tables, by the names of their classes."""

SORT_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "HEAD": ("HeadRow",),
    "IDEMPOTENCY": ("AnswerRow", "ClaimRow"),
    "SESSION": ("SessionRow",),
    "S": ("MessageRow", "ClientRow", "SummaryRow"),
    "CURRENT": ("EntityRow",),
    "OLD": ("EntityRow", "MemoryRow"),
    "MEM": ("MemoryRow",),
    "HASH": ("HashRow",),
    "CHANGED": ("ChangeRow",),
    "TENANT": ("TenantRow",),
    "TENANTS": ("TenantRow",),
    "KEY": ("KeyRow",),
    "LEDGER": ("ErasureRow", "HoldRow", "AdmissionRow", "EndedRow", "AuditRow", "ReceiptRow"),
    "OPEN": ("OpenRow",),
    "ERASURE": ("ErasureRow",),
    "HOLD": ("HoldRow",),
    "HELD": ("HoldRow",),
    "ADMITTED": ("AdmissionRow",),
    "ENDED": ("EndedRow",),
    "RECEIPT": ("ReceiptRow",),
    "RECEIPTID": ("ReceiptPointerRow",),
    "AUDIT": ("AuditRow",),
    "AUDITOF": ("AuditPointerRow",),
    "CHAIN": ("ChainRow",),
}
"""What keys begin with (of partitions, where that is a word), and which items have such."""

_WRITER: Final = "lethe.adapters.opensearch.writer.OpenSearchWriter.clear"
_ENTRIES: Final = "lethe.adapters.inspection.index.Entries.groups"
_SEGMENTS: Final = ("index_segments", "index_snapshots")
_LOG: Final = Kept(Holds.IDS, "request ids and counts", None, None, "retention of the log group", ("logs",))
RESOURCES: Final[Mapping[str, Kept]] = {
    "SubjectsTable": _content("answers beside heads", f"{_PURGE}.answers", "ttl"),
    "SessionsTable": _content("sessions", _SESSIONS, "ttl"),
    "EntitiesTable": _content("values", _ENTITIES),
    "MemoriesTable": _content("memories; its stream shows old images", _MEMORIES, None, _STREAMED),
    "LedgerTable": Kept(Holds.IDS, "erasures, holds, receipts, the audit trail", None, None, _NEVER),
    "AccessTable": Kept(Holds.IDS, "tenants and keys", None, None, _NEVER),
    "MasterSecret": Kept(Holds.NOTHING, "the root key of all hashes", None, None, _NEVER),
    "ReceiptKey": Kept(Holds.NOTHING, "the key that signs receipts", None, None, _NEVER),
    "SearchDomain": Kept(Holds.CONTENT, "entries of memories", _WRITER, _ENTRIES, None, _SEGMENTS),
    "SearchCollection": Kept(Holds.CONTENT, "entries of memories", _WRITER, _ENTRIES, None, _SEGMENTS),
    "IndexDeadLetters": Kept(Holds.IDS, "memory ids", None, None, "retention of the queue", ("dead_letters",)),
    "EraseStateMachine": Kept(
        Holds.IDS, "erasure ids and tenants' names", None, None, "90 days", ("state_machine_history",)
    ),
    **dict.fromkeys(
        (
            "AccessLogGroup",
            "AuthorizeLogGroup",
            "WriteLogGroup",
            "RecallLogGroup",
            "IndexLogGroup",
            "GovernLogGroup",
            "EraseLogGroup",
            "EraseMachineLogGroup",
        ),
        _LOG,
    ),
}
"""Resources of the template that persist anything, by logical id."""

FILES: Final[Mapping[str, Kept]] = {
    "dynoxide.db*": _content("all tables", _MEMORIES, None, ("table_file",)),
    "tables.json*": _content("all tables", _MEMORIES, None, ("table_file",)),
    "opensearch": Kept(Holds.CONTENT, "entries of memories", _WRITER, _ENTRIES, None, ("index_segments",)),
    "streams.json*": Kept(Holds.NOTHING, "how far streams were read", None, None, _NEVER),
    "executions.json*": Kept(Holds.IDS, "erasure ids and tenants' names", None, None, _NEVER, ("executions_file",)),
    "*.jsonl": Kept(Holds.IDS, "memory ids that the index refused", None, None, _NEVER, ("dead_letters",)),
    "master_key": Kept(Holds.NOTHING, "the root key of all hashes", None, None, _NEVER),
    "receipt_key.pem*": Kept(Holds.NOTHING, "the key that signs receipts", None, None, _NEVER),
    "dev_key.json": Kept(Holds.NOTHING, "a key of the laptop's tenant", None, None, _NEVER),
}
"""Files of the local stack, by the patterns of their names; the node's folder by its own."""
