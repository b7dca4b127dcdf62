"""Client of Lethe, the agent memory that you can prove forgotten.

`Lethe` is the client; everything else here is what it takes and gives.
"""

from lethe_client.client import Lethe, Tier
from lethe_client.errors import (
    ConflictError,
    ErasedError,
    FieldError,
    ForbiddenError,
    InvalidRequestError,
    LetheApiError,
    LetheConnectionError,
    LetheError,
    LetheProtocolError,
    NotFoundError,
    ServerError,
    ThrottledError,
    UnauthenticatedError,
    UnavailableError,
    VersionConflictError,
)
from lethe_client.explain import Decision, ExplainedCandidate, Leg
from lethe_client.inputs import Category, MemoryInput, MessageInput, Origin, Role, SearchFilters
from lethe_client.json_types import JsonInput, JsonObject, JsonValue
from lethe_client.models import (
    AddResult,
    BatchItem,
    BatchResult,
    Entity,
    Health,
    Memory,
    MemoryResult,
    Page,
    SearchResult,
    Source,
    Subject,
)
from lethe_client.recall_models import LeftOut, RecallResult, Route
from lethe_client.retries import NO_RETRIES, RetryPolicy, Waits
from lethe_client.session_models import AppendResult, Message, MessageReceipt, Session, SessionSummary, SessionWindow

__all__ = [
    "NO_RETRIES",
    "AddResult",
    "AppendResult",
    "BatchItem",
    "BatchResult",
    "Category",
    "ConflictError",
    "Decision",
    "Entity",
    "ErasedError",
    "ExplainedCandidate",
    "FieldError",
    "ForbiddenError",
    "Health",
    "InvalidRequestError",
    "JsonInput",
    "JsonObject",
    "JsonValue",
    "LeftOut",
    "Leg",
    "Lethe",
    "LetheApiError",
    "LetheConnectionError",
    "LetheError",
    "LetheProtocolError",
    "Memory",
    "MemoryInput",
    "MemoryResult",
    "Message",
    "MessageInput",
    "MessageReceipt",
    "NotFoundError",
    "Origin",
    "Page",
    "RecallResult",
    "RetryPolicy",
    "Role",
    "Route",
    "SearchFilters",
    "SearchResult",
    "ServerError",
    "Session",
    "SessionSummary",
    "SessionWindow",
    "Source",
    "Subject",
    "ThrottledError",
    "Tier",
    "UnauthenticatedError",
    "UnavailableError",
    "VersionConflictError",
    "Waits",
]
