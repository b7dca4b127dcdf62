"""The contract's section on recall."""

from __future__ import annotations

from typing import Any

import pytest

from lethe.domain.tokens import estimate_tokens
from tests.support.api import Api, ApiStack

FIELDS = {
    "context", "memories", "entities", "summary", "messages", "route", "outcome", "degraded", "tokens", "left_out",
}  # fmt: skip


def recall(api: Api, query: str, **more: object) -> dict[str, Any]:
    return api.post("/v1/recall", {"user_id": "ann", "query": query, **more}).ok()


def fill(api: Api) -> None:
    api.put("/v1/entities/city", {"user_id": "ann", "value": "Oslo", "category": "profile"}).ok(201)
    api.remember("My dog Biscuit is allergic to chicken", occurred_at="2024-05-01T10:00:00Z", speaker="Ann")
    api.remember("My sister studies law", occurred_at="2023-05-01T10:00:00Z")
    messages = [{"role": "user", "content": "What may Biscuit eat?"}, {"role": "assistant", "content": "Fish."}]
    api.post("/v1/sessions/s/messages", {"user_id": "ann", "messages": messages}).ok(201)


def test_recall_answers_one_block_and_what_went_into_it(api: Api) -> None:
    fill(api)
    answer = recall(api, "What is the dog Biscuit allergic to?", session_id="s", threshold=0)

    assert answer.keys() == FIELDS
    assert answer["outcome"] == "found"
    assert answer["degraded"] is False
    assert answer["summary"] is None
    assert [m["content"] for m in answer["messages"]] == ["What may Biscuit eat?", "Fish."]
    assert [e["key"] for e in answer["entities"]] == ["city"]
    assert answer["memories"][0]["text"] == "My dog Biscuit is allergic to chicken"
    assert answer["route"].keys() >= {"tiers", "reasons", "summary_due"}
    assert answer["tokens"] == estimate_tokens(answer["context"])


def test_the_block_holds_entities_then_memories_with_dates_then_turns(api: Api) -> None:
    fill(api)
    context = recall(api, "What is the dog Biscuit allergic to?", session_id="s", threshold=0)["context"]
    lines = context.splitlines()

    assert lines[0] == "<memory>"
    assert lines[-1] == "</memory>"
    entity = next(n for n, line in enumerate(lines) if 'city = "Oslo"' in line)
    memory = next(n for n, line in enumerate(lines) if '"My dog Biscuit is allergic to chicken"' in line)
    turn = next(n for n, line in enumerate(lines) if '"What may Biscuit eat?"' in line)
    assert entity < memory < turn
    assert "2024-05-01" in lines[memory]
    assert "2023-05-01" in context


def test_what_found_no_room_is_counted(api: Api) -> None:
    fill(api)
    asked = {"session_id": "s", "threshold": 0}
    whole = recall(api, "What is the dog Biscuit allergic to?", **asked)
    none = recall(api, "What is the dog Biscuit allergic to?", token_budget=50, **asked)

    assert whole["left_out"] == {"entities": 0, "summary": 0, "memories": 0, "messages": 0}
    assert (none["context"], none["outcome"]) == ("", "found")
    assert none["left_out"] == {"entities": 1, "summary": 0, "memories": len(whole["memories"]), "messages": 2}
    for budget in (90, 120, 150):
        part = recall(api, "What is the dog Biscuit allergic to?", token_budget=budget, **asked)
        for name in ("entities", "memories", "messages"):
            assert len(part[name]) + part["left_out"][name] == len(whole[name])


def test_recall_of_nothing_says_so(api: Api) -> None:
    nothing = recall(api, "Where do I live?")
    assert (nothing["outcome"], nothing["context"], nothing["tokens"]) == ("nothing_stored", "", 0)

    api.remember("My sister studies law")

    irrelevant = recall(api, "qwertz uiop", threshold=1)
    assert (irrelevant["outcome"], irrelevant["memories"], irrelevant["context"]) == ("nothing_relevant", [], "")


