"""What each method sends, and how its answer reads."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from lethe_client import Decision, LeftOut, Leg, Lethe, Source
from tests.unit.client.samples import memory, session
from tests.unit.client.stub_service import Reply, StubService

ENTITY = {"key": "shoe.size", "value": 42, "category": "profile", "version": 2, "origin": "user"}
CANDIDATE = {
    "id": "mem_1",
    "text": "I moved to Lisbon.",
    "relevance": 0.4,
    "score": 0.41,
    "kept": False,
    "legs": {"words": {"rank": 1, "score": 7.5}, "vector": {"rank": None, "score": 0}},
    "features": {"coverage": 0.5},
    "decisions": [{"stage": "gate", "kept": False, "reason": "below_threshold"}],
}


def test_append_sends_the_messages_and_reads_what_became_of_them() -> None:
    reply = Reply(
        201,
        {
            "session_id": "s1",
            "messages": [{"id": "m1", "sequence": 1, "status": "stored"}],
            "session": session(),
            "results": [{"event": "stored", "reason": "statement", "detail": "", "memory": memory(), "replaces": []}],
            "notice": "Remembered one thing.",
        },
        {"Idempotency-Replayed": "true"},
    )
    with StubService(reply) as stub:
        answer = Lethe(stub.url, "lk_a_b").sessions.append(
            "s1", [{"role": "user", "content": "I moved to Lisbon.", "id": "m1"}], user_id="alice", ttl_seconds=3600
        )
    asked = stub.asked[0]
    assert (asked.method, asked.target) == ("POST", "/v1/sessions/s1/messages")
    assert asked.headers["Authorization"] == "Bearer lk_a_b"
    assert asked.body == {
        "user_id": "alice",
        "messages": [{"role": "user", "content": "I moved to Lisbon.", "id": "m1"}],
        "ttl_seconds": 3600,
    }
    assert answer.messages[0].status == "stored"
    assert answer.session.session_id == "s1"
    assert answer.results[0].memory is not None
    assert answer.results[0].memory.source == Source("s1", ("m1",), "agent-7", "user")
    assert answer.replayed


def test_the_window_of_a_session() -> None:
    message = {"id": "m1", "sequence": 1, "role": "user", "content": "hi", "created_at": "2026-05-03T09:00:00Z"}
    with StubService(Reply(200, {"messages": [message], "session": session(), "summary": None})) as stub:
        window = Lethe(stub.url, "lk_a_b").sessions.window("a.b:c", user_id="alice", turns=3)
    assert stub.asked[0].target == "/v1/sessions/a.b:c/messages?user_id=alice&turns=3"
    assert window.messages[0].content == "hi"
    assert window.summary is None


def test_session_head_end_and_delete() -> None:
    head = {"session_id": "s1", **session(4)}
    ended = {**head, "ended_at": "2026-05-04T09:00:00Z"}
    with StubService(Reply(200, head), Reply(200, ended), Reply(204)) as stub:
        lethe = Lethe(stub.url, "lk_a_b")
        assert lethe.sessions.get("s1", user_id="alice").turns == 4
        assert lethe.sessions.end("s1", user_id="alice").ended_at == datetime(2026, 5, 4, 9, tzinfo=UTC)
        lethe.sessions.delete("s1", user_id="alice")
    assert [(asked.method, asked.target) for asked in stub.asked] == [
        ("GET", "/v1/sessions/s1?user_id=alice"),
        ("POST", "/v1/sessions/s1/end"),
        ("DELETE", "/v1/sessions/s1?user_id=alice"),
    ]


def test_a_memory_reads_with_its_times_in_utc() -> None:
    with StubService(Reply(200, memory(score=0.75, added_later={"x": 1}))) as stub:
        found = Lethe(stub.url, "lk_a_b").memories.get("mem_1", user_id="alice & bob")
    assert stub.asked[0].target == "/v1/memories/mem_1?user_id=alice%20%26%20bob"
    assert found.occurred_at == datetime(2026, 5, 3, 9, tzinfo=UTC)
    assert found.score == 0.75
    assert found.raw["added_later"] == {"x": 1}


def test_times_are_sent_with_their_offset() -> None:
    with StubService(Reply(201, {"results": [], "notice": ""})) as stub:
        said = datetime(2026, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=8)))
        Lethe(stub.url, "lk_a_b").memories.add("I like figs.", occurred_at=said, valid_until="2027-01-01T00:00:00Z")
    assert stub.asked[0].body["occurred_at"] == "2026-01-02T03:04:00+08:00"
    assert stub.asked[0].body["valid_until"] == "2027-01-01T00:00:00Z"


def test_a_time_without_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="offset"):
        Lethe("http://127.0.0.1:9", "lk_a_b").memories.add("I like figs.", occurred_at=datetime(2026, 1, 2))


@pytest.mark.parametrize("both", [True, False])
def test_add_takes_text_or_messages(both: bool) -> None:
    text, messages = ("I like figs.", [{"role": "user", "content": "x"}]) if both else (None, None)
    with pytest.raises(ValueError, match="either"):
        Lethe("http://127.0.0.1:9", "lk_a_b").memories.add(text, messages=messages)  # type: ignore[arg-type]  # a plain dict, on purpose


def test_batch_keeps_the_order_and_the_errors() -> None:
    results = [
        {"index": 0, "event": "stored", "id": "mem_1", "error": None},
        {"index": 1, "event": None, "id": None, "error": {"code": "invalid"}},
    ]
    with StubService(Reply(200, {"results": results, "counts": {"stored": 1, "error": 1}})) as stub:
        answer = Lethe(stub.url, "lk_a_b").memories.batch([{"text": "a"}, {"text": ""}], user_id="alice")
    assert [item.id for item in answer.results] == ["mem_1", None]
    assert answer.results[1].error == {"code": "invalid"}
    assert answer.counts == {"stored": 1, "error": 1}


def test_search_sends_only_what_was_given() -> None:
    found = {"memories": [memory(score=0.9)], "outcome": "found", "degraded": False, "explain": [CANDIDATE]}
    with StubService(Reply(200, found)) as stub:
        answer = Lethe(stub.url, "lk_a_b").memories.search(
            "where?", user_id="alice", threshold=0, filters={"kind": "fact"}, explain=True
        )
    assert stub.asked[0].body == {
        "user_id": "alice",
        "query": "where?",
        "threshold": 0,
        "filters": {"kind": "fact"},
        "explain": True,
    }
    assert (answer.outcome, answer.memories[0].score) == ("found", 0.9)
    assert answer.explain is not None
    explained = answer.explain[0]
    assert explained.legs == {"words": Leg(1, 7.5), "vector": Leg(None, 0.0)}
    assert explained.decisions == (Decision("gate", False, "below_threshold"),)
    assert explained.features == {"coverage": 0.5}


def test_history_update_and_delete() -> None:
    versions = {"versions": [memory(version=1), memory(version=2, text="I moved to Porto.")]}
    with StubService(Reply(200, versions), Reply(200, memory(version=3)), Reply(204)) as stub:
        lethe = Lethe(stub.url, "lk_a_b")
        assert [m.version for m in lethe.memories.history("mem_1", user_id="alice")] == [1, 2]
        assert lethe.memories.update("mem_1", version=2, user_id="alice", pinned=False).version == 3
        lethe.memories.delete("mem_1", user_id="alice")
    assert stub.asked[1].body == {"user_id": "alice", "version": 2, "pinned": False}


def test_the_end_of_a_memory_can_be_set_and_taken_away() -> None:
    with StubService(Reply(200, memory(version=2)), Reply(200, memory(version=3))) as stub:
        lethe = Lethe(stub.url, "lk_a_b")
        lethe.memories.update("mem_1", version=1, user_id="alice", valid_until="2027-01-01T00:00:00Z")
        lethe.memories.update("mem_1", version=2, user_id="alice", no_end=True)
    assert stub.asked[0].body == {"user_id": "alice", "version": 1, "valid_until": "2027-01-01T00:00:00Z"}
    assert stub.asked[1].body == {"user_id": "alice", "version": 2, "valid_until": None}
    with pytest.raises(ValueError, match="either"):
        lethe.memories.update("mem_1", version=2, no_end=True, valid_until="2027-01-01T00:00:00Z")


def test_entities() -> None:
    replies = [
        Reply(201, ENTITY),
        Reply(200, ENTITY),
        Reply(200, {"entities": [ENTITY], "next_cursor": None}),
        Reply(200, {"versions": [ENTITY]}),
        Reply(204),
    ]
    with StubService(*replies) as stub:
        lethe = Lethe(stub.url, "lk_a_b")
        assert lethe.entities.put("shoe.size", 42, category="profile", user_id="alice", version=1).version == 2
        assert lethe.entities.get("shoe.size", user_id="alice").value == 42
        assert len(list(lethe.entities.list(user_id="alice", path="$.size", equals="42"))) == 1
        assert len(lethe.entities.history("shoe.size", user_id="alice")) == 1
        lethe.entities.delete("shoe.size", user_id="alice")
    assert stub.asked[0].body == {"user_id": "alice", "category": "profile", "version": 1, "value": 42}
    assert stub.asked[2].target == "/v1/entities?user_id=alice&path=%24.size&equals=%2242%22"


def test_an_entity_may_hold_null() -> None:
    with StubService(Reply(201, {**ENTITY, "value": None})) as stub:
        put = Lethe(stub.url, "lk_a_b").entities.put("pet", None, category="profile", user_id="alice")
    assert stub.asked[0].body["value"] is None
    assert put.value is None


def test_recall() -> None:
    answer = {
        "context": "## What is known\n",
        "memories": [memory(score=0.8)],
        "entities": [ENTITY],
        "summary": None,
        "messages": [{"id": "m1", "role": "user", "content": "hi"}],
        "route": {"tiers": ["entities", "memories"], "reasons": {"session": "none"}, "summary_due": True},
        "outcome": "found",
        "degraded": False,
        "tokens": 12,
        "left_out": {"entities": 1, "summary": 0, "memories": 3, "messages": 2},
    }
    older = {name: value for name, value in answer.items() if name != "left_out"}
    with StubService(Reply(200, answer), Reply(200, older)) as stub:
        lethe = Lethe(stub.url, "lk_a_b")
        recalled = lethe.recall("where?", user_id="alice", tiers=["memories"], token_budget=200)
        assert lethe.recall("where?").left_out == LeftOut(0, 0, 0, 0), "of a service that does not say it yet"
    assert stub.asked[0].body == {"user_id": "alice", "query": "where?", "token_budget": 200, "tiers": ["memories"]}
    assert recalled.context.startswith("## What")
    assert recalled.route.tiers == ("entities", "memories")
    assert recalled.route.summary_due
    assert recalled.tokens == 12
    assert recalled.left_out == LeftOut(entities=1, summary=0, memories=3, messages=2)


def test_subject_and_health() -> None:
    health = {"status": "ok", "version": "0.1", "engine": "scan", "embedder": "local"}
    with StubService(Reply(200, {"state": "active", "counts": {"memories": 3}}), Reply(200, health)) as stub:
        assert Lethe(stub.url, "lk_a_b").subject("爱丽丝/..").counts == {"memories": 3}
        assert Lethe(stub.url).health().engine == "scan"
    assert stub.asked[0].target == "/v1/subjects/%E7%88%B1%E4%B8%BD%E4%B8%9D%2F.."
    assert "Authorization" not in stub.asked[1].headers


@pytest.mark.parametrize("climbing", [".", ".."])
def test_a_user_of_dots_does_not_climb_out_of_its_collection(climbing: str) -> None:
    with StubService(Reply(200, {"state": "active", "counts": {}})) as stub:
        Lethe(stub.url, "lk_a_b").subject(climbing)
    assert stub.asked[0].target == "/v1/subjects/" + "%2E" * len(climbing)


def test_lists_page_to_the_end_and_fetch_only_what_is_taken() -> None:
    pages = [
        Reply(200, {"memories": [memory("mem_1"), memory("mem_2")], "next_cursor": "c1"}),
        Reply(200, {"memories": [], "next_cursor": "c2"}),
        Reply(200, {"memories": [memory("mem_3")], "next_cursor": None}),
    ]
    with StubService(*pages) as stub:
        walk = Lethe(stub.url, "lk_a_b").memories.list(user_id="alice", status="current", page_size=2)
        assert stub.asked == []
        assert next(walk).id == "mem_1"
        assert len(stub.asked) == 1
        assert [m.id for m in walk] == ["mem_2", "mem_3"]
    assert [asked.target for asked in stub.asked] == [
        "/v1/memories?user_id=alice&status=current&limit=2",
        "/v1/memories?user_id=alice&status=current&limit=2&cursor=c1",
        "/v1/memories?user_id=alice&status=current&limit=2&cursor=c2",
    ]


def test_sessions_and_their_messages_page_too() -> None:
    message = {"id": "m1", "sequence": 1, "role": "user", "content": "hi"}
    replies = [
        Reply(200, {"sessions": [{"session_id": "s1", **session()}], "next_cursor": "c1"}),
        Reply(200, {"sessions": [{"session_id": "s2", **session()}], "next_cursor": None}),
        Reply(200, {"messages": [message], "session": session(), "summary": None, "next_cursor": "c1"}),
        Reply(200, {"messages": [message], "session": session(), "summary": None, "next_cursor": None}),
    ]
    with StubService(*replies) as stub:
        lethe = Lethe(stub.url, "lk_a_b")
        assert [s.session_id for s in lethe.sessions.list(user_id="alice")] == ["s1", "s2"]
        assert len(list(lethe.sessions.messages("s1", user_id="alice"))) == 2
    assert stub.asked[3].target == "/v1/sessions/s1/messages?user_id=alice&order=asc&cursor=c1"


def test_a_window_that_is_cut_leads_to_what_is_older() -> None:
    message = {"id": "m1", "sequence": 1, "role": "user", "content": "hi"}
    window = {"messages": [message], "session": session(), "summary": None, "truncated": True, "next_cursor": "c1"}
    replies = [Reply(200, window), Reply(200, {**window, "truncated": False, "next_cursor": None})]
    with StubService(*replies) as stub:
        sessions = Lethe(stub.url, "lk_a_b").sessions
        newest = sessions.window("s1", user_id="alice", turns=50)
        assert (newest.truncated, newest.next_cursor) == (True, "c1")
        older = sessions.window("s1", user_id="alice", cursor=newest.next_cursor)
        assert (older.truncated, older.next_cursor) == (False, None)
    assert stub.asked[1].target == "/v1/sessions/s1/messages?user_id=alice&cursor=c1"


def test_the_client_writes_nothing_to_home(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from pathlib import Path

    home = Path(str(tmp_path))
    monkeypatch.setenv("HOME", str(home))
    health = {"status": "ok", "version": "0.1", "engine": "scan", "embedder": "local"}
    with StubService(Reply(200, health)) as stub, Lethe(stub.url, "lk_a_b") as lethe:
        lethe.health()
    assert list(home.iterdir()) == []
