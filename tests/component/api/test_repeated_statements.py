"""When a statement is the same as one that is stored, and when it is a new one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from lethe.domain.times import to_rfc3339
from tests.support.api import Api, ApiStack

TEXT = "I am on holiday"
USER = {"user_id": "ann"}


def say(api: Api, **fields: object) -> tuple[str, str]:
    answer = api.post("/v1/memories", {"user_id": "ann", "text": TEXT, **fields})
    assert answer.status in (200, 201), answer.text
    (result,) = answer.json["results"]
    return result["event"], result["memory"]["id"]


def found(api: Api) -> list[dict[str, Any]]:
    asked = {"user_id": "ann", "query": TEXT, "threshold": 0}
    memories: list[dict[str, Any]] = api.post("/v1/memories/search", asked).ok()["memories"]
    return memories


def test_what_has_ended_is_stored_again_when_it_is_said_again(api: Api, api_stack: ApiStack) -> None:
    until = to_rfc3339(api_stack.now() + timedelta(days=2))
    event, first = say(api, valid_until=until)
    assert (event, say(api, valid_until=until)) == ("stored", ("duplicate", first))

    api_stack.local.clock.advance(timedelta(days=2, seconds=1))
    assert found(api) == []
    event, second = say(api)

    assert event == "stored"
    assert [memory["id"] for memory in found(api)] == [second]
    later = to_rfc3339(api_stack.now() + timedelta(days=2))
    assert say(api, valid_until=later)[0] == "stored"
    assert api.get(f"/v1/memories/{first}", **USER).ok()["status"] == "archived"


def test_the_beginning_that_was_named_is_part_of_a_statement(api: Api) -> None:
    january, march = {"valid_from": "2024-01-01T00:00:00Z"}, {"valid_from": "2024-03-01T00:00:00Z"}

    first = say(api, **january)
    assert [first[0], say(api, **march)[0], say(api)[0]] == ["stored"] * 3
    assert say(api, valid_from="2024-01-01T01:00:00+01:00") == ("duplicate", first[1])


def test_a_memory_whose_end_was_changed_is_another_statement(api: Api, api_stack: ApiStack) -> None:
    _, memory_id = say(api, occurred_at="2024-01-01T00:00:00Z")
    path, until = f"/v1/memories/{memory_id}", "2024-02-01T00:00:00Z"
    api.patch(path, {"user_id": "ann", "version": 1, "valid_until": until}).ok()

    event, again = say(api, occurred_at="2024-01-01T00:00:00Z")
    assert event == "stored"
    assert say(api, occurred_at="2024-01-01T00:00:00Z", valid_until=until) == ("duplicate", memory_id)
    api.patch(path, {"user_id": "ann", "version": 2, "valid_until": None}).problem(409, "conflict")

    api.delete(f"/v1/memories/{again}", **USER).ok(204)
    api.patch(path, {"user_id": "ann", "version": 2, "valid_until": None}).ok()
    assert say(api, occurred_at="2024-01-01T00:00:00Z") == ("duplicate", memory_id)
    api.delete(path, **USER).ok(204)
    assert say(api, occurred_at="2024-01-01T00:00:00Z")[0] == "stored"
