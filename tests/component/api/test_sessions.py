"""The contract's section on sessions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.support.api import Api, ApiStack, moment

USER = {"user_id": "ann"}
PATH = "/v1/sessions/s/messages"


def message(content: str = "I like rain", role: str = "user", **more: object) -> dict[str, object]:
    return {"role": role, "content": content, **more}


def body(*messages: object, **more: object) -> dict[str, object]:
    return {"user_id": "ann", "messages": list(messages), **more}


def contents(page: dict[str, Any]) -> list[str]:
    return [message["content"] for message in page["messages"]]


def test_appending_answers_what_became_of_each_message(api: Api, api_stack: ApiStack) -> None:
    said = [message("My cat is called Miso."), message("A fine name", "assistant"), message("What does she eat?")]
    answer = api.post(PATH, body(*said)).ok(201)

    assert answer.keys() >= {"session_id", "messages", "session", "results", "notice"}
    assert answer["session_id"] == "s"
    assert [(m["sequence"], m["status"]) for m in answer["messages"]] == [(1, "stored"), (2, "stored"), (3, "stored")]
    session = answer["session"]
    assert session.keys() >= {"turns", "messages", "expires_at", "summary_due", "summary_reason"}
    assert (session["turns"], session["messages"]) == (2, 3)
    assert (session["summary_due"], session["summary_reason"]) == (False, None)
    left = moment(session["expires_at"]) - api_stack.now()
    assert timedelta(days=7) - timedelta(minutes=1) < left <= timedelta(days=7)
    assert [(r["event"], r["reason"]) for r in answer["results"]] == [
        ("stored", "stated_by_user"),
        ("dropped", "question"),
    ]
    assert answer["results"][0]["memory"]["source"]["message_ids"] == [answer["messages"][0]["id"]]
    assert answer["results"][0]["memory"]["source"]["session_id"] == "s"
    assert "Miso" in answer["notice"]


def test_remember_false_keeps_the_session_alone(api: Api) -> None:
    answer = api.post(PATH, body(message("My cat is called Miso."), remember=False)).ok(201)

    assert answer["results"] == []
    assert api.get("/v1/memories", **USER).ok()["memories"] == []
    assert contents(api.get(PATH, **USER).ok()) == ["My cat is called Miso."]


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_a_message_is_kept_as_it_came(api: Api, role: str) -> None:
    sent = message(
        " a\x00b\n\U0001f98a\u202e漢 ",
        role,
        name="Ann",
        created_at="2024-05-01T10:00:00.000000Z",
        metadata={"n": [1.5]},
    )
    answer = api.post(PATH, body(sent, remember=False)).ok(201)
    (kept,) = api.get(PATH, **USER).ok()["messages"]

    assert {name: kept[name] for name in sent} == sent
    assert kept["id"] == answer["messages"][0]["id"]
    assert kept["sequence"] == 1


def test_content_takes_just_32768_bytes(api: Api) -> None:
    for content in ("x" * 32_768, "漢" * 10_922):
        api.post(PATH, body(message(content), remember=False)).ok(201)
    for content in ("x" * 32_769, "漢" * 10_923, ""):
        assert api.post(PATH, body(message(content), remember=False)).fields() == ["messages[0].content"]
    assert api.get("/v1/sessions/s", **USER).ok()["messages"] == 2


def test_1_to_100_messages_are_taken_at_once(api: Api) -> None:
    hundred = [message(f"message {n}") for n in range(100)]
    answer = api.post(PATH, body(*hundred, remember=False)).ok(201)

    assert [m["sequence"] for m in answer["messages"]] == list(range(1, 101))
    assert api.post(PATH, body(*hundred, message())).fields() == ["messages"]
    assert api.post(PATH, body()).fields() == ["messages"]
    assert api.post(PATH, {"user_id": "ann"}).fields() == ["messages"]


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (message(role="robot"), "messages[0].role"),
        ({"content": "x"}, "messages[0].role"),
        (message(id="a b"), "messages[0].id"),
        (message(id="x" * 129), "messages[0].id"),
        (message(id=""), "messages[0].id"),
        (message(created_at="2024-05-01T10:00:00"), "messages[0].created_at"),
        (message(name=""), "messages[0].name"),
        (message(metadata="x"), "messages[0].metadata"),
        (message(metadata={"a": "m" * 4_090}), "messages[0].metadata"),
        (message(text="x"), "messages[0].text"),
        ("hi", "messages[0]"),
        (None, "messages[0]"),
    ],
)
def test_a_refused_message_is_named_and_nothing_is_kept(api: Api, sent: object, field: str) -> None:
    assert api.post(PATH, body(sent)).fields() == [field]
    assert api.post(PATH, body(message(), sent)).fields() == [field.replace("0", "1")]
    api.get("/v1/sessions/s", **USER).problem(404, "not_found")


@pytest.mark.parametrize("seconds", [1_800, 7_776_000])
def test_a_session_lives_30_minutes_to_90_days(api: Api, api_stack: ApiStack, seconds: int) -> None:
    session = api.post(PATH, body(message(), ttl_seconds=seconds)).ok(201)["session"]

    left = (moment(session["expires_at"]) - api_stack.now()).total_seconds()
    assert seconds - 60 < left <= seconds


@pytest.mark.parametrize("seconds", [0, -1, 1_799, 7_776_001, "1800", 1800.5, True, 10**30])
def test_any_other_life_is_refused(api: Api, seconds: object) -> None:
    assert api.post(PATH, body(message(), ttl_seconds=seconds)).fields() == ["ttl_seconds"]


def test_nothing_of_an_expired_session_is_returned(api: Api, api_stack: ApiStack) -> None:
    api.post(PATH, body(message("a word of the past"), remember=False, ttl_seconds=1_800)).ok(201)
    api_stack.local.clock.advance(timedelta(seconds=1_801))

    api.get("/v1/sessions/s", **USER).problem(404, "not_found")
    api.get(PATH, **USER).problem(404, "not_found")
    api.get(PATH, order="asc", **USER).problem(404, "not_found")
    api.post("/v1/sessions/s/end", USER).problem(404, "not_found")
    assert api.get("/v1/sessions", **USER).ok()["sessions"] == []
    recalled = api.post("/v1/recall", {"user_id": "ann", "query": "past", "session_id": "s"})
    assert recalled.ok()["messages"] == []
    assert "a word of the past" not in recalled.text
    assert api.get("/v1/subjects/ann").ok()["counts"]["sessions"] == 0


def test_a_session_may_begin_again_after_it_expired(api: Api, api_stack: ApiStack) -> None:
    api.post(PATH, body(message("old", id="m-1"), remember=False, ttl_seconds=1_800)).ok(201)
    api_stack.local.clock.advance(timedelta(seconds=1_801))

    answer = api.post(PATH, body(message("new", id="m-1"), remember=False)).ok(201)

    assert answer["messages"][0]["status"] == "stored"
    assert contents(api.get(PATH, **USER).ok()) == ["new"]


def test_a_clients_message_id_makes_it_idempotent(api: Api) -> None:
    first = api.post(PATH, body(message("My cat is called Miso.", id="m-1"))).ok(201)
    again = api.post(PATH, body(message("My cat is called Miso.", id="m-1"), message("And old.", id="m-2"))).ok(201)

    assert [m["status"] for m in again["messages"]] == ["duplicate", "stored"]
    assert again["messages"][0]["id"] == first["messages"][0]["id"]
    assert again["messages"][0]["sequence"] == 1
    assert again["session"]["messages"] == 2
    assert contents(api.get(PATH, **USER).ok()) == ["My cat is called Miso.", "And old."]
    other = api.post("/v1/sessions/t/messages", body(message("My cat is called Miso.", id="m-1"))).ok(201)
    assert other["messages"][0]["status"] == "stored"
    assert api.post(PATH, body(message(id="m-9"), message(id="m-9"))).fields() == ["messages[1].id"]


def test_the_newest_turns_come_oldest_first(api: Api) -> None:
    for n in range(12):
        api.post(PATH, body(message(f"q{n}"), message(f"a{n}", "assistant"), remember=False)).ok(201)

    ten = api.get(PATH, **USER).ok()
    assert contents(ten) == [f"{who}{n}" for n in range(2, 12) for who in "qa"]
    assert ten.keys() >= {"session", "summary", "messages", "next_cursor"}
    assert ten["summary"] is None
    assert ten["session"]["turns"] == 12
    assert contents(api.get(PATH, turns=1, **USER).ok()) == ["q11", "a11"]
    assert len(contents(api.get(PATH, turns=50, **USER).ok())) == 24
    for turns in (0, 51, -1, "x", 1.5):
        assert api.get(PATH, turns=turns, **USER).fields() == ["turns"]


def test_a_turn_is_a_user_message_with_its_replies(api: Api) -> None:
    said = [
        message("be kind", "system"), message("q0"), message("t0", "tool"), message("a0", "assistant"), message("q1"),
        message("q2"), message("a2", "assistant"), message("b2", "assistant"),
    ]  # fmt: skip
    answer = api.post(PATH, body(*said, remember=False)).ok(201)

    assert answer["session"]["turns"] == 3
    assert contents(api.get(PATH, turns=1, **USER).ok()) == ["q2", "a2", "b2"]
    assert contents(api.get(PATH, turns=3, **USER).ok()) == ["q0", "t0", "a0", "q1", "q2", "a2", "b2"]


def test_order_asc_pages_through_all(api: Api) -> None:
    api.post(PATH, body(*[message(f"m{n}") for n in range(60)], remember=False)).ok(201)

    page = api.get(PATH, order="asc", limit=25, **USER).ok()
    assert contents(page) == [f"m{n}" for n in range(25)]
    assert page["session"]["messages"] == 60
    page = api.get(PATH, order="asc", limit=200, cursor=page["next_cursor"], **USER).ok()
    assert contents(page) == [f"m{n}" for n in range(25, 60)]
    assert page["next_cursor"] is None
    assert api.get(PATH, order="desc", **USER).fields() == ["order"]


def test_summary_is_due_after_20_turns_two_hours_or_the_end(api: Api, api_stack: ApiStack) -> None:
    def due(session_id: str) -> tuple[bool, str | None]:
        session = api.get(f"/v1/sessions/{session_id}", **USER).ok()
        return session["summary_due"], session["summary_reason"]

    for session_id, turns in (("nineteen", 19), ("twenty", 20), ("ended", 1)):
        api.say(session_id, *["x"] * turns, remember=False)
    api.post("/v1/sessions/ended/end", USER).ok()
    assert due("nineteen") == (False, None)
    assert due("twenty") == (True, "turns")
    assert due("ended") == (True, "ended")

    api_stack.local.clock.advance(timedelta(hours=2, seconds=1))

    assert due("nineteen") == (True, "idle")


def test_ending_twice_is_ending_once(api: Api) -> None:
    api.say("s", "I like rain")
    first = api.post("/v1/sessions/s/end", USER).ok()
    again = api.post("/v1/sessions/s/end", USER).ok()

    assert first["ended_at"]
    assert again["ended_at"] == first["ended_at"]
    assert api.say("s", "I like fog")["session"]["ended_at"] is None
    api.post("/v1/sessions/never/end", USER).problem(404, "not_found")


def test_sessions_of_a_user_are_listed(api: Api) -> None:
    for name in ("b", "a", "c"):
        api.say(name, "x", remember=False)
    api.say("d", "x", user_id="bob", remember=False)

    listed = api.get("/v1/sessions", **USER).ok()["sessions"]

    assert {session["session_id"] for session in listed} == {"a", "b", "c"}
    assert listed[0] == api.get(f"/v1/sessions/{listed[0]['session_id']}", **USER).ok()


def test_a_deleted_session_is_gone_with_what_was_taken_from_it(api: Api) -> None:
    said = api.say("s", "My cat is called Miso.")
    kept = api.remember("I live in Oslo")
    fact = {"user_id": "ann", "value": "D-7", "category": "parameter", "session_id": "s"}
    api.put("/v1/entities/document", fact).ok(201)
    taken = said["results"][0]["memory"]["id"]

    assert api.delete("/v1/sessions/s", **USER).ok(204) == {}

    api.get("/v1/sessions/s", **USER).problem(404, "not_found")
    api.get(PATH, **USER).problem(404, "not_found")
    api.get(f"/v1/memories/{taken}", **USER).problem(404, "not_found")
    api.get("/v1/entities/document", session_id="s", **USER).problem(404, "not_found")
    assert api.get("/v1/subjects/ann").ok()["counts"] == {"memories": 1, "entities": 0, "sessions": 0}
    assert api.get(f"/v1/memories/{kept['id']}", **USER).ok() == kept
    assert "Miso" not in api.post("/v1/recall", {"user_id": "ann", "query": "the cat", "threshold": 0}).text
    api.delete("/v1/sessions/s", **USER).ok(204)


def test_memory_belongs_to_the_subject_not_to_the_session(api: Api) -> None:
    api.say("phone", "My favourite colour is teal.")
    api.say("laptop", "hello")

    found = api.post(
        "/v1/recall", {"user_id": "ann", "query": "favourite colour", "session_id": "laptop", "threshold": 0}
    )

    assert "teal" in found.ok()["context"]


def test_many_devices_append_at_once_without_gaps(api: Api) -> None:
    def append(n: int) -> int:
        return api.post(PATH, body(message(f"m{n}"), message(f"r{n}", "assistant"), remember=False)).status

    with ThreadPoolExecutor(4) as threads:
        statuses = list(threads.map(append, range(24)))
    messages = api.get(PATH, order="asc", limit=200, **USER).ok()["messages"]

    assert set(statuses) <= {201, 429}
    stored = statuses.count(201)
    assert stored >= 1
    assert [m["sequence"] for m in messages] == list(range(1, 2 * stored + 1))
    pairs = {(messages[n]["content"][1:], messages[n + 1]["content"][1:]) for n in range(0, len(messages), 2)}
    assert all(asked == replied for asked, replied in pairs)
