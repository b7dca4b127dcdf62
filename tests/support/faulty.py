"""A DynamoDB client whose calls fail as told: before their effect, or after it, which is a lost answer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from botocore.exceptions import ClientError, ReadTimeoutError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Answer: TypeAlias = "dict[str, object]"
Call: TypeAlias = Callable[[], Answer]
Fault: TypeAlias = Callable[[Call], Answer]

LOST = ReadTimeoutError(endpoint_url="http://store.invalid")


def refused(code: str, reasons: list[str] | None = None) -> ClientError:
    """An answer that refuses; its message quotes something that must never get out."""
    response: dict[str, object] = {"Error": {"Code": code, "Message": "CANARY was not liked"}}
    if reasons is not None:
        response["CancellationReasons"] = [{"Code": reason, "Message": "CANARY"} for reason in reasons]
    return ClientError(response, "Operation")  # type: ignore[arg-type]  # reasons are not in the stubs


def before(error: Exception) -> Fault:
    """The call never arrives."""

    def fault(_call: Call) -> Answer:
        raise error

    return fault


def after(error: Exception) -> Fault:
    """The call has its effect, but the answer gets lost."""

    def fault(call: Call) -> Answer:
        call()
        raise error

    return fault


class FaultyClient:
    """Wraps a client. ``plan`` holds faults by operation and the number of its call, counted from 1."""

    def __init__(self, client: DynamoDBClient, plan: Mapping[tuple[str, int], Fault] | None = None) -> None:
        self._client = client
        self._plan = dict(plan or {})
        self._lock = threading.Lock()
        self.calls: Counter[str] = Counter()

    def as_client(self) -> DynamoDBClient:
        """Itself, as what it stands in for."""
        return cast("DynamoDBClient", self)

    def __getattr__(self, operation: str) -> Callable[..., Answer]:
        real = getattr(self._client, operation)

        def call(**request: object) -> Answer:
            with self._lock:
                self.calls[operation] += 1
                fault = self._plan.get((operation, self.calls[operation]), self._plan.get((operation, 0)))
            return real(**request) if fault is None else fault(lambda: real(**request))

        return call


class PartialClient(FaultyClient):
    """Batches are done only in part: of each one that holds more than an item, the second half comes back."""

    def __getattr__(self, operation: str) -> Callable[..., Answer]:
        whole = super().__getattr__(operation)
        if operation not in ("batch_get_item", "batch_write_item"):
            return whole
        left = "UnprocessedKeys" if operation == "batch_get_item" else "UnprocessedItems"

        def call(**request: object) -> Answer:
            ((table, wanted),) = cast("dict[str, dict[str, object] | list[object]]", request["RequestItems"]).items()
            keys = wanted if isinstance(wanted, list) else cast("list[object]", wanted["Keys"])
            half = (len(keys) + 1) // 2

            def part(some: list[object]) -> dict[str, object] | list[object]:
                return some if isinstance(wanted, list) else {**wanted, "Keys": some}

            answer = whole(RequestItems={table: part(keys[:half])})
            return {**answer, left: {table: part(keys[half:])} if keys[half:] else {}}

        return call
