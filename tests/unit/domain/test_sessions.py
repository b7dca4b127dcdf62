"""When a summary is due (requirement S2)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lethe.domain.policy import DEFAULT_POLICY
from lethe.domain.session import Due, Session
from lethe.domain.session_due import summary_due
from tests.unit.domain.builders import NOON, session

NEVER = Due(False, None)


def due(one: Session, after: timedelta = timedelta()) -> Due:
    return summary_due(one, DEFAULT_POLICY, NOON + after)


def test_twenty_turns_since_the_last_summary() -> None:
    assert due(session(turns=19)) == NEVER
    assert due(session(turns=20)) == Due(True, "turns")
    assert due(session(turns=39, summarised_turns=20)) == NEVER
    assert due(session(turns=40, summarised_turns=20)) == Due(True, "turns")


def test_two_hours_since_the_last_summarised_message() -> None:
    two_hours = timedelta(hours=2)

    assert due(session(turns=1), two_hours - timedelta(seconds=1)) == NEVER
    assert due(session(turns=1), two_hours) == Due(True, "idle")
    summarised = session(turns=3, summarised_turns=2, summarised_at=NOON + timedelta(hours=1))
    assert due(summarised, two_hours) == NEVER
    assert due(summarised, timedelta(hours=3)) == Due(True, "idle")


def test_the_end_of_a_session() -> None:
    assert due(session(turns=1, ended_at=NOON)) == Due(True, "ended")


@pytest.mark.parametrize("ended_at", [None, NOON])
def test_nothing_new_is_never_summarised(ended_at: object) -> None:
    done = session(turns=5, summarised_turns=5, summarised_at=NOON, ended_at=ended_at)

    assert due(done, timedelta(days=9)) == NEVER
    assert due(session(turns=0, messages=3), timedelta(days=9)) == NEVER
