"""A subject whose erasure has begun: gone for every reader, closed to every writer."""

from __future__ import annotations

from typing import Any

import pytest

from lethe.domain import ids
from lethe.entry.routes import ROUTES, Route
from tests.support.api import ApiStack, TenantOnStack

BODIES: dict[str, dict[str, Any]] = {
    "append_messages": {"messages": [{"role": "user", "content": "hello"}]},
    "add_memories": {"text": "I live in Rome"},
    "add_batch": {"items": [{"text": "I live in Rome"}]},
    "search_memories": {"query": "x"},
    "recall": {"query": "x"},
    "put_entity": {"value": 1, "category": "profile"},
    "change_memory": {"version": 1, "pinned": True},
}


DELETES = ("delete_memory", "delete_session")


@pytest.mark.parametrize("state", ["erasing", "erased"])
def test_writes_are_410_and_reads_404(api_stack: ApiStack, tenant: TenantOnStack, state: str) -> None:
    api = tenant.admin
    memory_id = api.remember("I live in Oslo")["id"]
    api.say("s", "I like rain")
    fact = {"user_id": "ann", "value": 1, "category": "profile"}
    api.put("/v1/entities/k", fact, idempotency_key="i-1").ok(201)

    api_stack.set_subject_state(tenant.name, "ann", state)

    for route in ROUTES:
        if not route.permissions or (route.function == "govern" and route.operation not in DELETES):
            continue  # what governs speaks about subjects that are gone
        path = route.path.format(id=memory_id, session_id="s", key="k", user_id="ann")
        answer = api.send(route.method, path, _body(route), {"user_id": "ann"} if route.query else None)
        if route.operation == "describe_subject" and state == "erasing":
            assert answer.ok()["state"] == "erasing"
        elif route.function == "write" or route.operation in DELETES:
            answer.problem(410, "erased")
        else:
            answer.problem(404, "not_found")
    api.put("/v1/entities/k", fact, idempotency_key="i-1").problem(410, "erased")
    other = api.get(f"/v1/memories/{ids.MEMORY}01ARZ3NDEKTSV4RRFFQ69G5FAV", user_id="bob").problem(404, "not_found")
    gone = api.get(f"/v1/memories/{memory_id}", user_id="ann").problem(404, "not_found")
    assert gone | {"request_id": ""} == other | {"request_id": ""}


def _body(route: Route) -> dict[str, Any] | None:
    return None if route.body is None else {"user_id": "ann", **BODIES.get(route.operation, {})}
