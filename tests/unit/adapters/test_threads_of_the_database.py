"""Calls at once: none of them goes on after its request."""

from __future__ import annotations

import threading
import time

import pytest

from lethe.adapters.dynamodb import Database, TableNames, build_models, make_client
from lethe.errors import Throttled
from tests.support.stores import REGION


@pytest.fixture
def database() -> Database:
    client = make_client(REGION, "http://127.0.0.1:9")
    return Database(client, build_models(TableNames("s", "t", "e", "m", "a", "l"), REGION))


def test_a_failure_waits_for_what_had_begun(database: Database) -> None:
    begun, failed = threading.Event(), threading.Event()
    ended: list[str] = []

    def call(name: str) -> None:
        if name == "fails":
            begun.wait(5)
            failed.set()
            raise Throttled
        begun.set()
        failed.wait(5)
        time.sleep(0.05)
        ended.append(name)

    with pytest.raises(Throttled):
        database.at_once(call, ["fails", "writes"])

    assert ended == ["writes"]
    database.end_threads()


def test_results_come_in_order(database: Database) -> None:
    assert database.at_once(lambda n: n * n, list(range(50)), most=3) == [n * n for n in range(50)]
    database.end_threads()


def test_what_fails_is_raised_and_what_waits_is_not_begun(database: Database) -> None:
    done: list[int] = []

    def call(n: int) -> None:
        if n == 0:
            raise Throttled
        time.sleep(0.01)
        done.append(n)

    with pytest.raises(Throttled):
        database.at_once(call, list(range(500)))

    assert len(done) < 499
    database.end_threads()
