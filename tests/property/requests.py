"""Requests as no client should send them: valid ones, spoiled in one or more places by a seeded generator."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

from lethe.entry.routes import ROUTES, Route

CANARY = "zqxcanary"
"""Part of many values that are sent, and of no name of a field; no refusal may hold it."""

MISSING = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV"


@dataclass(frozen=True)
class Draft:
    """A request before it is sent. ``raw`` goes before ``body``."""

    method: str
    path: str
    query: list[tuple[str, str]] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: Any = None
    raw: bytes | None = None

    @property
    def target(self) -> str:
        return self.path + ("?" + urlencode(self.query, errors="surrogatepass") if self.query else "")

    @property
    def payload(self) -> bytes | None:
        if self.raw is not None or self.body is None:
            return self.raw
        return json.dumps(self.body, ensure_ascii=len(self.headers) % 2 == 0).encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Known:
    """What others own, for requests that try to reach it."""

    memory_ids: tuple[str, ...]
    cursors: tuple[str, ...]


MESSAGE = {"role": "user", "content": f"{CANARY} likes rain", "id": "m-1", "name": "Tom", "metadata": {"a": 1}}
STATEMENT = {
    "kind": "fact", "confidence": 0.9, "session_id": "s-1", "speaker": "Tom", "occurred_at": "2026-01-01T00:00:00Z",
    "context": "before", "metadata": {"a": {"b": [1]}}, "valid_from": "2026-01-01T00:00:00Z",
    "valid_until": "2036-01-01T00:00:00Z", "origin": "user",
}  # fmt: skip
FILTERS = {
    "kind": ["fact"], "status": "current", "session_id": "s-1", "origin": "user", "metadata": {"a": 1},
    "created_after": "2020-01-01T00:00:00Z", "created_before": "2036-01-01T00:00:00Z",
    "valid_at": "2026-06-01T00:00:00Z",
}  # fmt: skip
BODIES: Mapping[str, dict[str, Any]] = {
    "append_messages": {"messages": [MESSAGE, {"role": "assistant", "content": "ok"}], "remember": True,
    "ttl_seconds": 3600},
    "end_session": {},
    "begin_erasure": {"scope": {"kind": "fact", "created_before": "2020-01-01T00:00:00Z"}, "reason": CANARY},
    "place_hold": {"scope": {"session_id": "s-1"}, "reason": CANARY},
    "add_memories": {"text": f"{CANARY} lives in Oslo", **STATEMENT},
    "add_batch": {"items": [{"text": f"{CANARY} one", **STATEMENT}, {"text": "two"}]},
    "search_memories": {
        "query": CANARY, "top_k": 5, "threshold": 0.2, "filters": FILTERS, "as_of": "2026-06-01T00:00:00Z",
        "explain": True
    },
    "change_memory": {"version": 1, "text": CANARY, "kind": "fact", "confidence": 1, "metadata": {}, "pinned": True},
    "put_entity": {
        "value": {"a": CANARY}, "category": "profile", "origin": "user", "confidence": 1, "session_id": "s-1",
        "version": 0,
        "sensitive": False, "valid_from": "2026-01-01T00:00:00Z", "expires_at": "2036-01-01T00:00:00Z",
    },
    "recall": {
        "query": CANARY, "session_id": "s-1", "top_k": 5, "threshold": 0.2, "token_budget": 500,
        "tiers": ["memories"],
        "filters": FILTERS, "as_of": "2026-06-01T00:00:00Z", "explain": False,
    },
}  # fmt: skip
QUERIES: Mapping[str, dict[str, str]] = {
    "read_messages": {"turns": "3", "order": "asc", "limit": "5"},
    "list_sessions": {"limit": "5"},
    "list_memories": {
        "status": "current", "kind": "fact", "session_id": "s-1", "created_after": "2020-01-01T00:00:00Z",
        "created_before": "2036-01-01T00:00:00Z", "limit": "5",
    },
    "get_entity": {"session_id": "s-1"},
    "entity_history": {"session_id": "s-1"},
    "delete_entity": {"session_id": "s-1"},
    "list_entities": {
        "category": "profile", "origin": "user", "session_id": "s-1", "updated_after": "2020-01-01T00:00:00Z",
        "path": "$.a", "equals": f'"{CANARY}"', "limit": "5",
    },
}  # fmt: skip

TEXTS = [
    "", " ", "\x00", f"{CANARY}\x00", "\n", "\u2028", "\ufeff", "\u202e" + CANARY, "\U0001f469\u200d\U0001f9af" * 5,
    "é", "e\u0301",
    "שלום", "مرحبا", "漢字" * 50, "null", "true", "NaN", "0", "-1", "1e999", "${jndi:ldap://x}", "{{7*7}}",
    "' OR 1=1 --",
    "<script>alert(1)</script>", "</memory>", "../../etc/passwd", "%00", "%s%n", "a#b", "HEAD", "#",
    f"{CANARY}\r\nx: y",
    "x" * 127, "x" * 128, "x" * 129, "x" * 256, "x" * 257, "漢" * 256, "e\u0301" * 256, "e\u0301" * 257,
    "x" * 1_999, "x" * 2_000, "x" * 2_001, "漢" * 2_000, "\U0001f98a" * 2_000, "漢" * 2_001,
    "x" * 4_095, "x" * 4_096, "x" * 4_097, "漢" * 1_365, "漢" * 1_366, CANARY * 500, '"' * 1_500, "\\" * 1_500,
    "\x1b" * 700,
    "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00Z", "2016-12-31T23:59:60Z", "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999999-23:59", "2026-02-30T00:00:00Z",
    "2026-01-01T24:00:00Z", "2026-01-01T00:00:00+99:99", "２０２６-01-01T00:00:00Z", "fact", "FACT", "user", "robot",
    "mem_x", MISSING, MISSING + "0", "ann", "ANN", "*", "lk_" + CANARY,
]  # fmt: skip
LONE_SURROGATES = ["\ud800", "a\udfff", "\udc00\ud800", CANARY + "\ud83e"]
NUMBERS: list[Any] = [
    0, 1, -1, 2, 49, 50, 51, 100, 101, 200, 201, 1_799, 1_800, 7_776_000, 7_776_001, 2**31, 2**31 + 1, 2**53, 2**63,
    2**64,
    10**30, 10**400, -(10**400), 0.0, -0.0, 0.5, 1.0, 1.0000001, 1e308, -1e308, 5e-324, float("nan"), float("inf"),
    -float("inf"),
]  # fmt: skip
OTHERS: list[Any] = [
    None,
    True,
    False,
    [],
    {},
    [None],
    [[]],
    {"": ""},
    {"a": {"a": {}}},
    [0] * 500,
    {str(n): n for n in range(300)},
]
FIELDS = [
    "tenant",
    "subject",
    "epoch",
    "__proto__",
    "constructor",
    "id",
    "user_id",
    "",
    " ",
    "a.b",
    "$ref",
    "x" * 300,
    "漢",
    "a\x00b",
]


def deep(levels: int, closed: bool = True) -> bytes:
    return b"[" * levels + (b"]" * levels if closed else b"")


def any_value(rng: random.Random) -> object:
    pick = rng.random()
    if pick < 0.55:
        return rng.choice(TEXTS)
    if pick < 0.6:
        return rng.choice(LONE_SURROGATES)
    if pick < 0.8:
        return rng.choice(NUMBERS)
    if pick < 0.97:
        return copy.deepcopy(rng.choice(OTHERS))
    return _nested(rng.choice([5, 31, 33, 150, 199, 201, 400]))


def _nested(levels: int) -> object:
    value: object = CANARY
    for n in range(levels):
        value = [value] if n % 2 else {"a": value}
    return value


def _places(value: object, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every container in ``value`` with each of its keys or indices."""
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in pairs:
        found.append((value, key))
        _places(member, found)
    return found


