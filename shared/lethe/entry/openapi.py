"""The OpenAPI document, made from the routes and the models that validate requests and shape answers."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Final, TypeAlias, cast

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from lethe import __version__
from lethe.entry.api.memories import BatchItem
from lethe.entry.api.types import CLIENT_ID
from lethe.entry.idempotency import REPLAYED_HEADER
from lethe.entry.problems import CONTENT_TYPE
from lethe.entry.routes import ROUTES, Route

Node: TypeAlias = dict[str, "Json"]
Json: TypeAlias = "bool | int | float | str | list[Json] | Node | None"

_REF: Final = "#/components/schemas/{model}"
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
_CLIENT_ID: Final[Node] = {"type": "string", "pattern": f"^{CLIENT_ID}$"}
_PATH_SCHEMAS: Final[dict[str, Node]] = {
    "session_id": _CLIENT_ID,
    "key": _CLIENT_ID,
    "name": _CLIENT_ID,
    "id": {"type": "string", "pattern": "^(mem|er)_[0-7][0-9A-HJKMNP-TV-Z]{25}$"},
    "user_id": {"type": "string", "minLength": 1, "maxLength": 256},
}
_PROBLEM: Final[Node] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "request_id", "errors"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "request_id": {"type": "string"},
        "current_version": {"type": "integer"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}


@cache
def document() -> Node:
    """The document as JSON-able data, made once; treat it as read-only."""
    schemas = _schemas()
    paths: Node = {}
    for route in ROUTES:
        item = cast(Node, paths.setdefault(route.path, {}))
        item[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Lethe",
            "version": __version__,
            "description": "Agent memory that you can prove forgotten.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key: lk_<key id>_<secret>"}
            },
            "schemas": {**schemas, "Problem": _PROBLEM},
        },
    }


@cache
def document_text() -> str:
    """The document as JSON text."""
    return json.dumps(document(), ensure_ascii=False)


def _schemas() -> Node:
    bodies = [route.body for route in ROUTES if route.body is not None] + [BatchItem]
    queries = [route.query for route in ROUTES if route.query is not None]
    answers = [model for route in ROUTES for model in route.answers.values() if model is not None]
    wanted: list[tuple[type[BaseModel], str]] = [(model, "validation") for model in dict.fromkeys(bodies + queries)]
    wanted += [(model, "serialization") for model in dict.fromkeys(answers)]
    _, definitions = models_json_schema(wanted, ref_template=_REF)  # type: ignore[arg-type]  # the modes are literals
    return cast(Node, definitions["$defs"])


def _operation(route: Route, schemas: Node) -> Node:
    operation: Node = {
        "operationId": route.operation,
        "summary": route.summary,
        "parameters": [*_path_parameters(route), *_query_parameters(route, schemas), *_header_parameters(route)],
        "responses": _responses(route),
    }
    if not route.permissions:
        operation["security"] = []
    else:
        needs = "Needs the permission " + " or ".join(f"`{p}`" for p in route.permissions) + "."
        operation["description"] = f"{needs} {route.notes}".rstrip()
    if route.body is not None:
        operation["requestBody"] = {
            "required": True,
            "description": f"At most {route.most_bytes:,} bytes; no object names a member twice.",
            "content": {"application/json": {"schema": {"$ref": _REF.format(model=route.body.__name__)}}},
        }
    return operation


def _path_parameters(route: Route) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS[name]}
        for name in _PLACEHOLDER.findall(route.path)
    ]


def _query_parameters(route: Route, schemas: Node) -> list[Json]:
    if route.query is None:
        return []
    schema = cast(Node, schemas[route.query.__name__])
    required = cast(list[Json], schema.get("required", []))
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(cast(Node, field))}
        for name, field in cast(Node, schema["properties"]).items()
    ]


def _without_null(field: Node) -> Node:
    """A query parameter is absent rather than null."""
    choices = field.get("anyOf")
    if not isinstance(choices, list):
        return field
    left = [choice for choice in choices if choice != {"type": "null"}]
    rest: Node = {name: value for name, value in field.items() if name not in ("anyOf", "default")}
    return {**rest, **cast(Node, left[0])} if len(left) == 1 else {**rest, "anyOf": left}


def _header_parameters(route: Route) -> list[Json]:
    headers: list[Json] = []
    if route.permissions and route.method in ("POST", "PUT", "PATCH"):
        headers.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": f"The same key and body (as JSON: whatever the order of its names and its white space) "
                f"within 24 h get the first answer, with {REPLAYED_HEADER}: true. Errors are not kept.",
                "schema": {"type": "string", "pattern": "^[\\x21-\\x7e]{1,128}$"},
            }
        )
    if route.versioned:
        headers.append(
            {
                "name": "If-Match",
                "in": "header",
                "required": False,
                "description": "The version that you saw, in quotes.",
                "schema": {"type": "string", "pattern": '^"(0|[1-9][0-9]{0,8})"$'},
            }
        )
    return headers


def _responses(route: Route) -> Node:
    responses: Node = {}
    for status, model in route.answers.items():
        response: Node = {"description": _DESCRIPTIONS[status]}
        if model is not None:
            response["content"] = {"application/json": {"schema": {"$ref": _REF.format(model=model.__name__)}}}
        elif route.path == "/docs":
            response["content"] = {"text/html": {"schema": {"type": "string"}}}
        elif status == 200:
            response["content"] = {"application/json": {"schema": {"type": "object"}}}
        responses[str(status)] = response
    if route.permissions:
        problem: Node = {"schema": {"$ref": _REF.format(model="Problem")}}
        for status in _possible_problems(route):
            responses[str(status)] = {"description": _DESCRIPTIONS[status], "content": {CONTENT_TYPE: problem}}
    return responses


def _possible_problems(route: Route) -> list[int]:
    statuses = [400, 401, 403, 404, 422, 429, 431, 503]
    if route.body is not None:
        statuses += [413, 415]
    if route.method != "GET":
        # Also where it deletes: a hold may keep what is meant, and a user or a whole tenant may be erased.
        statuses += [409, 410]
    if route.versioned:
        statuses.append(412)
    return sorted(statuses)


_DESCRIPTIONS: Final = {
    200: "Done",
    201: "Something was stored",
    202: "It has begun, and goes on by itself",
    204: "Done; there is nothing to say",
    400: "JSON, cursor or header cannot be read",
    401: "No key, or an unknown or revoked one",
    403: "The key lacks the permission, or does not cover the user",
    404: "Missing, foreign, expired or erased",
    409: "The first request with this idempotency key still runs, or the state does not allow this",
    410: "The subject was erased, or what the first answer to this request showed is deleted or expired",
    412: "The version is no longer current",
    413: "Too large",
    415: "The body is not declared as JSON",
    422: "Understood and refused; errors names each field",
    429: "Too many requests; Retry-After says when to try again",
    431: "Request line and headers are over 10,240 bytes together",
    503: "A part of the service does not answer; Retry-After says when to try again",
}
