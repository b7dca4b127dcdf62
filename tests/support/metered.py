"""What calls of DynamoDB cost, by its rules: sizes of items, and units of what a client sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, cast

from tests.support.faulty import Answer, FaultyClient


def item_bytes(item: Mapping[str, Mapping[str, object]]) -> int:
    """The size of an item: names, texts in UTF-8, binaries; a small number takes two bytes, what is nested three and
    one for each thing in it.
    """
    return sum(len(name) + value_bytes(value) for name, value in item.items())


def value_bytes(value: Mapping[str, object]) -> int:
    """The size of one value."""
    ((kind, content),) = value.items()
    if isinstance(content, str) and kind == "S":
        return len(content.encode())
    if isinstance(content, bytes):
        return len(content)
    if isinstance(content, Mapping):
        return 3 + len(content) + item_bytes(content)
    if isinstance(content, Sequence) and kind == "L":
        return 3 + len(content) + sum(map(value_bytes, content))
    assert kind in ("N", "BOOL", "NULL"), kind
    return 2 if kind == "N" else 1


class MeteredClient(FaultyClient):
    """A client that adds up units. An update counts as one, a read of items that it does not see whole too."""

    read = written = 0

    def __getattr__(self, operation: str) -> Callable[..., Answer]:
        whole = super().__getattr__(operation)

        def call(**request: object) -> Answer:
            answer = whole(**request)
            with self._lock:
                self.read += _read(operation, answer)
                self.written += _written(operation, cast("dict[str, Any]", request))
            return answer

        return call


def _read(operation: str, answer: Answer) -> int:
    if operation == "get_item":
        return max(1, ceil(item_bytes(cast("dict[str, dict[str, object]]", answer.get("Item", {}))) / 4096))
    return 1 if operation in ("query", "batch_get_item") else 0


def _written(operation: str, request: dict[str, Any]) -> int:
    if operation == "transact_write_items":
        return 2 * sum(_units(next(iter(each.values()))) for each in request["TransactItems"])
    if operation == "batch_write_item":
        return sum(len(each) for each in request["RequestItems"].values())
    return _units(request) if operation in ("put_item", "update_item", "delete_item") else 0


def _units(request: dict[str, Any]) -> int:
    return max(1, ceil(item_bytes(request.get("Item", {})) / 1024))
