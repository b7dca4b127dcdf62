"""Deletes beside requests that are under way: what was deleted is in no later answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from tests.support.api import Api, ApiStack, Reply

ROUNDS = 12


def at_once(*calls: Callable[[], Reply]) -> list[Reply]:
    """The answers of all calls, begun at the same moment."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Reply]) -> Reply:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


@pytest.mark.parametrize("n", range(ROUNDS))
def test_no_memory_outlives_its_session(api: Api, n: int) -> None:
    api.say("s", "I keep a ledger", user_id="ann")
    message = {"role": "user", "content": f"I bought {n} boats named Marvin in town."}
    deleted, appended = at_once(
        lambda: api.delete("/v1/sessions/s", user_id="ann"),
        lambda: api.post("/v1/sessions/s/messages", {"user_id": "ann", "messages": [message]}),
    )
    assert deleted.status == 204
    assert appended.status in (201, 409), appended.text
    session = api.get("/v1/sessions/s", user_id="ann").status
    memories = api.get("/v1/memories", user_id="ann").ok()["memories"]
    if session == 404:
        assert memories == []
    assert [memory for memory in memories if "ledger" in memory["text"]] == []


@pytest.mark.parametrize("n", range(ROUNDS))
def test_no_repetition_shows_what_was_deleted_meanwhile(api: Api, n: int) -> None:
    memory = api.remember(f"I hide {n} keys under the mat")
    asked = {"user_id": "ann", "query": "Where are the keys?", "threshold": 0}
    deleted, _ = at_once(
        lambda: api.delete(f"/v1/memories/{memory['id']}", user_id="ann"),
        lambda: api.post("/v1/memories/search", asked, idempotency_key="k"),
    )
    assert deleted.status == 204
    again = api.post("/v1/memories/search", asked, idempotency_key="k")
    assert again.status in (200, 410)
    assert "under the mat" not in again.text


def test_no_repetition_shows_an_expired_entity(api: Api, api_stack: ApiStack) -> None:
    soon = (api_stack.local.clock.now() + timedelta(hours=1)).isoformat()
    body = {"user_id": "ann", "value": "1234", "category": "parameter", "expires_at": soon}
    assert api.put("/v1/entities/pin", body, idempotency_key="k").status == 201
    api_stack.local.clock.advance(timedelta(hours=1, seconds=1))
    again = api.put("/v1/entities/pin", body, idempotency_key="k")
    assert again.status == 410
    assert "1234" not in again.text


def test_a_doubled_parameter_is_refused_and_deletes_nothing(api: Api) -> None:
    memory = api.remember("I keep bees")
    target = f"/v1/memories/{memory['id']}?user_id=ann&user_id=ann"
    doubled = api.wire.send("DELETE", target, None, [("authorization", f"Bearer {api.key}")])
    assert doubled.problem(422, "invalid")["errors"] == [{"field": "user_id", "message": "given more than once"}]
    assert api.get(f"/v1/memories/{memory['id']}", user_id="ann").status == 200
