"""Delivering batches under Lambda's rules: what is tried again, split, given up, and in which order."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from lethe.domain.json_values import JsonValue
from lethe_local.event_sources import EventSource
from lethe_local.functions import FunctionFailed
from lethe_local.stream_delivery import Batch, Delivery, GivenUp
from lethe_local.stream_modes import StreamMode
from lethe_local.stream_records import StreamRecord

NOW = 1_000_000.0


def _record(number: int, created: float = NOW) -> StreamRecord:
    change: JsonValue = {"SequenceNumber": str(number), "Keys": {"pk": {"S": f"p{number % 7}"}}}
    return StreamRecord(str(number), created, {"eventID": str(number), "dynamodb": change}, 100)


def _batch(count: int) -> Batch:
    return tuple(_record(number) for number in range(1, count + 1))


def _numbers(event: Mapping[str, JsonValue]) -> list[int]:
    records = event["Records"]
    assert isinstance(records, list)
    return [int(record["eventID"]) for record in records]


@dataclass
class Function:
    """A function that is told by ``respond`` what to answer, or to raise."""

    respond: Callable[[list[int]], JsonValue]
    seen: list[list[int]] = field(default_factory=list)
    given_up: list[GivenUp] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    stops_after: int | None = None

    def invoke(self, event: dict[str, JsonValue]) -> JsonValue:
        numbers = _numbers(event)
        self.seen.append(numbers)
        return self.respond(numbers)

    def pause(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        return self.stops_after is not None and len(self.pauses) >= self.stops_after

    def deliver(self, source: EventSource, batch: Batch) -> tuple[bool, list[int]]:
        done: list[int] = []
        delivery = Delivery(source, self.invoke, self.given_up.append, self.pause, lambda: NOW)
        finished = delivery.deliver(batch, lambda records: done.extend(int(r.sequence) for r in records))
        return finished, done


def _source(
    *, bisects: bool = False, reports: bool = False, retries: int | None = None, age: float | None = None
) -> EventSource:
    return EventSource(
        "Mapping", "Function", "table", bisects=bisects, reports_failures=reports, most_retries=retries,
        most_age_seconds=age,
    )  # fmt: skip


def _reports(*sequences: int) -> JsonValue:
    return {"batchItemFailures": [{"itemIdentifier": str(sequence)} for sequence in sequences]}


def _fails_on(bad: set[int]) -> Callable[[list[int]], JsonValue]:
    def respond(numbers: list[int]) -> JsonValue:
        if bad & set(numbers):
            raise FunctionFailed
        return None

    return respond


@pytest.mark.parametrize("answer", [None, {}, {"batchItemFailures": []}, {"batchItemFailures": None}, "done"])
def test_what_means_that_all_is_done(answer: JsonValue) -> None:
    function = Function(lambda numbers: answer)
    assert function.deliver(_source(reports=True, retries=0), _batch(3)) == (True, [1, 2, 3])
    assert function.seen == [[1, 2, 3]]
    assert function.given_up == []


@pytest.mark.parametrize(
    "failures",
    [
        [{"itemIdentifier": ""}],
        [{"itemIdentifier": None}],
        [{"sequence": "2"}],
        [{"itemIdentifier": "99"}],
        [{"itemIdentifier": "2"}, {"itemIdentifier": "99"}],
        "all",
    ],
)
def test_what_means_that_all_failed(failures: JsonValue) -> None:
    function = Function(lambda numbers: {"batchItemFailures": failures})
    assert function.deliver(_source(reports=True, retries=1), _batch(3)) == (True, [1, 2, 3])
    assert function.seen == [[1, 2, 3]] * 2
    assert [(len(what.records), what.condition, what.attempts) for what in function.given_up] == [
        (3, "RetryAttemptsExhausted", 2)
    ]


def test_it_goes_on_from_the_lowest_reported_record() -> None:
    answers = iter([_reports(4, 3), _reports(3), None])
    function = Function(lambda numbers: next(answers))
    assert function.deliver(_source(reports=True, bisects=True, retries=5), _batch(5)) == (True, [1, 2, 3, 4, 5])
    assert function.seen == [[1, 2, 3, 4, 5], [3, 4, 5], [3, 4, 5]]


def test_reports_are_ignored_unless_the_mapping_asks_for_them() -> None:
    function = Function(lambda numbers: _reports(1))
    assert function.deliver(_source(reports=False), _batch(2)) == (True, [1, 2])
    assert function.seen == [[1, 2]]


def test_one_poison_in_a_hundred_is_given_up_alone() -> None:
    function = Function(_fails_on({37}))
    finished, done = function.deliver(_source(bisects=True, retries=3), _batch(100))
    assert finished
    assert done == list(range(1, 101))
    applied = [number for numbers in function.seen if 37 not in numbers for number in numbers]
    assert sorted(applied) == [number for number in range(1, 101) if number != 37]
    assert [[record.sequence for record in what.records] for what in function.given_up] == [["37"]]
    assert function.given_up[0].attempts == 4
    assert function.seen.count([37]) == 4


def test_without_bisection_the_whole_batch_is_given_up() -> None:
    function = Function(_fails_on({2}))
    assert function.deliver(_source(retries=2), _batch(3)) == (True, [1, 2, 3])
    assert function.seen == [[1, 2, 3]] * 3
    assert len(function.given_up[0].records) == 3


def test_without_a_limit_it_tries_until_it_works_with_growing_pauses() -> None:
    tries = 0

    def respond(numbers: list[int]) -> JsonValue:
        nonlocal tries
        tries += 1
        if tries < 40:
            raise FunctionFailed
        return None

    function = Function(respond)
    assert function.deliver(_source(), _batch(1)) == (True, [1])
    assert tries == 40
    assert len(function.pauses) == 39
    assert max(function.pauses) <= 10
    assert max(function.pauses[20:]) > max(function.pauses[:3])


def test_told_to_stop_it_leaves_the_rest() -> None:
    function = Function(_fails_on({3}), stops_after=2)
    finished, done = function.deliver(_source(bisects=True), _batch(4))
    assert not finished
    assert 3 not in done
    assert 4 not in done
    assert function.given_up == []


def test_records_that_are_too_old_are_given_up_and_the_others_delivered() -> None:
    function = Function(lambda numbers: None)
    batch = (_record(1, NOW - 500), _record(2, NOW - 61), _record(3, NOW - 59), _record(4))
    assert function.deliver(_source(age=60), batch) == (True, [1, 2, 3, 4])
    assert function.seen == [[3, 4]]
    assert [(len(what.records), what.condition) for what in function.given_up] == [(2, "RecordAgeExceeded")]


def test_modes_keep_each_items_order_and_lose_nothing() -> None:
    mode = StreamMode(copies=3, shards=4, seed=5)
    records = _batch(200)
    batches = list(mode.batches(records, 10, random.Random(mode.seed)))
    assert all(1 <= len(batch) <= 10 for batch in batches)
    order = [int(record.sequence) for batch in batches for record in batch]
    assert sorted(order) == sorted(list(range(1, 201)) * 3)
    assert order != sorted(order)
    for item in range(7):
        own = [number for number in order if number % 7 == item]
        assert own == sorted(set(own)) * 3


def test_poison_fails_its_batch() -> None:
    mode = StreamMode(poison=lambda record: record["eventID"] == "2")
    invoke = mode.poisoned(lambda event: None)
    assert invoke({"Records": [_record(1).event]}) is None
    with pytest.raises(FunctionFailed):
        invoke({"Records": [_record(1).event, _record(2).event]})
