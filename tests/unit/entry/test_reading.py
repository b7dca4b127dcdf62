"""Reading a request: what is refused, and by which cause."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlencode

import pytest
from pydantic import BaseModel

from lethe.entry.api.entities import PutEntity
from lethe.entry.api.memories import AddBatch, AddMemories, BatchItem, ChangeMemory, SearchMemories
from lethe.entry.api.recall import RecallMemory
from lethe.entry.api.sessions import AppendMessages
from lethe.entry.events import Event
from lethe.entry.reading import read_body, seen_version, validated_body, validated_query
from lethe.entry.routes import MAXIMUM_BODY_BYTES, ROUTES, Route
from lethe.entry.shape import oversized
from lethe.errors import InvalidInput, MalformedRequest, TooLarge

JSON = {"content-type": "application/json"}
BY_OPERATION = {route.operation: route for route in ROUTES}
SEARCH = {"user_id": "ann", "query": "x"}
FACT = {"user_id": "ann", "category": "profile"}
MESSAGE = {"role": "user", "content": "x"}


def refusal(model: type[BaseModel], body: object) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        validated_body(model, json.dumps(body).encode())
    return [(error.field, error.message) for error in refused.value.errors]


def malformed(body: bytes, model: type[BaseModel] = PutEntity) -> str:
    with pytest.raises(MalformedRequest) as refused:
        validated_body(model, body)
    assert refused.value.code == "invalid_json"
    return refused.value.detail


MANY: list[tuple[type[BaseModel], dict[str, object], str, str]] = [
    (SearchMemories, {"filters": {"metadata": dict.fromkeys(map(str, range(60_000)), 1)}},
     "filters.metadata", "at most 4096 bytes as JSON"),
    (SearchMemories, {"filters": {"metadata": dict.fromkeys(map(str, range(33)), 1)}},
     "filters.metadata", "at most 32 items"),
    (RecallMemory, {"filters": {"metadata": {"a": [[[0] * 60_000]]}}},
     "filters.metadata", "at most 4096 bytes as JSON"),
    (SearchMemories, {"filters": {"status": ["current"] * 33}}, "filters.status", "at most 32 items"),
    (SearchMemories, {"filters": {"status": ["nonsense"] * 60_000}}, "filters.status", "at most 32 items"),
    (SearchMemories, {"filters": {"kind": [7] * 60_000}}, "filters.kind", "at most 32 items"),
    (RecallMemory, {"filters": {"origin": ["user"] * 60_000}}, "filters.origin", "at most 32 items"),
    (RecallMemory, {"tiers": ["nonsense"] * 60_000}, "tiers", "at most 3 items"),
    (SearchMemories, dict.fromkeys(map(str, range(60_000)), 1), "body", "has too many unknown fields"),
    (SearchMemories, {"filters": dict.fromkeys(map(str, range(60_000)), 1)}, "filters", "has too many unknown fields"),
    (AppendMessages, {"messages": [{}] * 60_000}, "messages", "at most 100 items"),
    (AppendMessages, {"messages": [MESSAGE, dict.fromkeys(map(str, range(60_000)), 1)]},
     "messages[1]", "has too many unknown fields"),
    (AddMemories, {"messages": [{**MESSAGE, "metadata": {"a": [0] * 60_000}}]},
     "messages[0].metadata", "at most 4096 bytes as JSON"),
    (AddMemories, {"text": "x", "metadata": {"a": {"b": [None] * 60_000}}}, "metadata", "at most 4096 bytes as JSON"),
    (ChangeMemory, {"metadata": {"a": [0] * 60_000}}, "metadata", "at most 4096 bytes as JSON"),
    (AddBatch, {"items": [0] * 60_000}, "items", "at most 1000 items"),
    (PutEntity, {**FACT, "value": [0] * 60_000}, "value", "at most 65536 bytes as JSON"),
    (PutEntity, {**FACT, "value": {"a": [[]] * 60_000}}, "value", "at most 65536 bytes as JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "body", "field", "message"), MANY, ids=[f"{m[0].__name__}-{m[2]}" for m in MANY])
def test_too_many_values_are_one_refusal(
    model: type[BaseModel], body: dict[str, object], field: str, message: str
) -> None:
    said = body if model in (AppendMessages, AddMemories, AddBatch, PutEntity, ChangeMemory) else {**SEARCH, **body}

    assert refusal(model, said) == [(field, message)]


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (PutEntity, {**FACT, "value": [0] * 32_767}),
        (PutEntity, {**FACT, "value": [""] * 21_845}),
        (PutEntity, {**FACT, "value": {f"{n:04x}": 0 for n in range(7_281)}}),
        (AddMemories, {"text": "x", "metadata": {"a": [0] * 2_044}}),
        (AddMemories, {"text": "x", "metadata": {f"{n:03}": 0 for n in range(511)}}),
        (
            SearchMemories,
            {**SEARCH, "filters": {"metadata": {str(n): n for n in range(32)}, "status": ["current"] * 32}},
        ),
        (AddBatch, {"items": [0] * 1_000}),
    ],
)
def test_all_that_the_limits_allow_is_taken(model: type[BaseModel], body: object) -> None:
    assert validated_body(model, json.dumps(body, separators=(",", ":")).encode()) is not None


def test_a_few_unknown_fields_are_named() -> None:
    assert refusal(SearchMemories, {**SEARCH, "colour": 1, "size": 2}) == [
        ("colour", "unknown field"),
        ("size", "unknown field"),
    ]


def test_a_route_takes_no_more_than_its_fields_can_hold() -> None:
    caps = {route.operation: route.most_bytes for route in ROUTES if route.body is not None}
    assert caps == {
        "append_messages": MAXIMUM_BODY_BYTES, "add_memories": MAXIMUM_BODY_BYTES, "add_batch": MAXIMUM_BODY_BYTES,
        "end_session": 16_384, "search_memories": 131_072, "recall": 131_072, "change_memory": 131_072,
        "put_entity": 524_288, "begin_erasure": 131_072, "place_hold": 131_072,
    }  # fmt: skip
    for operation, most in caps.items():
        body = " " * (most + 1)
        with pytest.raises(TooLarge):
            read_body(BY_OPERATION[operation], {"body": body}, JSON)
        assert len(read_body(BY_OPERATION[operation], {"body": body[1:]}, JSON)) == most


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("put_entity", {**FACT, "user_id": "é" * 256, "value": "é" * 32_767}),
        ("put_entity", {**FACT, "user_id": "\x1f" * 256, "value": "\x1f" * 10_922}),
        (
            "search_memories",
            {"user_id": "\U0001f98a" * 256, "query": "é" * 2_048, "filters": {"metadata": {"é": "é" * 2_040}}},
        ),
        ("change_memory", {"text": "\U0001f98a" * 2_000, "metadata": {"é": "é" * 2_040}, "version": 1}),
        ("end_session", {"user_id": "\U0001f98a" * 256}),
    ],
)
def test_the_longest_values_fit_also_when_they_are_escaped(operation: str, body: object) -> None:
    sent = json.dumps(body)

    assert read_body(BY_OPERATION[operation], {"body": sent}, JSON) == sent.encode()


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ('{"user_id": "ann", "user_id": "bob", "value": 1, "category": "profile"}', "user_id"),
        ('{"value": {"a": [0, {"b": 1, "b": 1}]}, "category": "profile"}', "value.a[1].b"),
        ('{"value": 1, "category": "profile", "\\u0076alue": 2}', "value"),
        ('{"value": {"": 1, "": 2}, "category": "profile"}', "value.?"),
        ('{"value": {"<script>": 1, "<script>": 2}}', "value.?"),
        ('{"value": {"a": 1, "a": 2}, "value": 3}', "value"),
        ('{"value": {"a": {"b": 1, "b": 2}, "a": 3}}', "value.a"),
    ],
)
def test_a_member_that_comes_twice_is_named_by_its_place(body: str, place: str) -> None:
    assert malformed(body.encode()) == f"the body names a member of an object twice: {place}"


def test_members_of_different_objects_may_have_one_name() -> None:
    body = '{"value": [{"a": 1}, {"a": {"a": 1}}], "category": "profile"}'

    assert validated_body(PutEntity, body.encode()) is not None


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (b'\xef\xbb\xbf{"value": 1}', "byte order mark"),
        (b'{"value": "\xff"}', "not UTF-8"),
        (b'{"value": "\xed\xa0\x80"}', "not UTF-8"),
        (b'{"value": "\\ud800", "category": "profile"}', "surrogate"),
        (b'{"value": "\\udc00\\ud800", "category": "profile"}', "surrogate"),
        (b'{"value": ' + b"9" * 5_000 + b"}", "4,300 digits"),
        (b'{"value": NaN}', "NaN"),
        (b'{"value": -Infinity}', "-Infinity"),
        (b'{"value": 1,\n }', "line 2, column 2"),
        (b"nonsense", "line 1, column 1"),
        (b'{"value": ' + b"[" * 220 + b"]" * 220 + b', "category": "profile"}', "200 levels"),
        (b"[" * 100_000, "200 levels"),
        (b"[" * 100_000 + b"]" * 100_000, "200 levels"),
    ],
)
def test_the_cause_is_told(body: bytes, cause: str) -> None:
    assert cause in malformed(body)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" + "0" * 400 + ".0"])
def test_numbers_beyond_64_bit_floating_point_are_told(number: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        validated_body(PutEntity, f'{{"value": {{"a": {number}}}, "category": "profile"}}'.encode())

    (error,) = refused.value.errors
    assert (error.field, error.message) == (
        "value", "holds a number beyond the range of 64-bit floating point, which is not kept",
    )  # fmt: skip


def event(query: str = "", body: str | None = None) -> Event:
    return cast(Event, {"rawQueryString": query} | ({} if body is None else {"body": body}))


AUTHENTICATED = [route for route in ROUTES if route.permissions]


@pytest.mark.parametrize("route", AUTHENTICATED, ids=[route.operation for route in AUTHENTICATED])
def test_a_parameter_that_is_not_looked_at_is_refused(route: Route) -> None:
    names = ["colour"] if route.query is not None else ["user_id", "colour"]
    with pytest.raises(InvalidInput) as refused:
        validated_query(route, event("&".join(f"{name}=x" for name in names)))

    assert [error.field for error in refused.value.errors] == names
    assert (route.body is not None) == ("body" in refused.value.errors[0].message)


BODYLESS = [route for route in AUTHENTICATED if route.body is None]


@pytest.mark.parametrize("route", BODYLESS, ids=[route.operation for route in BODYLESS])
def test_a_body_that_is_not_looked_at_is_refused(route: Route) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_body(route, event(body='{"user_id": "ann"}'), JSON)

    assert [error.field for error in refused.value.errors] == ["body"]
    assert read_body(route, event(), {}) == b""
    assert read_body(route, event(body=""), JSON) == b""


@pytest.mark.parametrize(("value", "version"), [('"0"', 0), ('"1"', 1), (' "23"\t', 23), ('"999999999"', 999_999_999)])
def test_an_entity_tag_is_a_version(value: str, version: int) -> None:
    assert seen_version(BY_OPERATION["put_entity"], {"if-match": value}) == version


@pytest.mark.parametrize(
    "value",
    [
        "1",
        '"1',
        '1"',
        '"01"',
        '"00"',
        '""',
        '" 1"',
        '"+1"',
        '"-1"',
        'W/"1"',
        "*",
        '"1", "2"',
        '"1000000000"',
        '"١"',
        "",
    ],
)
def test_anything_else_is_no_version(value: str) -> None:
    headers: Mapping[str, str] = {"if-match": value}
    with pytest.raises(MalformedRequest) as refused:
        seen_version(BY_OPERATION["put_entity"], headers)
    assert refused.value.code == "invalid_header"


def test_without_the_header_no_version_was_seen() -> None:
    assert seen_version(BY_OPERATION["put_entity"], {}) is None


def test_an_item_of_a_batch_is_measured_too() -> None:
    item = {"text": "x", "metadata": {"a": [0] * 60_000}}

    assert [(e.field, e.message) for e in oversized(BatchItem, item)] == [("metadata", "at most 4096 bytes as JSON")]
    assert list(oversized(BatchItem, {"text": "x", "metadata": {"a": [0] * 1_000}})) == []
    (unknown,) = oversized(BatchItem, dict.fromkeys(map(str, range(60_000)), 1))
    assert (unknown.field, unknown.message) == ("body", "has too many unknown fields")


NUMBERS = [
    (route, name)
    for route in ROUTES
    if route.query is not None
    for name, described in route.query.model_json_schema()["properties"].items()
    if described.get("type") in ("integer", "number")
    or any(choice.get("type") in ("integer", "number") for choice in described.get("anyOf", []))
]


def test_every_list_and_the_newest_turns_have_numbers_in_their_query() -> None:
    assert {(route.operation, name) for route, name in NUMBERS} >= {
        ("read_messages", "turns"), ("read_messages", "limit"), ("list_sessions", "limit"), ("list_memories", "limit"),
        ("list_entities", "limit"),
    }  # fmt: skip


@pytest.mark.parametrize(("route", "name"), NUMBERS, ids=[f"{route.operation}-{name}" for route, name in NUMBERS])
def test_a_number_in_a_query_is_digits_alone(route: Route, name: str) -> None:
    for text in ("5_0", "+5", " 5", "5 ", "05", "00", "5.0", "5e0", "٥", "0x5", "", "1" * 30, "-", "５"):
        with pytest.raises(InvalidInput) as refused:
            validated_query(route, event(urlencode({name: text})))
        assert [(e.field, e.message) for e in refused.value.errors] == [(name, "must be a whole number, in digits")]
    for text in ("0", "-5"):
        with pytest.raises(InvalidInput) as refused:
            validated_query(route, event(urlencode({name: text})))
        assert [(e.field, e.message) for e in refused.value.errors] == [(name, "must be at least 1")]
    query = validated_query(route, event(urlencode({name: "7"})))
    assert getattr(query, name) == 7


UNSEEN = ("\u200b", "\0", " \u3164\ufeff ")


@pytest.mark.parametrize("text", UNSEEN, ids=ascii)
@pytest.mark.parametrize(
    ("model", "body", "field"),
    [
        (AddMemories, {}, "text"),
        (AddMemories, {"text": "x"}, "speaker"),
        (BatchItem, {}, "text"),
        (ChangeMemory, {}, "text"),
        (SearchMemories, {}, "query"),
        (RecallMemory, {}, "query"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_text_that_shows_nothing_is_refused(
    model: type[BaseModel], body: dict[str, object], field: str, text: str
) -> None:
    assert refusal(model, {**body, field: text}) == [(field, "must not be blank")]
    assert validated_body(model, json.dumps({**body, field: text + "x"}).encode()) is not None


@pytest.mark.parametrize("text", UNSEEN, ids=ascii)
def test_a_message_without_a_visible_name_is_refused(text: str) -> None:
    message = {"role": "user", "content": "x", "name": text}
    assert refusal(AppendMessages, {"messages": [message]}) == [("messages[0].name", "must not be blank")]