def spoil_body(draft: Draft, rng: random.Random) -> Draft:
    """Another value, one field less, or one more, somewhere in the body."""
    body = copy.deepcopy(draft.body)
    places = _places(body, [])
    pick = rng.random()
    if pick < 0.08 or not places:
        return replace(draft, body=rng.choice([[], [body], None, "text", 7, {}, [[body]], {"body": body}]))
    container, key = rng.choice(places)
    if pick < 0.7:
        container[key] = any_value(rng)
    elif pick < 0.8:
        del container[key]
    elif pick < 0.9 and isinstance(container, dict):
        container[rng.choice(FIELDS)] = any_value(rng)
    elif isinstance(container, list):
        container[:] = container * rng.choice([0, 30, 51, 101, 501])
    return replace(draft, body=body)


def spoil_bytes(draft: Draft, rng: random.Random) -> Draft:
    """Bytes cut, flipped, added, or in another encoding."""
    raw = draft.payload or b"{}"
    place = rng.randrange(len(raw))
    spoiled: list[Callable[[], bytes]] = [
        lambda: raw[:place],
        lambda: raw[:place] + bytes([rng.randrange(256)]) + raw[place + 1 :],
        lambda: raw[:place] + rng.randbytes(rng.randrange(1, 5)) + raw[place:],
        lambda: b"\xef\xbb\xbf" + raw,
        lambda: raw.decode("utf-8", "replace").encode("utf-16"),
        lambda: raw.decode("utf-8", "replace").encode("latin-1", "replace"),
        lambda: rng.randbytes(rng.randrange(1, 200)),
        lambda: b"",
        lambda: raw + raw,
        lambda: b'{"user_id": "u-1", "value": ' + deep(rng.choice([100, 199, 200, 5_000]), rng.random() < 0.7) + b"}",
        lambda: (
            b'{"user_id": "u-1", "text": "x", "confidence": '
            + rng.choice([b"1e999", b"-1e999", b"01", b"+1", b".5", b"1."])
            + b"}"
        ),
        lambda: b'{"user_id": "u-1", "user_id": "ann", "text": "x"}',
        lambda: raw.replace(b'"', b"'"),
    ]
    return replace(draft, raw=rng.choice(spoiled)())


