"""What a table's stream tells of one change, in the form that Lambda hands to a function.

https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html: binary values as base64 text, the time as epoch seconds.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict, cast

from lethe.domain.json_values import JsonObject, JsonValue
from lethe_local.intrinsics import REGION

_IMAGES = ("Keys", "NewImage", "OldImage")


class Told(TypedDict, total=False):
    """``dynamodb`` of a record, as botocore gives it: binary values are bytes, the time is a datetime."""

    ApproximateCreationDateTime: datetime
    Keys: Mapping[str, object]
    NewImage: Mapping[str, object]
    OldImage: Mapping[str, object]
    SequenceNumber: str
    SizeBytes: int
    StreamViewType: str


class RecordRead(TypedDict, total=False):
    """A record of GetRecords."""

    eventID: str
    eventName: str
    eventVersion: str
    dynamodb: Told
    userIdentity: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """One change: its place in its shard, when it happened (epoch seconds), the event, and the bytes of that."""

    sequence: str
    created: float
    event: JsonObject
    size: int


def lambda_record(read: RecordRead, arn: str) -> StreamRecord:
    """``read`` as an event's record; ``arn`` is the stream's address."""
    told = read["dynamodb"]
    created = told["ApproximateCreationDateTime"].timestamp()
    change: dict[str, JsonValue] = {"ApproximateCreationDateTime": created}
    change |= {name: _readable(told[name]) for name in _IMAGES if told.get(name)}  # type: ignore[literal-required]  # names of Told
    change |= {"SequenceNumber": told["SequenceNumber"], "SizeBytes": told.get("SizeBytes", 0)}
    change["StreamViewType"] = told["StreamViewType"]
    event: dict[str, JsonValue] = {
        "eventID": read["eventID"],
        "eventName": read["eventName"],
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": REGION,
        "dynamodb": change,
        "eventSourceARN": arn,
    }
    by_whom = read.get("userIdentity")
    if by_whom:
        event["userIdentity"] = {"principalId": by_whom["PrincipalId"], "type": by_whom["Type"]}
    return StreamRecord(told["SequenceNumber"], created, event, len(json.dumps(event)))


def _readable(value: object) -> JsonValue:
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {str(name): _readable(member) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_readable(member) for member in value]
    return cast(JsonValue, value)
