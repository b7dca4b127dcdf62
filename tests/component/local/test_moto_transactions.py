"""Transactions on moto without copies of whole tables: still all or nothing, for new, changed and deleted items."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Wire = Mapping[str, object]


@pytest.fixture
def client(moto_client: DynamoDBClient) -> DynamoDBClient:
    moto_client.create_table(
        TableName="t",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
    )
    for name in ("changed", "deleted", "replaced", "bystander"):
        moto_client.put_item(TableName="t", Item={**key(name), "n": {"N": "1"}})
    return moto_client


def key(name: str) -> dict[str, dict[str, str]]:
    return {"pk": {"S": "p"}, "sk": {"S": name}}


def writes(last_holds: bool) -> list[Wire]:
    number = {":one": {"N": "1"}}
    condition = "attribute_exists(pk)" if last_holds else "attribute_not_exists(pk)"
    return [
        {
            "Update": {
                "TableName": "t",
                "Key": key("changed"),
                "UpdateExpression": "ADD n :one",
                "ExpressionAttributeValues": number,
            }
        },
        {"Delete": {"TableName": "t", "Key": key("deleted")}},
        {"Put": {"TableName": "t", "Item": {**key("replaced"), "n": {"N": "7"}}}},
        {"Put": {"TableName": "t", "Item": {**key("new"), "n": {"N": "1"}}}},
        {"ConditionCheck": {"TableName": "t", "Key": key("bystander"), "ConditionExpression": condition}},
    ]


def contents(client: DynamoDBClient) -> dict[str, str]:
    items = client.scan(TableName="t", ConsistentRead=True)["Items"]
    return {item["sk"]["S"]: item["n"]["N"] for item in items}


def test_all_of_it(client: DynamoDBClient) -> None:
    client.transact_write_items(TransactItems=writes(last_holds=True))  # type: ignore[arg-type]  # as the wire has it
    assert contents(client) == {"changed": "2", "replaced": "7", "new": "1", "bystander": "1"}


def test_or_nothing(client: DynamoDBClient) -> None:
    before = copy.deepcopy(contents(client))
    with pytest.raises(ClientError, match="TransactionCanceledException"):
        client.transact_write_items(TransactItems=writes(last_holds=False))  # type: ignore[arg-type]  # see above
    assert contents(client) == before == dict.fromkeys(("changed", "deleted", "replaced", "bystander"), "1")


@pytest.mark.parametrize(
    "request_items",
    [
        [{"Put": {"TableName": "nowhere", "Item": key("x")}}],
        [{"Put": {"TableName": "t", "Item": {"pk": {"S": "p"}}}}],
        [{"Delete": {"TableName": "t", "Key": {"other": {"S": "p"}}}}],
        [{"Put": {"TableName": "t", "Item": key("x")}}, {"Put": {"TableName": "t", "Item": key("x")}}],
    ],
)
def test_a_refused_transaction_changes_nothing(client: DynamoDBClient, request_items: list[Wire]) -> None:
    before = contents(client)
    with pytest.raises(ClientError):
        client.transact_write_items(TransactItems=request_items)  # type: ignore[arg-type]  # malformed on purpose
    assert contents(client) == before