def spoil_query(draft: Draft, rng: random.Random, known: Known) -> Draft:
    """Another value, a parameter twice, less or more, or a cursor that is somebody else's or nobody's."""
    query = list(draft.query)
    pick = rng.random()
    if query and pick < 0.4:
        place = rng.randrange(len(query))
        query[place] = (query[place][0], _query_text(rng))
    elif query and pick < 0.5:
        query.append(rng.choice(query))
    elif query and pick < 0.6:
        del query[rng.randrange(len(query))]
    elif pick < 0.75:
        query.append((rng.choice(FIELDS), _query_text(rng)))
    else:
        query.append(("cursor", _spoiled_cursor(rng, known)))
    return replace(draft, query=query)


def _query_text(rng: random.Random) -> str:
    text = rng.choice(TEXTS + LONE_SURROGATES + [str(number) for number in NUMBERS])
    return text[:2_500]


def _spoiled_cursor(rng: random.Random, known: Known) -> str:
    cursor = rng.choice(known.cursors)
    place = rng.randrange(len(cursor))
    return rng.choice(
        [cursor, cursor[:place], cursor[:place] + "A" + cursor[place + 1 :], cursor + cursor, CANARY, "=", "é"]
    )


def spoil_path(draft: Draft, rng: random.Random, known: Known) -> Draft:
    """Other ids, encodings, traversals, slashes too many."""
    pieces = draft.path.split("/")
    place = rng.randrange(1, len(pieces))
    text = rng.choice(TEXTS + list(known.memory_ids) + ["s-ann", "e-ann", ".", "..", CANARY])[:1_000]
    pieces[place] = rng.choice(
        [
            quote(text, safe=""),
            quote(text, safe="").lower(),
            "%",
            "%zz",
            "%ff",
            "%ed%a0%80",
            "%c0%af",
            "%2e%2e",
            "%2f",
            "%00",
            "",
        ]
    )
    return replace(draft, path="/".join(pieces))


