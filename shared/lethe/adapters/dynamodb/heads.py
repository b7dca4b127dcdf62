"""Subject heads, and the part that a head has in other writes."""

from __future__ import annotations

import json
import secrets
from datetime import datetime

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action

from lethe.adapters.dynamodb.database import Database, Transaction
from lethe.adapters.dynamodb.failures import ATTEMPTS, ConditionFailed, WriteConflict, wait, with_retries
from lethe.adapters.dynamodb.models import HeadRow
from lethe.domain import keys
from lethe.domain.head import FIRST_EPOCH, SubjectHead, SubjectState
from lethe.domain.identity import Space
from lethe.domain.indexing import write_mark
from lethe.errors import Conflict, Erased, Throttled
from lethe.ports import Page


class DynamoSubjectHeads:
    """``SubjectHeads`` in the table of subjects."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._row = database.models.head

    def read(self, tenant: str, subject: str) -> SubjectHead | None:
        """One consistent read."""
        row = self._database.get(self._row, keys.subject_partition(tenant, subject), keys.HEAD)
        return None if row is None else _head(row, tenant, subject)

    def create(self, tenant: str, subject: str) -> SubjectHead:
        """One conditional put, which tells what stands when there is a head already."""
        row = self._row(
            keys.subject_partition(tenant, subject),
            keys.HEAD,
            epoch=FIRST_EPOCH,
            state=SubjectState.ACTIVE.value,
            revision=0,
        )
        try:
            with_retries(lambda: self._database.put(row, self._row.pk.does_not_exist()))
        except ConditionFailed as failed:
            standing = failed.found[0]
            if standing:
                return _head(self._row.from_raw_data(standing), tenant, subject)
            found = self.read(tenant, subject)
            if found is None:
                raise  # it stood a moment ago, and heads are never deleted
            return found
        return _head(row, tenant, subject)

    def fence(self, tenant: str, subject: str, erasure_id: str, epoch: int) -> SubjectHead:
        """One conditional update; of a subject without a head a conditional put."""
        partition, erasing = keys.subject_partition(tenant, subject), SubjectState.ERASING.value
        actions = [
            self._row.epoch.set(epoch + 1),
            self._row.state.set(erasing),
            self._row.erasure.set(erasure_id),
            self._row.erased_until.remove(),
            self._row.written.remove(),
        ]
        stands = self._row.epoch == epoch
        new = self._row(partition, keys.HEAD, epoch=epoch + 1, state=erasing, revision=0, erasure=erasure_id)
        for _ in range(2):
            try:
                changed = with_retries(lambda: self._database.update(self._row(partition, keys.HEAD), actions, stands))
                return _head(changed, tenant, subject)
            except ConditionFailed:
                found = self.read(tenant, subject)
            if found is not None and found.epoch > epoch:
                return found
            if found is not None and found.epoch < epoch:
                raise Conflict("the table is older than the ledger: it was restored, and the ledger not replayed")
            try:
                with_retries(lambda: self._database.put(new, self._row.pk.does_not_exist()))
                return _head(new, tenant, subject)
            except ConditionFailed:
                continue  # made a moment ago: then it can be updated
        raise Throttled("too many writes at once to the same subject")

    def end_erasure(self, tenant: str, subject: str, erasure_id: str, until: datetime) -> None:
        """One conditional update."""
        row = self._row(keys.subject_partition(tenant, subject), keys.HEAD)
        actions = [self._row.state.set(SubjectState.ERASED.value), self._row.erased_until.set(until)]
        mine = (self._row.erasure == erasure_id) & (self._row.state == SubjectState.ERASING.value)
        try:
            with_retries(lambda: self._database.update(row, actions, mine))
        except ConditionFailed:
            return  # admitted since, or ended before

    def admit(self, tenant: str, subject: str, free_at: datetime | None = None) -> SubjectHead | None:
        """One conditional update, which tells what stands when it does not get through."""
        row = self._row(keys.subject_partition(tenant, subject), keys.HEAD)
        actions = [
            self._row.state.set(SubjectState.ACTIVE.value),
            self._row.erasure.remove(),
            self._row.erased_until.remove(),
            self._row.revision.add(1),
        ]
        gone = self._row.state.is_in(SubjectState.ERASING.value, SubjectState.ERASED.value)
        if free_at is not None:
            gone = (self._row.state == SubjectState.ERASED.value) & (self._row.erased_until <= free_at)
        try:
            return _head(with_retries(lambda: self._database.update(row, actions, gone)), tenant, subject)
        except ConditionFailed:
            return self.read(tenant, subject)

    def restore(self, tenant: str, subject: str, epoch: int, erasure_id: str, until: datetime | None) -> SubjectHead:
        """One conditional put over a head of an earlier epoch, or of the same one that is not as it should be."""
        state = SubjectState.ACTIVE if until is None else SubjectState.ERASED
        for attempt in range(ATTEMPTS):
            head = self.read(tenant, subject)
            if head is not None and head.stands_after(epoch, state):
                return head
            new = self._row(
                keys.subject_partition(tenant, subject),
                keys.HEAD,
                epoch=epoch,
                state=state.value,
                revision=0 if head is None else head.revision + 1,
                rewritten=0 if head is None else head.revision + 1,
                erasure=None if until is None else erasure_id,
                erased_until=until,
            )
            seen = self._row.pk.does_not_exist() if head is None else self._row.epoch == head.epoch
            try:
                self._database.put(new, seen)
            except (ConditionFailed, WriteConflict):
                wait(attempt)
            else:
                return _head(new, tenant, subject)
        raise Throttled("too many writes at once to the same subject")

    def raise_revision(self, space: Space, rewrites: bool = False, unmarks: bool = False) -> int:
        """One conditional update."""
        row, condition = head_of(self._database, space)
        actions = _raise(self._row, rewrites)
        if unmarks:
            actions.append(self._row.written.remove())
        try:
            changed = with_retries(lambda: self._database.update(row, actions, condition))
        except ConditionFailed as failed:
            raise Erased("the subject was erased since the request began") from failed
        return changed.revision


class DynamoSubjects:
    """``Subjects`` by a scan of the table of subjects: a tenant's heads have no partition of their own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._row = database.models.head

    def of_tenant(self, tenant: str, limit: int, start: str | None) -> Page[SubjectHead]:
        """A stretch of the scan; it may hold none of the tenant's before the end."""
        begin = None if start is None else json.loads(start)
        items, last = self._database.scan_page(self._row, (keys.HEAD,), _HEAD, begin, limit)
        heads = []
        for item in items:
            owner, subject = keys.split(str(item["pk"]["S"]))
            if owner == tenant:
                heads.append(_head(self._row.from_raw_data(item), tenant, subject))
        return Page(tuple(heads), None if last is None else json.dumps(last))


