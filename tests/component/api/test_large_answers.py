"""Answers that would be larger than the gateway carries: shorter pages, never a server error."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api import Api, ApiStack


@pytest.fixture(scope="module")
def api_stack(own_stack: ApiStack) -> ApiStack:
    return own_stack


def test_a_page_of_messages_ends_before_it_is_too_large(api: Api) -> None:
    message = {"role": "assistant", "content": "x" * 32_768}
    for _ in range(3):
        body = {"user_id": "ann", "remember": False, "messages": [message] * 90}
        api.post("/v1/sessions/s/messages", body).ok(201)

    found: list[int] = []
    query: dict[str, Any] = {"user_id": "ann", "order": "asc", "limit": 200}
    while True:
        page = api.get("/v1/sessions/s/messages", **query).ok()
        assert page["messages"]
        found += [message["sequence"] for message in page["messages"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert found == list(range(1, 271))


def test_the_newest_turns_are_cut_before_they_are_too_large(api: Api) -> None:
    messages = [{"role": "user", "content": "x" * 32_768}] + [{"role": "assistant", "content": "\x01" * 16_000}] * 40
    for _ in range(3):
        api.post("/v1/sessions/s/messages", {"user_id": "ann", "remember": False, "messages": messages}).ok(201)

    window = api.get("/v1/sessions/s/messages", user_id="ann", turns=3).ok()

    sequences = [message["sequence"] for message in window["messages"]]
    assert window["truncated"]
    assert sequences == list(range(sequences[0], 124))

    api.say("s", "one more turn", remember=False)
    while window["next_cursor"] is not None:
        older: dict[str, Any] = {"user_id": "ann", "cursor": window["next_cursor"]}
        api.get("/v1/sessions/s/messages", order="asc", **older).problem(400, "invalid_cursor")
        window = api.get("/v1/sessions/s/messages", **older).ok()
        assert window["messages"]
        assert window["truncated"] is (window["next_cursor"] is not None)
        sequences = [message["sequence"] for message in window["messages"]] + sequences
    assert sequences == list(range(1, 124))


def test_what_is_left_of_the_newest_turns_ends_with_them(api: Api) -> None:
    turn = [{"role": "user", "content": "\x01" * 32_768}, {"role": "assistant", "content": "\x01" * 32_768}] * 5
    for _ in range(3):
        api.post("/v1/sessions/s/messages", {"user_id": "ann", "remember": False, "messages": turn}).ok(201)

    window = api.get("/v1/sessions/s/messages", user_id="ann", turns=14).ok()
    sequences = [message["sequence"] for message in window["messages"]]
    while window["next_cursor"] is not None:
        window = api.get("/v1/sessions/s/messages", user_id="ann", cursor=window["next_cursor"]).ok()
        sequences = [message["sequence"] for message in window["messages"]] + sequences
    assert sequences == list(range(3, 31))


def test_a_page_of_entities_ends_before_it_is_too_large(api: Api) -> None:
    for n in range(110):
        body = {"user_id": "ann", "value": "x" * 65_000, "category": "parameter"}
        api.put(f"/v1/entities/e-{n:03}", body).ok(201)

    found: list[str] = []
    query: dict[str, Any] = {"user_id": "ann", "limit": 200}
    while True:
        page = api.get("/v1/entities", **query).ok()
        found += [entity["key"] for entity in page["entities"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert found == [f"e-{n:03}" for n in range(110)]


def test_a_long_history_is_answered(api: Api) -> None:
    for n in range(100):
        body = {"user_id": "ann", "value": [n, "x" * 65_000], "category": "parameter"}
        api.put("/v1/entities/big", body)

    first = api.get("/v1/entities/big/history", user_id="ann").ok()
    versions = [version["version"] for version in first["versions"]]
    cursor = first["next_cursor"]
    while cursor is not None:
        more = api.get("/v1/entities/big/history", user_id="ann", cursor=cursor).ok()
        versions += [version["version"] for version in more["versions"]]
        cursor = more["next_cursor"]

    assert versions == list(range(1, 101))


@pytest.mark.parametrize("explain", [True, False])
def test_a_search_over_texts_full_of_escapes_is_answered(api: Api, explain: bool) -> None:
    items = [{"text": f"{n} " + "\x01" * 1_900, "metadata": {"a": "\x01" * 600}} for n in range(600)]
    for start in range(0, 600, 200):
        api.post("/v1/memories/batch", {"user_id": "ann", "items": items[start : start + 200]}).ok()
    body = {"user_id": "ann", "query": "7", "threshold": 0, "top_k": 100, "explain": explain}

    found = api.post("/v1/memories/search", body).ok()

    assert len(found["memories"]) == 100


def test_a_page_of_memories_full_of_escapes_is_answered(api: Api) -> None:
    items = [{"text": f"{n} " + "\x01" * 1_900, "metadata": {"a": "\x01" * 600}} for n in range(200)]
    api.post("/v1/memories/batch", {"user_id": "ann", "items": items}).ok()

    assert len(api.get("/v1/memories", user_id="ann", limit=200).ok()["memories"]) == 200
