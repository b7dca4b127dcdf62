"""Makes moto's queries cost what they read.

moto sorts every item of a table, whatever their partitions, for each page of a query, so that a laptop answers slower
with all that it stores. Here a query reads the partition that it names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from inspect import signature
from typing import Final

from moto.dynamodb.models.table import Table

_query: Final[Callable[..., object]] = Table.query
_parameters: Final = signature(_query)


def read_one_partition() -> None:
    """From now on, in this process, a query that names no index reads the items of its hash key, and no others."""
    Table.query = _in_its_partition  # type: ignore[assignment,method-assign]  # whatever moto's parameters are


def _in_its_partition(table: Table, *arguments: object, **named: object) -> object:
    asked = _parameters.bind(table, *arguments, **named).arguments
    if asked.get("index_name"):
        return _query(table, *arguments, **named)
    # The table as it is but for its items. Made without moto's constructor, which keeps all that it ever made.
    partition = object.__new__(Table)  # type: ignore[type-abstract]  # moto leaves a method of it open
    partition.__dict__.update(table.__dict__)
    key = asked["hash_key"]
    partition.items = defaultdict(dict, {key: table.items[key]} if key in table.items else {})
    return _query(partition, *arguments, **named)
