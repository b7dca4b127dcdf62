"""``Idempotency-Key``: one request, one effect, one answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from lethe.entry.routes import ROUTES
from tests.support.api import Api, ApiStack, Reply, TenantOnStack
from tests.support.waiting import wait_until

BODY = {"user_id": "ann", "text": "I keep bees"}


def count(api: Api, user_id: str = "ann") -> int:
    return len(api.get("/v1/memories", user_id=user_id).ok()["memories"])


def test_a_repetition_gets_the_first_answer_again(api: Api) -> None:
    first = api.post("/v1/memories", BODY, idempotency_key="k-1")
    again = api.post("/v1/memories", BODY, idempotency_key="k-1")

    assert first.status == again.status == 201
    assert first.raw == again.raw
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert count(api) == 1


def test_every_post_put_and_patch_may_carry_a_key(api: Api) -> None:
    memory = api.remember("I keep hens")
    api.say("s", "I keep ducks")
    requests: dict[str, tuple[str, dict[str, object]]] = {
        "append_messages": ("/v1/sessions/s/messages", {"messages": [{"role": "user", "content": "I keep geese"}]}),
        "end_session": ("/v1/sessions/s/end", {}),
        "add_memories": ("/v1/memories", {"text": "I keep goats"}),
        "add_batch": ("/v1/memories/batch", {"items": [{"text": "I keep sheep"}]}),
        "search_memories": ("/v1/memories/search", {"query": "goats", "threshold": 0}),
        "change_memory": (f"/v1/memories/{memory['id']}", {"version": 1, "pinned": True}),
        "put_entity": ("/v1/entities/animals", {"value": 12, "category": "profile"}),
        "recall": ("/v1/recall", {"query": "goats"}),
        "begin_erasure": ("/v1/erasures", {"scope": {"session_id": "another"}}),
        "place_hold": ("/v1/holds/case-7", {"scope": {"session_id": "s"}}),
        "admit_subject": ("/v1/subjects/ann/admit", {}),
    }
    routes = [r for r in ROUTES if r.permissions and r.method in ("POST", "PUT", "PATCH")]
    assert {route.operation for route in routes} == requests.keys()
    for route in routes:
        path, body = requests[route.operation]
        headers = {"idempotency-key": route.operation}
        sent = {"user_id": "ann", **body} if route.body is not None else None
        replies = [api.send(route.method, path, sent, headers=headers) for _ in range(2)]
        assert replies[0].status < 300, replies[0].text
        assert (replies[1].status, replies[1].raw) == (replies[0].status, replies[0].raw), route.key
        assert replies[1].headers["idempotency-replayed"] == "true"
        assert replies[1].headers.get("location") == replies[0].headers.get("location")
    assert api.get("/v1/entities/animals", user_id="ann").ok()["version"] == 1
    assert api.get("/v1/sessions/s", user_id="ann").ok()["messages"] == 2


def test_the_same_key_with_another_body_is_refused(api: Api) -> None:
    api.post("/v1/memories", BODY, idempotency_key="k").ok(201)

    for body in (BODY | {"text": "I keep cows"}, BODY | {"kind": "profile"}, BODY | {"user_id": "bob"}):
        api.post("/v1/memories", body, idempotency_key="k").problem(422, "idempotency_mismatch")
    assert (count(api), count(api, "bob")) == (1, 0)


def test_the_same_key_on_another_route_is_refused(api: Api) -> None:
    body = {"user_id": "ann", "value": 1, "category": "profile"}
    api.put("/v1/entities/one", body, idempotency_key="k").ok(201)

    api.put("/v1/entities/two", body, idempotency_key="k").problem(422, "idempotency_mismatch")
    api.post("/v1/memories", BODY, idempotency_key="k").problem(422, "idempotency_mismatch")


def test_a_key_belongs_to_its_caller(tenant: TenantOnStack, api_stack: ApiStack) -> None:
    one, other, foreign = tenant.api("write"), tenant.api("write", "read"), api_stack.tenant().admin

    first = one.post("/v1/memories", BODY, idempotency_key="k").ok(201)
    second = other.post("/v1/memories", BODY | {"text": "I keep owls"}, idempotency_key="k").ok(201)
    third = foreign.post("/v1/memories", BODY, idempotency_key="k")

    assert first["results"][0]["memory"]["id"] != second["results"][0]["memory"]["id"]
    assert third.ok(201)["results"][0]["memory"]["id"] != first["results"][0]["memory"]["id"]
    assert "idempotency-replayed" not in third.headers


def test_a_refused_request_uses_no_key_up(api: Api) -> None:
    api.post("/v1/memories", BODY | {"text": ""}, idempotency_key="k").problem(422, "invalid")
    memory = api.remember("I keep dogs")
    stale = {"user_id": "ann", "version": 7, "pinned": True}
    api.patch(f"/v1/memories/{memory['id']}", stale, idempotency_key="k").problem(412, "version_conflict")

    api.post("/v1/memories", BODY, idempotency_key="k").ok(201)


def test_after_24_hours_a_key_is_free_again(api: Api, api_stack: ApiStack) -> None:
    api.post("/v1/memories", BODY, idempotency_key="k").ok(201)

    api_stack.local.clock.advance(timedelta(hours=23, minutes=59))
    assert api.post("/v1/memories", BODY, idempotency_key="k").headers["idempotency-replayed"] == "true"
    api_stack.local.clock.advance(timedelta(minutes=2))

    later = api.post("/v1/memories", BODY | {"text": "I keep bees no more"}, idempotency_key="k")
    assert later.status == 201
    assert "idempotency-replayed" not in later.headers


def test_many_at_once_have_one_effect(api: Api) -> None:
    body = {"user_id": "ann", "messages": [{"role": "user", "content": "I keep newts"}]}

    def post(_: int) -> Reply:
        return api.post("/v1/sessions/s/messages", body, idempotency_key="k")

    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(post, range(16)))

    done = [reply for reply in replies if reply.status == 201]
    waiting = [reply for reply in replies if reply.status != 201]
    assert done
    assert len({reply.raw for reply in done}) == 1
    assert sum("idempotency-replayed" not in reply.headers for reply in done) <= 1
    for reply in waiting:
        reply.problem(409, "in_progress")
    assert api.get("/v1/sessions/s", user_id="ann").ok()["messages"] == 1


def test_while_the_first_still_runs_a_second_is_in_progress(api: Api, api_stack: ApiStack) -> None:
    embeddings = api_stack.embeddings
    asked = len(embeddings.asked)
    with ThreadPoolExecutor(1) as thread:
        with embeddings.held():
            first = thread.submit(api.post, "/v1/memories", BODY, idempotency_key="k")
            wait_until(lambda: len(embeddings.asked) > asked or first.done())
            assert not first.done(), "the first request was answered before its text was embedded"
            api.post("/v1/memories", BODY, idempotency_key="k").problem(409, "in_progress")
            api.post("/v1/memories", BODY | {"text": "x"}, idempotency_key="k").problem(422, "idempotency_mismatch")
        answered = first.result().ok(201)

    again = api.post("/v1/memories", BODY, idempotency_key="k")
    assert again.ok(201) == answered
    assert again.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("key", ["a", "!", "~", "x" * 128, 'k"with;marks,'])
def test_1_to_128_visible_ascii_characters_make_a_key(api: Api, key: str) -> None:
    api.post("/v1/memories", BODY, idempotency_key=key).ok(201)


@pytest.mark.parametrize("key", ["", "x" * 129, "a b", "é", "a\tb"])
def test_anything_else_is_no_key(api: Api, key: str) -> None:
    api.post("/v1/memories", BODY, idempotency_key=key).problem(400, "invalid_header")
    assert count(api) == 0


@pytest.mark.parametrize("thing", ["memory", "session", "entity"])
def test_what_was_deleted_does_not_come_back_with_a_repetition(api: Api, thing: str) -> None:
    keep = {"user_id": "ann", "text": "I keep owls"}
    kept = api.post("/v1/memories", keep, idempotency_key="keep")
    requests: dict[str, tuple[str, str, dict[str, object]]] = {
        "memory": ("POST", "/v1/memories", {"text": "I keep bees"}),
        "session": ("POST", "/v1/sessions/s/messages", {"messages": [{"role": "user", "content": "I keep bees"}]}),
        "entity": ("PUT", "/v1/entities/bees", {"value": 7, "category": "profile"}),
    }
    method, path, body = requests[thing]
    first = api.send(method, path, {"user_id": "ann", **body}, headers={"idempotency-key": "k"}).ok(201)
    gone = {"memory": "/v1/memories/", "session": "/v1/sessions/s", "entity": "/v1/entities/bees"}[thing]
    if thing == "memory":
        gone += first["results"][0]["memory"]["id"]
    found = {"user_id": "ann", "query": "Which animals do I keep?", "threshold": 0}
    api.post("/v1/recall", found, idempotency_key="recall").ok()
    assert api.delete(gone, user_id="ann").status == 204

    again = api.send(method, path, {"user_id": "ann", **body}, headers={"idempotency-key": "k"})
    again.problem(410, "erased")
    api.post("/v1/recall", found, idempotency_key="recall").problem(410, "erased")
    assert "bees" not in api.post("/v1/recall", found).text
    assert api.post("/v1/memories", keep, idempotency_key="keep").raw == kept.raw


def test_the_same_json_is_the_same_body(api: Api) -> None:
    first = api.post(
        "/v1/memories", b'{"user_id": "ann", "text": "I keep bees", "confidence": 0.9}', idempotency_key="k"
    )
    for same in (
        b'{"confidence":0.9,"text":"I keep bees","user_id":"ann"}',
        b'\n{"text": "I \\u006beep bees",\r\n"user_id": "ann", "confidence": 9e-1}\n',
    ):
        again = api.post("/v1/memories", same, idempotency_key="k")
        assert (again.status, again.raw) == (first.status, first.raw)
        assert again.headers["idempotency-replayed"] == "true"
    for other in (
        b'{"user_id": "ann", "text": "I keep  bees", "confidence": 0.9}',
        b'{"user_id": "ann", "text": "I keep bees", "confidence": 0.9, "metadata": {}}',
    ):
        api.post("/v1/memories", other, idempotency_key="k").problem(422, "idempotency_mismatch")
    assert count(api) == 1


def test_numbers_that_cannot_be_written_again_are_compared_as_they_are(api: Api) -> None:
    body = b'{"user_id": "ann", "items": [{"text": "I keep bees", "confidence": 1e999}]}'
    first = api.post("/v1/memories/batch", body, idempotency_key="k")

    assert first.ok()["counts"] == {"rejected": 1}
    assert api.post("/v1/memories/batch", body, idempotency_key="k").headers["idempotency-replayed"] == "true"
    api.post("/v1/memories/batch", body + b" ", idempotency_key="k").problem(422, "idempotency_mismatch")


def test_a_replay_of_what_is_gone_says_that_it_was_shown(api: Api) -> None:
    memory = api.remember("I keep bees")
    asked = {"user_id": "ann", "query": "bees", "threshold": 0}
    api.post("/v1/memories/search", asked, idempotency_key="k").ok()
    api.delete(f"/v1/memories/{memory['id']}", user_id="ann").ok(204)

    problem = api.post("/v1/memories/search", asked, idempotency_key="k").problem(410, "erased")

    assert "stored" not in problem["title"] + problem["detail"]
    assert "showed" in problem["detail"]


def test_an_error_is_not_kept(api: Api) -> None:
    memory = api.remember("I keep bees")
    change = {"user_id": "ann", "version": 2, "pinned": True}
    path = f"/v1/memories/{memory['id']}"
    api.patch(path, change, idempotency_key="k").problem(412, "version_conflict")
    api.patch(path, {"user_id": "ann", "version": 1, "frozen": False}).ok()

    assert api.patch(path, change, idempotency_key="k").ok()["version"] == 3
