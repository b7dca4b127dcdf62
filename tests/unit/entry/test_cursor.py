"""Cursors: signed, bound, and one spelling alone."""

from __future__ import annotations

import random

import pytest

from lethe.domain.identity import Caller, Permission
from lethe.entry.cursor import Cursors
from lethe.errors import MalformedRequest

CURSORS = Cursors(b"k" * 32)
CALLER = Caller("acme", "key:1", frozenset({Permission.READ}), ("*",), "1")
BINDING = {"list": "memories", "subject": "s", "kind": None}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_="


def read(cursor: str, caller: Caller = CALLER, binding: dict[str, str | None] | None = None) -> str | None:
    return CURSORS.read(cursor, caller, BINDING if binding is None else binding)


@pytest.mark.parametrize("key", ["", "MEM#x", "漢#é", "\x00", "k" * 500])
def test_a_cursor_comes_back_as_its_key(key: str) -> None:
    cursor = CURSORS.write(key, CALLER, BINDING)

    assert cursor is not None
    assert read(cursor) == key
    assert set(cursor) <= set(LETTERS) - {"="}


def test_no_next_page_is_no_cursor() -> None:
    assert CURSORS.write(None, CALLER, BINDING) is None
    assert CURSORS.read(None, CALLER, BINDING) is None


def test_order_of_the_binding_is_no_matter() -> None:
    cursor = CURSORS.write("k", CALLER, BINDING) or ""

    assert read(cursor, binding=dict(reversed(BINDING.items()))) == "k"


@pytest.mark.parametrize(
    "caller",
    [
        Caller("other", "key:1", CALLER.permissions, ("*",), "1"),
        Caller("acme", "key:1", CALLER.permissions, ("*",), "2"),
        Caller("acme1", "key:1", CALLER.permissions, ("*",), ""),
        Caller("acme", "key:1", frozenset({Permission.READ, Permission.GOVERN}), ("*",), "1"),
        Caller("acme", "key:1", CALLER.permissions, ("s1",), "1"),
    ],
)
def test_another_caller_is_refused(caller: Caller) -> None:
    cursor = CURSORS.write("k", CALLER, BINDING) or ""

    with pytest.raises(MalformedRequest):
        read(cursor, caller)


@pytest.mark.parametrize("change", [{"list": "sessions"}, {"subject": "t"}, {"kind": "fact"}, {"more": "x"}])
def test_another_query_is_refused(change: dict[str, str | None]) -> None:
    cursor = CURSORS.write("k", CALLER, BINDING) or ""

    with pytest.raises(MalformedRequest) as refused:
        read(cursor, binding=BINDING | change)
    assert refused.value.code == "invalid_cursor"


def test_another_master_key_is_refused() -> None:
    cursor = Cursors(b"j" * 32).write("k", CALLER, BINDING) or ""

    with pytest.raises(MalformedRequest):
        read(cursor)


def test_no_changed_cursor_passes() -> None:
    rng = random.Random(1)
    cursor = CURSORS.write("MEM#01ARZ3NDEKTSV4RRFFQ69G5FAV", CALLER, BINDING) or ""
    for _ in range(3_000):
        place = rng.randrange(len(cursor))
        changed = rng.choice(
            [
                cursor[:place] + rng.choice(LETTERS) + cursor[place + 1 :],
                cursor[:place],
                cursor[:place] + rng.choice(LETTERS) + cursor[place:],
                cursor[place:] + cursor[:place],
            ]
        )
        if changed == cursor:
            continue
        with pytest.raises(MalformedRequest):
            read(changed)


@pytest.mark.parametrize("text", ["", "=", "A", "é", "\x00", "null", "a b", "A" * 100_000, "\ud800"])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(MalformedRequest):
        read(text)
