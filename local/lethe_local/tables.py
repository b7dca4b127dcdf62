"""Creates DynamoDB tables from the table resources of the template, so that nothing describes them twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from botocore.exceptions import ClientError

from lethe.domain.json_values import JsonValue

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import CreateTableInputTypeDef

TableProperties: TypeAlias = Mapping[str, JsonValue]
"""The ``Properties`` of one ``AWS::DynamoDB::Table``."""

_SHAPE = ("KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes", "LocalSecondaryIndexes")


def create_tables(
    client: DynamoDBClient,
    tables: Mapping[str, TableProperties],
    names: Mapping[str, str],
    *,
    streams: bool = False,
) -> None:
    """Create each table of ``tables`` (logical id to properties) under ``names[logical id]``; on demand, with TTL.

    A table that exists already is kept with its items; ValueError when its keys differ from the template's.
    Back-ups, encryption and protection are left out: they mean nothing on a laptop. Streams only on demand, for
    those who read them: each write to dynoxide 1.2.1 takes longer the more records its stream holds (25 items in a
    transaction: 18 ms without a stream, 40 ms with a new one, 360 ms after 3,000 records).
    """
    for logical_id, properties in tables.items():
        name = names[logical_id]
        if not _create(client, name, logical_id, properties, streams):
            _check_keys(client, name, properties)
            continue
        ttl = properties.get("TimeToLiveSpecification")
        if isinstance(ttl, Mapping) and ttl.get("Enabled"):
            client.update_time_to_live(
                TableName=name,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": str(ttl["AttributeName"])},
            )


def _create(client: DynamoDBClient, name: str, logical_id: str, properties: TableProperties, streams: bool) -> bool:
    """Whether the table was made now."""
    request: dict[str, JsonValue] = {"TableName": name, "BillingMode": "PAY_PER_REQUEST"}
    request |= {part: properties[part] for part in _SHAPE if part in properties}
    stream = properties.get("StreamSpecification")
    if streams and isinstance(stream, Mapping):
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream["StreamViewType"]}
    _refuse_intrinsics(request, logical_id)
    try:
        client.create_table(**cast("CreateTableInputTypeDef", request))
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceInUseException":
            return False
        raise
    return True


def _refuse_intrinsics(value: JsonValue, logical_id: str) -> None:
    if isinstance(value, Mapping):
        if any(key == "Ref" or key.startswith("Fn::") for key in value):
            raise ValueError(f"{logical_id}: keys, indexes and streams must be written out in the template")
        for part in value.values():
            _refuse_intrinsics(part, logical_id)
    elif isinstance(value, (list, tuple)):
        for part in value:
            _refuse_intrinsics(part, logical_id)


def _check_keys(client: DynamoDBClient, name: str, properties: TableProperties) -> None:
    standing = client.describe_table(TableName=name)["Table"]["KeySchema"]
    if [dict(key) for key in standing] != properties["KeySchema"]:
        raise ValueError(f"the table {name} exists with other keys than the template's; start fresh")
