"""The contract's common rules: credentials, user ids, times, ids, versions, errors."""

from __future__ import annotations

import itertools
import re
from datetime import timedelta
from urllib.parse import quote

import pytest

from lethe.domain.identity import Permission
from lethe.entry.routes import ROUTES, Route
from tests.support.api import Api, ApiStack, TenantOnStack, moment

PROTECTED = [route for route in ROUTES if route.permissions]
NEEDED = [(route, held) for route in PROTECTED for held in Permission]
USER_IDS_IN_BODIES = [r for r in PROTECTED if r.body is not None]


def filled(route: Route) -> str:
    """The path of a route with harmless values in it."""
    path = route.path.replace("{id}", "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV").replace("{user_id}", "ann")
    return path.replace("{session_id}", "s-1").replace("{key}", "city").replace("{name}", "case-7")


@pytest.mark.parametrize("path", ["/v1/health", "/v1/openapi.json", "/docs"])
def test_three_routes_need_no_key(api_stack: ApiStack, path: str) -> None:
    assert api_stack.stranger.get(path).status == 200


def test_health_says_what_it_runs_on(api_stack: ApiStack) -> None:
    health = api_stack.stranger.get("/v1/health").ok()

    assert health["status"] == "ok"
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", health["version"])
    assert health["engine"] in ("scan", "opensearch")
    assert health["embedder"] == "openai/words@48"


def test_the_openapi_page_needs_nothing_from_elsewhere(api_stack: ApiStack) -> None:
    page = api_stack.stranger.get("/docs")

    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "/v1/recall" in page.text
    assert not re.search(r"<(?:script|link|img|iframe)[^>]*\s(?:src|href)=", page.text.split("<script>")[0])
    assert "<script src" not in page.text


@pytest.mark.parametrize("route", PROTECTED, ids=lambda route: route.key)
@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer lk_01ARZ3NDEKTSV4RRFFQ69G5FAV_" + "a" * 43,
        "Basic YTpi",
        "Bearer lk_x",
        "Bearer " + "é" * 30,
    ],
)
def test_every_other_route_needs_a_key(api_stack: ApiStack, route: Route, header: str | None) -> None:
    headers = {} if header is None else {"authorization": header}

    refused = api_stack.stranger.send(route.method, filled(route), headers=headers)

    refused.problem(401, "unauthenticated")
    assert refused.headers["www-authenticate"].startswith("Bearer")


