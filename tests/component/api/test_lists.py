"""Lists: limits, pages, and cursors that open nothing but the list that gave them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.api import Api, ApiStack, TenantOnStack

Lists = dict[str, tuple[str, str, dict[str, str]]]

LISTS: Lists = {
    "memories": ("/v1/memories", "memories", {}),
    "sessions": ("/v1/sessions", "sessions", {}),
    "entities": ("/v1/entities", "entities", {}),
    "messages": ("/v1/sessions/s-03/messages", "messages", {"order": "asc"}),
}
NAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "memories": lambda m: m["id"],
    "sessions": lambda s: s["session_id"],
    "entities": lambda e: e["key"],
    "messages": lambda m: m["sequence"],
}


def fill(api: Api, user_id: str = "ann") -> None:
    """Seven of everything."""
    items = [{"text": f"Fact number {n}"} for n in range(7)]
    api.post("/v1/memories/batch", {"user_id": user_id, "items": items}).ok()
    for n in range(7):
        api.say(f"s-{n:02}", "I like rain", user_id=user_id, remember=False)
        api.put(f"/v1/entities/e-{n:02}", {"user_id": user_id, "value": n, "category": "parameter"}).ok(201)
    api.say("s-03", *[f"message {n}" for n in range(6)], user_id=user_id, remember=False)


def pages(api: Api, name: str, limit: int) -> list[list[Any]]:
    path, things, query = LISTS[name]
    found, cursor = [], None
    while True:
        more: dict[str, str] = {} if cursor is None else {"cursor": cursor}
        page = api.get(path, user_id="ann", limit=limit, **query, **more).ok()
        found.append([NAMES[name](thing) for thing in page[things]])
        cursor = page["next_cursor"]
        if cursor is None:
            return found
        assert isinstance(cursor, str)


@pytest.mark.parametrize("name", LISTS)
def test_pages_make_the_whole_list_once(api: Api, name: str) -> None:
    fill(api)
    whole = pages(api, name, 200)

    assert len(whole) == 1
    assert len(whole[0]) == 7
    for limit in (1, 2, 3, 6, 7):
        cut = pages(api, name, limit)
        assert [thing for page in cut for thing in page] == whole[0]
        assert all(len(page) <= limit for page in cut)
        assert all(len(page) == limit for page in cut[:-1])


@pytest.mark.parametrize("name", LISTS)
def test_limits_are_1_to_200(api: Api, name: str) -> None:
    fill(api)
    path, _, query = LISTS[name]

    api.get(path, user_id="ann", limit=1, **query).ok()
    api.get(path, user_id="ann", limit=200, **query).ok()
    for limit in (0, -1, 201, 10**30, "ten", "1.5", "", "1e1", "\u0661x"):
        assert api.get(path, user_id="ann", limit=limit, **query).fields() == ["limit"], limit


def test_50_are_listed_by_default(api: Api) -> None:
    api.post("/v1/memories/batch", {"user_id": "ann", "items": [{"text": f"Fact {n}"} for n in range(51)]}).ok()
    api.say("s", *["x"] * 51, remember=False)
    for n in range(51):
        api.put(f"/v1/entities/e{n}", {"user_id": "ann", "value": n, "category": "parameter"}).ok(201)

    for path, things in (("/v1/memories", "memories"), ("/v1/entities", "entities")):
        page = api.get(path, user_id="ann").ok()
        assert len(page[things]) == 50
        assert page["next_cursor"]
    assert len(api.get("/v1/sessions/s/messages", user_id="ann", order="asc").ok()["messages"]) == 50


@pytest.mark.parametrize("name", LISTS)
def test_an_empty_list_has_no_next_page(api: Api, name: str) -> None:
    path, things, query = LISTS[name]
    if name == "messages":
        api.get(path, user_id="ann", **query).problem(404, "not_found")
    else:
        assert api.get(path, user_id="ann", **query).ok() == {things: [], "next_cursor": None}


def cursor_of(api: Api, name: str, user_id: str = "ann", /, **query: object) -> str:
    target, _, fixed = LISTS[name]
    cursor = api.get(target, user_id=user_id, limit=2, **fixed, **query).ok()["next_cursor"]
    assert isinstance(cursor, str)
    return cursor


@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_says_nothing_to_its_reader_that_he_does_not_know(api: Api, name: str, tenant: TenantOnStack) -> None:
    fill(api, "some-user")
    raw = base64.urlsafe_b64decode(cursor_of(api, name, "some-user") + "==")

    assert b"some-user" not in raw
    assert tenant.name.encode() not in raw


@pytest.mark.parametrize("name", LISTS)
def test_a_changed_cursor_is_refused(api: Api, name: str) -> None:
    fill(api)
    path, _, query = LISTS[name]
    cursor = cursor_of(api, name)
    changed = [
        cursor[:-1],
        cursor[1:],
        cursor + "A",
        cursor + "=",
        cursor.swapcase(),
        cursor[:10] + ("A" if cursor[10] != "A" else "B") + cursor[11:],
        cursor[:-1] + ("A" if cursor[-1] != "A" else "B"),
        cursor * 2,
        f" {cursor}",
        f"{cursor}\n",
        "",
        "A",
        "null",
        "é",
        "\x00",
        "a,b",
        "A" * 5_000,
        base64.urlsafe_b64encode(b"\x00" * 16 + b"MEM#").decode(),
    ]
    for forged in changed:
        api.get(path, user_id="ann", limit=2, cursor=forged, **query).problem(400, "invalid_cursor")


@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_serves_no_other_list(api: Api, name: str) -> None:
    fill(api)
    cursor = cursor_of(api, name)
    others = {path for path, _, _ in LISTS.values()} - {LISTS[name][0]} | {"/v1/sessions/s-04/messages"}
    for path in others:
        api.get(path, user_id="ann", cursor=cursor).problem(400, "invalid_cursor")


@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_serves_no_other_user_caller_or_tenant(tenant: TenantOnStack, api_stack: ApiStack, name: str) -> None:
    foreign = api_stack.tenant().admin
    for api, user_id in ((tenant.admin, "ann"), (tenant.admin, "bob"), (foreign, "ann")):
        fill(api, user_id)
    path, _, query = LISTS[name]
    cursor = cursor_of(tenant.admin, name)

    tenant.admin.get(path, user_id="ann", cursor=cursor, **query).ok()
    for api, user_id in ((tenant.admin, "bob"), (tenant.api("admin"), "ann"), (foreign, "ann")):
        api.get(path, user_id=user_id, cursor=cursor, **query).problem(400, "invalid_cursor")


@pytest.mark.parametrize(
    ("name", "asked", "other"),
    [
        ("memories", {"kind": "fact"}, {"kind": "profile"}),
        ("memories", {"kind": "fact"}, {}),
        ("memories", {}, {"status": "current"}),
        ("memories", {}, {"created_after": "2020-01-01T00:00:00Z"}),
        ("entities", {"category": "parameter"}, {}),
        ("entities", {}, {"path": "$"}),
        ("entities", {"path": "$"}, {"path": "$", "equals": "1"}),
    ],
)
def test_a_cursor_serves_no_other_query(api: Api, name: str, asked: dict[str, str], other: dict[str, str]) -> None:
    fill(api)
    cursor = cursor_of(api, name, **asked)

    api.get(LISTS[name][0], user_id="ann", cursor=cursor, **asked).ok()
    api.get(LISTS[name][0], user_id="ann", cursor=cursor, **other).problem(400, "invalid_cursor")


def test_a_page_size_may_change_from_page_to_page(api: Api) -> None:
    fill(api)
    cursor = cursor_of(api, "memories")

    assert len(api.get("/v1/memories", user_id="ann", limit=4, cursor=cursor).ok()["memories"]) == 4


def test_what_is_stored_between_two_pages_hides_nothing(api: Api) -> None:
    fill(api)
    before = pages(api, "memories", 200)[0]
    cursor = cursor_of(api, "memories")
    api.remember("Something new")

    rest = api.get("/v1/memories", user_id="ann", cursor=cursor).ok()["memories"]

    assert [memory["id"] for memory in rest] == before[2:]


def test_a_filtered_list_fills_its_pages(api: Api) -> None:
    items = [{"text": f"Fact {n}", "kind": "profile" if n % 10 == 0 else "fact"} for n in range(60)]
    api.post("/v1/memories/batch", {"user_id": "ann", "items": items}).ok()

    page = api.get("/v1/memories", user_id="ann", kind="profile", limit=4).ok()
    rest = api.get("/v1/memories", user_id="ann", kind="profile", limit=4, cursor=page["next_cursor"]).ok()

    assert [len(page["memories"]), len(rest["memories"])] == [4, 2]
