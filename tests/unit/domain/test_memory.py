"""Memories: status and validity in time, filters, and what makes two statements the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lethe.domain.json_values import JsonValue
from lethe.domain.memory import MemoryFilter, MemoryKind, MemoryStatus, Origin, Source, changed_hash, content_hash
from tests.unit.domain.builders import NOON, memory

DAY = timedelta(days=1)


def test_a_current_memory_is_archived_from_its_end_on() -> None:
    ends = memory(valid_until=NOON + DAY)

    assert ends.status_at(NOON + DAY - timedelta(microseconds=1)) is MemoryStatus.CURRENT
    assert ends.status_at(NOON + DAY) is MemoryStatus.ARCHIVED
    assert memory().status_at(NOON + 10_000 * DAY) is MemoryStatus.CURRENT


@pytest.mark.parametrize("status", [MemoryStatus.PENDING, MemoryStatus.OBSOLETE, MemoryStatus.ARCHIVED])
def test_other_statuses_stay(status: MemoryStatus) -> None:
    assert memory(status=status, valid_until=NOON).status_at(NOON + DAY) is status


def test_the_first_version_holds_from_valid_from_until_the_next_took_over() -> None:
    first = memory(valid_from=NOON - DAY, superseded_at=NOON + DAY)

    assert not first.was_current_at(NOON - DAY - timedelta(microseconds=1))
    assert first.was_current_at(NOON - DAY)
    assert first.was_current_at(NOON + DAY - timedelta(microseconds=1))
    assert not first.was_current_at(NOON + DAY)


def test_a_later_version_holds_from_the_moment_it_took_over() -> None:
    second = memory(version=2, valid_from=NOON - 9 * DAY, updated_at=NOON)

    assert not second.was_current_at(NOON - DAY)
    assert second.was_current_at(NOON)
    assert second.was_current_at(NOON + 10_000 * DAY)


def test_versions_hold_one_after_the_other_without_gap_or_overlap() -> None:
    versions = [
        memory(superseded_at=NOON + DAY),
        memory(version=2, updated_at=NOON + DAY, superseded_at=NOON + 3 * DAY),
        memory(version=3, updated_at=NOON + 3 * DAY),
    ]
    for hours in range(0, 24 * 5):
        moment = NOON + timedelta(hours=hours)
        assert sum(version.was_current_at(moment) for version in versions) == 1


def test_no_version_holds_past_valid_until() -> None:
    assert not memory(valid_until=NOON + DAY).was_current_at(NOON + DAY)


def accepts(wanted: MemoryFilter, **fields: object) -> bool:
    return wanted.accepts(memory(**fields), NOON)


def test_an_empty_filter_accepts_what_is_current() -> None:
    assert accepts(MemoryFilter())
    assert not accepts(MemoryFilter(), status=MemoryStatus.PENDING)
    assert not accepts(MemoryFilter(), valid_until=NOON)
    assert accepts(MemoryFilter(statuses=()), status=MemoryStatus.PENDING)
    assert accepts(MemoryFilter(statuses=(MemoryStatus.ARCHIVED,)), valid_until=NOON)


def test_each_condition_counts() -> None:
    assert accepts(MemoryFilter(kinds=(MemoryKind.FACT, MemoryKind.PROFILE)))
    assert not accepts(MemoryFilter(kinds=(MemoryKind.PROFILE,)))
    assert accepts(MemoryFilter(origins=(Origin.USER,)))
    assert not accepts(MemoryFilter(origins=(Origin.AGENT,)))
    assert accepts(MemoryFilter(session_id="s"), source=Source("a", Origin.USER, "s"))
    assert not accepts(MemoryFilter(session_id="s"))
    assert not accepts(MemoryFilter(session_id="s"), source=Source("a", Origin.USER, "t"))


def test_created_after_and_before_are_exclusive() -> None:
    moment = timedelta(microseconds=1)

    assert not accepts(MemoryFilter(created_after=NOON))
    assert accepts(MemoryFilter(created_after=NOON - moment))
    assert not accepts(MemoryFilter(created_before=NOON))
    assert accepts(MemoryFilter(created_before=NOON + moment))


def test_valid_at_is_inclusive_at_the_begin_alone() -> None:
    anything = (MemoryStatus.CURRENT, MemoryStatus.ARCHIVED)
    until = NOON + DAY

    assert accepts(MemoryFilter(statuses=anything, valid_at=NOON), valid_until=until)
    assert not accepts(MemoryFilter(statuses=anything, valid_at=until), valid_until=until)
    assert not accepts(MemoryFilter(statuses=anything, valid_at=NOON - DAY))


@pytest.mark.parametrize(
    ("stored", "wanted", "same"),
    [
        (1, 1, True), (1, 1.0, True), (1, True, False), (True, True, True), (0, False, False), ("1", 1, False),
        (None, None, True), (None, 0, False), ([1], [1], True), ({"a": 1}, {"a": 1}, True), ({"a": 1}, {"a": 2}, False),
    ],
)  # fmt: skip
def test_metadata_is_compared_as_json(stored: JsonValue, wanted: JsonValue, same: bool) -> None:
    assert accepts(MemoryFilter(metadata={"k": wanted}), metadata={"k": stored, "other": 1}) is same


def test_every_wanted_metadata_must_be_there() -> None:
    assert not accepts(MemoryFilter(metadata={"k": None}), metadata={})
    assert not accepts(MemoryFilter(metadata={"a": 1, "b": 2}), metadata={"a": 1})


def test_what_makes_two_statements_the_same() -> None:
    same = content_hash("I like  RAIN\n", "Ann", NOON)

    assert content_hash(" i like rain", "ANN", NOON) == same
    assert content_hash("ｉ like rain", "ann", NOON) == same
    assert content_hash("I like rain", "Bob", NOON) != same
    assert content_hash("I like rain", "Ann", None) != same
    assert content_hash("I like rain", "Ann", NOON + DAY) != same
    assert content_hash("I like snow", "Ann", NOON) != same
    assert content_hash("a\x00b", None, None) != content_hash("a", "b", None)


def test_a_statement_that_ends_is_not_the_one_that_goes_on() -> None:
    open_ended = content_hash("I like rain", "Ann", NOON)

    assert content_hash("I like rain", "Ann", NOON, None, NOON + DAY) != open_ended
    assert content_hash("I like rain", "Ann", NOON, NOON) != open_ended
    assert content_hash("I like rain", "Ann", NOON, NOON + DAY) != content_hash(
        "I like rain", "Ann", NOON, None, NOON + DAY
    )
    assert content_hash("i  like rain", "ann", NOON, NOON, NOON + DAY) == content_hash(
        "I like rain", "Ann", NOON, NOON, NOON + DAY
    )
    assert content_hash("t\x00s\x00", None, NOON) != content_hash("t", "s", None, None, NOON)


@pytest.mark.parametrize("said", [None, NOON])
@pytest.mark.parametrize("begins", [None, NOON - DAY])
def test_a_changed_memory_is_the_same_as_a_statement_that_says_so(
    said: datetime | None, begins: datetime | None
) -> None:
    times: dict[str, datetime] = {"occurred_at": NOON, "valid_from": begins or NOON, "valid_until": NOON + DAY}
    held = content_hash("I ski", None, said, begins, NOON + DAY)
    seen = memory(text="I ski", content_hash=held, **times)

    for text, until in (("I ski", None), ("I skate", NOON + DAY), ("I skate", NOON + 2 * DAY)):
        changed = replace(seen, text=text, valid_until=until)
        assert changed_hash(seen, changed) == content_hash(text, None, said, begins, until)
    assert changed_hash(seen, replace(seen, pinned=True)) == held