def test_a_key_with_a_wrong_secret_is_as_unknown_as_no_key(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    _, text = tenant.key("admin")
    forged = text[:-1] + ("A" if text[-1] != "A" else "B")

    Api(api_stack.wire, forged).get("/v1/memories", user_id="ann").problem(401, "unauthenticated")
    Api(api_stack.wire, text).get("/v1/memories", user_id="ann").ok()


def test_a_revoked_key_opens_nothing(api_stack: ApiStack, tenant: TenantOnStack) -> None:
    key_id, text = tenant.key("admin")
    api = Api(api_stack.wire, text)
    api.get("/v1/memories", user_id="ann").ok()

    api_stack.access.revoke_key(key_id)

    api.get("/v1/memories", user_id="ann").problem(401, "unauthenticated")


def test_the_scheme_is_no_matter_of_case(tenant: TenantOnStack) -> None:
    _, text = tenant.key("read")
    api = Api(tenant.admin.wire, None)

    api.send(
        "GET",
        "/v1/memories?user_id=ann".split("?")[0],
        query={"user_id": "ann"},
        headers={"authorization": f"bearer {text}"},
    ).ok()


@pytest.mark.parametrize(("route", "held"), NEEDED, ids=lambda value: getattr(value, "key", value))
def test_a_permission_opens_its_routes_and_no_other(tenant: TenantOnStack, route: Route, held: Permission) -> None:
    answer = tenant.api(held).send(route.method, filled(route), {} if route.body else None)

    if held in route.permissions or held is Permission.ADMIN:
        assert answer.status not in (401, 403), answer.text
    else:
        answer.problem(403, "forbidden")


def test_a_key_for_exactly_one_user_may_leave_the_user_out(tenant: TenantOnStack) -> None:
    mine = tenant.api("read", "write", users=["ann"])

    stored = mine.post("/v1/memories", {"text": "I play the oboe"}).ok(201)["results"][0]["memory"]
    assert mine.get(f"/v1/memories/{stored['id']}").ok()["text"] == "I play the oboe"
    assert tenant.admin.get(f"/v1/memories/{stored['id']}", user_id="ann").ok()["text"] == "I play the oboe"
    mine.put("/v1/entities/city", {"value": "Oslo", "category": "profile"}).ok(201)
    assert mine.get("/v1/entities/city").ok()["value"] == "Oslo"
    mine.post("/v1/recall", {"query": "oboe"}).ok()
    mine.post("/v1/sessions/s/messages", {"messages": [{"role": "user", "content": "hi"}]}).ok(201)
    mine.delete("/v1/sessions/s").ok(204)


OF_A_TENANT = frozenset(
    (
        "list_erasures",
        "get_erasure",
        "get_receipt",
        "list_holds",
        "get_hold",
        "release_hold",
        "list_audit",
    )
)
"""Routes that name no user: what they show or change is of the users that the key covers."""


@pytest.mark.parametrize("users", [["*"], ["ann", "bob"]], ids=["every user", "two users"])
def test_any_other_key_must_name_the_user(tenant: TenantOnStack, users: list[str]) -> None:
    api = tenant.api("admin", users=users)

    for route in PROTECTED:
        if "{user_id}" in route.path or route.operation in OF_A_TENANT:
            continue
        body = _smallest_body(route)
        answer = api.send(route.method, filled(route), body)
        assert answer.fields() == ["user_id"], route.key


def test_a_user_outside_the_keys_list_is_forbidden_everywhere(tenant: TenantOnStack) -> None:
    api = tenant.api("admin", users=["bob", "carol"])

    for route in PROTECTED:
        if route.operation in OF_A_TENANT:
            continue
        body = _smallest_body(route)
        query = None if body is not None or "{user_id}" in route.path else {"user_id": "ann"}
        answer = api.send(route.method, filled(route), None if body is None else body | {"user_id": "ann"}, query)
        answer.problem(403, "forbidden")


def _smallest_body(route: Route) -> dict[str, object] | None:
    bodies: dict[str, dict[str, object]] = {
        "append_messages": {"messages": [{"role": "user", "content": "hi"}]},
        "add_memories": {"text": "x"},
        "add_batch": {"items": [{"text": "x"}]},
        "search_memories": {"query": "x"},
        "recall": {"query": "x"},
        "put_entity": {"value": 1, "category": "profile"},
        "change_memory": {"version": 1, "pinned": True},
        "begin_erasure": {"scope": {"subject": True}},
    }
    return bodies.get(route.operation, {}) if route.body is not None else None


NFC, NFD = "Zoë-\u00e9", "Zoe\u0308-e\u0301"


def test_user_ids_are_the_same_after_nfc_and_echoed_as_given(api: Api) -> None:
    stored = api.remember("I live in Bergen", NFC)
    read = api.get(f"/v1/memories/{stored['id']}", user_id=NFD).ok()

    assert stored["user_id"] == NFC
    assert read["user_id"] == NFD
    assert read | {"user_id": NFC} == stored
    assert api.get("/v1/subjects/" + NFD).ok()["counts"]["memories"] == 1


@pytest.mark.parametrize(
    "user_id",
    ["a", "x" * 256, "漢" * 256, "\U0001f98a", "e\u0301" * 256, "a b", "ann@example.org", "a/b?c#d%e", "..", "شيماء"],
)
def test_user_ids_of_1_to_256_characters_are_taken(api: Api, user_id: str) -> None:
    stored = api.remember("I drink tea", user_id)

    assert stored["user_id"] == user_id
    assert api.get(f"/v1/memories/{stored['id']}", user_id=user_id).ok()["text"] == "I drink tea"


@pytest.mark.parametrize("user_id", ["", "x" * 257, "漢" * 257, "a\x00b", "a\nb", "\x7f", "a\x85", "\ud800"])
def test_other_user_ids_are_refused_by_name(api: Api, user_id: str) -> None:
    lone = any("\ud800" <= character <= "\udfff" for character in user_id)
    in_body = api.post("/v1/memories", {"user_id": user_id, "text": "x"})

    if lone:
        in_body.problem(400, "invalid_json")
        return
    assert in_body.fields() == ["user_id"]
    assert api.get("/v1/memories", user_id=user_id).fields() == ["user_id"]
    assert api.delete("/v1/sessions/s", user_id=user_id).fields() == ["user_id"]


@pytest.mark.parametrize("value", [7, True, ["ann"], {"id": "ann"}, 1.5])
def test_a_user_id_is_a_string(api: Api, value: object) -> None:
    assert api.post("/v1/memories", {"user_id": value, "text": "x"}).fields() == ["user_id"]


def test_the_same_user_id_in_two_tenants_is_two_users(api_stack: ApiStack) -> None:
    one, other = api_stack.tenant().admin, api_stack.tenant().admin
    stored = one.remember("I have two cats")

    other.get(f"/v1/memories/{stored['id']}", user_id="ann").problem(404, "not_found")
    assert other.get("/v1/memories", user_id="ann").ok()["memories"] == []


TIMES_TAKEN = {
    "2026-03-01T12:00:00Z": "2026-03-01T12:00:00.000000Z",
    "2026-03-01t12:00:00z": "2026-03-01T12:00:00.000000Z",
    "2026-03-01T12:00:00+05:30": "2026-03-01T06:30:00.000000Z",
    "2026-03-01T12:00:00.5-08:00": "2026-03-01T20:00:00.500000Z",
    "2026-03-01T12:00:00.123456789Z": "2026-03-01T12:00:00.123456Z",
    "2024-02-29T23:59:59Z": "2024-02-29T23:59:59.000000Z",
    "0001-01-01T00:00:00Z": "0001-01-01T00:00:00.000000Z",
    "9999-12-31T23:59:59.999999Z": "9999-12-31T23:59:59.999999Z",
}


@pytest.mark.parametrize(("given", "answered"), TIMES_TAKEN.items())
def test_times_are_answered_in_utc_with_z(api: Api, given: str, answered: str) -> None:
    stored = api.remember("I bought a bicycle", occurred_at=given)

    assert stored["occurred_at"] == answered
    assert api.get(f"/v1/memories/{stored['id']}", user_id="ann").ok()["occurred_at"] == answered


TIMES_REFUSED = [
    "2026-03-01T12:00:00",
    "2026-03-01",
    "12:00:00Z",
    "2026-03-01T12:00Z",
    "2026-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-03-01T24:00:00Z",
    "2026-03-01T12:60:00Z",
    "2026-06-30T23:59:60Z",
    "0000-01-01T00:00:00Z",
    "10000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-01:00",
    "0001-01-01T00:00:00+01:00",
    "2026-03-01T12:00:00+24:00",
    "2026-03-01T12:00:00+0530",
    "2026-03-01T12:00:00 Z",
    "２０２６-03-01T12:00:00Z",
    "-2026-03-01T12:00:00Z",
    "now",
    "",
    1772366400,
    1772366400.5,
    True,
    ["2026-03-01T12:00:00Z"],
]


@pytest.mark.parametrize("given", TIMES_REFUSED)
def test_a_time_without_offset_or_that_does_not_exist_is_refused(api: Api, given: object) -> None:
    refused = api.post("/v1/memories", {"user_id": "ann", "text": "x", "occurred_at": given})

    assert refused.fields() == ["occurred_at"]


@pytest.mark.parametrize("name", ["created_after", "created_before"])
def test_times_in_a_query_need_an_offset_too(api: Api, name: str) -> None:
    api.get("/v1/memories", user_id="ann", **{name: "2026-03-01T12:00:00+01:00"}).ok()
    assert api.get("/v1/memories", user_id="ann", **{name: "2026-03-01T12:00:00"}).fields() == [name]


def test_our_ids_are_a_prefix_and_a_ulid(api: Api) -> None:
    ulid = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
    said = api.say("s-1", "My sister is called Ingrid")
    entity = api.put("/v1/entities/city", {"user_id": "ann", "value": "Oslo", "category": "profile"}).ok(201)

    assert re.fullmatch("mem_" + ulid, api.remember("I have a boat")["id"])
    assert re.fullmatch("msg_" + ulid, said["messages"][0]["id"])
    assert re.fullmatch("ent_" + ulid, entity["id"])


CLIENT_IDS = ["a", "A.b_c:d-9", "x" * 128, "...", "0"]
NO_CLIENT_IDS = ["x" * 129, "a b", "é", "a/b", "a%00", "a~", "漢", "a#b", "a\n"]


@pytest.mark.parametrize("client_id", CLIENT_IDS)
def test_session_ids_and_entity_keys_are_the_clients(api: Api, client_id: str) -> None:
    assert api.say(client_id, "I like rain")["session_id"] == client_id
    assert api.get(f"/v1/sessions/{client_id}", user_id="ann").ok()["session_id"] == client_id
    body = {"user_id": "ann", "value": 1, "category": "parameter"}
    assert api.put(f"/v1/entities/{client_id}", body).ok(201)["key"] == client_id


@pytest.mark.parametrize("client_id", NO_CLIENT_IDS)
def test_other_session_ids_and_entity_keys_are_refused(api: Api, client_id: str) -> None:
    encoded = quote(client_id, safe="")
    body = {"user_id": "ann", "messages": [{"role": "user", "content": "x"}]}
    assert api.post(f"/v1/sessions/{encoded}/messages", body).fields() == ["session_id"]
    fact = {"user_id": "ann", "value": 1, "category": "parameter"}
    assert api.put(f"/v1/entities/{encoded}", fact).fields() == ["key"]


def test_every_answer_carries_the_request_id(api: Api, api_stack: ApiStack) -> None:
    seen = set()
    for answer in (api.get("/v1/memories", user_id="ann"), api.get("/v1/memories"), api_stack.stranger.get("/v1/x")):
        seen.add(answer.headers["x-request-id"])
        if answer.status >= 400:
            assert answer.json["request_id"] == answer.headers["x-request-id"]
    assert len(seen) == 3


BAD_JSON = [
    b"{",
    b"nul",
    b'{"user_id": "ann", "text": "x"',
    b'{"user_id": "ann", "text": NaN}',
    b'{"user_id": "ann", "text": "x", "confidence": NaN}',
    b'{"user_id": "ann", "text": "x", "confidence": Infinity}',
    b'{"user_id": "ann", "text": "x", "confidence": -Infinity}',
    b'{"user_id": "ann", "text": "\\ud800"}',
    b'{"user_id": "ann", "text": "\\udc00\\ud800"}',
    b'{"user_id": "ann", "text": "\xff"}',
    b'{"user_id": "ann", "text": "\xed\xa0\x80"}',
    b'{"user_id": "ann", "text": "a\nb"}',
    b"{'user_id': 'ann'}",
    b'{"user_id": "ann",}',
    b"[" * 100_000,
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    '{"user_id": "ann", "text": "x"}'.encode("utf-16"),
    b'{"user_id": "ann", "text": "x"} {}',
    b"\x00",
]


@pytest.mark.parametrize("raw", BAD_JSON, ids=[str(n) for n in range(len(BAD_JSON))])
def test_what_is_no_json_is_400(api: Api, raw: bytes) -> None:
    api.post("/v1/memories", raw).problem(400, "invalid_json")


@pytest.mark.parametrize("raw", [b"[]", b'"text"', b"7", b"true", b"null", b"[{}]"])
def test_a_body_is_an_object(api: Api, raw: bytes) -> None:
    assert api.post("/v1/memories", raw).fields() == ["body"]


@pytest.mark.parametrize("raw", [b"1e999", b"-1e999", b"1" + b"0" * 400, b"0.5e-99999"])
def test_numbers_beyond_a_double_are_no_server_error(api: Api, raw: bytes) -> None:
    answer = api.post("/v1/memories", b'{"user_id": "ann", "text": "x", "confidence": ' + raw + b"}")

    assert answer.status in (201, 400, 422), answer.text
    if answer.status != 201:
        answer.check_problem()


@pytest.mark.parametrize(
    "declared",
    ["text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data", "", "json", "a/json"],
)
def test_another_media_type_is_415(api: Api, declared: str) -> None:
    body = b'{"user_id": "ann", "text": "x"}'
    api.post("/v1/memories", body, content_type=declared).problem(415, "unsupported_media_type")


@pytest.mark.parametrize(
    "declared",
    ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/merge-patch+json"],
)
def test_json_media_types_are_taken(api: Api, declared: str) -> None:
    api.post("/v1/memories", b'{"user_id": "ann", "text": "I ski"}', content_type=declared).ok(201)


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "utf-8"])
def test_an_encoded_body_is_415(api: Api, encoding: str) -> None:
    body = b'{"user_id": "ann", "text": "x"}'
    api.post("/v1/memories", body, content_encoding=encoding).problem(415, "unsupported_media_type")


