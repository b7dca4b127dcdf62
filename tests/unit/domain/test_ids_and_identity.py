"""Ids that sort by time, and user ids that are stored as keyed hashes only."""

from __future__ import annotations

import random
import unicodedata
from datetime import UTC, datetime, timedelta

import pytest

from lethe.domain import ids
from lethe.domain.access import TENANT_NAME, ApiKey, format_key, hash_secret, parse_key
from lethe.domain.identity import Caller, Permission, Space, normalise_user_id, subject_of
from tests.support.makers import ulid_time

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = b"k" * 32


def test_ulids_are_26_letters_that_sort_by_time_then_chance() -> None:
    rng = random.Random(1)
    made = [(NOON + timedelta(milliseconds=rng.randrange(10**9)), rng.getrandbits(80)) for _ in range(500)]

    by_text = sorted(made, key=lambda pair: ids.ulid(*pair))

    assert by_text == sorted(made)
    assert all(len(ids.ulid(*pair)) == 26 for pair in made)


def test_a_ulid_holds_its_moment() -> None:
    for moment in (datetime(1970, 1, 1, tzinfo=UTC), NOON, datetime(9999, 12, 31, tzinfo=UTC)):
        assert ulid_time(ids.ulid(moment, 2**80 - 1)) == moment


def test_the_known_example_of_the_specification() -> None:
    """https://github.com/ulid/spec: 01ARZ3NDEKTSV4RRFFQ69G5FAV was made at 1469922850259 ms."""
    moment = datetime.fromtimestamp(1_469_922_850.259, UTC)

    assert ids.ulid(moment, 0)[:10] == "01ARZ3NDEK"
    assert abs(ulid_time("01ARZ3NDEKTSV4RRFFQ69G5FAV") - moment) < timedelta(milliseconds=1)


def test_only_the_low_80_bits_of_chance_count() -> None:
    assert ids.ulid(NOON, 2**80 + 5) == ids.ulid(NOON, 5)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("mem_01ARZ3NDEKTSV4RRFFQ69G5FAV", True),
        ("mem_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", True),
        ("mem_8ZZZZZZZZZZZZZZZZZZZZZZZZZ", False),
        ("mem_01arz3ndektsv4rrffq69g5fav", False),
        ("mem_01ARZ3NDEKTSV4RRFFQ69G5FA", False),
        ("mem_01ARZ3NDEKTSV4RRFFQ69G5FAVX", False),
        ("mem_01ARZ3NDEKTSV4RRFFQ69G5FAI", False),
        ("mem_01ARZ3NDEKTSV4RRFFQ69G5FAV\n", False),
        ("ent_01ARZ3NDEKTSV4RRFFQ69G5FAV", False),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", False),
        ("mem_", False),
        ("", False),
    ],
)
def test_the_form_of_an_id(text: str, is_one: bool) -> None:
    assert ids.is_id(text, ids.MEMORY) is is_one


def test_user_ids_are_equal_after_nfc() -> None:
    for name in ("é", "Å", "한글", "ỗ"):
        nfd = unicodedata.normalize("NFD", name)
        assert nfd != name
        assert subject_of("acme", nfd, KEY) == subject_of("acme", name, KEY)
    assert subject_of("acme", "Ann", KEY) != subject_of("acme", "ann", KEY)
    assert subject_of("acme", "ann ", KEY) != subject_of("acme", "ann", KEY)
    assert subject_of("acme", "ａnn", KEY) != subject_of("acme", "ann", KEY)


def test_a_subject_depends_on_tenant_user_and_key() -> None:
    subjects = {
        subject_of("acme", "ann", KEY),
        subject_of("acme", "bob", KEY),
        subject_of("other", "ann", KEY),
        subject_of("acme", "ann", b"j" * 32),
    }

    assert len(subjects) == 4
    assert all(len(s) == 32 and set(s) <= set("0123456789abcdef") for s in subjects)


@pytest.mark.parametrize("user_id", ["x", "x" * 256, "漢" * 256, "a b", "\u200b", "\u2028", "e\u0301" * 256])
def test_user_ids_that_are_taken(user_id: str) -> None:
    assert normalise_user_id(user_id) == unicodedata.normalize("NFC", user_id)


@pytest.mark.parametrize("user_id", ["", "x" * 257, "\u0344" * 129, "\x00", "a\n", "\x7f", "\x9f", "\ud800"])
def test_user_ids_that_are_refused(user_id: str) -> None:
    with pytest.raises(ValueError, match="must"):
        normalise_user_id(user_id)


def test_admin_includes_every_permission_and_no_other_does() -> None:
    for held in Permission:
        caller = Caller("acme", "key:1", frozenset({held}), ("*",), "1")
        for wanted in Permission:
            assert caller.may(wanted) is (held in (wanted, Permission.ADMIN))


def test_a_caller_covers_its_subjects_alone() -> None:
    one = Caller("acme", "key:1", frozenset(), ("s1", "s2"), "1")

    assert one.covers("s1")
    assert not one.covers("s3")
    assert not one.covers("*")
    assert Caller("acme", "key:1", frozenset(), ("*",), "1").covers("s3")


def test_the_revision_is_no_part_of_a_spaces_identity() -> None:
    assert Space("t", "s", 1, 5) == Space("t", "s", 1, 9)
    assert hash(Space("t", "s", 1, 5)) == hash(Space("t", "s", 1, 9))
    assert Space("t", "s", 1) != Space("t", "s", 2)


SECRET = "A" * 42 + "-"


def test_keys_are_parsed_as_they_were_formatted() -> None:
    text = format_key("01ARZ3NDEKTSV4RRFFQ69G5FAV", SECRET)

    assert parse_key(text) == ("01ARZ3NDEKTSV4RRFFQ69G5FAV", SECRET)
    for broken in (
        text[:-1],
        text + "x",
        text[1:],
        text.lower(),
        " " + text,
        text + "\n",
        "",
        "lk__",
        text.replace("A", "é"),
    ):
        assert parse_key(broken) is None


def test_a_key_opens_with_its_secret_until_it_is_revoked() -> None:
    def key(revoked_at: datetime | None) -> ApiKey:
        return ApiKey("id", "acme", "key:id", hash_secret(SECRET), frozenset(), ("*",), NOON, revoked_at)

    assert key(None).opens_with(SECRET)
    assert not key(None).opens_with(SECRET[:-1] + "_")
    assert not key(None).opens_with("")
    assert not key(None).opens_with(hash_secret(SECRET))
    assert not key(NOON).opens_with(SECRET)
    assert SECRET not in repr(key(None))


@pytest.mark.parametrize(
    ("name", "taken"),
    [("a", True), ("a-1", True), ("x" * 64, True), ("x" * 65, False), ("-a", False), ("a-", False), ("A", False),
     ("a#b", False), ("", False), ("é", False), ("a\n", False), ("a.b", False)],
)  # fmt: skip
def test_tenant_names(name: str, taken: bool) -> None:
    assert bool(TENANT_NAME.fullmatch(name)) is taken
