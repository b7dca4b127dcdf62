"""Keys: what goes in comes out, different things never share a key, ranges end where they should."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lethe.domain import keys
from lethe.domain.identity import Space

PART = st.text(string.ascii_letters + string.digits + "._:@-", min_size=1, max_size=20)
SESSION = st.text(string.ascii_letters + string.digits + "._:-", min_size=1, max_size=12)
NUMBER = st.integers(min_value=0, max_value=10**10 - 1)
ANY_SESSION = st.none() | SESSION


@given(st.lists(PART, min_size=1, max_size=6))
def test_parts_come_back(parts: list[str]) -> None:
    assert keys.split(keys.join(*parts)) == tuple(parts)


@given(st.lists(PART, min_size=1, max_size=4), st.lists(PART, min_size=1, max_size=4))
def test_different_parts_make_different_keys(one: list[str], other: list[str]) -> None:
    assert (keys.join(*one) == keys.join(*other)) is (one == other)


@pytest.mark.parametrize("parts", [("",), ("a", ""), ("a#b",), ("a", "#"), ("", "a")])
def test_a_part_that_would_blur_the_borders_is_refused(parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="key part"):
        keys.join(*parts)


@given(PART, PART, st.integers(min_value=1, max_value=10**6))
def test_a_space_comes_back_from_its_partition(tenant: str, subject: str, epoch: int) -> None:
    space = Space(tenant, subject, epoch)
    assert keys.parse_space_partition(keys.space_partition(space)) == space


@pytest.mark.parametrize("key", ["a#b", "a#b#c", "a#b#1#2", "#", ""])
def test_another_key_is_no_space(key: str) -> None:
    with pytest.raises(ValueError, match=r"unpack|invalid literal"):
        keys.parse_space_partition(key)


@pytest.mark.parametrize(("tenant", "subject", "epoch"), [("", "s", 1), ("t", "", 1), ("t#s", "x", 1), ("t", "s#1", 1)])
def test_a_space_with_a_part_missing_has_no_partition(tenant: str, subject: str, epoch: int) -> None:
    with pytest.raises(ValueError, match="key part"):
        keys.space_partition(Space(tenant, subject, epoch))


@given(NUMBER, NUMBER)
def test_numbers_sort_as_they_count(one: int, other: int) -> None:
    assert (keys.number(one) < keys.number(other)) is (one < other)


@pytest.mark.parametrize("value", [-1, 10**10])
def test_a_number_that_would_not_sort_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="10 digits"):
        keys.number(value)


@given(SESSION, SESSION, NUMBER)
def test_a_session_does_not_reach_into_another(one: str, other: str, n: int) -> None:
    for key in (keys.message(other, n), keys.client_message(other, "c"), keys.summary(other, n)):
        assert key.startswith(keys.session_items(one)) is (one == other)
        assert not key.startswith(keys.SESSIONS)
    assert keys.session(one).startswith(keys.SESSIONS)
    assert (keys.session(one) == keys.session(other)) is (one == other)


@given(SESSION, ANY_SESSION, SESSION, ANY_SESSION, NUMBER)
def test_an_entity_does_not_reach_into_another(
    one: str, one_session: str | None, other: str, other_session: str | None, n: int
) -> None:
    same = (one, one_session) == (other, other_session)
    assert (keys.entity(one, one_session) == keys.entity(other, other_session)) is same
    version = keys.entity_version(other, other_session, "ent_1", n)
    assert version.startswith(keys.entity_versions(one, one_session)) is same
    assert version.startswith(keys.versions_of_value(one, one_session, "ent_1")) is same
    assert not version.startswith(keys.versions_of_value(other, other_session, "ent_2"))
    assert keys.entity(one, one_session).startswith(keys.CURRENT_ENTITIES)
    assert not version.startswith(keys.CURRENT_ENTITIES)


@given(SESSION, SESSION, ANY_SESSION, NUMBER)
def test_the_entities_of_a_session(session_id: str, key: str, other: str | None, n: int) -> None:
    current, old = keys.session_entities(session_id)
    assert keys.entity(key, other).startswith(current) is (session_id == other)
    assert keys.entity_version(key, other, "ent_1", n).startswith(old) is (session_id == other)


@given(SESSION, SESSION, NUMBER)
def test_a_memory_does_not_reach_into_another(one: str, other: str, n: int) -> None:
    assert keys.memory_version(other, n).startswith(keys.memory_versions(one)) is (one == other)
    assert (keys.memory(one) == keys.memory(other)) is (one == other)
    ranges = (keys.MEMORIES, keys.OLD_MEMORIES, keys.HASHES)
    for key in (keys.memory(one), keys.memory_version(one, n), keys.content(one)):
        assert sum(key.startswith(prefix) for prefix in ranges) == 1


@given(PART, PART)
def test_a_range_holds_what_begins_with_its_prefix_and_nothing_else(prefix: str, key: str) -> None:
    found = keys.beginning_with(prefix)
    assert (found.first <= key <= found.last) is key.startswith(prefix)
    assert keys.everything().first <= key <= keys.everything().last


@given(st.text(max_size=50), st.text(max_size=50))
def test_client_ids_of_any_text_have_a_place_each(one: str, other: str) -> None:
    assert (keys.client_message("s", one) == keys.client_message("s", other)) is (one == other)


@given(PART, PART, PART)
def test_claims_answers_and_heads_never_meet(tenant: str, subject: str, digest: str) -> None:
    """A subject hash holds no ``@``, so that no subject's partition is a claim's."""
    claim = keys.claim_partition(tenant, digest)
    assert claim != keys.subject_partition(tenant, subject)
    assert claim != keys.space_partition(Space(tenant, subject, 1)) or subject == "@idempotency"
    assert keys.answer(1, digest, 0) != keys.HEAD
