"""Times at the edge: RFC 3339 with an offset, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from lethe.domain.times import epoch_seconds, parse_rfc3339, to_rfc3339


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01t12:00:00z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01 12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01T12:00:00.1Z", datetime(2026, 3, 1, 12, 0, 0, 100_000, UTC)),
        ("2026-03-01T12:00:00.1234567Z", datetime(2026, 3, 1, 12, 0, 0, 123_456, UTC)),
        ("2026-03-01T12:00:00+01:00", datetime(2026, 3, 1, 11, tzinfo=UTC)),
        ("2026-03-01T00:00:00+23:59", datetime(2026, 2, 28, 0, 1, tzinfo=UTC)),
        ("2026-03-01T12:00:00-00:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)),
    ],
)
def test_what_is_read(text: str, moment: datetime) -> None:
    read = parse_rfc3339(text)

    assert read == moment
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-03-01", "2026-03-01T12:00:00", "2026-03-01T12:00Z", "2026-03-01T12:00:00.Z",
        "2026-03-01T12:00:00,5Z",
        "2026-03-01T12:00:00+0100", "2026-03-01T12:00:00+01", "2026-03-01T12:00:00+24:00",
        "2026-03-01T12:00:00+01:60",
        "2026-02-29T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z",
        "2026-03-01T24:00:00Z", "2026-03-01T12:00:60Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-00:01",
        "0001-01-01T00:00:00+00:01", "2026-W09-7T12:00:00Z", "20260301T120000Z", " 2026-03-01T12:00:00Z",
        "2026-03-01T12:00:00Z\n", "２０２６-03-01T12:00:00Z", "2026-03-01T12:00:00Zulu",
        "2026-03-01T12:00:00.1234567890Z",
    ],
)  # fmt: skip
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_rfc3339(text)


def test_written_times_sort_as_times_do() -> None:
    moments = [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(999, 12, 31, tzinfo=UTC),
        datetime(2026, 3, 1, tzinfo=UTC),
        datetime(2026, 3, 1, 0, 0, 0, 1, UTC),
        datetime(2026, 3, 1, 3, tzinfo=timezone(timedelta(hours=2))),
        datetime(9999, 12, 31, tzinfo=UTC),
    ]
    written = [to_rfc3339(moment) for moment in moments]

    assert written == sorted(written)
    assert [parse_rfc3339(text) for text in written] == moments
    assert written[0] == "0001-01-01T00:00:00.000000Z"
    assert written[4] == "2026-03-01T01:00:00.000000Z"


def test_ttl_is_rounded_up_so_that_nothing_expires_early() -> None:
    assert epoch_seconds(datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)) == 5
    assert epoch_seconds(datetime(1970, 1, 1, 0, 0, 5, 1, UTC)) == 6
