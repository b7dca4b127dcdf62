"""The contract of Entities, over the fake and both DynamoDBs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lethe.domain.entity import EntityCategory, held_at
from lethe.domain.identity import Space
from lethe.domain.json_values import JsonValue, canonical
from lethe.domain.memory import Origin
from lethe.errors import Erased, Held, TooLarge, VersionConflict
from tests.fakes.time_and_ids import START
from tests.support.makers import JSON_VALUES, TEXTS, entity
from tests.support.stores import Stores

NOON = START.replace(microsecond=0)
LATER = NOON + timedelta(minutes=1)


def test_every_field_comes_back(stores: Stores) -> None:
    space = stores.new_space()
    new = entity(
        "a.b:c_d-9",
        "v",
        category=EntityCategory.COMMITMENT,
        origin=Origin.TOOL,
        confidence=1e-300,
        actor="key 2",
        valid_from=START - timedelta(days=1, microseconds=1),
        created_at=START + timedelta(microseconds=1),
        updated_at=START + timedelta(microseconds=2),
        session_id="ses:1.a_b-c",
        sensitive=True,
        expires_at=START + timedelta(days=1, microseconds=3),
    )
    stored = stores.entities.put(space, new, None)
    assert stored == replace(new, version=1)
    assert stores.entities.get(space, new.key, new.session_id, START) == stored
    assert stores.entities.list(space, START) == (stored,)
    assert stores.entities.history(space, new.key, new.session_id, START) == (stored,)


@pytest.mark.parametrize("value", [*JSON_VALUES, *TEXTS], ids=lambda value: canonical(value).encode().hex()[:24])
def test_values_come_back_as_they_were(stores: Stores, value: JsonValue) -> None:
    space = stores.new_space()
    stores.entities.put(space, entity("k", value), None)
    stored = stores.entities.get(space, "k", None, START)
    assert stored is not None
    assert canonical(stored.value) == canonical(value)
    assert type(stored.value) is type(value)


def test_nothing_there(stores: Stores) -> None:
    space = stores.new_space()
    assert stores.entities.get(space, "k", None, NOON) is None
    assert stores.entities.list(space, NOON) == ()
    assert stores.entities.history(space, "k", None, NOON) == ()
    assert stores.entities.delete(space, "k", None) == 0
    assert stores.entities.delete_session(space, "s") == 0
    assert stores.revision(space) == 0


def test_a_change_keeps_what_was_before(stores: Stores) -> None:
    space = stores.new_space()
    first = stores.entities.put(space, entity("k", 1, NOON), None)
    second = stores.entities.put(space, entity("k", 2, LATER, session_id=None), None)
    assert (second.id, second.created_at, second.version) == (first.id, first.created_at, 2)
    assert (second.value, second.updated_at) == (2, LATER)
    assert stores.entities.get(space, "k", None, LATER) == second
    assert stores.entities.list(space, LATER) == (second,)
    old = replace(first, superseded_at=LATER)
    assert stores.entities.history(space, "k", None, LATER) == (old, second)
    assert stores.revision(space) == 2


def test_history_is_in_order(stores: Stores) -> None:
    space = stores.new_space()
    for n in range(12):
        stores.entities.put(space, entity("k", n, NOON + timedelta(seconds=n)), n)
    assert [e.value for e in stores.entities.history(space, "k", None, LATER)] == list(range(12))


def test_history_tells_what_held_when(stores: Stores) -> None:
    space = stores.new_space()
    short = LATER + timedelta(hours=1)
    first = stores.entities.put(space, entity("k", 1, NOON), None)
    stores.entities.put(space, entity("k", 2, LATER, expires_at=short), None)
    third = stores.entities.put(space, entity("k", 3, LATER, valid_from=NOON + timedelta(days=9)), None)

    def held(moment: datetime, now: datetime) -> JsonValue:
        version = held_at(stores.entities.history(space, "k", None, now), moment)
        return None if version is None else version.value

    assert [held(moment, LATER) for moment in (NOON, LATER, short, third.valid_from)] == [1, 2, None, 3]
    assert [held(moment, short) for moment in (NOON, LATER, short, third.valid_from)] == [1, None, None, 3]
    assert held(first.valid_from - timedelta(microseconds=1), LATER) is None


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_a_stale_version_changes_nothing(stores: Stores, expected: int) -> None:
    space = stores.new_space()
    stores.entities.put(space, entity("k", 1), 0)
    current = stores.entities.put(space, entity("k", 2), 1)
    with pytest.raises(VersionConflict) as refused:
        stores.entities.put(space, entity("k", 3), expected)
    assert refused.value.current_version == 2
    assert stores.entities.get(space, "k", None, NOON) == current
    assert len(stores.entities.history(space, "k", None, NOON)) == 2
    assert stores.revision(space) == 2


def test_a_version_of_nothing(stores: Stores) -> None:
    space = stores.new_space()
    with pytest.raises(VersionConflict) as refused:
        stores.entities.put(space, entity("k"), 1)
    assert refused.value.current_version == 0
    assert stores.entities.list(space, NOON) == ()


def test_a_session_has_its_own_values(stores: Stores) -> None:
    space = stores.new_space()
    sessions = [None, "s", "s2", "subject", "session"]
    for session_id in sessions:
        stores.entities.put(space, entity("k", session_id, session_id=session_id), 0)
    stores.entities.put(space, entity("k", "changed", session_id="s"), 1)
    for session_id in sessions:
        stored = stores.entities.get(space, "k", session_id, NOON)
        assert stored is not None
        assert stored.value == ("changed" if session_id == "s" else session_id)
    assert len(stores.entities.history(space, "k", "s", NOON)) == 2
    assert len(stores.entities.history(space, "k", None, NOON)) == 1


def test_lists_are_by_key(stores: Stores) -> None:
    space = stores.new_space()
    names = ["B", "a", "a-b", "a.b", "a:b", "a_b", "b", "c1", "c10", "c2"]
    for name in reversed(names):
        stores.entities.put(space, entity(name), None)
    stores.entities.put(space, entity("b", session_id="z"), None)
    listed = [(e.key, e.session_id) for e in stores.entities.list(space, NOON)]
    assert listed == sorted([*((name, None) for name in names), ("b", "z")], key=lambda pair: (pair[0], pair[1] or ""))


def test_keys_that_begin_with_each_other_do_not_mix(stores: Stores) -> None:
    space = stores.new_space()
    for name in ("a", "a.", "ab", "v0000000001"):
        stores.entities.put(space, entity(name, 1), None)
        stores.entities.put(space, entity(name, 2), None)
    assert stores.entities.delete(space, "a", None) == 2
    assert [e.key for e in stores.entities.list(space, NOON)] == ["a.", "ab", "v0000000001"]
    assert len(stores.entities.history(space, "ab", None, NOON)) == 2


def test_delete_takes_history_along(stores: Stores) -> None:
    space = stores.new_space()
    first = stores.entities.put(space, entity("k", 1), None)
    stores.entities.put(space, entity("k", 2), None)
    stores.entities.put(space, entity("other", 1), None)
    assert stores.entities.delete(space, "k", None) == 2
    assert stores.entities.get(space, "k", None, NOON) is None
    assert stores.entities.history(space, "k", None, NOON) == ()
    assert [e.key for e in stores.entities.list(space, NOON)] == ["other"]
    assert stores.revision(space) == 4
    anew = stores.entities.put(space, entity("k", 3), 0)
    assert (anew.version, anew.id == first.id) == (1, False)
    assert stores.entities.history(space, "k", None, NOON) == (anew,)


def test_delete_of_a_version_that_was_seen(stores: Stores) -> None:
    space = stores.new_space()
    stores.entities.put(space, entity("k", 1), None)
    stores.entities.put(space, entity("k", 2), None)
    for stale in (0, 1, 3):
        with pytest.raises(VersionConflict) as refused:
            stores.entities.delete(space, "k", None, stale)
        assert refused.value.current_version == 2
    assert len(stores.entities.history(space, "k", None, NOON)) == 2
    assert stores.entities.delete(space, "k", None, 2) == 2
    assert stores.entities.delete(space, "k", None, 2) == 0


def test_delete_of_more_versions_than_a_transaction_holds(big_stores: Stores) -> None:
    space = big_stores.new_space()
    for n in range(104):
        big_stores.entities.put(space, entity("k", n), n)
    assert len(big_stores.entities.history(space, "k", None, NOON)) == 104
    assert big_stores.entities.delete(space, "k", None) == 104
    assert big_stores.entities.history(space, "k", None, NOON) == ()


def test_delete_of_a_session(stores: Stores) -> None:
    space = stores.new_space()
    for session_id in (None, "s", "s2"):
        stores.entities.put(space, entity("one", 1, session_id=session_id), None)
        stores.entities.put(space, entity("one", 2, session_id=session_id), None)
        stores.entities.put(space, entity("two", 1, session_id=session_id), None)
    assert stores.entities.delete_session(space, "s") == 3
    assert stores.revision(space) == 10
    assert stores.entities.history(space, "one", "s", NOON) == ()
    assert [(e.key, e.session_id) for e in stores.entities.list(space, NOON)] == [
        ("one", None),
        ("one", "s2"),
        ("two", None),
        ("two", "s2"),
    ]
    assert stores.entities.delete_session(space, "s") == 0
    assert stores.revision(space) == 10


@pytest.mark.parametrize(("seconds", "alive"), [(-1, True), (-0.000001, True), (0, False), (1, False)])
def test_a_value_expires_to_the_moment(stores: Stores, seconds: float, alive: bool) -> None:
    space = stores.new_space()
    stores.entities.put(space, entity("k", 1, NOON), None)
    first = stores.entities.put(space, entity("k", 2, NOON, expires_at=LATER), None)
    then = LATER + timedelta(seconds=seconds)
    assert (stores.entities.get(space, "k", None, then) is not None) is alive
    assert len(stores.entities.list(space, then)) == alive
    assert len(stores.entities.history(space, "k", None, then)) == (2 if alive else 0)
    after = stores.entities.put(space, entity("k", 3, then), None)
    assert (after.version, after.id == first.id) == ((3, True) if alive else (1, False))
    assert len(stores.entities.history(space, "k", None, then)) == after.version


def test_a_value_that_expired_counts_as_new(stores: Stores) -> None:
    space = stores.new_space()
    stores.entities.put(space, entity("k", 1, NOON, expires_at=LATER), 0)
    with pytest.raises(VersionConflict) as refused:
        stores.entities.put(space, entity("k", 2, LATER), 1)
    assert refused.value.current_version == 0
    assert stores.entities.put(space, entity("k", 2, LATER), 0).version == 1


def test_a_value_over_one_that_expired_writes_over_nothing_of_it(stores: Stores) -> None:
    space = stores.new_space()
    stores.entities.put(space, entity("k", 1, NOON), 0)
    stores.entities.put(space, entity("k", 2, NOON, expires_at=LATER), 1)
    third = stores.entities.put(space, entity("k", 3, LATER, sensitive=True), None, keep_sensitive=True)
    fourth = stores.entities.put(space, entity("k", 4, LATER), 1)
    assert (third.version, third.id, fourth.version) == (1, fourth.id, 2)
    old = replace(third, superseded_at=LATER)
    assert stores.entities.history(space, "k", None, LATER) == (old, fourth)
    assert stores.entities.delete(space, "k", None) == 4


@pytest.mark.parametrize("before", [None, LATER + timedelta(hours=2)])
@pytest.mark.parametrize("expected", [None, 1])
def test_a_held_value_is_given_no_end_and_no_earlier_one(
    stores: Stores, before: datetime | None, expected: int | None
) -> None:
    space = stores.new_space()
    first = stores.entities.put(space, entity("k", 1, NOON, expires_at=before), None, held=True)
    sooner = entity("k", 2, LATER, expires_at=LATER + timedelta(hours=1))
    with pytest.raises(Held):
        stores.entities.put(space, sooner, expected, held=True)
    assert stores.entities.history(space, "k", None, LATER) == (first,)
    second = stores.entities.put(space, entity("k", 2, LATER, expires_at=before), expected, held=True)
    assert (second.version, second.expires_at) == (2, before)
    assert stores.entities.put(space, sooner, 2).version == 3


def test_a_new_value_may_have_any_end_though_it_is_held(stores: Stores) -> None:
    space = stores.new_space()
    stores.entities.put(space, entity("k", 1, NOON, expires_at=LATER), None)
    again = entity("k", 2, LATER, expires_at=LATER + timedelta(seconds=1))
    assert stores.entities.put(space, again, None, held=True).version == 1


def test_old_versions_expire_too(stores: Stores) -> None:
    space = stores.new_space()
    stores.entities.put(space, entity("k", 1, NOON, expires_at=LATER), None)
    second = stores.entities.put(space, entity("k", 2, NOON), None)
    assert len(stores.entities.history(space, "k", None, NOON)) == 2
    assert stores.entities.history(space, "k", None, LATER) == (second,)


def test_others_see_nothing(stores: Stores) -> None:
    space = stores.new_space()
    stores.entities.put(space, entity("k", 1, session_id="s"), None)
    stores.entities.put(space, entity("k", 1), None)
    foreign = [
        stores.new_space(space.tenant),
        Space(stores.new_space().tenant, space.subject, 1),
        replace(space, epoch=2),
    ]
    for other in foreign:
        assert stores.entities.get(other, "k", None, NOON) is None
        assert stores.entities.get(other, "k", "s", NOON) is None
        assert stores.entities.list(other, NOON) == ()
        assert stores.entities.history(other, "k", None, NOON) == ()
        assert stores.entities.delete(other, "k", None) == 0
        assert stores.entities.delete_session(other, "s") == 0
    assert len(stores.entities.list(space, NOON)) == 2


def test_a_late_writer_is_told_and_seen_by_nobody(stores: Stores) -> None:
    space = stores.new_space()
    stores.entities.put(space, entity("k", 1), None)
    after = stores.begin_erasure(space)
    for key in ("k", "new"):
        with pytest.raises(Erased):
            stores.entities.put(space, entity(key, 2), None)
    stores.admit(space)
    with pytest.raises(Erased):
        stores.entities.put(space, entity("k", 2), 1)
    assert stores.entities.list(after, NOON) == ()
    assert stores.revision(space) == 1


def test_a_value_too_large_names_the_field(strict_stores: Stores) -> None:
    with pytest.raises(TooLarge, match="value"):
        strict_stores.entities.put(strict_stores.new_space(), entity("k", "x" * 390_000), None)


def test_more_than_a_megabyte_of_values(big_stores: Stores) -> None:
    space = big_stores.new_space()
    for n in range(30):
        big_stores.entities.put(space, entity(f"k{n:02}", f"{n}" + "字" * 20_000), None)
    assert [e.key for e in big_stores.entities.list(space, NOON)] == [f"k{n:02}" for n in range(30)]
