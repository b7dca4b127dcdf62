"""How everything is addressed in the tables: the one place that builds partition and sort keys.

A key is parts joined by ``#``; no part holds ``#`` or is empty, so two different lists of parts never make the
same key, and no key is the beginning of another one's range. Numbers that must sort are written in 10 digits.

=========  =========================  ==============================================================
table      partition                  sort
=========  =========================  ==============================================================
Subjects   tenant#subject             HEAD · IDEMPOTENCY#epoch#digest#part (the answer: content)
           tenant#@idempotency#digest IDEMPOTENCY (the claim: digests only; ``@`` is in no subject hash)
Sessions   tenant#subject#epoch       SESSION#id (heads: a list of sessions reads nothing else)
                                      S#id#MSG#sequence · S#id#CLIENT#hash · S#id#SUMMARY#n
Entities   tenant#subject#epoch       CURRENT#scope#key (a list of values reads no history)
                                      OLD#scope#key#id#v<version> (the id tells a value from one that expired before)
Memories   tenant#subject#epoch       MEM#id (newest versions) · OLD#id#v<version> · HASH#content hash
                                      CHANGED#<microseconds>#id (for a week: what an index may not show yet)
Ledger     LEDGER#tenant              ERASURE#id · HOLD#name · HELD#subject#name · ADMITTED#subject
                                      ENDED#erasure id#subject (of an erasure of the whole tenant)
                                      RECEIPT#n · RECEIPTID#id · CHAIN#RECEIPT
                                      AUDIT#strand#n · CHAIN#AUDIT#strand
                                      AUDITOF#subject#<microseconds>#strand#n (its entries, newest last)
           OPEN                       tenant#erasure id (what has not ended yet)
Access     TENANTS                    name (for the list of tenants)
           TENANT#name                TENANT · KEY#id
           KEY#id                     KEY
=========  =========================  ==============================================================
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from lethe.domain.identity import Space
from lethe.domain.immutable import immutable
from lethe.domain.times import microseconds

SEPARATOR = "#"
HEAD = "HEAD"
CLAIM = "IDEMPOTENCY"
TENANT = "TENANT"
TENANTS = "TENANTS"
KEY = "KEY"

SESSIONS = "SESSION#"
CURRENT_ENTITIES = "CURRENT#"
MEMORIES = "MEM#"
OLD_MEMORIES = "OLD#"
HASHES = "HASH#"
CHANGES = "CHANGED#"
API_KEYS = "KEY#"
ERASURES = "ERASURE#"
AUDIT_CHAINS = "CHAIN#AUDIT#"
RECEIPT_CHAIN = "CHAIN#RECEIPT"
HOLDS = "HOLD#"
OPEN = "OPEN"

MOST = 10**10 - 1
"""The greatest number in a key."""

_OWN_SCOPE = "subject"
_SESSION_SCOPE = "session:"


def join(*parts: str) -> str:
    """The parts as one key. Raises ValueError when one is empty or holds the separator: that would be a mix-up."""
    for part in parts:
        if not part or SEPARATOR in part:
            raise ValueError("a key part is empty or holds the separator")
    return SEPARATOR.join(parts)


def split(key: str) -> tuple[str, ...]:
    """The parts of a key; undoes ``join``."""
    return tuple(key.split(SEPARATOR))


def number(value: int) -> str:
    """``value`` in 10 digits, so that texts sort as numbers do. Raises ValueError when it does not fit."""
    if not 0 <= value <= MOST:
        raise ValueError("a number in a key must have at most 10 digits")
    return f"{value:010d}"


def subject_partition(tenant: str, subject: str) -> str:
    """Where a subject's head and its answers live, whatever its epoch."""
    return join(tenant, subject)


def space_partition(space: Space) -> str:
    """Where all data of a space lives, in each of the three data tables."""
    return join(space.tenant, space.subject, str(space.epoch))


def parse_space_partition(key: str) -> Space:
    """Undoes ``space_partition``, for what reads streams and scans. Raises ValueError on another key."""
    tenant, subject, epoch = split(key)
    return Space(tenant, subject, int(epoch))