def test_recall_sees_a_memory_written_a_moment_ago(api: Api) -> None:
    recall(api, "dog")
    api.remember("My dog is called Biscuit")

    assert "Biscuit" in recall(api, "What is my dog called?", threshold=0)["context"]
    api.put("/v1/entities/city", {"user_id": "ann", "value": "Rome", "category": "profile"}).ok(201)
    assert "Rome" in recall(api, "What is my dog called?")["context"]
    api.put("/v1/entities/city", {"user_id": "ann", "value": "Bern", "category": "profile"}).ok(200)
    now = recall(api, "What is my dog called?")["context"]
    assert "Bern" in now
    assert "Rome" not in now


TIERS = ["session", "entities", "memories"]


@pytest.mark.parametrize("tiers", [[tier] for tier in TIERS] + [TIERS[:2], TIERS[1:], TIERS, TIERS[::-1]])
def test_only_the_tiers_asked_for_are_read(api: Api, tiers: list[str]) -> None:
    fill(api)
    answer = recall(api, "What is the dog Biscuit allergic to?", session_id="s", threshold=0, tiers=tiers)

    assert set(answer["route"]["tiers"]) == set(tiers)
    assert answer["route"]["reasons"].keys() == set(TIERS)
    assert bool(answer["memories"]) == ("memories" in tiers)
    assert bool(answer["entities"]) == ("entities" in tiers)
    assert bool(answer["messages"]) == ("session" in tiers)


def test_the_router_says_why(api: Api) -> None:
    fill(api)

    asked = recall(api, "What is the dog Biscuit allergic to?", session_id="s")["route"]
    assert asked["tiers"] == TIERS
    thanks = recall(api, "ok, thanks!")["route"]
    assert "memories" not in thanks["tiers"]
    assert thanks["reasons"]["memories"] == "small_talk"
    assert thanks["reasons"]["session"] == "no_session_named"


@pytest.mark.parametrize("query", ["🦜🦜", "ok, thanks!", "…"])
def test_a_threshold_of_0_finds_the_best_also_for_small_talk(api: Api, query: str) -> None:
    fill(api)
    best = recall(api, query, threshold=0)
    body = {"user_id": "ann", "query": query, "threshold": 0}
    searched = api.post("/v1/memories/search", body).ok()

    assert best["route"]["reasons"]["memories"] == "asks_for_the_best"
    assert best["outcome"] == searched["outcome"] == "found"
    assert [memory["id"] for memory in best["memories"]] == [memory["id"] for memory in searched["memories"]] != []
    assert recall(api, query)["memories"] == []


def test_the_route_says_that_a_summary_is_due(api: Api) -> None:
    api.say("s", *["I like rain"] * 20, remember=False)
    api.say("t", "I like rain", remember=False)

    assert recall(api, "rain", session_id="s")["route"]["summary_due"] is True
    assert recall(api, "rain", session_id="t")["route"]["summary_due"] is False
    assert recall(api, "rain")["route"]["summary_due"] is False


@pytest.mark.parametrize("budget", [50, 51, 80, 120, 300, 1_500, 100_000])
def test_the_token_budget_holds(api: Api, budget: int) -> None:
    for n in range(20):
        api.put(f"/v1/entities/e{n}", {"user_id": "ann", "value": f"value {n}", "category": "parameter"}).ok(201)
    items = [{"text": f"The train number {n} leaves for 北京 at {n} past nine"} for n in range(40)]
    api.post("/v1/memories/batch", {"user_id": "ann", "items": items}).ok()
    api.say("s", *[f"Tell me about train {n}" for n in range(10)], remember=False)

    answer = recall(api, "train number 3", session_id="s", threshold=0, top_k=40, token_budget=budget)

    assert answer["tokens"] == estimate_tokens(answer["context"]) <= budget
    for memory in answer["memories"]:
        assert memory["text"] in answer["context"]
    for entity in answer["entities"]:
        assert f"{entity['key']} = " in answer["context"]
    for message in answer["messages"]:
        assert message["content"] in answer["context"]


