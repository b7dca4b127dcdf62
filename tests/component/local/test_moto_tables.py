"""moto behind our socket: what the lock and the shims add, without which a laptop would lose or double writes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import urllib3
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

KEY = {"pk": {"S": "a"}}


@pytest.fixture
def client(moto_client: DynamoDBClient) -> DynamoDBClient:
    moto_client.create_table(
        TableName="t",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    )
    return moto_client


def _count(client: DynamoDBClient) -> int:
    return int(client.get_item(TableName="t", Key=KEY, ConsistentRead=True)["Item"]["n"]["N"])


def _add(client: DynamoDBClient, token: str, amount: int) -> None:
    update = {
        "TableName": "t",
        "Key": KEY,
        "UpdateExpression": "ADD n :amount",
        "ExpressionAttributeValues": {":amount": {"N": str(amount)}},
    }
    client.transact_write_items(TransactItems=[{"Update": update}], ClientRequestToken=token)  # type: ignore[typeddict-item]  # a literal, as the wire has it


def test_no_update_is_lost_when_threads_meet(client: DynamoDBClient) -> None:
    def raise_by_one(_: int) -> None:
        client.update_item(
            TableName="t", Key=KEY, UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": {"N": "1"}}
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(raise_by_one, range(200)))
    assert _count(client) == 200


def test_a_repeated_transaction_is_applied_once(client: DynamoDBClient) -> None:
    for _ in range(3):
        _add(client, "first", 5)
    assert _count(client) == 5
    _add(client, "second", 5)
    assert _count(client) == 10
    with pytest.raises(ClientError) as refused:
        _add(client, "second", 6)
    assert refused.value.response["Error"]["Code"] == "IdempotentParameterMismatchException"
    assert _count(client) == 10


def test_a_cancelled_transaction_leaves_nothing_and_may_be_tried_again(client: DynamoDBClient) -> None:
    def move(expected: int) -> None:
        client.transact_write_items(
            TransactItems=[
                {
                    "Update": {
                        "TableName": "t",
                        "Key": KEY,
                        "UpdateExpression": "ADD n :one",
                        "ExpressionAttributeValues": {":one": {"N": "1"}},
                    }
                },
                {"Put": {"TableName": "t", "Item": {"pk": {"S": "b"}}}},
                {
                    "ConditionCheck": {
                        "TableName": "t",
                        "Key": {"pk": {"S": "c"}},
                        "ConditionExpression": "n = :expected",
                        "ExpressionAttributeValues": {":expected": {"N": str(expected)}},
                    }
                },
            ],
            ClientRequestToken="moving",
        )

    client.put_item(TableName="t", Item={**KEY, "n": {"N": "1"}})
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        move(7)
    assert _count(client) == 1
    assert "Item" not in client.get_item(TableName="t", Key={"pk": {"S": "b"}})
    client.put_item(TableName="t", Item={"pk": {"S": "c"}, "n": {"N": "7"}})
    move(7)
    assert _count(client) == 2
    assert "Item" in client.get_item(TableName="t", Key={"pk": {"S": "b"}})


def test_it_speaks_dynamodb_only(client: DynamoDBClient) -> None:
    answer = urllib3.request("GET", client.meta.endpoint_url, retries=False)
    assert (answer.status, answer.headers["content-type"]) == (400, "text/plain")
