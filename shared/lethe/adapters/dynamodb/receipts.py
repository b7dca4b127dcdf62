"""Receipts in the ledger table: one item each, a pointer from its id, and the chain's end."""

from __future__ import annotations

from typing import cast

from lethe.adapters.dynamodb.database import Database, Transaction
from lethe.adapters.dynamodb.failures import ConditionFailed, with_retries
from lethe.domain import keys
from lethe.domain.chain import EMPTY, ChainEnd
from lethe.domain.json_values import JsonObject
from lethe.errors import Conflict


class DynamoReceipts:
    """``Receipts`` in the ledger table. Nothing but the chain's end is ever written twice."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._row = database.models.receipt
        self._pointer = database.models.receipt_pointer
        self._end = database.models.chain

    def end(self, tenant: str) -> ChainEnd:
        """One consistent read."""
        row = self._database.get(self._end, keys.ledger_partition(tenant), keys.RECEIPT_CHAIN)
        return EMPTY if row is None else ChainEnd(row.length, row.hash)

    def append(self, tenant: str, after: ChainEnd, receipt_id: str, document: JsonObject, receipt_hash: str) -> None:
        """One transaction on the end that was seen, whose place and id are free."""
        partition, n = keys.ledger_partition(tenant), after.length + 1
        seen = (self._end.length == after.length) & (self._end.hash == after.hash)
        transaction = Transaction()
        transaction.put(
            self._end(partition, keys.RECEIPT_CHAIN, length=n, hash=receipt_hash),
            seen if after.length else self._end.pk.does_not_exist(),
        )
        transaction.put(self._row(partition, keys.receipt(n), document=document), self._row.pk.does_not_exist())
        pointer = self._pointer(partition, keys.receipt_pointer(receipt_id), n=n)
        transaction.put(pointer, self._pointer.pk.does_not_exist())
        try:
            with_retries(lambda: self._database.transact(transaction))
        except ConditionFailed as failed:
            raise Conflict("the chain of receipts goes on elsewhere, or has this one") from failed

    def read(self, tenant: str, receipt_id: str) -> JsonObject | None:
        """Two consistent reads: from the id to the place, and the receipt."""
        partition = keys.ledger_partition(tenant)
        pointer = self._database.get(self._pointer, partition, keys.receipt_pointer(receipt_id))
        if pointer is None:
            return None
        row = self._database.get(self._row, partition, keys.receipt(pointer.n))
        return None if row is None else cast("JsonObject", row.document)
