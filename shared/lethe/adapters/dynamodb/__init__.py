"""DynamoDB: the truth of sessions, entities, memories, subject heads, access and idempotency.

The names below are found in their modules when they are first asked for: a function imports what it uses, and the
authorizer needs neither numpy nor the memories.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lethe.adapters.dynamodb.access import DynamoAccessStore
    from lethe.adapters.dynamodb.audit import DynamoAuditTrail
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
    "DynamoAuditTrail",
    "DynamoEntities",
    "DynamoIdempotencyRecords",
    "DynamoMemories",
    "DynamoSessions",
    "DynamoSubjectHeads",
    "TableNames",
    "Timeouts",
    "build_models",
    "make_client",
]

_MODULES = {
    "Database": "database",
    "DynamoAccessStore": "access",
    "DynamoAuditTrail": "audit",
    "DynamoEntities": "entities",
    "DynamoIdempotencyRecords": "idempotency",
    "DynamoMemories": "memories",
    "DynamoSessions": "sessions",
    "DynamoSubjectHeads": "heads",
    "TableNames": "models",
    "Timeouts": "client",
    "build_models": "models",
    "make_client": "client",
}


def __getattr__(name: str) -> object:
    """The name from its module. Raises AttributeError."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