def spoil_headers(draft: Draft, rng: random.Random) -> Draft:
    """Headers that mean something to us, with values that mean nothing."""
    name = rng.choice(
        ["content-type", "content-encoding", "idempotency-key", "if-match", "accept", "x-forwarded-for", "cookie",
         "x-http-method-override", "range", "expect-ct", "x-amzn-trace-id", "accept-encoding", "authorization"]
    )  # fmt: skip
    values = [
        "", " ", CANARY, "x" * 128, "x" * 129, "x" * 3_000, '"1"', "1", "*", 'W/"1"', "99999999999", '"-1"',
        "\xe9" * 20, "gzip",
        "application/json; charset=utf-16", "text/plain", "application/json, text/plain",
        "multipart/form-data; boundary=x",
        "null", "GET", "bytes=0-1", "\t", "Bearer " + CANARY, "Bearer lk_" + "0" * 26 + "_" + "A" * 43,
    ]  # fmt: skip
    kept = [pair for pair in draft.headers if pair[0] != name or rng.random() < 0.2]
    return replace(draft, headers=[*kept, (name, rng.choice(values))])


def spoil_method(draft: Draft, rng: random.Random) -> Draft:
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PURGE", "get", "X" * 40]
    return replace(draft, method=rng.choice(methods))


class Generator:
    """An endless supply of spoiled requests, the same for the same seed."""

    def __init__(self, seed: int, known: Known) -> None:
        self._rng = random.Random(seed)
        self._known = known
        self._routes = [route for route in ROUTES if route.path not in ("/docs", "/v1/openapi.json")]

    def next(self, key: str, user_id: str) -> Draft:
        """A request by the holder of ``key`` for ``user_id``, spoiled once to three times."""
        rng = self._rng
        draft = self._valid(rng.choice(self._routes), key, user_id)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            draft = self._spoiled(draft)
        return draft

    def _valid(self, route: Route, key: str, user_id: str) -> Draft:
        rng = self._rng
        values = {
            "id": rng.choice([MISSING, *self._known.memory_ids]),
            "session_id": rng.choice(["s-1", "s-ann"]),
            "key": rng.choice(["k-1", "e-ann"]),
            "name": rng.choice(["case-1", "case-ann"]),
            "user_id": quote(user_id, safe=""),
        }
        headers = [("authorization", f"Bearer {key}")]
        body = None
        query: list[tuple[str, str]] = []
        if route.body is not None:
            body = {"user_id": user_id, **copy.deepcopy(BODIES[route.operation])}
            headers.append(("content-type", "application/json"))
            if rng.random() < 0.15:
                headers.append(("idempotency-key", f"k-{rng.randrange(40)}"))
        else:
            query = [("user_id", user_id), *QUERIES.get(route.operation, {}).items()]
        return Draft(route.method, route.path.format(**values), query, headers, body)

    def _spoiled(self, draft: Draft) -> Draft:
        rng, pick = self._rng, self._rng.random()
        if draft.body is not None and pick < 0.6:
            return spoil_body(draft, rng)
        if draft.body is not None and pick < 0.72:
            return spoil_bytes(draft, rng)
        if pick < 0.75:
            return spoil_query(draft, rng, self._known)
        if pick < 0.87:
            return spoil_path(draft, rng, self._known)
        if pick < 0.95:
            return spoil_headers(draft, rng)
        return spoil_method(draft, rng)
