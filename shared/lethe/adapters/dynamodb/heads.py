"""Subject heads, and the part that a head has in other writes."""

from __future__ import annotations

import secrets

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action

from lethe.adapters.dynamodb.database import Database, Transaction
from lethe.adapters.dynamodb.failures import ConditionFailed, with_retries
from lethe.adapters.dynamodb.models import HeadRow
from lethe.domain import keys
from lethe.domain.head import SubjectHead, SubjectState
from lethe.domain.identity import Space
from lethe.domain.indexing import write_mark
from lethe.errors import Erased


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
            keys.subject_partition(tenant, subject), keys.HEAD, epoch=1, state=SubjectState.ACTIVE.value, revision=0
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
    state = SubjectState(row.state)
    return SubjectHead(tenant, subject, row.epoch, state, row.revision, row.rewritten, row.written)
