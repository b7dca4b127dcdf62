"""The contract's section on memories."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.api import Api, ApiStack, moment

MEMORY_FIELDS = {
    "id", "user_id", "text", "kind", "speaker", "occurred_at", "status", "confidence", "language", "metadata", "source",
    "valid_from", "valid_until", "created_at", "updated_at", "version", "heat", "pinned", "frozen", "derived_from",
}  # fmt: skip
KINDS = ["profile", "preference", "decision", "fact", "commitment", "episode", "summary"]
ORIGINS = ["user", "agent", "tool", "import", "admin"]
MISSING = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV"
USER = {"user_id": "ann"}


def search(api: Api, query: str, **more: object) -> dict[str, Any]:
    return api.post("/v1/memories/search", {"user_id": "ann", "query": query, "threshold": 0, **more}).ok()


def texts(found: dict[str, Any]) -> list[str]:
    return [memory["text"] for memory in found["memories"]]


def test_an_explicit_text_is_stored_as_it_is(api: Api) -> None:
    for text in (
        "Is this a question?",
        "ok",
        "  spaced\ttext  ",
        "多謝",
        "\U0001f98a",
        "a\x00b",
        "x" * 2_000,
        "漢" * 2_000,
    ):
        answer = api.post("/v1/memories", {"user_id": "ann", "text": text}).ok(201)
        (result,) = answer["results"]
        assert (result["event"], result["memory"]["text"], result["replaces"]) == ("stored", text, [])
        assert result["reason"]
        assert result["detail"]
        assert api.get(f"/v1/memories/{result['memory']['id']}", **USER).ok()["text"] == text


def test_a_memory_has_all_fields_of_the_contract(api: Api, api_stack: ApiStack) -> None:
    memory = api.remember("I live in Oslo")
    now = api_stack.now()

    assert memory.keys() >= MEMORY_FIELDS
    assert memory["source"].keys() >= {"session_id", "message_ids", "actor", "origin"}
    assert memory["status"] == "current"
    assert memory["language"] == "en"
    assert memory["kind"] == "fact"
    assert (memory["version"], memory["pinned"], memory["frozen"], memory["derived_from"]) == (1, False, False, [])
    assert (memory["source"]["session_id"], memory["source"]["message_ids"]) == (None, [])
    assert memory["source"]["origin"] == "user"
    assert memory["source"]["actor"]
    for name in ("occurred_at", "valid_from", "created_at", "updated_at"):
        assert timedelta() <= now - moment(memory[name]) < timedelta(minutes=1)
    assert memory["valid_until"] is None


def test_what_is_said_about_a_statement_is_kept(api: Api) -> None:
    fields: dict[str, Any] = {
        "kind": "commitment",
        "confidence": 0.75,
        "session_id": "s-7",
        "speaker": "Tom",
        "occurred_at": "2024-05-01T10:00:00.000000Z",
        "metadata": {"tags": ["a", "b"], "n": 1.5, "deep": {"漢": None, "t": True}},
        "valid_from": "2024-06-01T00:00:00.000000Z",
        "valid_until": "2044-06-01T00:00:00.000000Z",
    }
    memory = api.remember("I will call my mother", origin="agent", **fields)

    assert {name: memory[name] for name in fields if name != "session_id"} == {
        name: value for name, value in fields.items() if name != "session_id"
    }
    assert memory["source"]["session_id"] == "s-7"
    assert memory["source"]["origin"] == "agent"
    assert api.get(f"/v1/memories/{memory['id']}", **USER).ok() == memory


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("origin", ORIGINS)
def test_kinds_and_origins(api: Api, kind: str, origin: str) -> None:
    memory = api.remember("I like rye bread", kind=kind, origin=origin)

    assert (memory["kind"], memory["source"]["origin"]) == (kind, origin)


def test_201_when_something_was_stored_else_200(api: Api) -> None:
    first = api.post("/v1/memories", {"user_id": "ann", "text": "I ski"}).ok(201)["results"][0]
    again = api.post("/v1/memories", {"user_id": "ann", "text": "I ski"}).ok(200)["results"][0]
    small_talk = {"user_id": "ann", "messages": [{"role": "user", "content": "ok, thanks!"}]}
    dropped = api.post("/v1/memories", small_talk).ok(200)["results"][0]

    assert again["event"] == "duplicate"
    assert again["memory"]["id"] == first["memory"]["id"]
    assert (dropped["event"], dropped["reason"], dropped["memory"]) == ("dropped", "small_talk", None)
    assert len(api.get("/v1/memories", **USER).ok()["memories"]) == 1


def test_the_controller_takes_statements_from_messages(api: Api) -> None:
    messages = [
        {"role": "user", "content": "My dog is called Biscuit. What should he eat?", "name": "Ann"},
        {"role": "assistant", "content": "Fish is fine for Biscuit."},
        {"role": "user", "content": "When does the shop open?"},
        {"role": "user", "content": "我住在上海。", "created_at": "2024-05-01T10:00:00Z"},
    ]
    results = api.post("/v1/memories", {"user_id": "ann", "session_id": "s", "messages": messages}).ok(201)["results"]

    assert [result["event"] for result in results] == ["stored", "dropped", "stored"]
    assert [result["reason"] for result in results] == ["stated_by_user", "question", "stated_by_user"]
    first, last = results[0]["memory"], results[2]["memory"]
    assert (first["text"], first["speaker"]) == ("My dog is called Biscuit.", "Ann")
    assert (last["text"], last["language"]) == ("我住在上海。", "zh")
    assert last["occurred_at"] == "2024-05-01T10:00:00.000000Z"
    assert first["source"]["session_id"] == "s"
    assert len(first["source"]["message_ids"]) == 1
    assert first["confidence"] > 0.8


def test_what_is_said_beside_messages_holds_for_all_of_them(api: Api) -> None:
    body = {
        "user_id": "ann",
        "messages": [
            {"role": "user", "content": "I own a red boat", "name": "Tom"},
            {"role": "user", "content": "It lies in Bergen"},
        ],
        "kind": "profile",
        "confidence": 0.75,
        "origin": "import",
        "speaker": "Ann",
        "occurred_at": "2024-05-01T10:00:00Z",
        "metadata": {"from": "chat"},
        "valid_until": "2044-05-01T10:00:00Z",
    }
    memories = [result["memory"] for result in api.post("/v1/memories", body).ok(201)["results"]]

    assert [memory["speaker"] for memory in memories] == ["Tom", "Ann"]
    for memory in memories:
        assert (memory["kind"], memory["confidence"]) == ("profile", 0.75)
        assert memory["source"]["origin"] == "import"
        assert memory["metadata"] == {"from": "chat"}
        assert memory["occurred_at"] == "2024-05-01T10:00:00.000000Z"
        assert memory["valid_until"] == "2044-05-01T10:00:00.000000Z"


def test_a_hundred_messages_of_full_length_are_taken(api: Api) -> None:
    line = "Entry {} of my diary says that it rained all day again. "
    messages = [
        {"role": "user", "content": "".join(line.format(f"{n}-{m}") for m in range(600))[:32_768]} for n in range(100)
    ]
    answer = api.post("/v1/memories", {"user_id": "ann", "messages": messages}).ok(201)

    kept = [result["memory"] for result in answer["results"] if result["event"] == "stored"]
    assert all(len(memory["text"]) <= 2_000 for memory in kept)
    assert api.get("/v1/subjects/ann").ok()["counts"]["memories"] == len(kept) == 500
    assert [result["reason"] for result in answer["results"] if result["event"] == "dropped"] == ["too_long"] * 100


def test_the_notice_tells_what_was_remembered_in_one_line(api: Api) -> None:
    one = api.post("/v1/memories", {"user_id": "ann", "text": "I like\nrain"}).ok(201)["notice"]
    none = api.post("/v1/memories", {"user_id": "ann", "text": "I like\nrain"}).ok(200)["notice"]
    chinese = api.post("/v1/memories", {"user_id": "ann", "text": "我喜欢下雨"}).ok(201)["notice"]

    assert "I like rain" in one
    assert "我喜欢下雨" in chinese
    assert none
    assert none != one
    assert "\n" not in one + none + chinese


REFUSED = [
    ({}, {"body"}),
    ({"text": "x", "messages": [{"role": "user", "content": "x"}]}, {"text", "messages"}),
    ({"text": ""}, {"text"}),
    ({"text": "x" * 2_001}, {"text"}),
    ({"text": "漢" * 2_001}, {"text"}),
    ({"text": 7}, {"text"}),
    ({"messages": []}, {"messages"}),
    ({"messages": {}}, {"messages"}),
    ({"messages": [{"role": "user", "content": "x"}] * 101}, {"messages"}),
    ({"messages": [{"role": "robot", "content": "x"}]}, {"messages[0].role"}),
    ({"messages": [{"role": "user"}]}, {"messages[0].content"}),
    ({"messages": ["hi"]}, {"messages[0]"}),
    ({"text": "x", "kind": "song"}, {"kind"}),
    ({"text": "x", "kind": ["fact"]}, {"kind"}),
    ({"text": "x", "confidence": 1.01}, {"confidence"}),
    ({"text": "x", "confidence": -0.01}, {"confidence"}),
    ({"text": "x", "confidence": "0.5"}, {"confidence"}),
    ({"text": "x", "confidence": True}, {"confidence"}),
    ({"text": "x", "session_id": ""}, {"session_id"}),
    ({"text": "x", "session_id": "a b"}, {"session_id"}),
    ({"text": "x", "speaker": ""}, {"speaker"}),
    ({"text": "x", "speaker": "s" * 257}, {"speaker"}),
    ({"text": "x", "context": "c" * 2_001}, {"context"}),
    ({"text": "x", "metadata": []}, {"metadata"}),
    ({"text": "x", "metadata": {"a": "m" * 4_089}}, {"metadata"}),
    ({"text": "x", "origin": "dream"}, {"origin"}),
    ({"text": "x", "valid_from": "2026-01-02T00:00:00Z", "valid_until": "2026-01-01T00:00:00Z"}, {"valid_until"}),
    ({"text": None}, {"text"}),
    ({"messages": None}, {"messages"}),
    ({"text": "x", "valid_until": "2026-01-01T00:00:00Z"}, {"valid_until"}),
    ({"text": "x", "pinned": True}, {"pinned"}),
]


@pytest.mark.parametrize(("body", "fields"), REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_what_is_refused_is_named(api: Api, body: dict[str, Any], fields: set[str]) -> None:
    assert set(api.post("/v1/memories", {"user_id": "ann", **body}).fields()) == fields
    assert api.get("/v1/memories", **USER).ok()["memories"] == []


def test_metadata_of_just_4_kb_is_kept(api: Api) -> None:
    metadata = {"a": "m" * (4_096 - len('{"a":""}'))}

    assert api.remember("I ski", metadata=metadata)["metadata"] == metadata


def test_speaker_time_and_context_are_part_of_what_search_sees(api: Api) -> None:
    api.remember("She agreed to it", speaker="Ingeborg")
    api.remember("They walked for hours", occurred_at="2021-08-15T00:00:00Z")
    api.remember("Yes, gladly", context="Would you play the theremin at our wedding?")

    assert texts(search(api, "theremin", top_k=1)) == ["Yes, gladly"]
    assert texts(search(api, "Ingeborg", top_k=1)) == ["She agreed to it"]
    assert texts(search(api, "What happened on 15 August 2021?", top_k=1)) == ["They walked for hours"]


def test_context_is_never_returned(api: Api) -> None:
    memory = api.remember("Yes, gladly", context="a-context-of-its-own")
    shown = [
        api.get(f"/v1/memories/{memory['id']}", **USER),
        api.get("/v1/memories", **USER),
        api.get(f"/v1/memories/{memory['id']}/history", **USER),
        api.post("/v1/memories/search", {"user_id": "ann", "query": "gladly", "threshold": 0, "explain": True}),
        api.post("/v1/recall", {"user_id": "ann", "query": "gladly", "threshold": 0, "explain": True}),
    ]
    for reply in shown:
        assert memory["id"] in reply.text or "gladly" in reply.text
        assert "a-context-of-its-own" not in reply.text


def test_a_batch_answers_each_item_in_order(api: Api) -> None:
    api.remember("I have a cat")
    items: list[Any] = [
        {"text": "I have a dog", "kind": "profile"},
        {"text": ""},
        {"text": "I have a cat"},
        {"text": "I have a dog"},
        "no object",
        {"text": "I have a hen", "occurred_at": "2024-05-01T10:00:00"},
        {"text": "x" * 2_001},
        {"text": "I have a goat", "colour": "red"},
        None,
        {"text": "I have a cow", "metadata": {"n": 1}, "context": "c", "speaker": "Tom"},
    ]
    answer = api.post("/v1/memories/batch", {"user_id": "ann", "items": items}).ok()
    results = answer["results"]

    assert [result["index"] for result in results] == list(range(len(items)))
    events = "stored rejected duplicate duplicate rejected rejected rejected rejected rejected stored"
    assert [result["event"] for result in results] == events.split()
    assert answer["counts"] == {"stored": 2, "duplicate": 2, "rejected": 6}
    for result in results:
        assert (result["id"] is None) == (result["event"] == "rejected")
        assert (result["error"] is None) == (result["event"] != "rejected")
    assert {result["error"]["field"] for result in results if result["error"]} == {
        "text",
        "body",
        "occurred_at",
        "colour",
    }
    assert results[3]["id"] == results[0]["id"]
    stored = api.get(f"/v1/memories/{results[9]['id']}", **USER).ok()
    assert (stored["text"], stored["metadata"], stored["speaker"]) == ("I have a cow", {"n": 1}, "Tom")


def test_a_batch_takes_1_to_1000_items(api: Api) -> None:
    items = [{"text": f"Fact {n}"} for n in range(1_000)]
    answer = api.post("/v1/memories/batch", {"user_id": "ann", "items": items}).ok()

    assert answer["counts"] == {"stored": 1_000}
    assert len({result["id"] for result in answer["results"]}) == 1_000
    assert api.get("/v1/subjects/ann").ok()["counts"]["memories"] == 1_000
    too_many = {"user_id": "ann", "items": [*items, {"text": "x"}]}
    assert api.post("/v1/memories/batch", too_many).fields() == ["items"]
    assert api.post("/v1/memories/batch", {"user_id": "ann", "items": []}).fields() == ["items"]
    assert api.post("/v1/memories/batch", {"user_id": "ann", "items": {}}).fields() == ["items"]


def test_lists_are_newest_first(api: Api) -> None:
    stored = [api.remember(f"Fact {n}")["id"] for n in range(5)]

    listed = [memory["id"] for memory in api.get("/v1/memories", **USER).ok()["memories"]]

    assert listed == stored[::-1]


def test_a_list_is_filtered(api: Api) -> None:
    one = api.remember("I live in Oslo", kind="profile", session_id="s-1")
    two = api.remember("I like tea", kind="preference", session_id="s-2")
    ended = api.remember("I rent a flat", valid_from="2020-01-01T00:00:00Z", valid_until="2021-01-01T00:00:00Z")

    def listed(**query: str) -> list[str]:
        return [memory["id"] for memory in api.get("/v1/memories", user_id="ann", **query).ok()["memories"]]

    assert listed(kind="profile") == [one["id"]]
    assert listed(session_id="s-2") == [two["id"]]
    assert listed(status="current") == [two["id"], one["id"]]
    assert listed(status="archived") == [ended["id"]]
    assert listed(status="pending") == []
    assert listed(created_after=one["created_at"]) == [ended["id"], two["id"]]
    assert listed(created_before=two["created_at"]) == [one["id"]]
    assert listed(created_after=one["created_at"], created_before=ended["created_at"]) == [two["id"]]
    assert listed(kind="profile", session_id="s-2") == []
    assert listed() == [ended["id"], two["id"], one["id"]]
    assert api.get("/v1/memories", user_id="ann", status="gone").fields() == ["status"]
    assert api.get("/v1/memories", user_id="ann", kind="song").fields() == ["kind"]


@pytest.mark.parametrize(
    "memory_id", [MISSING, "mem_x", "x", "ent_01ARZ3NDEKTSV4RRFFQ69G5FAV", MISSING.lower(), "%00", "é"]
)
def test_what_is_no_memory_is_404(api: Api, memory_id: str) -> None:
    path = "/v1/memories/" + quote(memory_id, safe="%")
    api.get(path, **USER).problem(404, "not_found")
    api.get(path + "/history", **USER).problem(404, "not_found")
    api.patch(path, {"user_id": "ann", "version": 1, "pinned": True}).problem(404, "not_found")
    api.delete(path, **USER).ok(204)


CHANGES = {
    "text": "I live in Bergen now",
    "kind": "profile",
    "confidence": 0.5,
    "metadata": {"a": [1]},
    "valid_until": "2044-01-01T00:00:00.000000Z",
    "pinned": True,
    "frozen": True,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_touches_what_it_names_alone(api: Api, name: str) -> None:
    before = api.remember("I live in Oslo", speaker="Ann", metadata={"b": 1})
    changed = api.patch(f"/v1/memories/{before['id']}", {"user_id": "ann", "version": 1, name: CHANGES[name]}).ok()

    assert changed[name] == CHANGES[name]
    assert changed["version"] == 2
    assert changed["updated_at"] > before["updated_at"]
    assert changed | {n: before[n] for n in ("version", "updated_at", name, "language")} == before
    assert api.get(f"/v1/memories/{before['id']}", **USER).ok() == changed


def test_valid_until_null_takes_the_end_away(api: Api) -> None:
    memory = api.remember("I rent a flat", valid_from="2020-01-01T00:00:00Z", valid_until="2021-01-01T00:00:00Z")
    assert memory["status"] == "archived"

    changed = api.patch(f"/v1/memories/{memory['id']}", {"user_id": "ann", "version": 1, "valid_until": None}).ok()

    assert (changed["valid_until"], changed["status"]) == (None, "current")


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"version": 1}, ["body"]),
        ({"pinned": True}, ["version"]),
        ({"version": 1, "text": None}, ["text"]),
        ({"version": 1, "text": None, "metadata": None, "valid_until": None}, ["metadata", "text"]),
        ({"version": 1, "text": ""}, ["text"]),
        ({"version": 1, "text": "x" * 2_001}, ["text"]),
        ({"version": 1, "pinned": "yes"}, ["pinned"]),
        ({"version": "1", "pinned": True}, ["version"]),
        ({"version": -1, "pinned": True}, ["version"]),
        ({"version": 1, "speaker": "Tom"}, ["speaker"]),
        ({"version": 1, "status": "current"}, ["status"]),
        ({"version": 1, "valid_until": "2020-01-01T00:00:00Z"}, ["valid_until"]),
        ({"version": 1, "metadata": {"a": "m" * 5_000}}, ["metadata"]),
    ],
)
def test_a_refused_change_changes_nothing(api: Api, body: dict[str, Any], fields: list[str]) -> None:
    memory = api.remember("I live in Oslo")

    assert api.patch(f"/v1/memories/{memory['id']}", {"user_id": "ann", **body}).fields() == fields
    assert api.get(f"/v1/memories/{memory['id']}", **USER).ok() == memory


def test_the_version_seen_may_come_in_if_match(api: Api) -> None:
    memory = api.remember("I live in Oslo")
    path, body = f"/v1/memories/{memory['id']}", {"user_id": "ann", "pinned": True}

    assert api.patch(path, body, if_match='"1"').ok()["version"] == 2
    assert api.patch(path, body | {"version": 2}, if_match='"2"').ok()["version"] == 3
    assert api.patch(path, body | {"version": 3}, if_match='"2"').fields() == ["version"]
    stale = api.patch(path, body, if_match='"1"').problem(412, "version_conflict")
    assert stale["current_version"] == 3
    for header in ("*", "x", 'W/"3"', "-1", "", '"1", "2"'):
        api.patch(path, body, if_match=header).problem(400, "invalid_header")


def test_a_stale_version_is_412_with_the_current_one(api: Api) -> None:
    memory = api.remember("I live in Oslo")
    path = f"/v1/memories/{memory['id']}"
    api.patch(path, {"user_id": "ann", "version": 1, "pinned": True}).ok()

    for version in (0, 1, 3, 2**31):
        stale = api.patch(path, {"user_id": "ann", "version": version, "text": "I live in Rome"})
        assert stale.problem(412, "version_conflict")["current_version"] == 2
    assert api.get(path, **USER).ok()["text"] == "I live in Oslo"


def test_a_frozen_memory_changes_only_when_thawed(api: Api) -> None:
    memory = api.remember("I live in Oslo")
    path = f"/v1/memories/{memory['id']}"
    api.patch(path, {"user_id": "ann", "version": 1, "frozen": True}).ok()

    api.patch(path, {"user_id": "ann", "version": 2, "text": "I live in Rome"}).problem(409, "conflict")
    thawed = api.patch(path, {"user_id": "ann", "version": 2, "text": "I live in Rome", "frozen": False}).ok()

    assert (thawed["text"], thawed["frozen"]) == ("I live in Rome", False)


def test_a_change_to_what_another_memory_says_is_a_conflict(api: Api) -> None:
    api.remember("I live in Oslo")
    memory = api.remember("I live in Rome")

    refused = api.patch(f"/v1/memories/{memory['id']}", {"user_id": "ann", "version": 1, "text": "I live in Oslo"})

    refused.problem(409, "conflict")


def test_a_corrected_text_is_found_and_the_old_one_is_not(api: Api) -> None:
    memory = api.remember("My favourite fruit is the quince")
    api.remember("I often travel by train")
    api.patch(
        f"/v1/memories/{memory['id']}", {"user_id": "ann", "version": 1, "text": "My favourite fruit is the fig"}
    ).ok()

    assert texts(search(api, "fig", top_k=1)) == ["My favourite fruit is the fig"]
    assert "My favourite fruit is the quince" not in texts(search(api, "quince", top_k=100))


def test_history_is_oldest_first(api: Api) -> None:
    memory = api.remember("I live in Oslo")
    path = f"/v1/memories/{memory['id']}"
    for n, place in enumerate(("Rome", "Bern", "Riga"), 1):
        api.patch(path, {"user_id": "ann", "version": n, "text": f"I live in {place}"}).ok()

    history = api.get(path + "/history", **USER).ok()

    assert [version["version"] for version in history["versions"]] == [1, 2, 3, 4]
    assert [v["text"].split()[-1] for v in history["versions"]] == ["Oslo", "Rome", "Bern", "Riga"]
    assert [v["status"] for v in history["versions"]] == ["obsolete"] * 3 + ["current"]
    assert history["versions"][-1] == api.get(path, **USER).ok()


def test_a_deleted_memory_is_gone_everywhere_at_once(api: Api) -> None:
    memory = api.remember("My favourite fruit is the quince")
    api.patch(f"/v1/memories/{memory['id']}", {"user_id": "ann", "version": 1, "text": "I love the fig"}).ok()
    search(api, "fig")
    path = f"/v1/memories/{memory['id']}"

    assert api.delete(path, **USER).ok(204) == {}

    api.get(path, **USER).problem(404, "not_found")
    api.get(path + "/history", **USER).problem(404, "not_found")
    assert api.get("/v1/memories", **USER).ok()["memories"] == []
    assert search(api, "fig")["outcome"] == "nothing_stored"
    assert search(api, "quince", as_of=memory["created_at"])["memories"] == []
    assert "quince" not in api.post("/v1/recall", {"user_id": "ann", "query": "quince"}).text.replace('"quince"', "")
    api.delete(path, **USER).ok(204)
    assert api.remember("My favourite fruit is the quince")["id"] != memory["id"]


def test_search_finds_what_was_written_a_moment_ago(api: Api) -> None:
    for n in range(8):
        api.remember(f"The code of door {n} is {1000 + 37 * n}")
        assert texts(search(api, f"code of door {n}", top_k=1)) == [f"The code of door {n} is {1000 + 37 * n}"]


def test_scores_are_0_to_1_and_sorted(api: Api) -> None:
    for n in range(20):
        api.remember(f"Fact {n} speaks of rain" + " and wind" * (n % 3))
    found = search(api, "rain and wind", top_k=100)
    scores = [memory["score"] for memory in found["memories"]]

    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert all(memory.keys() >= MEMORY_FIELDS | {"score"} for memory in found["memories"])
    assert found["degraded"] is False
    assert "explain" not in found


@pytest.mark.parametrize("top_k", [1, 2, 5, 20, 100])
def test_top_k_bounds_the_answer(api: Api, top_k: int) -> None:
    items = [{"text": f"The train number {n} leaves at {n} past nine"} for n in range(110)]
    api.post("/v1/memories/batch", {"user_id": "ann", "items": items}).ok()

    assert len(search(api, "When does the train leave?", top_k=top_k)["memories"]) == top_k


def test_five_are_found_by_default(api: Api) -> None:
    items = [{"text": f"The train number {n} leaves at {n} past nine"} for n in range(10)]
    api.post("/v1/memories/batch", {"user_id": "ann", "items": items}).ok()

    assert len(search(api, "train")["memories"]) == 5


def test_threshold_0_returns_the_best_whatever_it_is_worth(api: Api) -> None:
    api.remember("My shoe size is 42")
    body = {"user_id": "ann", "query": "qwertz uiop", "threshold": 0}

    found = api.post("/v1/memories/search", body).ok()
    gated = api.post("/v1/memories/search", body | {"threshold": 1}).ok()

    assert (texts(found), found["outcome"]) == (["My shoe size is 42"], "found")
    assert (gated["memories"], gated["outcome"]) == ([], "nothing_relevant")


def test_nothing_stored_is_another_answer_than_nothing_relevant(api: Api) -> None:
    body = {"user_id": "ann", "query": "shoe size", "threshold": 0.99}
    assert api.post("/v1/memories/search", body).ok()["outcome"] == "nothing_stored"

    api.remember("I went to the zoo")

    assert api.post("/v1/memories/search", body).ok()["outcome"] == "nothing_relevant"


def test_search_filters(api: Api) -> None:
    one = api.remember("Fact one", kind="profile", session_id="s-1", metadata={"a": 1, "b": "x"}, origin="agent")
    two = api.remember("Fact two", metadata={"a": True})
    old = api.remember("Fact old", valid_from="2020-01-01T00:00:00Z", valid_until="2021-01-01T00:00:00Z")

    def found(**filters: object) -> set[str]:
        return {memory["id"] for memory in search(api, "Fact", filters=filters, top_k=100)["memories"]}

    assert found() == {one["id"], two["id"]}
    assert found(kind="profile") == found(kind=["profile", "episode"]) == {one["id"]}
    assert found(status="archived") == {old["id"]}
    assert found(status=["current", "archived"]) == {one["id"], two["id"], old["id"]}
    assert found(session_id="s-1") == {one["id"]}
    assert found(origin="agent") == found(origin=["agent"]) == {one["id"]}
    assert found(created_after=one["created_at"]) == {two["id"]}
    assert found(created_before=two["created_at"]) == {one["id"]}
    assert found(valid_at="2020-06-01T00:00:00Z", status=["archived", "current"]) == {old["id"]}
    assert found(metadata={"a": 1}) == {one["id"]}
    assert found(metadata={"a": True}) == {two["id"]}
    assert found(metadata={"a": 1, "b": "x"}) == {one["id"]}
    assert found(metadata={"a": 1, "b": "y"}) == found(metadata={"c": None}) == set()


@pytest.mark.parametrize(
    ("more", "fields"),
    [
        ({"query": ""}, ["query"]),
        ({"query": "q" * 4_097}, ["query"]),
        ({"query": "漢" * 1_366}, ["query"]),
        ({"query": None}, ["query"]),
        ({"top_k": 0}, ["top_k"]),
        ({"top_k": 101}, ["top_k"]),
        ({"top_k": "5"}, ["top_k"]),
        ({"top_k": 1.5}, ["top_k"]),
        ({"threshold": -0.1}, ["threshold"]),
        ({"threshold": 1.1}, ["threshold"]),
        ({"filters": []}, ["filters"]),
        ({"filters": {"kind": "song"}}, ["filters.kind"]),
        ({"filters": {"kind": 5}}, ["filters.kind"]),
        (
            {"filters": {"status": ["current", "gone"], "origin": [["user"]]}},
            ["filters.status[1]", "filters.origin[0]"],
        ),
        ({"filters": {"tenant": "other"}}, ["filters.tenant"]),
        ({"filters": {"user_id": "bob"}}, ["filters.user_id"]),
        ({"filters": {"metadata": 1}}, ["filters.metadata"]),
        ({"as_of": "2026-01-01"}, ["as_of"]),
        ({"explain": "yes"}, ["explain"]),
        ({"limit": 5}, ["limit"]),
    ],
)
def test_a_refused_search_names_the_field(api: Api, more: dict[str, Any], fields: list[str]) -> None:
    refused = api.post("/v1/memories/search", {"user_id": "ann", "query": "x", **more})

    assert refused.fields() == fields


@pytest.mark.parametrize("query", ["q" * 4_096, "漢" * 1_365, "a\x00b", "\U0001f98a", "?!", "\u202eabc"])
def test_any_query_within_the_limit_is_answered(api: Api, query: str) -> None:
    api.remember("I live in Oslo")

    assert search(api, query)["outcome"] == "found"


def test_as_of_answers_for_a_past_time(api: Api, api_stack: ApiStack) -> None:
    memory = api.remember("I live in Oslo")
    api_stack.local.clock.advance(timedelta(days=2))
    changed = {"user_id": "ann", "version": 1, "text": "I live in Bergen"}
    api.patch(f"/v1/memories/{memory['id']}", changed).ok()
    between = (moment(memory["created_at"]) + timedelta(days=1)).isoformat()

    assert texts(search(api, "Where do I live?", as_of=between)) == ["I live in Oslo"]
    assert texts(search(api, "Where do I live?")) == ["I live in Bergen"]
    assert texts(search(api, "Where do I live?", as_of="2001-01-01T00:00:00Z")) == []


def test_a_memory_that_has_ended_is_kept_out_of_search(api: Api, api_stack: ApiStack) -> None:
    until = (api_stack.now() + timedelta(days=1)).isoformat()
    memory = api.remember("My parking place is B12", valid_until=until)
    assert texts(search(api, "parking place")) == ["My parking place is B12"]

    api_stack.local.clock.advance(timedelta(days=1, seconds=1))

    assert texts(search(api, "parking place")) == []
    assert texts(search(api, "parking place", filters={"status": "archived"})) == ["My parking place is B12"]
    assert api.get(f"/v1/memories/{memory['id']}", **USER).ok()["status"] == "archived"


def test_explain_lists_every_candidate_with_its_legs_and_decisions(api: Api) -> None:
    for n in range(12):
        api.remember(f"The train number {n} leaves at {n} past nine")
    api.remember("A doubtful train", confidence=0.2)
    found = api.post(
        "/v1/memories/search", {"user_id": "ann", "query": "train number 3", "threshold": 0.3, "explain": True}
    ).ok()
    kept = {memory["id"] for memory in found["memories"]}

    assert len(found["explain"]) == 13
    for candidate in found["explain"]:
        assert candidate["legs"].keys() == {"words", "vector"}, "all of them say train"
        assert all(leg.keys() == {"rank", "score"} for leg in candidate["legs"].values())
        assert candidate["decisions"]
        assert all(d.keys() >= {"stage", "kept", "reason"} and d["reason"] for d in candidate["decisions"])
        assert candidate["kept"] == (candidate["id"] in kept)
        assert candidate["kept"] == all(decision["kept"] for decision in candidate["decisions"])
    doubtful = next(c for c in found["explain"] if c["text"] == "A doubtful train")
    assert doubtful["decisions"][-1]["kept"] is False
