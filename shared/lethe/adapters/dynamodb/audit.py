"""The audit trail in the ledger table: one item an entry, one for each strand's end, one pointer from the subject."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Final, cast

from lethe.adapters.dynamodb.database import TRANSACTION_LIMIT, Database, Transaction
from lethe.adapters.dynamodb.failures import ConditionFailed, Item, WriteConflict
from lethe.domain import keys
from lethe.domain.audit import STRANDS, AuditEntry, AuditEvent, Ends, document, entry_of, linked
from lethe.domain.chain import EMPTY, ChainEnd
from lethe.domain.json_values import JsonObject, canonical
from lethe.errors import Throttled, Unavailable
from lethe.ports import Page

MOST_TOGETHER: Final = (TRANSACTION_LIMIT - 1) // 2
"""Entries in one transaction: each has a pointer, and all share the strand's end."""

PATIENCE: Final = 8.0
"""Seconds for which an entry is tried again while others are faster."""

_LONGEST_WAIT: Final = 0.01
"""Seconds; longer waits after each loss would let those win who came last."""

_BEHIND: Final = "\x7f"
"""Sorts behind everything that a key goes on with."""


@dataclass(slots=True)
class _Waiting:
    """An event on its way into the trail, and what became of it."""

    event: AuditEvent
    entry: AuditEntry | None = None
    error: Exception | None = None