@pytest.mark.parametrize("size", [5 * 1024 * 1024 + 1, 7 * 1024 * 1024, 11 * 1024 * 1024])
def test_a_body_beyond_the_limit_is_413(api: Api, size: int) -> None:
    frame = b'{"user_id": "ann", "text": ""}'
    api.post("/v1/memories", frame[:-2] + b"x" * (size - len(frame)) + frame[-2:]).problem(413, "too_large")


def test_headers_beyond_the_limit_are_431(api: Api) -> None:
    api.send("GET", "/v1/memories", headers={"x-long": "y" * 12_000}).problem(431, "too_large")


@pytest.mark.parametrize("path", ["/", "/v1", "/v2/memories", "/v1/memories/", "/v1/nothing", "/v1//memories", "/%00"])
def test_an_unknown_path_is_404(api: Api, path: str) -> None:
    api.get(path, user_id="ann").problem(404, "not_found")


def test_a_method_that_a_path_has_not_is_405_and_says_which_it_has(api: Api) -> None:
    by_path = {
        path: {r.method for r in group}
        for path, group in itertools.groupby(sorted(ROUTES, key=lambda r: r.path), key=lambda r: r.path)
    }
    for route in ROUTES:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"):
            if method in by_path[route.path] or (method == "GET" and route.path == "/v1/memories/batch"):
                continue
            known_elsewhere = [
                r
                for r in ROUTES
                if r.method == method
                and r.path.endswith("}")
                and r.path.rpartition("/")[0] == route.path.rpartition("/")[0]
            ]
            if known_elsewhere:  # /v1/memories/search is also /v1/memories/{id}
                continue
            answer = api.send(method, filled(route))
            answer.problem(405, "method_not_allowed")
            allowed = {name.strip() for name in answer.headers["allow"].split(",")}
            assert by_path[route.path] <= allowed