_HEAD = ("pk", "sk", "epoch", "state", "revision", "rewritten", "erasure", "erased_until")


def head_of(database: Database, space: Space) -> tuple[HeadRow, Condition]:
    """The keys of a space's head, and the condition that the space is still the readable one."""
    row = database.models.head
    condition = (row.epoch == space.epoch) & (row.state == SubjectState.ACTIVE.value)
    return row(keys.subject_partition(space.tenant, space.subject), keys.HEAD), condition


def raise_within(
    database: Database, transaction: Transaction, space: Space, rewrites: bool = False, written: str | None = None
) -> None:
    """Add the raise of the revision to ``transaction``, as its last write; ``written`` becomes the head's mark."""
    row, condition = head_of(database, space)
    actions = _raise(database.models.head, rewrites)
    if written is not None:
        actions.append(database.models.head.written.set(written))
    transaction.update(row, actions, condition)


def new_mark(memories: int = 1) -> str:
    """A mark that no other write has, for a write of so many memories: 64 random bits."""
    return write_mark(secrets.token_hex(8), memories)


def _raise(row: type[HeadRow], rewrites: bool) -> list[Action]:
    """In an update every value on the right is the one from before it."""
    raised: list[Action] = [row.revision.add(1)]
    return [*raised, row.rewritten.set(row.revision + 1)] if rewrites else raised


def _head(row: HeadRow, tenant: str, subject: str) -> SubjectHead:
    return SubjectHead(
        tenant,
        subject,
        row.epoch,
        SubjectState(row.state),
        row.revision,
        row.rewritten,
        row.written,
        row.erasure,
        row.erased_until,
    )