def claim_partition(tenant: str, key_digest: str) -> str:
    """Where the claim on an idempotency key lives: below the tenant, since it holds no content."""
    return join(tenant, "@idempotency", key_digest)


def answer(epoch: int, key_digest: str, part: int) -> str:
    """A part of the answer of a request, counted from 0, in its subject's partition."""
    return join("IDEMPOTENCY", str(epoch), key_digest, number(part))


def answers(epoch: int) -> str:
    """What the sort keys of all answers of an epoch begin with."""
    return join("IDEMPOTENCY", str(epoch)) + SEPARATOR


def session(session_id: str) -> str:
    """A session's head."""
    return join("SESSION", session_id)


def session_items(session_id: str) -> str:
    """What all other items of a session begin with."""
    return join("S", session_id) + SEPARATOR


def messages(session_id: str) -> str:
    """What the messages of a session begin with."""
    return join("S", session_id, "MSG") + SEPARATOR


def message(session_id: str, sequence: int) -> str:
    """One message."""
    return messages(session_id) + number(sequence)


def client_message(session_id: str, client_id: str) -> str:
    """The pointer from a client's message id, hashed because it may be any text, to its message."""
    return join("S", session_id, "CLIENT", hashlib.sha256(client_id.encode()).hexdigest())


def summaries(session_id: str) -> str:
    """What the summaries of a session begin with."""
    return join("S", session_id, "SUMMARY") + SEPARATOR


def summary(session_id: str, n: int) -> str:
    """The ``n``-th summary, counted from 1."""
    return summaries(session_id) + number(n)


def _scope(session_id: str | None) -> str:
    return _OWN_SCOPE if session_id is None else _SESSION_SCOPE + session_id


def entity(key: str, session_id: str | None) -> str:
    """The current value of an entity."""
    return join("CURRENT", _scope(session_id), key)


def entity_versions(key: str, session_id: str | None) -> str:
    """What the old versions of all values that a key ever had begin with."""
    return join("OLD", _scope(session_id), key) + SEPARATOR


def versions_of_value(key: str, session_id: str | None, entity_id: str) -> str:
    """What the old versions of one value begin with. One that expired leaves its own behind, and the next value of the
    key counts its versions from 1 again: by the key alone it would write over them.
    """
    return entity_versions(key, session_id) + join(entity_id) + SEPARATOR


def entity_version(key: str, session_id: str | None, entity_id: str, version: int) -> str:
    """One old version of an entity."""
    return versions_of_value(key, session_id, entity_id) + "v" + number(version)


def session_entities(session_id: str) -> tuple[str, str]:
    """What the current values and the old versions of a session's entities begin with."""
    scope = _scope(session_id)
    return join("CURRENT", scope) + SEPARATOR, join("OLD", scope) + SEPARATOR


def memory(memory_id: str) -> str:
    """The newest version of a memory."""
    return join("MEM", memory_id)


def memory_versions(memory_id: str) -> str:
    """What the superseded versions of a memory begin with."""
    return join("OLD", memory_id) + SEPARATOR


def memory_version(memory_id: str, version: int) -> str:
    """One superseded version of a memory."""
    return memory_versions(memory_id) + "v" + number(version)


def memory_named_in(sort_key: str) -> str:
    """The memory that a newest or superseded version belongs to."""
    return split(sort_key)[1]


def entity_session(sort_key: str) -> str | None:
    """The session that an entity's value holds in; None for the subject's own."""
    scope = _second(sort_key)
    return scope.removeprefix(_SESSION_SCOPE) if scope.startswith(_SESSION_SCOPE) else None


def session_named_in(sort_key: str) -> str:
    """The session that an item of the table of sessions belongs to."""
    return _second(sort_key)


def _second(sort_key: str) -> str:
    """The second part; empty where there is none, which no key of ours lacks."""
    return (*split(sort_key), "")[1]


