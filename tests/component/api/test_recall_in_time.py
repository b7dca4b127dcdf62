"""Recall tells the values that hold at the moment that is asked about."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from lethe.domain.times import to_rfc3339
from tests.support.api import Api, ApiStack, moment

SECOND = timedelta(seconds=1)


def put(api: Api, value: str, *, key: str = "city", **fields: object) -> dict[str, Any]:
    reply = api.put(f"/v1/entities/{key}", {"user_id": "ann", "value": value, "category": "profile", **fields})
    assert reply.status in (200, 201), reply.text
    return reply.json


def told(api: Api, as_of: datetime | None = None, **more: object) -> tuple[str, list[str]]:
    """The outcome and the values; the block says the same."""
    asked = {"user_id": "ann", "query": "Where do I live?", "tiers": ["entities"], **more}
    answer = api.post("/v1/recall", asked | ({"as_of": to_rfc3339(as_of)} if as_of else {})).ok()
    values = [entity["value"] for entity in answer["entities"]]
    assert all(f'"{value}"' in answer["context"] for value in values)
    assert answer["context"].count(" = ") == len(values)
    return answer["outcome"], values


def test_a_value_that_begins_later_is_told_from_then_on(api: Api, api_stack: ApiStack) -> None:
    begins = api_stack.now() + timedelta(days=30)
    put(api, "Rome", valid_from=to_rfc3339(begins))

    assert told(api) == ("nothing_relevant", [])
    assert told(api, begins) == ("found", ["Rome"])
    assert api.get("/v1/entities/city", user_id="ann").ok()["value"] == "Rome"
    assert [e["value"] for e in api.get("/v1/entities", user_id="ann").ok()["entities"]] == ["Rome"]

    api_stack.local.clock.advance(begins - api_stack.now() + SECOND)
    assert told(api) == ("found", ["Rome"])


def test_until_then_the_value_before_it_holds(api: Api, api_stack: ApiStack) -> None:
    begins = api_stack.now() + timedelta(days=30)
    put(api, "Oslo")
    assert told(api) == ("found", ["Oslo"])
    put(api, "Rome", valid_from=to_rfc3339(begins))

    assert told(api) == ("found", ["Oslo"])
    assert told(api) == ("found", ["Oslo"])
    assert told(api, begins) == ("found", ["Rome"])
    api_stack.local.clock.advance(begins - api_stack.now() + SECOND)
    assert told(api) == ("found", ["Rome"])
    api.delete("/v1/entities/city", user_id="ann").ok(204)
    assert told(api)[1] == []


def test_as_of_tells_the_value_of_that_time(api: Api, api_stack: ApiStack) -> None:
    oslo = put(api, "Oslo", valid_from="2024-01-01T00:00:00Z")
    api_stack.local.clock.advance(timedelta(days=1))
    rome = put(api, "Rome")
    api_stack.local.clock.advance(timedelta(days=1))
    put(api, "Bern")
    assert told(api) == ("found", ["Bern"])

    begins = moment(rome["valid_from"])
    assert told(api, begins) == ("found", ["Rome"])
    assert told(api, begins - SECOND) == ("found", ["Oslo"])
    assert told(api, moment(oslo["valid_from"])) == ("found", ["Oslo"])
    assert told(api, moment(oslo["valid_from"]) - SECOND) == ("nothing_relevant", [])


def test_a_value_of_the_session_stands_before_the_subjects_once_it_holds(api: Api, api_stack: ApiStack) -> None:
    begins = api_stack.now() + timedelta(days=1)
    put(api, "Oslo")
    put(api, "Rome", session_id="s", valid_from=to_rfc3339(begins))

    assert told(api, session_id="s", tiers=["entities"]) == ("found", ["Oslo"])
    assert told(api, begins, session_id="s", tiers=["entities"]) == ("found", ["Rome"])
    assert told(api, begins) == ("found", ["Oslo"])


def test_the_block_says_when_a_memory_begins_to_hold(api: Api) -> None:
    api.remember("I live in Rome", occurred_at="2024-05-01T10:00:00Z", valid_from="2025-01-01T00:00:00Z")
    asked = {"user_id": "ann", "query": "Where do I live?", "threshold": 0}

    assert '2024-05-01, from 2025-01-01: "I live in Rome"' in api.post("/v1/recall", asked).ok()["context"]
