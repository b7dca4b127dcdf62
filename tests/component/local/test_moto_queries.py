"""Queries on moto that read one partition: the same answers in the same pages, whatever else the table holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from moto.dynamodb.models.table import Table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import QueryInputTypeDef

NUMBERS = range(10)


@pytest.fixture
def client(moto_client: DynamoDBClient) -> DynamoDBClient:
    """A table of three partitions, each with ten items, and an index by `kind`, which every second item has."""
    moto_client.create_table(
        TableName="t",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "kind")],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-kind",
                "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    for number in reversed(NUMBERS):
        for partition in ("a", "b", "c"):
            kind = {"kind": {"S": "even"}} if number % 2 == 0 else {}
            moto_client.put_item(TableName="t", Item={"pk": {"S": partition}, "sk": {"S": str(number)}, **kind})
    return moto_client


def pages(client: DynamoDBClient, request: QueryInputTypeDef) -> list[list[str]]:
    """Partition and sort key of each item, by page."""
    found = []
    while True:
        page = client.query(**request)
        found.append([item["pk"]["S"] + item["sk"]["S"] for item in page["Items"]])
        if "LastEvaluatedKey" not in page:
            return found
        request = {**request, "ExclusiveStartKey": page["LastEvaluatedKey"]}


def in_partition(name: str) -> QueryInputTypeDef:
    return {
        "TableName": "t",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": name}},
    }


def test_a_partition_in_order_and_nothing_of_another(client: DynamoDBClient) -> None:
    assert pages(client, in_partition("b")) == [[f"b{number}" for number in NUMBERS]]


def test_pages_backwards_from_where_the_last_one_ended(client: DynamoDBClient) -> None:
    found = pages(client, {**in_partition("b"), "Limit": 4, "ScanIndexForward": False})

    assert found == [["b9", "b8", "b7", "b6"], ["b5", "b4", "b3", "b2"], ["b1", "b0"]]


def test_a_range_of_a_partition(client: DynamoDBClient) -> None:
    request = in_partition("c")
    request["KeyConditionExpression"] = "pk = :p AND sk BETWEEN :low AND :high"
    request["ExpressionAttributeValues"] = {":p": {"S": "c"}, ":low": {"S": "3"}, ":high": {"S": "5"}}

    assert pages(client, request) == [["c3", "c4", "c5"]]


def test_a_partition_that_is_not_there_is_empty_and_stays_away(client: DynamoDBClient) -> None:
    assert pages(client, in_partition("d")) == [[]]
    assert client.scan(TableName="t")["Count"] == 30


def test_an_index_reads_all_partitions(client: DynamoDBClient) -> None:
    request: QueryInputTypeDef = {
        "TableName": "t",
        "IndexName": "by-kind",
        "KeyConditionExpression": "kind = :k",
        "ExpressionAttributeValues": {":k": {"S": "even"}},
    }
    (found,) = pages(client, request)

    assert sorted(found) == sorted(f"{name}{number}" for name in "abc" for number in NUMBERS if number % 2 == 0)


def test_items_of_other_partitions_are_not_looked_at(client: DynamoDBClient, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    all_items = Table.all_items

    def counting(table: Table) -> object:
        found = all_items(table)
        looked_at.append(len(found))
        return found

    monkeypatch.setattr(Table, "all_items", counting)
    pages(client, in_partition("a"))

    assert looked_at == [10]
