"""Makes moto's transactions cost what they touch.

moto copies a whole table for each item of a transaction, to be able to undo it: the time of a write grows with all
that is stored (49 memories into a table of 1,000 took minutes). Here the copies are left out, and the items that a
transaction names are remembered instead, and put back when it was cancelled.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table


def leave_tables_uncopied() -> None:
    """From now on, in this process, a copy of a table is the table: who starts transactions calls ``remember``."""
    Table.__deepcopy__ = lambda table, _memo: table  # type: ignore[attr-defined]  # moto defines none


def remember(backend: DynamoDBBackend, body: bytes) -> Callable[[], None]:
    """What undoes the TransactWriteItems request ``body``; to be called under the lock that the request holds."""
    before: list[tuple[Table, DynamoType, DynamoType | None, Item | None]] = []
    for table_name, attributes in _addresses(body):
        table = backend.tables.get(table_name)
        if table is None or not _has_keys(table, attributes):
            continue  # moto refuses the request, and nothing is written
        hash_key, range_key = backend.get_keys_value(table, attributes)
        before.append((table, hash_key, range_key, copy.deepcopy(table.get_item(hash_key, range_key))))

    def undo() -> None:
        for table, hash_key, range_key, item in before:
            if item is None:
                table.delete_item(hash_key, range_key)
            elif range_key is None:
                table.items[hash_key] = item  # type: ignore[assignment]  # moto keeps items or maps of items there
            else:
                table.items[hash_key][range_key] = item

    return undo


def _has_keys(table: Table, attributes: dict[str, dict[str, object]]) -> bool:
    names = [table.hash_key_attr] + ([table.range_key_attr] if table.range_key_attr else [])
    return all(isinstance(attributes.get(name), dict) and len(attributes[name]) == 1 for name in names)


def _addresses(body: bytes) -> list[tuple[str, dict[str, dict[str, object]]]]:
    """Table and attributes, keys among them, of each write; nothing for a body that moto refuses."""
    try:
        writes = [write for entry in json.loads(body)["TransactItems"] for write in entry.values()]
        return [(str(write["TableName"]), dict(write.get("Key") or write["Item"])) for write in writes]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
