"""The machine's clock, and ids in order whatever the clock does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from lethe.adapters.system import SystemClock, UlidIds
from lethe.domain.ids import is_id
from tests.fakes.time_and_ids import FixedClock
from tests.support.makers import ulid_time


def test_the_clock_is_aware_and_in_utc() -> None:
    before = datetime.now(UTC)
    now = SystemClock().now()
    assert now.utcoffset() == timedelta(0)
    assert before <= now <= datetime.now(UTC)


def test_an_id_tells_its_prefix_and_its_time() -> None:
    clock = FixedClock()
    new = UlidIds(clock).new("mem_")
    assert is_id(new, "mem_")
    assert ulid_time(new.removeprefix("mem_")) == clock.now().replace(microsecond=123_000)


def test_ids_of_one_millisecond_are_in_order() -> None:
    ids = UlidIds(FixedClock())
    made = [ids.new("m_") for _ in range(5_000)]
    assert made == sorted(made)
    assert len(set(made)) == 5_000


def test_ids_are_in_order_when_the_clock_goes_back() -> None:
    clock = FixedClock()
    ids = UlidIds(clock)
    made = []
    for step in (0, 5, -60_000, 1, -1, 59_999, 10):
        clock.move(timedelta(milliseconds=step))
        made.append(ids.new("m_"))
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_of_two_makers_differ() -> None:
    clock = FixedClock()
    assert len({UlidIds(clock).new("") for _ in range(1_000)}) == 1_000


def test_many_threads_get_different_ids() -> None:
    ids = UlidIds(SystemClock())
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: ids.new(""), range(8_000)))
    assert len(set(made)) == 8_000
