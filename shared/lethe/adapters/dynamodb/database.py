"""Calls to DynamoDB: paging to the end, unprocessed items sent again, transactions with their reasons."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor
from concurrent.futures import wait as all_of
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, cast

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action

from lethe.adapters.dynamodb.failures import ATTEMPTS, Item, WriteConflict, translated, wait
from lethe.adapters.dynamodb.models import AnyRow, Models, Row, table_of
from lethe.domain.keys import KeyRange
from lethe.errors import Throttled

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Argument = TypeVar("Argument")
Result = TypeVar("Result")

Request: TypeAlias = "dict[str, object]"

GET_LIMIT, WRITE_LIMIT, TRANSACTION_LIMIT = 100, 25, 100
"""How many items one BatchGetItem, BatchWriteItem and TransactWriteItems take."""

MAXIMUM_ITEM_BYTES = 300_000
"""Our cap of one item's texts and vector, below DynamoDB's 400 KB so that names and counters always fit."""

WORKERS = 24
"""Calls that go out at once: a subject with 5,000 memories is some 17 ranges of a page each."""


@dataclass(slots=True)
class Transaction:
    """Writes that happen all or not at all; at most 100, one an item, 4 MB together."""

    requests: list[Request] = field(default_factory=list)
    token: str = field(default_factory=lambda: str(uuid.uuid4()))
    """By which the store knows a repetition, for ten minutes, and does not write twice."""

    def put(self, row: Row, condition: Condition | None = None) -> None:
        """Write ``row``; a failed condition tells what stands there."""
        kwargs = row.get_save_kwargs_from_instance(
            condition=condition, return_values_on_condition_failure=_old(condition)
        )
        self.requests.append({"Put": kwargs})

    def put_item(self, row: type[Row], item: Item, condition: Condition | None = None) -> None:
        """Write an item that was made without the model of its table."""
        self.put_items(row, [item], condition)

    def put_items(self, row: type[Row], items: Iterable[Item], condition: Condition | None = None) -> None:
        """``put_item`` of each, in order, all on one condition, which is written out once."""
        common: Request = {"TableName": table_of(row), **_guard(condition)}
        self.requests += [{"Put": {"Item": item, **common}} for item in items]

    def update(self, row: Row, actions: Sequence[Action], condition: Condition) -> None:
        """Change the item with the keys of ``row``; a failed condition tells what stands there."""
        kwargs = row.get_update_kwargs_from_instance(
            actions=list(actions), condition=condition, return_values_on_condition_failure=_old(condition)
        )
        self.requests.append({"Update": kwargs})

    def delete(self, row: Row, condition: Condition | None = None) -> None:
        """Delete the item with the keys of ``row``; a failed condition tells what stands there."""
        kwargs = row.get_delete_kwargs_from_instance(
            condition=condition, return_values_on_condition_failure=_old(condition)
        )
        self.requests.append({"Delete": kwargs})

    def check(self, row: Row, condition: Condition) -> None:
        """Demand ``condition`` of the item with the keys of ``row``, without writing it; a failed one tells what stands
        there.
        """
        kwargs = row.get_delete_kwargs_from_instance(
            condition=condition, return_values_on_condition_failure=_old(condition)
        )
        self.requests.append({"ConditionCheck": kwargs})


def _guard(condition: Condition | None) -> Request:
    """The part of a write that states its condition."""
    if condition is None:
        return {}
    names: dict[str, str] = {}
    values: dict[str, str] = {}
    guard: Request = {
        "ConditionExpression": condition.serialize(names, values),
        "ExpressionAttributeNames": {placeholder: name for name, placeholder in names.items()},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return {**guard, "ExpressionAttributeValues": values} if values else guard


def _old(condition: Condition | None) -> str | None:
    return None if condition is None else "ALL_OLD"


class Database:
    """One client, the models, and a few threads for calls that go out at once."""

    def __init__(self, client: DynamoDBClient, models: Models) -> None:
        self.models = models
        self._client = client
        self._threads: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._inside = threading.local()

    def get_item(self, row: type[Row], pk: str, sk: str) -> Item | None:
        """One item, read consistently."""
        with translated():
            answer = self._client.get_item(
                TableName=table_of(row), Key={"pk": {"S": pk}, "sk": {"S": sk}}, ConsistentRead=True
            )
        return cast("Item | None", answer.get("Item"))

    def get(self, row: type[AnyRow], pk: str, sk: str) -> AnyRow | None:
        """One item, read consistently, through the model."""
        item = self.get_item(row, pk, sk)
        return row.from_raw_data(item) if item else None

    def put(self, row: Row, condition: Condition | None = None) -> None:
        """Write one item. Raises ConditionFailed with what stands there."""
        kwargs = row.get_save_kwargs_from_instance(
            condition=condition, return_values_on_condition_failure=_old(condition)
        )
        with translated():
            self._client.put_item(**kwargs)

    def update(self, row: AnyRow, actions: Sequence[Action], condition: Condition) -> AnyRow:
        """Change one item; the item afterwards. Raises ConditionFailed with what stands there."""
        kwargs = row.get_update_kwargs_from_instance(
            actions=list(actions), condition=condition, return_values_on_condition_failure="ALL_OLD"
        )
        with translated():
            answer = self._client.update_item(ReturnValues="ALL_NEW", **kwargs)
        return type(row).from_raw_data(cast("Item", answer["Attributes"]))

    def delete(self, row: Row, condition: Condition | None = None) -> bool:
        """Delete one item; whether it was there. Raises ConditionFailed."""
        kwargs = row.get_delete_kwargs_from_instance(
            condition=condition, return_values_on_condition_failure=_old(condition)
        )
        with translated():
            return bool(self._client.delete_item(ReturnValues="ALL_OLD", **kwargs).get("Attributes"))

    def transact(self, transaction: Transaction) -> None:
        """Write all or nothing. Raises ConditionFailed with an entry an operation, or WriteConflict."""
        with translated():
            self._client.transact_write_items(
                TransactItems=transaction.requests,  # type: ignore[arg-type]  # made by the models above
                ClientRequestToken=transaction.token,
            )

    def query(
        self,
        row: type[Row],
        pk: str,
        keys: KeyRange,
        *,
        newest_first: bool = False,
        limit: int | None = None,
        attributes: Sequence[str] = (),
    ) -> Iterator[Item]:
        """Items of a key range in order, read consistently, page after page as they are asked for.

        ``limit`` is the size of a page; ``attributes`` narrows what is sent.
        """
        pages = self.pages(row, pk, keys, newest_first=newest_first, limit=limit, attributes=attributes)
        return (item for page in pages for item in page)

    def pages(
        self,
        row: type[Row],
        pk: str,
        keys: KeyRange,
        *,
        newest_first: bool = False,
        limit: int | None = None,
        attributes: Sequence[str] = (),
    ) -> Iterator[list[Item]]:
        """As ``query``, page by page: each one is a call."""
        request = _query(row, pk, keys)
        request["ScanIndexForward"] = not newest_first
        if limit is not None:
            request["Limit"] = limit
        if attributes:
            names = {f"#a{n}": name for n, name in enumerate(attributes)}
            request["ExpressionAttributeNames"] = {
                **cast("dict[str, str]", request["ExpressionAttributeNames"]),
                **names,
            }
            request["ProjectionExpression"] = ", ".join(names)
        while True:
            with translated():
                answer = self._client.query(**request)  # type: ignore[arg-type]  # built right here
            yield cast("list[Item]", answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def scan_page(
        self, row: type[Row], prefixes: Sequence[str], attributes: Sequence[str], start: Item | None, limit: int
    ) -> tuple[list[Item], Item | None]:
        """A stretch of the whole table, read consistently: the items whose sort key begins with one of ``prefixes``
        among the next ``limit`` items, and where to go on. A partition's items come together, in order.
        ``attributes`` narrows what is sent.
        """
        names = {f"#a{n}": name for n, name in enumerate(attributes)}
        beginnings = {f":p{n}": {"S": prefix} for n, prefix in enumerate(prefixes)}
        request: Request = {
            "TableName": table_of(row),
            "ConsistentRead": True,
            "Limit": limit,
            "FilterExpression": " OR ".join(f"begins_with(#s, {each})" for each in beginnings),
            "ExpressionAttributeNames": {"#s": "sk", **names},
            "ExpressionAttributeValues": beginnings,
        }
        if names:
            request["ProjectionExpression"] = ", ".join(names)
        if start is not None:
            request["ExclusiveStartKey"] = start
        with translated():
            answer = self._client.scan(**request)  # type: ignore[arg-type]  # built right here
        return cast("list[Item]", answer["Items"]), cast("Item | None", answer.get("LastEvaluatedKey"))

    def first_page(self, row: type[Row], pk: str, keys: KeyRange) -> tuple[list[Item], bool]:
        """The first megabyte of a key range, and whether it goes on behind that."""
        with translated():
            answer = self._client.query(**_query(row, pk, keys))  # type: ignore[arg-type]  # built right here
        return cast("list[Item]", answer["Items"]), "LastEvaluatedKey" in answer

    def rows(
        self, row: type[AnyRow], pk: str, keys: KeyRange, *, newest_first: bool = False, limit: int | None = None
    ) -> Iterator[AnyRow]:
        """``query``, read through the model."""
        for item in self.query(row, pk, keys, newest_first=newest_first, limit=limit):
            yield row.from_raw_data(item)

    def count(self, row: type[Row], pk: str, keys: KeyRange) -> int:
        """How many items a key range holds."""
        request = _query(row, pk, keys)
        request["Select"] = "COUNT"
        total = 0
        while True:
            with translated():
                answer = self._client.query(**request)  # type: ignore[arg-type]  # built right here
            total += answer["Count"]
            if "LastEvaluatedKey" not in answer:
                return total
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def get_many(self, row: type[Row], keys: Iterable[tuple[str, str]], attributes: Sequence[str] = ()) -> list[Item]:
        """The items of these keys that exist, read consistently, in no order; hundreds go out at once."""
        distinct = list(dict.fromkeys(keys))
        stretches = [distinct[n : n + GET_LIMIT] for n in range(0, len(distinct), GET_LIMIT)]
        return [
            item for items in self.at_once(lambda s: self._get_batch(row, s, attributes), stretches) for item in items
        ]

    def _get_batch(self, row: type[Row], keys: Sequence[tuple[str, str]], attributes: Sequence[str]) -> list[Item]:
        table = table_of(row)
        wanted: Request = {"Keys": [{"pk": {"S": pk}, "sk": {"S": sk}} for pk, sk in keys], "ConsistentRead": True}
        if attributes:
            names = {f"#a{n}": name for n, name in enumerate(attributes)}
            wanted |= {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
        found: list[Item] = []
        for attempt in range(ATTEMPTS):
            with translated():
                answer = self._client.batch_get_item(RequestItems={table: wanted})  # type: ignore[dict-item]  # built here
            got = cast("list[Item]", answer["Responses"].get(table, []))
            found += got
            left = answer.get("UnprocessedKeys", {}).get(table)
            if not left:
                return found
            wanted = cast("Request", left)
            if not got:
                wait(attempt)
        raise Throttled("the store takes no more requests now")

    def delete_many(self, row: type[Row], keys: Iterable[tuple[str, str]]) -> None:
        """Delete items, whatever their state; up to 25 in one call, calls at once."""
        self.delete_beside(row, keys, lambda: None)

    def delete_beside(self, row: type[Row], keys: Iterable[tuple[str, str]], beside: Callable[[], Result]) -> Result:
        """``delete_many``, and what ``beside`` answers, which is called at the same time."""
        requests: list[Request] = [
            {"DeleteRequest": {"Key": {"pk": {"S": pk}, "sk": {"S": sk}}}} for pk, sk in dict.fromkeys(keys)
        ]
        table = table_of(row)
        deletions: list[Callable[[], Result | None]] = [
            partial(self._write_batch, table, requests[n : n + WRITE_LIMIT])
            for n in range(0, len(requests), WRITE_LIMIT)
        ]
        answer, *_ = self.at_once(lambda call: call(), [beside, *deletions])
        return cast("Result", answer)

    def _write_batch(self, table: str, requests: Sequence[Request]) -> None:
        left: object = requests
        for attempt in range(ATTEMPTS):
            with suppress(WriteConflict), translated():
                answer = self._client.batch_write_item(RequestItems={table: left})  # type: ignore[dict-item]  # built here
                left = answer.get("UnprocessedItems", {}).get(table)
                if not left:
                    return
            wait(attempt)
        raise Throttled("the store takes no more requests now")

    def at_once(
        self, call: Callable[[Argument], Result], arguments: Sequence[Argument], most: int = WORKERS
    ) -> list[Result]:
        """``call`` of each argument, results in order; in threads when there is more than one, ``most`` at a time. When
        one raises, so does this, once all that had begun have ended.

        Inside a call that runs in such a thread they run one after the other: threads that wait for threads of the
        same few would wait for ever.
        """
        if len(arguments) < 2 or getattr(self._inside, "busy", False):
            return [call(argument) for argument in arguments]
        gate = threading.Semaphore(most)

        def run(argument: Argument) -> Result:
            self._inside.busy = True
            with gate:
                return call(argument)

        pool = self._pool()
        calls = [pool.submit(run, argument) for argument in arguments]
        _, waiting = all_of(calls, return_when=FIRST_EXCEPTION)
        for one in waiting:
            one.cancel()
        # A container sleeps between requests. A thread that is left behind would go on with the next one, and write
        # when an erasure has long ceased to reckon with it (docs/erasure.md).
        all_of(calls)
        for one in calls:
            if not one.cancelled():
                one.result()
        return [one.result() for one in calls]

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(WORKERS, thread_name_prefix="dynamodb")
            return self._threads

    def end_threads(self) -> None:
        """Wait for the threads and end them; a function's container never does."""
        if self._threads is not None:
            self._threads.shutdown()


def _query(row: type[Row], pk: str, keys: KeyRange) -> Request:
    values: dict[str, dict[Literal["S"], str]] = {":p": {"S": pk}, ":f": {"S": keys.first}, ":l": {"S": keys.last}}
    return {
        "TableName": table_of(row),
        "KeyConditionExpression": "#p = :p AND #s BETWEEN :f AND :l",
        "ExpressionAttributeNames": {"#p": "pk", "#s": "sk"},
        "ExpressionAttributeValues": values,
        "ConsistentRead": True,
    }
