"""Paths into entity values."""

from __future__ import annotations

import pytest

from lethe.domain.json_path import JsonPath
from lethe.domain.json_values import JsonValue, canonical

VALUE: JsonValue = {
    "size": 42,
    "a": {"b": [10, {"c": None}], "": "empty", "x-y": 1, "first name": "Ann"},
    "名": "漢",
    "text": "hello",
    "yes": True,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", VALUE), ("$.size", 42), ("$.a.b[0]", 10), ("$.a.b[1].c", None), ('$.a[""]', "empty"), ("$.a.x-y", 1),
        ('$.a["first name"]', "Ann"), ("$['a']['first name']", "Ann"), ("$.名", "漢"), ('$["\\u540d"]', "漢"),
    ],
)  # fmt: skip
def test_what_is_there(path: str, found: JsonValue) -> None:
    assert JsonPath.parse(path).find(VALUE) == (True, found)


@pytest.mark.parametrize(
    "path", ["$.b", "$.a.b[2]", "$.a.b.c", "$.size.x", "$.size[0]", "$.text[0]", "$[0]", "$.a.b[1].c.d"]
)
def test_what_is_not_there(path: str) -> None:
    assert JsonPath.parse(path).find(VALUE) == (False, None)


@pytest.mark.parametrize(
    "path",
    ["", "size", ".size", "$size", "$.", "$..a", "$.*", "$[", "$[]", "$[x]", "$[-1]", "$[1234567]", "$['a]",
    '$["a"', "$.1a",
     "$.a b", "$ .a", '$["\\x"]', "$" + ".a" * 128, "$.a\n"],
)  # fmt: skip
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(ValueError, match=r"path|name"):
        JsonPath.parse(path)


@pytest.mark.parametrize(
    ("path", "equals", "same"),
    [
        ("$.size", 42, True), ("$.size", 42.0, True), ("$.size", "42", False), ("$.yes", True, True), ("$.yes", 1,
        False),
        ("$.a.b[1].c", None, True), ("$.missing", None, False), ("$.a.b", [10, {"c": None}], True),
    ],
)  # fmt: skip
def test_comparison(path: str, equals: JsonValue, same: bool) -> None:
    assert JsonPath.parse(path).matches(VALUE, equals, compares=True) is same


def test_without_comparison_existence_counts() -> None:
    assert JsonPath.parse("$.a.b[1].c").matches(VALUE, None, compares=False)
    assert not JsonPath.parse("$.b").matches(VALUE, None, compares=False)


def test_canonical_text_is_one_for_equal_values() -> None:
    assert canonical({"b": 1, "a": [1, {"d": None, "c": "漢"}]}) == '{"a":[1,{"c":"漢","d":null}],"b":1}'
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON compliant"):
            canonical([number])


@pytest.mark.parametrize("text", ["$[05]", "$[00]", "$[٣]", "$[+1]", "$[ 1]", "$[1_0]", "$[-1]", "$[1.0]"])
def test_an_index_is_digits_alone(text: str) -> None:
    with pytest.raises(ValueError, match="must be a path"):
        JsonPath.parse(text)


def test_an_index_is_a_number_of_json() -> None:
    assert [JsonPath.parse(text).steps for text in ("$[0]", "$[10]")] == [(0,), (10,)]
