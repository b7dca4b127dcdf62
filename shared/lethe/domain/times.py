"""Times: aware UTC datetimes inside, RFC 3339 at the edge, epoch seconds for TTL."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

# Hours and offsets are bounded here, since Python reads 24:00 and +01:60 in some versions; it judges the rest.
_1970 = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_HOUR_MINUTE = r"(?:[01]\d|2[0-3]):[0-5]\d"
_RFC3339 = re.compile(
    rf"\d{{4}}-\d{{2}}-\d{{2}}[Tt ]{_HOUR_MINUTE}:\d{{2}}(\.\d{{1,9}})?([Zz]|[+-]{_HOUR_MINUTE})", re.ASCII
)


def parse_rfc3339(text: str) -> datetime:
    """The instant that ``text`` names, in UTC, to the microsecond.

    Raises ValueError when the offset is missing (RFC 3339 §4.4 calls that an unknown local time) or the
    text is no date-time.
    """
    if not _RFC3339.fullmatch(text):
        raise ValueError("must be an RFC 3339 time with an offset, such as 2026-03-01T12:00:00Z")
    date_time, fraction, offset = text[:19].upper().replace(" ", "T"), "", text[19:].upper()
    if offset.startswith("."):
        digits = re.match(r"\.(\d+)", offset, re.ASCII)
        assert digits is not None  # the full match above has digits after the point
        fraction, offset = "." + digits[1][:6].ljust(6, "0"), offset[digits.end() :]
    try:
        return datetime.fromisoformat(date_time + fraction + offset.replace("Z", "+00:00")).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError("must be a date and time that exist, between years 1 and 9999") from error


def to_rfc3339(moment: datetime) -> str:
    """``moment`` as RFC 3339 in UTC with ``Z``; microseconds are always written, so texts sort as times do."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def epoch_seconds(moment: datetime) -> int:
    """Whole seconds since 1970, the unit of DynamoDB's TTL, rounded up: nothing expires early."""
    return -int(-moment.timestamp() // 1)


def microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970, exact for every datetime; negative before."""
    return (moment - _1970) // _MICROSECOND


def from_microseconds(value: int) -> datetime:
    """Undoes ``microseconds``."""
    return _1970 + value * _MICROSECOND