def test_an_unknown_field_is_refused_by_name(api: Api) -> None:
    body = {"user_id": "ann", "text": "x", "tenant": "other"}
    assert api.post("/v1/memories", body).fields() == ["tenant"]
    assert api.get("/v1/memories", user_id="ann", colour="red").fields() == ["colour"]


def test_each_refused_field_is_named(api: Api) -> None:
    body = {"user_id": "ann", "text": "", "kind": "song", "confidence": 2, "origin": 1, "occurred_at": "now"}
    refused = api.post("/v1/memories", body)

    assert set(refused.fields()) == {"text", "kind", "confidence", "origin", "occurred_at"}


def test_a_refusal_names_the_field_by_its_path_and_the_limit(api: Api) -> None:
    messages = [{"role": "user", "content": "hi"}] * 3 + [{"role": "user", "content": "x" * 32_769}]
    refused = api.post("/v1/sessions/s/messages", {"user_id": "ann", "messages": messages}).problem(422, "invalid")

    assert refused["errors"] == [{"field": "messages[3].content", "message": "at most 32768 bytes"}]


def test_a_refusal_never_repeats_what_was_sent(api: Api) -> None:
    canary = "xyzzy-4711"
    body = {
        "user_id": canary * 60,
        "text": 5,
        "kind": canary,
        "occurred_at": canary,
        "session_id": "/" + canary,
    }
    for refused in (
        api.post("/v1/memories", body),
        api.get("/v1/memories", user_id="ann", cursor=canary),
        api.get("/v1/memories", user_id="ann", kind=canary, limit=canary),
        api.post("/v1/memories", {"user_id": "ann", "text": "x"}, idempotency_key=canary + " " + canary),
        api.get(f"/v1/{canary}"),
        api.get(f"/v1/memories/{canary}", user_id="ann"),
    ):
        assert refused.check_problem()
        assert canary not in refused.text


def test_answers_are_never_kept_by_caches(api: Api) -> None:
    assert api.get("/v1/memories", user_id="ann").headers["cache-control"] == "no-store"


def test_expired_and_missing_answer_alike(api: Api, api_stack: ApiStack) -> None:
    api.say("short", "I like fog", ttl_seconds=1800)
    until = moment(api.get("/v1/sessions/short", user_id="ann").ok()["expires_at"])
    api_stack.local.clock.advance(until - api_stack.now() + timedelta(seconds=1))

    expired = api.get("/v1/sessions/short", user_id="ann").problem(404, "not_found")
    missing = api.get("/v1/sessions/never", user_id="ann").problem(404, "not_found")

    assert expired | {"request_id": ""} == missing | {"request_id": ""}
