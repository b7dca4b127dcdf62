"""Every route of the API, as data: dispatch, permissions, validation, OpenAPI and the template's test read it."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel

from lethe.domain.identity import Permission
from lethe.domain.immutable import immutable
from lethe.entry.api import audit, entities, erasures, memories, recall, sessions
from lethe.entry.api.types import Body, Out, Query

MAXIMUM_BODY_BYTES: Final = 5 * 1024 * 1024
"""Below Lambda's 6 MB a synchronous call, of which the rest of the event takes its share."""

_SMALL, _MIDDLE, _VALUE = 16 * 1024, 128 * 1024, 512 * 1024


@immutable
class Route:
    """One method on one path. ``permissions``: any of them suffices; empty for routes that need no key."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    function: Literal["write", "recall", "govern"]
    operation: str
    summary: str
    permissions: tuple[Permission, ...]
    answers: dict[int, type[BaseModel] | None]
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    versioned: bool = False
    """Whether If-Match may name the version that the caller saw."""
    most_bytes: int = MAXIMUM_BODY_BYTES
    """Of the body: what its fields can take together, also with every character escaped, and room beside."""
    notes: str = ""
    """What the description says beside the permission."""

    @property
    def key(self) -> str:
        """The route key of API Gateway."""
        return f"{self.method} {self.path}"


_READ = (Permission.READ,)
_WRITE = (Permission.WRITE,)
_DELETE = (Permission.WRITE, Permission.ERASE)
_ERASE = (Permission.ERASE,)
_SEE_ERASURES = (Permission.ERASE, Permission.GOVERN)
_GOVERN = (Permission.GOVERN,)

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/sessions/{session_id}/messages",
        "write",
        "append_messages",
        "Append messages to a session and remember what the user states",
        _WRITE,
        {201: sessions.AppendOut},
        body=sessions.AppendMessages,
    ),
    Route(
        "GET",
        "/v1/sessions/{session_id}/messages",
        "recall",
        "read_messages",
        "The newest turns of a session, or all its messages page by page",
        _READ,
        {200: sessions.MessagesOut},
        query=sessions.ReadMessages,
    ),
    Route(
        "GET",
        "/v1/sessions",
        "recall",
        "list_sessions",
        "The sessions of a user",
        _READ,
        {200: sessions.SessionsOut},
        query=sessions.ListSessions,
    ),
    Route(
        "GET",
        "/v1/sessions/{session_id}",
        "recall",
        "get_session",
        "The head of a session",
        _READ,
        {200: sessions.SessionOut},
        query=memories.UserQuery,
    ),
    Route(
        "POST",
        "/v1/sessions/{session_id}/end",
        "write",
        "end_session",
        "Mark a session as ended",
        _WRITE,
        {200: sessions.SessionOut},
        body=sessions.UserBody,
        most_bytes=_SMALL,
    ),
    Route(
        "DELETE",
        "/v1/sessions/{session_id}",
        "govern",
        "delete_session",
        "Delete a session with the memories that rest on it",
        _DELETE,
        {204: None},
        query=memories.UserQuery,
        notes="With it go its messages and summary, the entities that hold in it only, the memories that were taken "
        "from its messages or stored with its `session_id`, and what was made of these. A memory that stays loses a "
        "context that repeats one of the messages.",
    ),
    Route(
        "POST",
        "/v1/memories",
        "write",
        "add_memories",
        "Remember a statement, or what messages state",
        _WRITE,
        {201: memories.RememberedOut, 200: memories.RememberedOut},
        body=memories.AddMemories,
    ),
    Route(
        "POST",
        "/v1/memories/batch",
        "write",
        "add_batch",
        "Remember up to 1,000 statements, with a result for each",
        _WRITE,
        {200: memories.BatchOut},
        body=memories.AddBatch,
    ),
    Route(
        "POST",
        "/v1/memories/search",
        "recall",
        "search_memories",
        "Find the memories that are relevant to a question",
        _READ,
        {200: memories.FoundOut},
        body=memories.SearchMemories,
        most_bytes=_MIDDLE,
    ),
    Route(
        "GET",
        "/v1/memories",
        "recall",
        "list_memories",
        "The memories of a user, newest first",
        _READ,
        {200: memories.MemoriesOut},
        query=memories.ListMemories,
    ),
    Route(
        "GET",
        "/v1/memories/{id}",
        "recall",
        "get_memory",
        "One memory",
        _READ,
        {200: memories.MemoryOut},
        query=memories.UserQuery,
    ),
    Route(
        "GET",
        "/v1/memories/{id}/history",
        "recall",
        "memory_history",
        "All versions of a memory, oldest first",
        _READ,
        {200: memories.MemoryVersionsOut},
        query=memories.MemoryHistory,
    ),
    Route(
        "PATCH",
        "/v1/memories/{id}",
        "write",
        "change_memory",
        "Correct, pin, freeze or end a memory",
        _WRITE,
        {200: memories.ChangedMemoryOut},
        body=memories.ChangeMemory,
        most_bytes=_MIDDLE,
        versioned=True,
    ),
    Route(
        "DELETE",
        "/v1/memories/{id}",
        "govern",
        "delete_memory",
        "Delete a memory with its history",
        _DELETE,
        {204: None},
        query=memories.UserQuery,
        notes="With it go its older versions and the memories that were made of it. A memory that stays loses a "
        "context that repeats the message it was taken from.",
        versioned=True,
    ),
    Route(
        "PUT",
        "/v1/entities/{key}",
        "write",
        "put_entity",
        "Set a confirmed fact",
        _WRITE,
        {201: entities.EntityOut, 200: entities.EntityOut},
        body=entities.PutEntity,
        most_bytes=_VALUE,
        versioned=True,
    ),
    Route(
        "GET",
        "/v1/entities/{key}",
        "recall",
        "get_entity",
        "The current value of a confirmed fact",
        _READ,
        {200: entities.EntityOut},
        query=entities.ReadEntity,
    ),
    Route(
        "GET",
        "/v1/entities",
        "recall",
        "list_entities",
        "Confirmed facts, by key",
        _READ,
        {200: entities.EntitiesOut},
        query=entities.ListEntities,
    ),
    Route(
        "GET",
        "/v1/entities/{key}/history",
        "recall",
        "entity_history",
        "All versions of a confirmed fact, oldest first",
        _READ,
        {200: entities.EntityVersionsOut},
        query=entities.EntityHistory,
    ),
    Route(
        "DELETE",
        "/v1/entities/{key}",
        "write",
        "delete_entity",
        "Delete a confirmed fact with its history",
        _DELETE,
        {204: None},
        query=entities.ReadEntity,
        versioned=True,
    ),
    Route(
        "POST",
        "/v1/recall",
        "recall",
        "recall",
        "One prompt-ready block of what is worth knowing now",
        _READ,
        {200: recall.RecalledOut},
        body=recall.RecallMemory,
        most_bytes=_MIDDLE,
    ),
    Route(
        "GET",
        "/v1/subjects/{user_id}",
        "recall",
        "describe_subject",
        "Where a user's data stands, in numbers",
        _READ,
        {200: recall.SubjectOut},
    ),
    Route(
        "DELETE",
        "/v1/subjects/{user_id}",
        "govern",
        "erase_subject",
        "Erase everything about a user, with proof",
        _ERASE,
        {202: erasures.ErasureBegunOut},
    ),
    Route(
        "POST",
        "/v1/subjects/{user_id}/admit",
        "govern",
        "admit_subject",
        "Let an erased user be written to again, empty",
        _SEE_ERASURES,
        {200: erasures.AdmittedOut},
        most_bytes=_SMALL,
    ),
    Route(
        "POST",
        "/v1/erasures",
        "govern",
        "begin_erasure",
        "Erase a user, a session, memories, kinds and times, or a tenant, with proof",
        _ERASE,
        {202: erasures.ErasureBegunOut},
        body=erasures.AskErasure,
        most_bytes=_MIDDLE,
    ),
    Route(
        "GET",
        "/v1/erasures",
        "govern",
        "list_erasures",
        "Erasures, newest first",
        _SEE_ERASURES,
        {200: erasures.ErasuresOut},
        query=erasures.ListErasures,
    ),
    Route(
        "GET",
        "/v1/erasures/{id}",
        "govern",
        "get_erasure",
        "How far an erasure has come",
        _SEE_ERASURES,
        {200: erasures.ErasureOut},
    ),
    Route(
        "GET",
        "/v1/erasures/{id}/receipt",
        "govern",
        "get_receipt",
        "The signed proof of an erasure",
        _SEE_ERASURES,
        {200: None},
        query=erasures.ReadReceipt,
    ),
    Route(
        "PUT",
        "/v1/holds/{name}",
        "govern",
        "place_hold",
        "Keep records from being erased",
        _GOVERN,
        {201: erasures.HoldOut, 200: erasures.HoldOut},
        body=erasures.PlaceHold,
        most_bytes=_MIDDLE,
    ),
    Route(
        "GET",
        "/v1/holds",
        "govern",
        "list_holds",
        "Legal holds, by name",
        _GOVERN,
        {200: erasures.HoldsOut},
        query=erasures.ListHolds,
    ),
    Route("GET", "/v1/holds/{name}", "govern", "get_hold", "One legal hold", _GOVERN, {200: erasures.HoldOut}),
    Route(
        "DELETE",
        "/v1/holds/{name}",
        "govern",
        "release_hold",
        "Let go what a hold kept",
        _GOVERN,
        {204: None},
    ),
    Route(
        "GET",
        "/v1/audit",
        "govern",
        "list_audit",
        "Who did what with a user's memory, newest first",
        _GOVERN,
        {200: audit.AuditOut},
        query=audit.ListAudit,
    ),
    Route("GET", "/v1/health", "recall", "health", "Whether the service answers", (), {200: recall.HealthOut}),
    Route("GET", "/v1/openapi.json", "recall", "openapi", "This description", (), {200: None}),
    Route("GET", "/docs", "recall", "docs", "This description as a page", (), {200: None}),
)


def complete_models() -> None:
    """Build the validators of all models now, not when each is first met.

    A Lambda container answers one request at a time and is better off without; a server with threads calls this
    first, since pydantic does not say what happens when two threads build one model.
    """
    pending: list[type[BaseModel]] = [Body, Query, Out]
    while pending:
        model = pending.pop()
        model.model_rebuild()
        pending += model.__subclasses__()
