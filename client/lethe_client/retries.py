"""When a request is sent again, and after how long."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

RETRIED_STATUSES = frozenset({429, 502, 503, 504})
"""Answers after which the same request may succeed: throttled, or a gateway that lost the service."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to try.

    Attributes:
        attempts: requests at most, the first one included.
        deadline: seconds from the first request within which the last one must start.
        base: seconds of the first pause; it doubles with each attempt.
        cap: seconds of the longest pause of our own choice; a Retry-After may ask for more.
    """

    attempts: int = 5
    deadline: float = 60.0
    base: float = 0.2
    cap: float = 8.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or min(self.deadline, self.base, self.cap) < 0:
            raise ValueError("attempts must be at least 1, and no time may be negative")


NO_RETRIES = RetryPolicy(attempts=1)


@dataclass(frozen=True, slots=True)
class Waits:
    """The clock and the dice of the retries; tests hand in their own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[float, float], float] = field(default=random.uniform)


def pause_before_retry(policy: RetryPolicy, attempt: int, retry_after: float | None, waits: Waits) -> float:
    """Seconds to wait after attempt number `attempt` (1 is the first).

    Exponential back-off with "full jitter" (M. Brooker, AWS Architecture Blog, 2015): uniform between 0
    and min(cap, base * 2^(attempt-1)). With a Retry-After the wait is at least that, and the jitter comes
    on top, so that many clients told the same second do not come back together.
    """
    spread = waits.jitter(0.0, min(policy.cap, policy.base * 2.0 ** (attempt - 1)))
    return spread if retry_after is None else retry_after + spread


def parse_retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header; None when there is none, or a date or another thing stands there.

    The service sends seconds only (RFC 9110, section 10.2.3 allows a date too).
    """
    if value is None:
        return None
    text = value.strip()
    return float(text) if text.isascii() and text.isdigit() else None
