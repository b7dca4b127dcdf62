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


class SubjectData(StrEnum):
    """What a thing holds of subjects: content, only keyed hashes and ids that Lethe made, or nothing of them."""

    CONTENT = "content"
    IDS = "ids"
    NOTHING = "nothing"


@immutable
class Persisted:
    """How a thing is erased, and by whom it is looked for afterwards; names of functions.

    ``expires`` says what takes it away without an erasure; ``residuals`` names the surfaces on which a receipt tells
    that something of it stays for a while.
    """

    holds: SubjectData
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


def _content(what: str, eraser: str, expires: str | None = None, residuals: tuple[str, ...] = _TABLE) -> Persisted:
    return Persisted(SubjectData.CONTENT, what, eraser, _SCAN, expires, residuals)


_MEMORIES, _ENTITIES, _SESSIONS = f"{_PURGE}.memories", f"{_PURGE}.entities", f"{_PURGE}.sessions"

ROWS: Final[Mapping[str, Persisted]] = {
    "HeadRow": Persisted(
        SubjectData.IDS, "epoch and state of a subject; it keeps what was erased from coming back", None, None, _NEVER
    ),
    "AnswerRow": _content("answers of requests", f"{_PURGE}.answers", "ttl, 24 hours"),
    "ClaimRow": Persisted(SubjectData.IDS, "digests of requests", None, None, "ttl, 24 hours", ("idempotency_claims",)),
    "SessionRow": _content("a session's name, which its client chose", _SESSIONS, "ttl, as its messages"),
    "MessageRow": _content("messages", _SESSIONS, "ttl of the session"),
    "ClientRow": _content("hashes of names that a client chose", _SESSIONS, "ttl of the session"),
    "SummaryRow": _content("summaries of sessions", _SESSIONS, "ttl of the session"),
    "EntityRow": _content("values", _ENTITIES),
    "MemoryRow": _content("memories and their vectors", _MEMORIES, None, _STREAMED),
    "HashRow": _content("hashes of statements, which who knows a statement can tell", _MEMORIES, None, _STREAMED),
    "ChangeRow": _content("that a memory was changed, and when", _MEMORIES, "ttl, 7 days", _STREAMED),
    "TenantRow": Persisted(SubjectData.NOTHING, "a tenant's name, and the erasure that fences it", None, None, _NEVER),
    "KeyRow": Persisted(
        SubjectData.IDS, "keys, by the hashes of their secrets and of the subjects they cover", None, None, _NEVER
    ),
    "ErasureRow": Persisted(SubjectData.IDS, "an erasure's record", None, None, _NEVER),
    "OpenRow": Persisted(SubjectData.IDS, "the note that an erasure has not ended", None, None, "its end"),
    "HoldRow": Persisted(SubjectData.IDS, "a legal hold", None, None, "its release"),
    "AdmissionRow": Persisted(SubjectData.IDS, "the epoch that a subject was admitted at", None, None, _NEVER),
    "EndedRow": Persisted(SubjectData.IDS, "the epoch that a tenant's erasure ended of a subject", None, None, _NEVER),
    "AuditRow": Persisted(SubjectData.IDS, "who did what, by keyed hashes", None, None, _NEVER),
    "AuditPointerRow": Persisted(SubjectData.IDS, "the audit entries about a subject", None, None, _NEVER),
    "ReceiptRow": Persisted(SubjectData.IDS, "receipts", None, None, _NEVER),
    "ReceiptPointerRow": Persisted(SubjectData.IDS, "where a receipt stands in its chain", None, None, _NEVER),
    "ChainRow": Persisted(SubjectData.NOTHING, "the end of a chain", None, None, _NEVER),
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
_LOG: Final = Persisted(SubjectData.IDS, "request ids and counts", None, None, "retention of the log group", ("logs",))
RESOURCES: Final[Mapping[str, Persisted]] = {
    "SubjectsTable": _content("answers beside heads", f"{_PURGE}.answers", "ttl"),
    "SessionsTable": _content("sessions", _SESSIONS, "ttl"),
    "EntitiesTable": _content("values", _ENTITIES),
    "MemoriesTable": _content("memories; its stream shows old images", _MEMORIES, None, _STREAMED),
    "LedgerTable": Persisted(SubjectData.IDS, "erasures, holds, receipts, the audit trail", None, None, _NEVER),
    "AccessTable": Persisted(SubjectData.IDS, "tenants and keys", None, None, _NEVER),
    "MasterSecret": Persisted(SubjectData.NOTHING, "the root key of all hashes", None, None, _NEVER),
    "ReceiptKey": Persisted(SubjectData.NOTHING, "the key that signs receipts", None, None, _NEVER),
    "SearchDomain": Persisted(SubjectData.CONTENT, "entries of memories", _WRITER, _ENTRIES, None, _SEGMENTS),
    "SearchCollection": Persisted(SubjectData.CONTENT, "entries of memories", _WRITER, _ENTRIES, None, _SEGMENTS),
    "IndexDeadLetters": Persisted(
        SubjectData.IDS, "memory ids", None, None, "retention of the queue", ("dead_letters",)
    ),
    "EraseStateMachine": Persisted(
        SubjectData.IDS, "erasure ids and tenants' names", None, None, "90 days", ("state_machine_history",)
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

FILES: Final[Mapping[str, Persisted]] = {
    "dynoxide.db*": _content("all tables", _MEMORIES, None, ("table_file",)),
    "tables.json*": _content("all tables", _MEMORIES, None, ("table_file",)),
    "opensearch": Persisted(SubjectData.CONTENT, "entries of memories", _WRITER, _ENTRIES, None, ("index_segments",)),
    "streams.json*": Persisted(SubjectData.NOTHING, "how far streams were read", None, None, _NEVER),
    "executions.json*": Persisted(
        SubjectData.IDS, "erasure ids and tenants' names", None, None, _NEVER, ("executions_file",)
    ),
    "*.jsonl": Persisted(SubjectData.IDS, "memory ids that the index refused", None, None, _NEVER, ("dead_letters",)),
    "master_key": Persisted(SubjectData.NOTHING, "the root key of all hashes", None, None, _NEVER),
    "receipt_key.pem*": Persisted(SubjectData.NOTHING, "the key that signs receipts", None, None, _NEVER),
    "dev_key.json": Persisted(SubjectData.NOTHING, "a key of the laptop's tenant", None, None, _NEVER),
}
"""Files of the local stack, by the patterns of their names; the node's folder by its own."""
