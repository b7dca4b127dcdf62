"""What goes in and out of the gateway, apart from sockets: one request, one answer, problem documents."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from lethe.errors import FieldError, LetheError


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


def problem(
    request_id: str,
    error: LetheError,
    *,
    headers: Sequence[tuple[str, str]] = (),
    errors: Sequence[FieldError] = (),
    route_key: str = "-",
) -> Answer:
    """The problem document (RFC 9457) of ``error``, in the one form that all answers of Lethe have.

    API Gateway itself would answer ``{"message": …}`` here; on a laptop the contract of the API goes before.
    """
    document: dict[str, object] = {
        "type": "about:blank",
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
        "request_id": request_id,
        "errors": [{"field": item.field, "message": item.message} for item in errors],
    }
    body = json.dumps(document).encode()
    content = ("content-type", "application/problem+json")
    return Answer(error.status, (content, *headers), body, route_key)
