"""Requests made from the OpenAPI document are answered as that document says, well and badly formed ones."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi import checks as openapi_checks

from lethe.entry.openapi import document
from lethe.entry.routes import ROUTES, Route
from tests.support.api import ApiStack

EXAMPLES = 15
CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
]

SCHEMA = schemathesis.openapi.from_dict(document())


@pytest.fixture(scope="module")
def api_stack(own_stack: ApiStack) -> ApiStack:
    return own_stack


def test_the_served_document_is_the_one_that_is_tested(api_stack: ApiStack) -> None:
    assert api_stack.stranger.get("/v1/openapi.json").ok() == document()


@pytest.fixture(scope="module")
def key(api_stack: ApiStack) -> str:
    """A key for two users: one for all of them would sooner or later be told to erase its whole tenant."""
    return api_stack.tenant().api("admin", users=["ann", "bob"]).key or ""


WELL, BADLY = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
CASES = [(route, WELL) for route in ROUTES] + [(route, BADLY) for route in ROUTES if route.permissions]


@pytest.mark.parametrize(("route", "mode"), CASES, ids=lambda value: getattr(value, "key", value))
def test_answers_are_as_documented(api_stack: ApiStack, key: str, route: Route, mode: GenerationMode) -> None:
    operation = SCHEMA[route.path][route.method]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def conforms(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(base_url=api_stack.local.url, headers={"authorization": f"Bearer {key}"}, checks=CHECKS)

    conforms()
