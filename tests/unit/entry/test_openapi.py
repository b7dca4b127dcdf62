"""The OpenAPI document agrees with the routes, and with what the models take and refuse."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import jsonschema  # type: ignore[import-untyped]  # it has no types of its own
import pytest
from pydantic import BaseModel, ValidationError

from lethe.domain import ids
from lethe.entry.api.entities import PutEntity
from lethe.entry.api.memories import AddMemories, BatchItem, ChangeMemory, SearchMemories
from lethe.entry.api.recall import RecallMemory
from lethe.entry.api.sessions import AppendMessages
from lethe.entry.openapi import document, document_text
from lethe.entry.routes import ROUTES, Route

DOCUMENT = cast(dict[str, Any], document())


def operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][route.path][route.method.lower()]
    return found


def test_every_route_is_described_once() -> None:
    described = {(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item}

    assert described == {(route.method, route.path) for route in ROUTES}
    names = [operation(route)["operationId"] for route in ROUTES]
    assert len(set(names)) == len(names)


def test_every_reference_leads_somewhere() -> None:
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', document_text()))

    assert references <= DOCUMENT["components"]["schemas"].keys()
    assert references


def test_the_document_is_json_and_says_which_version_of_openapi() -> None:
    assert json.loads(document_text()) == DOCUMENT
    assert DOCUMENT["openapi"].startswith("3.1.")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
def test_an_operation_says_what_it_needs_and_answers(route: Route) -> None:
    described = operation(route)
    placeholders = set(re.findall(r"\{(\w+)\}", route.path))
    parameters = {(one["in"], one["name"]): one for one in described["parameters"]}

    assert {name for place, name in parameters if place == "path"} == placeholders
    assert {name for place, name in parameters if place == "query"} == set(
        route.query.model_fields if route.query else ()
    )
    assert ("header", "If-Match") in parameters if route.versioned else ("header", "If-Match") not in parameters
    takes_key = bool(route.permissions) and route.method in ("POST", "PUT", "PATCH")
    assert (("header", "Idempotency-Key") in parameters) is takes_key
    assert {str(status) for status in route.answers} <= described["responses"].keys()
    if route.permissions:
        assert {"400", "401", "403", "404", "422", "429", "503"} <= described["responses"].keys()
        for status in ("401", "422", "503"):
            assert described["responses"][status]["content"].keys() == {"application/problem+json"}
    else:
        assert described["security"] == []
    assert ("requestBody" in described) is (route.body is not None)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("id", ids.MEMORY + "01ARZ3NDEKTSV4RRFFQ69G5FAV", "mem_x"),
        ("session_id", "A.b_c:d-9", "a b"),
        ("key", "x" * 128, "x" * 129),
    ],
)
def test_path_parameters_have_patterns(name: str, good: str, bad: str) -> None:
    for route in ROUTES:
        for parameter in operation(route)["parameters"]:
            if parameter["in"] == "path" and parameter["name"] == name:
                assert re.search(parameter["schema"]["pattern"], good)
                assert not re.search(parameter["schema"]["pattern"], bad)


MESSAGE = {"role": "user", "content": "x"}
BODIES: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (AddMemories, {"text": "x"}),
    (AddMemories, {"messages": [MESSAGE]}),
    (AddMemories, {"text": "x", "user_id": "ann", "kind": "fact", "confidence": 0, "metadata": {"a": [None]}}),
    (AddMemories, {"text": "x" * 2_001}),
    (AddMemories, {"text": ""}),
    (AddMemories, {}),
    (AddMemories, {"text": "x", "messages": [MESSAGE]}),
    (AddMemories, {"text": None, "messages": [MESSAGE]}),
    (AddMemories, {"text": 1}),
    (AddMemories, {"text": "x", "kind": "song"}),
    (AddMemories, {"text": "x", "confidence": 1.5}),
    (AddMemories, {"text": "x", "colour": "red"}),
    (AddMemories, {"text": "x", "user_id": ""}),
    (AddMemories, {"text": "x", "session_id": "a b"}),
    (AddMemories, {"messages": []}),
    (AddMemories, {"messages": [MESSAGE] * 101}),
    (AddMemories, {"messages": [{"role": "robot", "content": "x"}]}),
    (BatchItem, {"text": "x"}),
    (BatchItem, {}),
    (ChangeMemory, {"version": 1, "pinned": True}),
    (ChangeMemory, {"version": 1}),
    (ChangeMemory, {"version": 1, "valid_until": None}),
    (ChangeMemory, {"version": -1, "pinned": True}),
    (ChangeMemory, {"version": 1, "pinned": "yes"}),
    (SearchMemories, {"query": "x"}),
    (SearchMemories, {"query": "x", "user_id": "a\nb"}),
    (SearchMemories, {"query": "q" * 4_097}),
    (SearchMemories, {"query": ""}),
    (SearchMemories, {"query": "x", "top_k": 101}),
    (SearchMemories, {"query": "x", "top_k": 0}),
    (SearchMemories, {"query": "x", "threshold": -0.1}),
    (SearchMemories, {"query": "x", "filters": {"kind": ["fact", "episode"]}}),
    (SearchMemories, {"query": "x", "filters": {"kind": 1}}),
    (RecallMemory, {"query": "x", "tiers": ["memories"]}),
    (RecallMemory, {"query": "x", "tiers": []}),
    (RecallMemory, {"query": "x", "token_budget": 49}),
    (PutEntity, {"value": None, "category": "profile"}),
    (PutEntity, {"category": "profile"}),
    (PutEntity, {"value": 1, "category": "song"}),
    (AppendMessages, {"messages": [MESSAGE], "ttl_seconds": 1_800}),
    (AppendMessages, {"messages": [MESSAGE], "ttl_seconds": 1_799}),
    (AppendMessages, {"messages": [MESSAGE], "remember": 1}),
]


@pytest.mark.parametrize(("model", "body"), BODIES, ids=[str(n) for n in range(len(BODIES))])
def test_the_schema_takes_and_refuses_what_the_service_does(model: type[BaseModel], body: dict[str, Any]) -> None:
    try:
        model.model_validate_json(json.dumps(body))
        taken = True
    except ValidationError:
        taken = False
    schema = {"$ref": f"#/components/schemas/{model.__name__}", "components": DOCUMENT["components"]}

    assert jsonschema.Draft202012Validator(schema).is_valid(body) is taken


def test_validity_and_empty_filters_are_described() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for model in ("AddMemories", "BatchItem"):
        assert "begins later is `current` and found" in schemas[model]["properties"]["valid_from"]["description"]
        assert "reads as `archived`" in schemas[model]["properties"]["valid_until"]["description"]
    assert "`null` takes the end away" in schemas["ChangeMemory"]["properties"]["valid_until"]["description"]
    filters = schemas["SearchFilters"]["properties"]
    for name in ("kind", "status", "origin"):
        assert "mpty list" in filters[name]["description"]


def test_a_deletion_says_what_goes_with_it() -> None:
    described = DOCUMENT["paths"]["/v1/sessions/{session_id}"]["delete"]["description"]
    assert "Needs the permission" in described
    assert "stored with its `session_id`" in described
