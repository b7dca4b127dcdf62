"""Creates DynamoDB tables from the table resources of the template, so that nothing describes them twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from botocore.exceptions import ClientError

from lethe.domain.json_values import JsonObject, JsonValue

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.literals import StreamViewTypeType
    from mypy_boto3_dynamodb.type_defs import (
        CreateTableInputTypeDef,
        StreamSpecificationTypeDef,
        TableDescriptionTypeDef,
    )

TableProperties: TypeAlias = Mapping[str, JsonValue]
"""The ``Properties`` of one ``AWS::DynamoDB::Table``."""

_SHAPE = ("KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes", "LocalSecondaryIndexes")


def create_tables(
    client: DynamoDBClient,
    tables: Mapping[str, TableProperties],
    names: Mapping[str, str],
    *,
    streams: Collection[str] = (),
) -> frozenset[str]:
    """Create each table of ``tables`` (logical id to properties) under ``names[logical id]``; on demand, with TTL.

    A table that exists already is kept with its items; ValueError when its keys differ from the template's.
    Back-ups, encryption and protection are left out: they mean nothing on a laptop. Streams are made for the logical
    ids in ``streams`` alone, those that somebody reads: records are never removed by dynoxide, and each write adds one
    (``stream_index`` keeps that from becoming slow). What is given back are the names of the tables that existed and
    have a stream only from now on: nobody will hear of what they hold.
    """
    late = set()
    for logical_id, properties in tables.items():
        name = names[logical_id]
        wanted = properties.get("StreamSpecification") if logical_id in streams else None
        if not _create(client, name, logical_id, properties, wanted):
            standing = client.describe_table(TableName=name)["Table"]
            _check_keys(standing, properties)
            if isinstance(wanted, Mapping) and not standing.get("StreamSpecification", {}).get("StreamEnabled"):
                client.update_table(TableName=name, StreamSpecification=_stream(wanted))
                late.add(name)
            continue
        ttl = properties.get("TimeToLiveSpecification")
        if isinstance(ttl, Mapping) and ttl.get("Enabled"):
            client.update_time_to_live(
                TableName=name,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": str(ttl["AttributeName"])},
            )
    return frozenset(late)


def _create(client: DynamoDBClient, name: str, logical_id: str, properties: TableProperties, stream: JsonValue) -> bool:
    """Whether the table was made now."""
    request: dict[str, JsonValue] = {"TableName": name, "BillingMode": "PAY_PER_REQUEST"}
    request |= {part: properties[part] for part in _SHAPE if part in properties}
    if isinstance(stream, Mapping):
        request["StreamSpecification"] = cast("JsonObject", _stream(stream))
    _refuse_intrinsics(request, logical_id)
    try:
        client.create_table(**cast("CreateTableInputTypeDef", request))
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceInUseException":
            return False
        raise
    return True


def _stream(properties: JsonObject) -> StreamSpecificationTypeDef:
    return {"StreamEnabled": True, "StreamViewType": cast("StreamViewTypeType", properties["StreamViewType"])}


def _refuse_intrinsics(value: JsonValue, logical_id: str) -> None:
    if isinstance(value, Mapping):
        if any(key == "Ref" or key.startswith("Fn::") for key in value):
            raise ValueError(f"{logical_id}: keys, indexes and streams must be written out in the template")
        for part in value.values():
            _refuse_intrinsics(part, logical_id)
    elif isinstance(value, (list, tuple)):
        for part in value:
            _refuse_intrinsics(part, logical_id)


def _check_keys(standing: TableDescriptionTypeDef, properties: TableProperties) -> None:
    if [dict(key) for key in standing["KeySchema"]] != properties["KeySchema"]:
        raise ValueError(f"the table {standing['TableName']} exists with other keys than the template's; start fresh")
