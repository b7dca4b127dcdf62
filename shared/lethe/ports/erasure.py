"""What erasure needs from outside: ledger, holds, receipts, a signer, the state machine, deleters and a verifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from lethe.domain.chain import ChainEnd
from lethe.domain.erasure import Erasure, Scope
from lethe.domain.head import SubjectHead
from lethe.domain.holds import Hold
from lethe.domain.identity import Space
from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonObject
from lethe.ports.common import Page, TimeLeft


class Ledger(Protocol):
    """The record of all erasures, which outlives what they erased. No content, keyed hashes only."""

    def begin(self, erasure: Erasure) -> Erasure:
        """Store a new one (version 1) and list it as open. The same id again gives what stands."""
        ...

    def read(self, tenant: str, erasure_id: str) -> Erasure | None:
        """One erasure, read consistently, or None."""
        ...

    def save(self, erasure: Erasure) -> Erasure:
        """Store ``erasure`` with its version raised, if the one that stands is ``erasure.version``; it is open until
        its state is ``completed``. Raises VersionConflict, and NotFound when there is none.
        """
        ...

    def reopen(self, erasure: Erasure) -> Erasure:
        """As ``save``, and list it as open again: for one that had ended."""
        ...

    def withdraw(self, erasure: Erasure) -> None:
        """Remove one that was begun and did nothing, since another erases the same already. Again is no error."""
        ...

    def page(self, tenant: str, limit: int, start: str | None) -> Page[Erasure]:
        """Erasures of a tenant, newest first, at most ``limit``."""
        ...

    def open(self) -> tuple[tuple[str, str], ...]:
        """Tenant and id of every erasure that is open: not ended, failed, or ended with holds."""
        ...

    def everything(self, limit: int, start: str | None) -> Page[Erasure]:
        """All erasures of all tenants, for a replay over restored tables; at most ``limit`` a page."""
        ...

    def admit(self, tenant: str, subject: str, epoch: int, now: datetime) -> None:
        """Note that the subject is readable again from ``epoch`` on, for a replay. Of a tenant that is admitted after
        an erasure, that erasure's id stands in the place of the subject.
        """
        ...

    def admitted(self, tenant: str, subject: str) -> int:
        """The highest epoch at which the subject was admitted; 0 when it never was."""
        ...

    def note_ended(self, tenant: str, erasure_id: str, subject: str, epoch: int) -> None:
        """Note, before it happens, which epoch of a subject the erasure of its tenant ends, for a replay."""
        ...

    def ended(self, tenant: str, erasure_id: str) -> Iterator[tuple[str, int]]:
        """The subjects of which an erasure of the whole tenant ended an epoch, and which one."""
        ...


class Subjects(Protocol):
    """The subjects of a tenant, for erasing all of them."""

    def of_tenant(self, tenant: str, limit: int, start: str | None) -> Page[SubjectHead]:
        """Their heads in some order that stands, at most ``limit``, read consistently; a page may be empty before the
        end.
        """
        ...


class Holds(Protocol):
    """Legal holds of a tenant."""

    def place(self, tenant: str, hold: Hold) -> Hold:
        """Store the hold in one transaction that demands that the subject is active; the same name with the same
        subject and scope again gives what stands.

        Raises Conflict while the subject is being erased or when the name is taken by another, Erased when it is gone.
        """
        ...

    def release(self, tenant: str, name: str) -> bool:
        """Remove the hold; whether there was one."""
        ...

    def hold(self, tenant: str, name: str) -> Hold | None:
        """One hold, or None."""
        ...

    def of_tenant(self, tenant: str, limit: int, start: str | None) -> Page[Hold]:
        """Holds of a tenant, by name."""
        ...

    def of_subject(self, tenant: str, subject: str) -> tuple[Hold, ...]:
        """All holds on records of one subject, read consistently."""
        ...


class Receipts(Protocol):
    """Signed receipts of a tenant, chained by hash; nothing in it is ever changed."""

    def end(self, tenant: str) -> ChainEnd:
        """Where the chain ends now, read consistently."""
        ...

    def append(self, tenant: str, after: ChainEnd, receipt_id: str, document: JsonObject, receipt_hash: str) -> None:
        """Add the next link, if the chain still ends ``after``. Raises Conflict when it does not."""
        ...

    def read(self, tenant: str, receipt_id: str) -> JsonObject | None:
        """A receipt as it was signed, or None."""
        ...


class Signer(Protocol):
    """Signs receipts; the private key never leaves it."""

    @property
    def key_id(self) -> str:
        """The key's name, for the receipt."""
        ...

    @property
    def algorithm(self) -> str:
        """Such as ``ECDSA_SHA_256``."""
        ...

    def sign(self, message: bytes) -> bytes:
        """The DER signature of ``message``, at most 4,096 bytes. Raises Unavailable or Throttled."""
        ...

    def public_key(self) -> bytes:
        """The public key, DER (SubjectPublicKeyInfo)."""
        ...


class Executions(Protocol):
    """The state machine that runs erasures."""

    def start(self, tenant: str, erasure_id: str, run: int) -> None:
        """Start run ``run`` (counted from 1) of an erasure; one that was started already is no error.

        Raises Unavailable or Throttled.
        """
        ...


@immutable
class Purged:
    """How many items went, which holds made others stay, and whether that was all there is."""

    deleted: int
    done: bool
    holds: frozenset[str] = frozenset()


@immutable
class Stock:
    """How many items the stores hold of an epoch."""

    memories: int
    entities: int
    sessions: int
    answers: int


class Purge(Protocol):
    """Deletes whole epochs of a subject, store by store; what a hold covers stays."""

    def count(self, space: Space) -> Stock:
        """What there is, read consistently."""
        ...

    def memories(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        """Memories, versions, statement hashes and change notes of the epoch."""
        ...

    def entities(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        """Confirmed facts with their versions."""
        ...

    def sessions(self, space: Space, holds: Sequence[Hold], time_left: TimeLeft) -> Purged:
        """Session heads, messages, client ids and summaries."""
        ...

    def answers(self, space: Space, time_left: TimeLeft) -> Purged:
        """Stored answers of requests with idempotency keys. No hold covers them: they are copies."""
        ...


@immutable
class Search:
    """What the verifier looks for: items of a tenant, or of one subject in it, of epochs up to ``epochs``; or, in the
    epoch ``epoch`` that stays readable, what is within ``scope`` and was there at ``until``, and the memories ``owed``.
    ``known`` is as of an ``Erasure``.
    """

    tenant: str
    subject: str | None
    scope: Scope
    epochs: int
    epoch: int
    until: datetime
    owed: tuple[str, ...] = ()
    known: bool = True


@immutable
class Seen:
    """Part of a verification: what was counted in this stretch, by store; how it goes on, None at the end."""

    remaining: tuple[tuple[str, int], ...]
    held: tuple[tuple[str, int], ...]
    cursor: str | None


class Verifier(Protocol):
    """Looks whether anything is left, by means that share nothing with what deletes."""

    def method(self, search: Search) -> str:
        """How it looks, for the receipt: ``table_scan`` or ``partition_query``."""
        ...

    def look(self, search: Search, holds: Sequence[Hold], cursor: str | None, time_left: TimeLeft) -> Seen:
        """Count what is left in the next stretch of all stores. Raises Unavailable, Throttled, SubjectErasing."""
        ...
