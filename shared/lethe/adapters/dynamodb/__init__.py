"""DynamoDB: the truth of sessions, entities, memories, subject heads, access and idempotency."""

from __future__ import annotations

from lethe.adapters.dynamodb.access import DynamoAccessStore
from lethe.adapters.dynamodb.client import Timeouts, make_client
from lethe.adapters.dynamodb.database import Database
from lethe.adapters.dynamodb.entities import DynamoEntities
from lethe.adapters.dynamodb.heads import DynamoSubjectHeads
from lethe.adapters.dynamodb.idempotency import DynamoIdempotencyRecords
from lethe.adapters.dynamodb.memories import DynamoMemories
from lethe.adapters.dynamodb.models import TableNames, build_models
from lethe.adapters.dynamodb.sessions import DynamoSessions

__all__ = [
    "Database",
    "DynamoAccessStore",
    "DynamoEntities",
    "DynamoIdempotencyRecords",
    "DynamoMemories",
    "DynamoSessions",
    "DynamoSubjectHeads",
    "TableNames",
    "Timeouts",
    "build_models",
    "connect",
    "make_client",
]


def connect(tables: TableNames, region: str, endpoint: str | None = None, timeouts: Timeouts | None = None) -> Database:
    """A database on these tables, with its one client: make it once a container, before the first request."""
    return Database(make_client(region, endpoint, timeouts), build_models(tables, region))
