"""The exceptions of Lethe; the class decides the HTTP status and whether a retry can help.

LetheError
├── InvalidInput            422  parseable, but refused; names each field
├── MalformedRequest        400  not parseable: JSON, cursor or header
├── Unauthenticated         401
├── Forbidden               403
├── NotFound                404  missing, foreign, expired and erased alike
├── Conflict                409
│   ├── Held                409  a legal hold keeps what was to be deleted, or changed so that it could be
│   └── InProgress          409  the first request with this idempotency key still runs
├── Erased                  410  a write for an erased subject
│   ├── NotAdmitted         410  ... and not admitted again
│   └── AnswerErased        410  a repetition whose first answer went with what it spoke of
├── VersionConflict         412  carries the current version
├── TooLarge                413
├── UnsupportedMediaType    415
├── IdempotencyMismatch     422
├── Throttled               429  retryable
│   └── SubjectErasing      429  of an erasure's task alone: a part is judged after the whole of its subject
└── Unavailable             503  retryable

No message ever holds what a user sent: messages name fields, limits and ids made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field: its path such as ``messages[3].content`` and what would be accepted."""

    field: str
    message: str


class LetheError(Exception):
    """Base of everything that Lethe raises on purpose."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    title: ClassVar[str] = "Internal error"
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title


class InvalidInput(LetheError):
    """The request was understood and is refused; ``errors`` names each field."""

    status, code, title = 422, "invalid", "The request has values that are not allowed"

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{e.field}: {e.message}" for e in errors[:3]))
        self.errors = tuple(errors)

    @classmethod
    def of(cls, field: str, message: str) -> InvalidInput:
        """One refused field."""
        return cls([FieldError(field, message)])


class MalformedRequest(LetheError):
    """Something could not be parsed; ``code`` is invalid_json, invalid_cursor or invalid_header."""

    status, title = 400, "The request cannot be read"

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code  # type: ignore[misc]  # one class for three codes that differ in nothing else


class Unauthenticated(LetheError):
    """No key, an unknown key or a revoked key."""

    status, code, title = 401, "unauthenticated", "A valid API key is needed"


class Forbidden(LetheError):
    """The key lacks a permission, or does not cover the user."""

    status, code, title = 403, "forbidden", "This key may not do that"


class NotFound(LetheError):
    """Missing, foreign, expired or erased: the answer never tells which."""

    status, code, title = 404, "not_found", "There is nothing here"


class MethodNotAllowed(LetheError):
    """The path exists, but not for this method; ``allowed`` are those that it has."""

    status, code, title = 405, "method_not_allowed", "This method is not allowed here"

    def __init__(self, allowed: Sequence[str]) -> None:
        super().__init__("this path knows " + ", ".join(allowed))
        self.allowed = tuple(allowed)


class Conflict(LetheError):
    """The state of the thing does not allow this now."""

    status, code, title = 409, "conflict", "The request conflicts with the current state"


class Held(Conflict):
    """A legal hold keeps what was to be deleted, or to be changed so that it could be."""

    def __init__(self, instead: str = "") -> None:
        super().__init__(f"a legal hold keeps it: a key that may govern sees which, GET /v1/holds?user_id=…{instead}")


class InProgress(Conflict):
    """The first request with the same idempotency key has not answered yet."""

    code, title, retryable = "in_progress", "The first request with this key is still running", True


class Erased(LetheError):
    """A write for a subject that was erased and not admitted again."""

    status, code, title = 410, "erased", "This subject was erased"


class NotAdmitted(Erased):
    """The same, where an admission would help."""

    def __init__(self) -> None:
        super().__init__("this user was erased; POST /v1/subjects/{user_id}/admit lets memory begin anew")


class AnswerErased(Erased):
    """A request was sent again whose first answer has been deleted with what it spoke of."""

    title = "What the first answer to this request showed is gone"


class VersionConflict(LetheError):
    """An update named a version that is no longer current."""

    status, code, title = 412, "version_conflict", "The version is no longer current"

    def __init__(self, current_version: int) -> None:
        super().__init__(f"the current version is {current_version}")
        self.current_version = current_version


class TooLarge(LetheError):
    """The request, or something that it would store, is over a size limit."""

    status, code, title = 413, "too_large", "The request is too large"


class UnsupportedMediaType(LetheError):
    """The body is not declared as JSON."""

    status, code, title = 415, "unsupported_media_type", "Send the body as application/json"


class IdempotencyMismatch(LetheError):
    """An idempotency key was used again with another request."""

    status, code, title = 422, "idempotency_mismatch", "This key was used with another request"


class Throttled(LetheError):
    """Too many requests; try again after ``retry_after`` seconds."""

    status, code, title, retryable = 429, "throttled", "Too many requests", True
    retry_after: ClassVar[int] = 1


class SubjectErasing(Throttled):
    """A part of a subject cannot be verified now: the whole of it is being erased, and is waited for."""


class Unavailable(LetheError):
    """A part that Lethe rests on does not answer; try again after ``retry_after`` seconds."""

    status, code, title, retryable = 503, "unavailable", "A part of the service does not answer", True
    retry_after: ClassVar[int] = 2