def test_what_found_no_room_is_told_by_explain(api: Api) -> None:
    items = [{"text": f"The train number {n} leaves at {n} past nine " + "x" * 200} for n in range(10)]
    api.post("/v1/memories/batch", {"user_id": "ann", "items": items}).ok()

    answer = recall(api, "train number 3", threshold=0, top_k=10, token_budget=150, explain=True)

    dropped = [c for c in answer["explain"] if c["decisions"][-1]["reason"] == "over_budget"]
    assert len(dropped) + len(answer["memories"]) == 10
    assert dropped
    assert answer["memories"]
    assert "explain" not in recall(api, "train number 3")


def test_as_of_and_filters_reach_recall(api: Api) -> None:
    api.remember("I rent a red house", kind="profile", occurred_at="2020-01-01T00:00:00Z")
    api.remember("I rent a blue boat", kind="fact", occurred_at="2024-01-01T00:00:00Z")

    past = recall(api, "What do I rent?", threshold=0, as_of="2021-01-01T00:00:00Z")
    assert [memory["text"] for memory in past["memories"]] == ["I rent a red house"]
    filtered = recall(api, "What do I rent?", threshold=0, filters={"kind": "fact"})
    assert [memory["text"] for memory in filtered["memories"]] == ["I rent a blue boat"]


@pytest.mark.parametrize(
    ("more", "fields"),
    [
        ({"query": ""}, {"query"}),
        ({"query": "q" * 4_097}, {"query"}),
        ({"query": 1}, {"query"}),
        ({"session_id": "a b"}, {"session_id"}),
        ({"top_k": 0}, {"top_k"}),
        ({"top_k": 101}, {"top_k"}),
        ({"threshold": 2}, {"threshold"}),
        ({"token_budget": 0}, {"token_budget"}),
        ({"token_budget": -5}, {"token_budget"}),
        ({"token_budget": 100_001}, {"token_budget"}),
        ({"tiers": []}, {"tiers"}),
        ({"tiers": ["dreams"]}, {"tiers[0]"}),
        ({"tiers": "memories"}, {"tiers"}),
        ({"as_of": "2026-01-01T00:00:00"}, {"as_of"}),
        ({"filters": {"kind": "song"}}, {"filters.kind"}),
        ({"subject": "bob"}, {"subject"}),
    ],
)
def test_a_refused_recall_names_the_field(api: Api, more: dict[str, Any], fields: set[str]) -> None:
    assert set(api.post("/v1/recall", {"user_id": "ann", "query": "x", **more}).fields()) == fields


def test_a_session_that_is_not_there_is_an_empty_tier(api: Api) -> None:
    api.remember("My dog is called Biscuit")

    answer = recall(api, "What is my dog called?", session_id="never", threshold=0)

    assert (answer["messages"], answer["summary"]) == ([], None)
    assert answer["memories"]


def test_recall_answers_with_words_alone_when_the_model_is_away(api: Api, api_stack: ApiStack) -> None:
    api.remember("My dog is called Biscuit")
    with api_stack.embeddings.away():
        answer = recall(api, "What is my dog called?", threshold=0)
        found = api.post("/v1/memories/search", {"user_id": "ann", "query": "dog", "threshold": 0}).ok()
        refused = api.post("/v1/memories", {"user_id": "ann", "text": "My cat is called Miso"})

    assert answer["degraded"] is True
    assert "Biscuit" in answer["context"]
    assert found["degraded"] is True
    refused.problem(503, "unavailable")
    assert int(refused.headers["retry-after"]) >= 1
    assert recall(api, "dog", threshold=0)["degraded"] is False
