"""The ledger of erasures and the legal holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import cast

from lethe.adapters.dynamodb.database import Database, Transaction
from lethe.adapters.dynamodb.failures import ConditionFailed, with_retries
from lethe.adapters.dynamodb.models import ErasureRow, HoldRow
from lethe.domain import keys
from lethe.domain.erasure import Erasure, ErasureState
from lethe.domain.erasure_json import erasure_json, erasure_of, scope_json, scope_of
from lethe.domain.head import SubjectState
from lethe.domain.holds import Hold
from lethe.domain.json_values import JsonObject
from lethe.errors import Conflict, NotAdmitted, NotFound, VersionConflict
from lethe.ports import Page


class DynamoLedger:
    """``Ledger`` in the ledger table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._row = database.models.erasure
        self._open = database.models.open
        self._admission = database.models.admission
        self._ended = database.models.ended

    def begin(self, erasure: Erasure) -> Erasure:
        """One transaction: the row, unless it is there, and the note that it is open."""
        transaction = Transaction()
        transaction.put(self._of(erasure, 1), self._row.pk.does_not_exist())
        transaction.put(self._note(erasure))
        try:
            with_retries(lambda: self._database.transact(transaction))
        except ConditionFailed as failed:
            return _erasure(self._row.from_raw_data(cast("dict[str, dict[str, object]]", failed.found[0])))
        return _erasure(self._of(erasure, 1))

    def read(self, tenant: str, erasure_id: str) -> Erasure | None:
        """One consistent read."""
        row = self._database.get(self._row, keys.ledger_partition(tenant), keys.erasure(erasure_id))
        return None if row is None else _erasure(row)

    def save(self, erasure: Erasure) -> Erasure:
        """One conditional put; at the end one transaction, which removes the note too."""
        saved = self._of(erasure, erasure.version + 1)
        seen = self._row.version == erasure.version
        transaction = Transaction()
        transaction.put(saved, seen)
        transaction.delete(self._note(erasure))
        ends = erasure.state is ErasureState.COMPLETED
        try:
            with_retries(lambda: self._database.transact(transaction) if ends else self._database.put(saved, seen))
        except ConditionFailed as failed:
            raise _overtaken(failed) or NotFound() from failed
        return _erasure(saved)

    def reopen(self, erasure: Erasure) -> Erasure:
        """One transaction: the row, on the version that was seen, and the note."""
        saved = self._of(erasure, erasure.version + 1)
        transaction = Transaction()
        transaction.put(saved, self._row.version == erasure.version)
        transaction.put(self._note(erasure))
        try:
            with_retries(lambda: self._database.transact(transaction))
        except ConditionFailed as failed:
            raise _overtaken(failed) or NotFound() from failed
        return _erasure(saved)

    def withdraw(self, erasure: Erasure) -> None:
        """One transaction, on the version that was seen."""
        transaction = Transaction()
        row = self._row(keys.ledger_partition(erasure.tenant), keys.erasure(erasure.id))
        transaction.delete(row, self._row.version == erasure.version)
        transaction.delete(self._note(erasure))
        try:
            with_retries(lambda: self._database.transact(transaction))
        except ConditionFailed as failed:
            overtaken = _overtaken(failed)
            if overtaken is not None:
                raise overtaken from failed

    def page(self, tenant: str, limit: int, start: str | None) -> Page[Erasure]:
        """A query backwards: ids are in the order of time."""
        within = keys.beginning_with(keys.ERASURES)
        if start is not None:
            within = keys.KeyRange(within.first, keys.erasure(start))
        found: list[Erasure] = []
        rows = self._database.rows(self._row, keys.ledger_partition(tenant), within, newest_first=True, limit=limit + 2)
        for row in rows:
            erasure = _erasure(row)
            if erasure.id != start:
                found.append(erasure)
            if len(found) > limit:
                break
        more = len(found) > limit
        return Page(tuple(found[:limit]), found[limit - 1].id if more else None)

    def open(self) -> tuple[tuple[str, str], ...]:
        """One query."""
        items = self._database.query(self._open, keys.OPEN, keys.everything(), attributes=("sk",))
        found = (keys.split(str(item["sk"]["S"])) for item in items)
        return tuple((tenant, erasure_id) for tenant, erasure_id in found)

    def everything(self, limit: int, start: str | None) -> Page[Erasure]:
        """A stretch of a scan; it may hold fewer than ``limit``, and even none, before the end."""
        items, last = self._database.scan_page(
            self._row,
            (keys.ERASURES,),
            ("pk", "sk", "record", "version"),
            None if start is None else json.loads(start),
            limit,
        )
        found = tuple(_erasure(self._row.from_raw_data(item)) for item in items)
        return Page(found, None if last is None else json.dumps(last))

    def admit(self, tenant: str, subject: str, epoch: int, now: datetime) -> None:
        """One conditional put: the highest epoch stays."""
        row = self._admission(keys.ledger_partition(tenant), keys.admission(subject), epoch=epoch, admitted_at=now)
        lower = self._admission.pk.does_not_exist() | (self._admission.epoch < epoch)
        try:
            with_retries(lambda: self._database.put(row, lower))
        except ConditionFailed:
            return  # a later admission is noted already

    def admitted(self, tenant: str, subject: str) -> int:
        """One consistent read."""
        row = self._database.get(self._admission, keys.ledger_partition(tenant), keys.admission(subject))
        return 0 if row is None else row.epoch

    def note_ended(self, tenant: str, erasure_id: str, subject: str, epoch: int) -> None:
        """One put."""
        row = self._ended(keys.ledger_partition(tenant), keys.ended(erasure_id, subject), epoch=epoch)
        with_retries(lambda: self._database.put(row))

    def ended(self, tenant: str, erasure_id: str) -> Iterator[tuple[str, int]]:
        """One query, page after page."""
        within = keys.beginning_with(keys.ended_by(erasure_id))
        for row in self._database.rows(self._ended, keys.ledger_partition(tenant), within):
            yield keys.split(row.sk)[-1], row.epoch

    def _of(self, erasure: Erasure, version: int) -> ErasureRow:
        return self._row(
            keys.ledger_partition(erasure.tenant),
            keys.erasure(erasure.id),
            record=erasure_json(erasure),
            version=version,
        )

    def _note(self, erasure: Erasure) -> ErasureRow:
        return cast("ErasureRow", self._open(keys.OPEN, keys.open_erasure(erasure.tenant, erasure.id)))


