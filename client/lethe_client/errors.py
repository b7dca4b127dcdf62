"""What can go wrong, as one tree of exceptions.

    LetheError
      LetheConnectionError         no answer: refused, timed out, broken off
      LetheProtocolError           an answer that the contract does not know
      StillErasingError            an erasure has not ended while it was waited for
      LetheApiError                an answer that says no: status, code, detail, errors, request_id
        InvalidRequestError        400, 413, 415, 422
        UnauthenticatedError       401
        ForbiddenError             403
        NotFoundError              404
        ConflictError              409
        ErasedError                410
        VersionConflictError       412, with the version that is current
        ThrottledError             429
        ServerError                every 5xx
          UnavailableError         503

No exception carries a text, query, user id or key that was sent; one without an answer names the service's address.
"""

from dataclasses import dataclass

from lethe_client.json_types import JsonObject, JsonValue


class LetheError(Exception):
    """Anything that this package raises on its own account."""


class LetheConnectionError(LetheError):
    """The service could not be reached, or the connection broke before an answer came."""


class LetheProtocolError(LetheError):
    """The answer is not the JSON that the contract promises (a proxy's page, for example)."""


class StillErasingError(LetheError):
    """An erasure has not ended in the time that it was waited for. It goes on by itself.

    Attributes:
        erasure_id: which one, for waiting again.
        state: what it was last seen in, `accepted` or `running`.
    """

    def __init__(self, erasure_id: str, state: str, seconds: float) -> None:
        super().__init__(f"{erasure_id} is still {state} after {seconds:g} s")
        self.erasure_id = erasure_id
        self.state = state


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field that was refused: its path in the request, and why."""

    field: str
    message: str


class LetheApiError(LetheError):
    """The service answered with a problem document.

    Attributes:
        status: HTTP status.
        code: machine-readable reason, such as `not_found` or `idempotency_mismatch`.
        detail: one sentence for a person.
        errors: the fields that were refused, if the service named them.
        request_id: what to quote when asking for help; empty when the answer had none.
    """

    def __init__(self, status: int, code: str, detail: str, errors: tuple[FieldError, ...], request_id: str) -> None:
        named = "; ".join(f"{error.field}: {error.message}" for error in errors)
        super().__init__(f"{status} {code}: {detail}" + (f" ({named})" if named not in detail else ""))
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors
        self.request_id = request_id


class InvalidRequestError(LetheApiError):
    """The request was refused as it stands; `errors` names the fields."""


class UnauthenticatedError(LetheApiError):
    """No key, an unknown key, or a revoked one."""


class ForbiddenError(LetheApiError):
    """The key lacks the permission, or does not cover this user."""


class NotFoundError(LetheApiError):
    """Missing, foreign, expired or erased: the service tells none of these apart."""


class ConflictError(LetheApiError):
    """The request conflicts with one that still runs, or with what is stored."""


class ErasedError(LetheApiError):
    """The user was erased and not admitted again; nothing was written."""


class VersionConflictError(LetheApiError):
    """Somebody else changed the record first.

    Attributes:
        current_version: the version that is stored now; None when the answer did not name it.
    """

    current_version: int | None = None


class ThrottledError(LetheApiError):
    """Too many requests, still so after the retries."""


class ServerError(LetheApiError):
    """The service failed, still so after the retries where retrying is safe."""


class UnavailableError(ServerError):
    """The service is not available for now."""


_BY_STATUS: dict[int, type[LetheApiError]] = {
    400: InvalidRequestError,
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ErasedError,
    412: VersionConflictError,
    413: InvalidRequestError,
    415: InvalidRequestError,
    422: InvalidRequestError,
    429: ThrottledError,
    503: UnavailableError,
}


def error_from_problem(status: int, problem: JsonObject, request_id: str) -> LetheApiError:
    """Make the exception for an answer of 4xx or 5xx.

    `problem` is the problem document, or {} when the body was none (a gateway's own page); `request_id`
    is the one from the headers, used when the document names none.
    """
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else LetheApiError)
    error = kind(
        status,
        _text(problem.get("code")) or f"http_{status}",
        _text(problem.get("detail")) or _text(problem.get("title")) or "no detail given",
        _field_errors(problem.get("errors")),
        _text(problem.get("request_id")) or request_id,
    )
    current = problem.get("current_version")
    if isinstance(error, VersionConflictError) and isinstance(current, int):
        error.current_version = current
    return error


def _field_errors(value: JsonValue) -> tuple[FieldError, ...]:
    entries = value if isinstance(value, list) else []
    return tuple(
        FieldError(_text(entry.get("field")), _text(entry.get("message")))
        for entry in entries
        if isinstance(entry, dict)
    )


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
