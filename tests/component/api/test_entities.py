"""The contract's section on entities."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.support.api import Api, ApiStack, TenantOnStack, moment

USER = {"user_id": "ann"}


def fact(value: object, **more: object) -> dict[str, object]:
    return {"user_id": "ann", "value": value, "category": "profile", **more}


def keys(api: Api, **query: object) -> list[str]:
    return [entity["key"] for entity in api.get("/v1/entities", user_id="ann", **query).ok()["entities"]]


VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 2**53, "", "x", "漢\U0001f98a\u202e\x00", [], {}, [[]], {"": ""},
    {"a": {"b": [1, None]}}, 10**40, 1e-300, "x" * 65_534, [0] * 32_767,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=[str(n) for n in range(len(VALUES))])
def test_any_json_value_is_kept(api: Api, value: object) -> None:
    stored = api.put("/v1/entities/k", fact(value)).ok(201)
    read = api.get("/v1/entities/k", **USER).ok()

    assert read == stored
    assert read["value"] == value
    assert type(read["value"]) is type(value)


@pytest.mark.parametrize("value", ["x" * 65_535, "漢" * 21_845, ["x" * 65_533], {"a": "x" * 65_529}])
def test_a_value_beyond_64_kb_is_refused(api: Api, value: object) -> None:
    assert api.put("/v1/entities/k", fact(value)).fields() == ["value"]
    api.get("/v1/entities/k", **USER).problem(404, "not_found")


def test_201_when_new_and_200_when_changed(api: Api) -> None:
    first = api.put("/v1/entities/city", fact("Oslo")).ok(201)
    second = api.put("/v1/entities/city", fact("Bergen")).ok(200)

    assert (first["version"], second["version"]) == (1, 2)
    assert second["id"] == first["id"]
    assert second["created_at"] == first["created_at"]
    assert second["updated_at"] > first["updated_at"]
    assert api.get("/v1/entities/city", **USER).ok()["value"] == "Bergen"


@pytest.mark.parametrize("category", ["preference", "commitment", "profile", "parameter"])
def test_what_is_known_about_a_value_is_kept(api: Api, api_stack: ApiStack, category: str) -> None:
    said = {
        "category": category,
        "origin": "agent",
        "confidence": 0.5,
        "session_id": "s-1",
        "valid_from": "2024-05-01T10:00:00.000000Z",
        "expires_at": "2044-05-01T10:00:00.000000Z",
    }
    stored = api.put("/v1/entities/k", fact(1, **said)).ok(201)

    assert {name: stored[name] for name in said} == said
    assert stored["actor"]
    assert api.get("/v1/entities/k", session_id="s-1", **USER).ok() == stored


REFUSED: list[tuple[dict[str, object], list[str]]] = [
    ({"category": "song"}, ["category"]),
    ({"category": None}, ["category"]),
    ({"origin": "dream"}, ["origin"]),
    ({"confidence": 1.5}, ["confidence"]),
    ({"session_id": "a b"}, ["session_id"]),
    ({"version": -1}, ["version"]),
    ({"version": "1"}, ["version"]),
    ({"sensitive": "no"}, ["sensitive"]),
    ({"valid_from": "2024-05-01"}, ["valid_from"]),
    ({"expires_at": "2024-05-01T10:00:00"}, ["expires_at"]),
    ({"expires_at": "2001-05-01T10:00:00Z"}, ["expires_at"]),
    ({"key": "other"}, ["key"]),
    ({"subject": "bob"}, ["subject"]),
]


@pytest.mark.parametrize(("more", "fields"), REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_what_is_refused_is_named(api: Api, more: dict[str, object], fields: list[str]) -> None:
    assert api.put("/v1/entities/k", fact(1, **more)).fields() == fields
    api.get("/v1/entities/k", **USER).problem(404, "not_found")


def test_value_and_category_are_required(api: Api) -> None:
    assert set(api.put("/v1/entities/k", USER).fields()) == {"value", "category"}


def test_an_update_may_name_the_version_that_it_saw(api: Api) -> None:
    api.put("/v1/entities/k", fact(1)).ok(201)

    assert api.put("/v1/entities/k", fact(2, version=1)).ok()["version"] == 2
    assert api.put("/v1/entities/k", fact(3), if_match='"2"').ok()["version"] == 3
    for stale in (0, 1, 2, 4):
        refused = api.put("/v1/entities/k", fact(9, version=stale)).problem(412, "version_conflict")
        assert refused["current_version"] == 3
    assert api.put("/v1/entities/k", fact(9), if_match='"1"').problem(412, "version_conflict")["current_version"] == 3
    assert api.put("/v1/entities/k", fact(9, version=3), if_match='"1"').fields() == ["version"]
    assert api.get("/v1/entities/k", **USER).ok()["value"] == 3


def test_version_0_means_new(api: Api) -> None:
    api.put("/v1/entities/k", fact(1, version=0)).ok(201)
    api.put("/v1/entities/k", fact(2, version=0)).problem(412, "version_conflict")
    missing = api.put("/v1/entities/other", fact(2, version=4)).problem(412, "version_conflict")

    assert missing["current_version"] == 0


def test_of_many_at_once_with_one_version_one_wins(api: Api) -> None:
    api.put("/v1/entities/k", fact("first")).ok(201)

    with ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(lambda n: api.put("/v1/entities/k", fact(n, version=1)), range(8)))

    assert sorted(reply.status for reply in replies) == [200] + [412] * 7
    assert api.get("/v1/entities/k", **USER).ok()["version"] == 2


def test_history_is_oldest_first_and_keeps_every_version(api: Api) -> None:
    for n in range(5):
        api.put("/v1/entities/k", fact(n))

    versions = api.get("/v1/entities/k/history", **USER).ok()["versions"]

    assert [(version["version"], version["value"]) for version in versions] == [(n + 1, n) for n in range(5)]
    assert versions[-1] == api.get("/v1/entities/k", **USER).ok()
    api.get("/v1/entities/other/history", **USER).problem(404, "not_found")


def test_a_deleted_entity_is_gone_with_its_history(api: Api) -> None:
    api.put("/v1/entities/k", fact(1)).ok(201)
    api.put("/v1/entities/k", fact(2)).ok(200)

    assert api.delete("/v1/entities/k", **USER).ok(204) == {}

    api.get("/v1/entities/k", **USER).problem(404, "not_found")
    api.get("/v1/entities/k/history", **USER).problem(404, "not_found")
    assert keys(api) == []
    api.delete("/v1/entities/k", **USER).ok(204)
    assert api.put("/v1/entities/k", fact(3, version=0)).ok(201)["version"] == 1


def test_an_expired_entity_is_as_missing_as_any(api: Api, api_stack: ApiStack) -> None:
    until = (api_stack.now() + timedelta(hours=1)).isoformat()
    api.put("/v1/entities/k", fact("soon gone", expires_at=until)).ok(201)
    assert keys(api) == ["k"]

    api_stack.local.clock.advance(timedelta(hours=1, seconds=1))

    expired = api.get("/v1/entities/k", **USER).problem(404, "not_found")
    missing = api.get("/v1/entities/other", **USER).problem(404, "not_found")
    assert expired | {"request_id": ""} == missing | {"request_id": ""}
    api.get("/v1/entities/k/history", **USER).problem(404, "not_found")
    assert keys(api) == []
    assert "soon gone" not in api.post("/v1/recall", {"user_id": "ann", "query": "k"}).text
    again = api.put("/v1/entities/k", fact("new", version=0)).ok(201)
    assert again["version"] == 1
    assert len(api.get("/v1/entities/k/history", **USER).ok()["versions"]) == 1


@pytest.mark.parametrize("until", ["9999-12-31T23:59:59Z", "5138-11-16T09:46:41Z", "2286-11-20T17:46:40Z"])
def test_an_expiry_far_away_is_no_trouble(api: Api, until: str) -> None:
    api.put("/v1/entities/k", fact(1, expires_at=until)).ok(201)

    assert moment(api.get("/v1/entities/k", **USER).ok()["expires_at"]) == moment(until)
    assert keys(api) == ["k"]


def test_session_scoped_entities_are_apart(api: Api) -> None:
    api.put("/v1/entities/doc", fact("mine")).ok(201)
    api.put("/v1/entities/doc", fact("of s-1", session_id="s-1")).ok(201)
    api.put("/v1/entities/doc", fact("of s-2", session_id="s-2")).ok(201)

    assert api.get("/v1/entities/doc", **USER).ok()["value"] == "mine"
    assert api.get("/v1/entities/doc", session_id="s-1", **USER).ok()["value"] == "of s-1"
    assert keys(api) == ["doc"] * 3
    assert keys(api, session_id="s-2") == ["doc"]
    in_s1 = api.post("/v1/recall", {"user_id": "ann", "query": "doc", "session_id": "s-1"}).ok()
    assert [entity["value"] for entity in in_s1["entities"]] == ["of s-1"]  # the session's own value stands before
    api.delete("/v1/entities/doc", session_id="s-1", **USER).ok(204)
    api.get("/v1/entities/doc", session_id="s-1", **USER).problem(404, "not_found")
    assert keys(api) == ["doc"] * 2


def test_lists_are_filtered(api: Api) -> None:
    api.put("/v1/entities/a", fact({"size": "42", "tags": ["x", "y"]}, origin="agent")).ok(201)
    mark = api.put("/v1/entities/b", fact({"size": 42}, category="parameter")).ok(201)["updated_at"]
    api.put("/v1/entities/c", fact({"first name": True, "size": None})).ok(201)

    assert keys(api) == ["a", "b", "c"]
    assert keys(api, category="parameter") == ["b"]
    assert keys(api, origin="agent") == ["a"]
    assert keys(api, updated_after=mark) == ["c"]
    assert keys(api, path="$.size") == ["a", "b", "c"]
    assert keys(api, path="$.size", equals='"42"') == ["a"]
    assert keys(api, path="$.size", equals="42") == ["b"]
    assert keys(api, path="$.size", equals="null") == ["c"]
    assert keys(api, path="$.tags[1]", equals='"y"') == ["a"]
    assert keys(api, path='$["first name"]', equals="true") == ["c"]
    assert keys(api, path='$["first name"]', equals="1") == []
    assert keys(api, path="$.tags", equals='["x","y"]') == ["a"]
    assert keys(api, path="$.tags[7]") == []
    assert keys(api, path="$") == ["a", "b", "c"]


@pytest.mark.parametrize(
    "query",
    [
        {"path": "size"}, {"path": "$."}, {"path": "$.a["}, {"path": "$.a[x]"}, {"path": "$..a"}, {"path": "$.*"},
        {"path": '$["\\ud800"]'.replace("ud800", "x")}, {"path": "$" + ".a" * 200}, {"path": ""}, {"equals": "1"},
        {"path": "$.a", "equals": "blue"}, {"path": "$.a", "equals": "NaN"}, {"path": "$.a", "equals": ""},
        {"path": "$.a", "equals": "[" * 3_000}, {"category": "song"}, {"origin": "x"}, {"updated_after": "2024"},
        {"session_id": "a b"},
    ],
)  # fmt: skip
def test_a_refused_filter_is_422(api: Api, query: dict[str, str]) -> None:
    (field,) = api.get("/v1/entities", user_id="ann", **query).fields()
    assert field == ("equals" if "equals" in query else next(iter(query)))


def test_sensitive_values_are_masked_unless_the_caller_may_see_them(tenant: TenantOnStack) -> None:
    writer, reader, governor = tenant.api("write"), tenant.api("read"), tenant.api("read", "govern")
    secret = "a-very-secret-pin"
    writer.put("/v1/entities/pin", fact({"pin": secret}, sensitive=True)).ok(201)
    writer.put("/v1/entities/pin", fact({"pin": secret + "2"}, sensitive=True)).ok(200)

    for path in ("/v1/entities/pin", "/v1/entities", "/v1/entities/pin/history"):
        masked = reader.get(path, **USER)
        assert masked.status == 200
        assert secret not in masked.text
        assert secret in governor.get(path, **USER).text
    single = reader.get("/v1/entities/pin", **USER).ok()
    assert (single["value"], single["masked"], single["sensitive"]) == (None, True, True)
    found = reader.get("/v1/entities", path="$.pin", equals=f'"{secret}2"', **USER).ok()
    assert found["entities"] == []
    recalled = reader.post("/v1/recall", {"user_id": "ann", "query": "what is the pin?", "explain": True})
    assert secret not in recalled.text


def test_entities_of_another_user_are_not_there(api: Api) -> None:
    api.put("/v1/entities/k", fact(1)).ok(201)

    api.get("/v1/entities/k", user_id="bob").problem(404, "not_found")
    assert api.get("/v1/entities", user_id="bob").ok()["entities"] == []
    api.delete("/v1/entities/k", user_id="bob").ok(204)
    assert api.get("/v1/entities/k", **USER).ok()["value"] == 1
