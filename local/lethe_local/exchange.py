"""What goes in and out of the gateway, apart from sockets: one request, one answer, problem documents."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from lethe.entry.problems import problem_headers, problem_text
from lethe.errors import LetheError


def new_request_id() -> str:
    """An id for one request, in the form that API Gateway gives them."""
    return secrets.token_urlsafe(11) + "="


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request: ``path`` and ``query`` as they stood in the request line, header names in lower case."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    source_ip: str = "127.0.0.1"
    protocol: str = "HTTP/1.1"
    id: str = field(default_factory=new_request_id)

    def header(self, name: str) -> str | None:
        """All values of a header, joined by commas; None when it is not there."""
        values = [value for key, value in self.headers if key == name]
        return ",".join(values) if values else None


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, and the route key that it came from (for the request log)."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    route_key: str = "-"


def problem(request_id: str, error: LetheError, route_key: str = "-") -> Answer:
    """The problem document of ``error``, in the form that all answers of Lethe have.

    API Gateway itself would answer ``{"message": …}`` here; on a laptop the contract of the API goes before. No
    function answered, so the id is the gateway's.
    """
    headers = (*problem_headers(error).items(), ("x-request-id", request_id))
    return Answer(error.status, headers, problem_text(error, request_id).encode(), route_key)