@dataclass(slots=True)
class _Trail:
    """What this container knows of a tenant's trail: its own strand, where strands ended last, who waits."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    waiting: deque[_Waiting] = field(default_factory=deque)
    strand: int = 0
    ends: Ends | None = None


class DynamoAuditTrail:
    """``AuditTrail`` in the ledger table.

    An entry is one transaction, since the container remembers where its strand ended. Whoever meets another container
    there learns from the refusal where it ends now, and goes to another strand, so that after a while each has its
    own. Requests of one container that meet share a transaction.
    """

    def __init__(self, database: Database, strands: int = STRANDS, patience: float = PATIENCE) -> None:
        self._database = database
        self._strands = strands
        self._patience = patience
        self._entry = database.models.audit
        self._pointer = database.models.audit_pointer
        self._chain = database.models.chain
        self._trails: dict[str, _Trail] = {}
        self._lock = threading.Lock()

    def append(self, event: AuditEvent) -> AuditEntry:
        """One transaction; a query before it in a container that does not know the tenant yet."""
        with self._lock:
            trail = self._trails.setdefault(event.tenant, _Trail())
        mine = _Waiting(event)
        trail.waiting.append(mine)
        with trail.turn:
            # Whoever had the turn before may have taken this event along.
            while mine.entry is None and mine.error is None:
                batch = [trail.waiting.popleft() for _ in range(min(MOST_TOGETHER, len(trail.waiting)))]
                self._settle(event.tenant, trail, batch)
        if mine.error is not None:
            raise mine.error
        assert mine.entry is not None  # the loop ends with one of the two
        return mine.entry

    def _settle(self, tenant: str, trail: _Trail, batch: Sequence[_Waiting]) -> None:
        try:
            entries = self._committed(tenant, trail, [each.event for each in batch])
        except Exception as error:  # whatever it is, all who wait must hear of it, or they wait for ever
            trail.ends = None  # the entries may have been written without an answer
            for each in batch:
                each.error = error
            return
        for each, entry in zip(batch, entries, strict=True):
            each.entry = entry

    def _committed(self, tenant: str, trail: _Trail, events: Sequence[AuditEvent]) -> list[AuditEntry]:
        """The events in their places. Raises Throttled when others are always faster, Unavailable when no strand can be
        gone on with: in each an entry stands behind the end, so that somebody set the end back, or restored it.
        """
        ends = dict(self.ends(tenant) if trail.ends is None else trail.ends)
        give_up, usable = time.monotonic() + self._patience, set(range(self._strands))
        while True:
            strand, entries = trail.strand, list[AuditEntry]()
            end = ends.get(strand, EMPTY)
            for event in events:
                entries.append(linked(event, strand, entries[-1].end if entries else end))
            try:
                self._database.transact(self._transaction(tenant, end, entries))
            except WriteConflict:
                time.sleep(random.uniform(0, _LONGEST_WAIT))
            except ConditionFailed as failed:
                if failed.found[0] is None:  # not the end refused, but the place behind it
                    usable.discard(strand)
                else:
                    ends[strand] = self._standing(failed.found[0])
            else:
                trail.ends = {**ends, strand: entries[-1].end}
                return entries
            if time.monotonic() > give_up:
                raise Throttled("too many writes at once to one audit trail")
            if not usable:
                raise Unavailable("the audit trail goes on behind its ends")
            trail.strand = random.choice(sorted(usable))

    def _transaction(self, tenant: str, end: ChainEnd, entries: Sequence[AuditEntry]) -> Transaction:
        """The strand's end first: what stands there is the first thing that a refusal tells."""
        partition, last = keys.ledger_partition(tenant), entries[-1]
        seen = (self._chain.length == end.length) & (self._chain.hash == end.hash)
        unseen = self._chain.pk.does_not_exist()
        transaction = Transaction()
        chain = self._chain(partition, keys.audit_chain(last.strand), length=last.n, hash=last.hash)
        transaction.put(chain, unseen if end == EMPTY else seen)
        for entry in entries:
            row = self._entry(partition, keys.audit_entry(entry.strand, entry.n), entry=canonical(document(entry)))
            transaction.put(row, self._entry.pk.does_not_exist())
            if entry.event.subject is not None:
                pointer = keys.audit_pointer(entry.event.subject, entry.event.at, entry.strand, entry.n)
                transaction.put(self._pointer(partition, pointer))
        return transaction

    def _standing(self, found: Item) -> ChainEnd:
        """The end that a refusal told."""
        row = self._chain.from_raw_data(found) if found else None
        return EMPTY if row is None else ChainEnd(row.length, row.hash)

    def ends(self, tenant: str) -> Ends:
        """One query."""
        rows = self._database.rows(self._chain, keys.ledger_partition(tenant), keys.beginning_with(keys.AUDIT_CHAINS))
        return {keys.audit_strand(row.sk): ChainEnd(row.length, row.hash) for row in rows}

    def stretch(self, tenant: str, strand: int, after: int, limit: int) -> tuple[JsonObject, ...]:
        """One query, or one a megabyte."""
        within = keys.KeyRange(keys.audit_entry(strand, after + 1), keys.audit_entry(strand, keys.MOST))
        rows = self._database.rows(self._entry, keys.ledger_partition(tenant), within, limit=limit)
        return tuple(_stored(row.entry) for row in islice(rows, limit))

    def of_subject(
        self,
        tenant: str,
        subject: str,
        limit: int,
        start: str | None,
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> Page[AuditEntry]:
        """A query over the pointers, backwards, and a batch of reads."""
        partition, own = keys.ledger_partition(tenant), keys.audit_of(subject)
        first = own if after is None else keys.audit_since(subject, after) + _BEHIND
        last = own + _BEHIND if before is None else keys.audit_since(subject, before)
        if start is not None:
            last = min(last, own + start)
        if first > last:
            return Page(())
        # One more tells whether it goes on; and the first may be the one that the page before ended with.
        within, most = keys.KeyRange(first, last), limit + 2
        pointers = self._database.query(self._pointer, partition, within, newest_first=True, limit=most)
        found = [str(pointer["sk"]["S"]).removeprefix(own) for pointer in islice(pointers, most)]
        places = [place for place in found if place != start]
        shown = places[:limit]
        entries = self._entries(partition, [keys.audit_place(place) for place in shown])
        return Page(entries, shown[-1] if len(places) > limit else None)

    def _entries(self, partition: str, places: Sequence[tuple[int, int]]) -> tuple[AuditEntry, ...]:
        """In the order of ``places``, strands and numbers; what is gone or damaged is left out: a check tells."""
        items = self._database.get_many(self._entry, [(partition, keys.audit_entry(*place)) for place in places])
        known: dict[tuple[int, int], AuditEntry] = {}
        for item in items:
            with suppress(ValueError):
                entry = entry_of(_stored(self._entry.from_raw_data(item).entry))
                known[entry.strand, entry.n] = entry
        return tuple(known[place] for place in places if place in known)


def _stored(text: str) -> JsonObject:
    """What an item holds; an empty object, which no check lets pass, where that is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return cast("JsonObject", value) if isinstance(value, dict) else {}