def change(moment: datetime, memory_id: str) -> str:
    """The note that a memory was changed at ``moment``."""
    return changes_since(moment) + SEPARATOR + memory_id


def changes_since(moment: datetime) -> str:
    """What the first note of a change at ``moment`` or later begins with: 17 digits, so that texts sort as times."""
    return join("CHANGED", f"{microseconds(moment):017d}")


def content(content_hash: str) -> str:
    """The pointer from a content hash to the memory that says it."""
    return join("HASH", content_hash)


@immutable
class KeyRange:
    """Sort keys from ``first`` to ``last``, both included."""

    first: str
    last: str


def beginning_with(prefix: str) -> KeyRange:
    """All sort keys that begin with ``prefix``; no key part holds a character above ``~``."""
    return KeyRange(prefix, prefix + "\x7f")


def everything() -> KeyRange:
    """All sort keys of a partition."""
    return KeyRange(" ", "\x7f")


def tenant_partition(name: str) -> str:
    """Where a tenant and the list of its keys live."""
    return join("TENANT", name)


def api_key(key_id: str) -> str:
    """Partition of an API key, and its place in its tenant's list."""
    return join("KEY", key_id)


def ledger_partition(tenant: str) -> str:
    """Where a tenant's erasures, holds, receipts and audit trail live. No tenant's name is in capitals."""
    return join("LEDGER", tenant)


def receipt(n: int) -> str:
    """The ``n``-th receipt of a tenant, counted from 1."""
    return join("RECEIPT", number(n))


def receipt_pointer(receipt_id: str) -> str:
    """The pointer from a receipt's id to its place."""
    return join("RECEIPTID", receipt_id)


def audit_entry(strand: int, n: int) -> str:
    """The ``n``-th entry of a strand of the audit trail, counted from 1."""
    return join("AUDIT", f"{strand:02d}", number(n))


def audit_chain(strand: int) -> str:
    """The end of a strand of the audit trail."""
    return AUDIT_CHAINS + f"{strand:02d}"


def audit_strand(chain: str) -> int:
    """The strand whose end is at a key."""
    return int(split(chain)[-1])


def audit_of(subject: str) -> str:
    """What the pointers to the audit entries about a subject begin with."""
    return join("AUDITOF", subject) + SEPARATOR


def audit_since(subject: str, moment: datetime) -> str:
    """What the first pointer to an entry of ``moment`` or later begins with."""
    return audit_of(subject) + f"{microseconds(moment):017d}"


def audit_pointer(subject: str, moment: datetime, strand: int, n: int) -> str:
    """The pointer to an entry about ``subject``."""
    return SEPARATOR.join((audit_since(subject, moment), f"{strand:02d}", number(n)))


def audit_place(pointer: str) -> tuple[int, int]:
    """Strand and number of the entry that a pointer names."""
    *_, strand, n = split(pointer)
    return int(strand), int(n)


def erasure(erasure_id: str) -> str:
    """One erasure."""
    return join("ERASURE", erasure_id)


def open_erasure(tenant: str, erasure_id: str) -> str:
    """The note that an erasure has not ended, in the partition ``OPEN``."""
    return join(tenant, erasure_id)


def hold(name: str) -> str:
    """A hold by its name."""
    return join("HOLD", name)


def holds_on(subject: str) -> str:
    """What the pointers to a subject's holds begin with."""
    return join("HELD", subject) + SEPARATOR


def hold_on(subject: str, name: str) -> str:
    """The pointer from a subject to one of its holds."""
    return holds_on(subject) + join(name)


def admission(subject: str) -> str:
    """The note that an erased subject was admitted again."""
    return join("ADMITTED", subject)


def ended_by(erasure_id: str) -> str:
    """What the notes of the epochs that the erasure of a tenant ended begin with."""
    return join("ENDED", erasure_id) + SEPARATOR


def ended(erasure_id: str, subject: str) -> str:
    """The note which epoch of a subject the erasure of its tenant ended."""
    return ended_by(erasure_id) + join(subject)
