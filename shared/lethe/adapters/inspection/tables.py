"""Reading tables from end to end, or single partitions of them, with a plain client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from lethe.adapters.aws_logging import quiet_botocore
from lethe.adapters.aws_session import aws_session
from lethe.adapters.inspection.judgement import Item
from lethe.errors import Throttled, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

SEGMENT_BYTES: Final = 200_000_000
"""What one segment of a scan holds: some 200 pages of a megabyte, ten seconds' work."""

_ATTRIBUTES: Final = ("pk", "sk", "memory_id", "kind", "created_at", "session_id", "derived_from")
_NAMES: Final = {f"#{n}": name for n, name in enumerate(_ATTRIBUTES)}


def plain_client(region: str, endpoint: str | None) -> DynamoDBClient:
    """A client without any of the shortcuts of the one that stores and deletes."""
    quiet_botocore()
    config = Config(connect_timeout=2, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 6})
    return cast(
        "DynamoDBClient",
        aws_session().create_client("dynamodb", region_name=region, endpoint_url=endpoint, config=config),
    )


class Tables:
    """The tables by the names of their stores."""

    def __init__(self, client: DynamoDBClient, names: Mapping[str, str]) -> None:
        self._client = client
        self._names = names

    def segments(self, store: str) -> int:
        """How many segments a scan of the table is cut into, by its size as DynamoDB knows it (some hours old)."""
        with _said_plainly():
            size = self._client.describe_table(TableName=self._names[store])["Table"].get("TableSizeBytes", 0)
        return 1 + int(size) // SEGMENT_BYTES

    def scan(self, store: str, segment: int, segments: int) -> Iterator[Item]:
        """Every item of a segment, read consistently, without its content."""
        request = {
            "TableName": self._names[store],
            "ConsistentRead": True,
            "Segment": segment,
            "TotalSegments": segments,
            "ProjectionExpression": ", ".join(_NAMES),
            "ExpressionAttributeNames": dict(_NAMES),
        }
        while True:
            with _said_plainly():
                answer = self._client.scan(**request)  # type: ignore[arg-type]  # built right here
            yield from answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def partition(self, store: str, key: str) -> Iterator[Item]:
        """Every item of a partition, read consistently, without its content but for what answers speak about."""
        request = {
            "TableName": self._names[store],
            "ConsistentRead": True,
            "KeyConditionExpression": "#0 = :key",
            "ProjectionExpression": ", ".join([*_NAMES, "#about"]),
            "ExpressionAttributeNames": {**_NAMES, "#about": "about"},
            "ExpressionAttributeValues": {":key": {"S": key}},
        }
        while True:
            with _said_plainly():
                answer = self._client.query(**request)  # type: ignore[arg-type]  # built right here
            yield from answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def item(self, store: str, pk: str, sk: str) -> Item | None:
        """One item, read consistently."""
        with _said_plainly():
            answer = self._client.get_item(
                TableName=self._names[store], Key={"pk": {"S": pk}, "sk": {"S": sk}}, ConsistentRead=True
            )
        return answer.get("Item")


class _said_plainly:  # noqa: N801  # a context manager, used as a word
    """Raises Throttled or Unavailable in place of botocore's exceptions, without their texts."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ClientError):
            code = str(error.response.get("Error", {}).get("Code", ""))
            if "Throttl" in code or "Exceeded" in code:
                raise Throttled("the store takes no more requests now") from None
            raise Unavailable("the store cannot be read") from None
        if isinstance(error, BotoCoreError | HTTPClientError):
            raise Unavailable("the store does not answer") from None
