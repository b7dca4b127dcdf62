"""Between the authorizer function and the others: the caller, as the context that API Gateway carries.

The authorizer lets every request through and says in the context whether it is authenticated, since an HTTP API
cannot shape its own refusals: the functions answer 401 as a problem document (docs/adr/0005).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from lethe.domain.identity import Caller, Permission
from lethe.domain.json_values import JsonObject, JsonValue
from lethe.entry.events import Event, LambdaContext
from lethe.errors import Throttled, Unavailable


class AuthorizerAnswer(TypedDict):
    """The simple response of an HTTP API's Lambda authorizer, format 2.0."""

    isAuthorized: bool
    context: JsonObject


Authenticate = Callable[[str], Caller | None]


class Authorizer:
    """Answers the gateway's question who is calling."""

    def __init__(self, authenticate: Authenticate) -> None:
        self._authenticate = authenticate

    def __call__(self, event: Event, context: LambdaContext) -> AuthorizerAnswer:
        """Who presents the key in ``Authorization: Bearer``; when the store does not answer, that is said instead."""
        header = (event.get("headers") or {}).get("authorization", "")
        scheme, _, presented = header.partition(" ")
        try:
            caller = self._authenticate(presented.strip()) if scheme.lower() == "bearer" else None
        except (Unavailable, Throttled):
            return {"isAuthorized": True, "context": {"authenticated": False, "unavailable": True}}
        return {"isAuthorized": True, "context": _context(caller)}


def _context(caller: Caller | None) -> JsonObject:
    if caller is None:
        return {"authenticated": False}
    return {
        "authenticated": True,
        "tenant": caller.tenant,
        "actor": caller.actor,
        "permissions": " ".join(sorted(caller.permissions)),
        "subjects": " ".join(caller.subjects),
        "key": caller.key_id,
        **({"fenced": True} if caller.fenced else {}),
    }


def caller_of(event: Event) -> Caller | None:
    """The caller that the authorizer found; None when it found none. Anything malformed counts as none.

    Raises Unavailable when the authorizer could not look.
    """
    authorizer = event.get("requestContext", {}).get("authorizer") or {}
    found = authorizer.get("lambda")
    if isinstance(found, dict) and found.get("unavailable") is True:
        raise Unavailable
    if not isinstance(found, dict) or found.get("authenticated") is not True:
        return None
    tenant, actor, key = (_text(found.get(name)) for name in ("tenant", "actor", "key"))
    permissions, subjects = _text(found.get("permissions")), _text(found.get("subjects"))
    if not (tenant and actor and key and permissions and subjects):
        return None
    fenced = "fenced" in found
    try:
        granted = frozenset(map(Permission, permissions.split()))
        return Caller(tenant, actor, granted, tuple(subjects.split()), key, fenced)
    except ValueError:
        return None


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