class DynamoHolds:
    """``Holds`` in the ledger table, each with a pointer from its subject."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._row = database.models.hold
        self._head = database.models.head

    def place(self, tenant: str, hold: Hold) -> Hold:
        """One transaction: the hold and its pointer, while the subject's head is active."""
        standing = self.hold(tenant, hold.name)
        if standing is not None:
            return _same(standing, hold)
        partition = keys.ledger_partition(tenant)
        head = self._head(keys.subject_partition(tenant, hold.subject), keys.HEAD)
        transaction = Transaction()
        transaction.put(self._of(partition, keys.hold(hold.name), hold), self._row.pk.does_not_exist())
        transaction.put(self._of(partition, keys.hold_on(hold.subject, hold.name), hold))
        transaction.check(head, self._head.state == SubjectState.ACTIVE.value)
        try:
            with_retries(lambda: self._database.transact(transaction))
        except ConditionFailed as failed:
            return self._placed_before(tenant, hold, failed)
        return hold

    def _placed_before(self, tenant: str, hold: Hold, failed: ConditionFailed) -> Hold:
        """The hold that the same request placed a moment ago. Raises why one cannot stand."""
        standing = self.hold(tenant, hold.name)
        if standing is not None:
            return _same(standing, hold)
        found = failed.found[-1]
        if not found:
            raise NotFound("nothing is stored about this user, so nothing can be held") from failed
        if found["state"]["S"] == SubjectState.ERASING.value:
            raise Conflict("the subject is being erased; what a hold kept before stays") from failed
        raise NotAdmitted from failed

    def release(self, tenant: str, name: str) -> bool:
        """One transaction."""
        standing = self.hold(tenant, name)
        if standing is None:
            return False
        partition = keys.ledger_partition(tenant)
        transaction = Transaction()
        transaction.delete(self._row(partition, keys.hold(name)), self._row.subject == standing.subject)
        transaction.delete(self._row(partition, keys.hold_on(standing.subject, name)))
        try:
            with_retries(lambda: self._database.transact(transaction))
        except ConditionFailed:
            return False  # released by another a moment ago
        return True

    def hold(self, tenant: str, name: str) -> Hold | None:
        """One consistent read."""
        row = self._database.get(self._row, keys.ledger_partition(tenant), keys.hold(name))
        return None if row is None else _hold(row)

    def of_tenant(self, tenant: str, limit: int, start: str | None) -> Page[Hold]:
        """A query in the order of names."""
        within = keys.beginning_with(keys.HOLDS)
        if start is not None:
            within = keys.KeyRange(keys.hold(start) + "\x00", within.last)
        found: list[Hold] = []
        for row in self._database.rows(self._row, keys.ledger_partition(tenant), within, limit=limit + 1):
            found.append(_hold(row))
            if len(found) > limit:
                break
        more = len(found) > limit
        return Page(tuple(found[:limit]), found[limit - 1].name if more else None)

    def of_subject(self, tenant: str, subject: str) -> tuple[Hold, ...]:
        """One query over the pointers, which carry the holds."""
        within = keys.beginning_with(keys.holds_on(subject))
        return tuple(map(_hold, self._database.rows(self._row, keys.ledger_partition(tenant), within)))

    def _of(self, partition: str, sort_key: str, hold: Hold) -> HoldRow:
        make = partial(self._row, partition, sort_key)
        return make(name=hold.name, subject=hold.subject, scope=scope_json(hold.scope), created_at=hold.created_at)


def _overtaken(failed: ConditionFailed) -> VersionConflict | None:
    """What the first condition, on the version of a row, failed of; None when there is no row."""
    standing = failed.found[0]
    return VersionConflict(int(standing["version"]["N"])) if standing else None


def _same(standing: Hold, wanted: Hold) -> Hold:
    """The hold that stands. Raises Conflict when another was wanted under its name."""
    if (standing.subject, standing.scope) != (wanted.subject, wanted.scope):
        raise Conflict("a hold of this name stands on other records")
    return standing


def _hold(row: HoldRow) -> Hold:
    return Hold(row.name, row.subject, scope_of(cast("JsonObject", row.scope)), row.created_at)


def _erasure(row: ErasureRow) -> Erasure:
    return erasure_of(cast("JsonObject", row.record), row.version)
