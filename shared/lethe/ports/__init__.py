"""What the services need from outside, as Protocols.

Every method that touches a subject's data takes a ``Space`` first and stays inside it; none takes a tenant or a
user. All of them raise ``Unavailable`` or ``Throttled`` when the store does not answer in time, and never let a
vendor's exception through. Lists are complete (paging is the adapter's business) unless a ``Page`` is returned.
Expired items are never returned. ``tests/contract`` holds one suite a port, run over every adapter.
"""

from lethe.ports.access import AccessStore, IdempotencyRecords
from lethe.ports.audit import AuditTrail
from lethe.ports.common import About, Clock, Embedder, Ids, Page, TellErasure, TimeLeft, untold
from lethe.ports.data import (
    AppendResult,
    Entities,
    EntityLists,
    Memories,
    MemoryVectors,
    NewMessage,
    OwnedMemory,
    Sessions,
    Stored,
    SubjectHeads,
)
from lethe.ports.erasure import (
    Executions,
    Holds,
    Ledger,
    Purge,
    Purged,
    Receipts,
    Search,
    Seen,
    Signer,
    Stock,
    Subjects,
    Verifier,
)
from lethe.ports.search import (
    DeadLetter,
    DeadLetters,
    Indexes,
    IndexUpkeep,
    IndexWriter,
    MemoryTable,
    SearchIndex,
    SearchResult,
)

__all__ = [
    "About",
    "AccessStore",
    "AppendResult",
    "AuditTrail",
    "Clock",
    "DeadLetter",
    "DeadLetters",
    "Embedder",
    "Entities",
    "EntityLists",
    "Executions",
    "Holds",
    "IdempotencyRecords",
    "Ids",
    "IndexUpkeep",
    "IndexWriter",
    "Indexes",
    "Ledger",
    "Memories",
    "MemoryTable",
    "MemoryVectors",
    "NewMessage",
    "OwnedMemory",
    "Page",
    "Purge",
    "Purged",
    "Receipts",
    "Search",
    "SearchIndex",
    "SearchResult",
    "Seen",
    "Sessions",
    "Signer",
    "Stock",
    "Stored",
    "SubjectHeads",
    "Subjects",
    "TellErasure",
    "TimeLeft",
    "Verifier",
    "untold",
]
