"""Which version of an entity holds at a moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lethe.domain.entity import Entity, EntityCategory, held_at
from lethe.domain.memory import Origin

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
INSTANT = timedelta(microseconds=1)

FIRST = Entity(
    id="ent_1",
    key="city",
    value="Oslo",
    category=EntityCategory.PROFILE,
    origin=Origin.USER,
    confidence=1.0,
    version=1,
    actor="key_1",
    valid_from=NOON,
    created_at=NOON,
    updated_at=NOON,
    superseded_at=NOON + DAY,
)
SECOND = replace(FIRST, value="Rome", version=2, valid_from=NOON + DAY, updated_at=NOON + DAY, superseded_at=None)


def test_the_newest_version_that_has_begun_holds() -> None:
    assert held_at((FIRST, SECOND), NOON - INSTANT) is None
    assert held_at((FIRST, SECOND), NOON) is FIRST
    assert held_at((FIRST, SECOND), NOON + DAY - INSTANT) is FIRST
    assert held_at((FIRST, SECOND), NOON + DAY) is SECOND
    assert held_at((), NOON) is None


def test_a_value_that_begins_later_leaves_the_one_before_it() -> None:
    later = replace(SECOND, valid_from=NOON + 30 * DAY)

    assert held_at((FIRST, later), NOON + 2 * DAY) is FIRST
    assert held_at((FIRST, later), NOON + 30 * DAY) is later


def test_a_value_told_late_holds_from_where_it_says() -> None:
    told_late = replace(SECOND, valid_from=NOON - DAY)

    assert held_at((FIRST, told_late), NOON) is told_late


def test_what_had_expired_did_not_hold_and_nothing_before_it() -> None:
    short = replace(SECOND, expires_at=NOON + 2 * DAY)

    assert held_at((FIRST, short), NOON + 2 * DAY - INSTANT) is short
    assert held_at((FIRST, short), NOON + 2 * DAY) is None


def test_what_stands_before_a_version_that_is_gone_ended_there() -> None:
    third = replace(SECOND, version=3, valid_from=NOON + 30 * DAY)

    assert held_at((FIRST, third), NOON + DAY - INSTANT) is FIRST
    assert held_at((FIRST, third), NOON + DAY) is None
    assert held_at((FIRST, third), NOON + 30 * DAY) is third
