"""A batch that there is no time for: what is stored is answered, the rest can be sent again with the same key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from lethe.domain.identity import Caller, Permission
from lethe.entry.application import Application
from lethe.entry.events import Event
from lethe.entry.idempotency import Idempotency
from lethe.entry.operations.memories import MemoryWrites
from lethe.services.embedding import MemoryEmbedder
from lethe.services.memories import MemoryDesk
from lethe.services.remember import Remember
from lethe.services.spaces import Spaces
from lethe.services.standing import Standing
from lethe.services.storing import CHUNK_CHARACTERS
from tests.fakes.audit import FakeAuditTrail, fake_auditor
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.erasing import FakeHolds
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.time_and_ids import FixedClock, SequentialIds
from tests.support.stores import fake_stores
from tests.unit.entry.test_application import Listener, context_of

CALLER = Caller("acme", "key:1", frozenset({Permission.WRITE}), ("*",), "1")
LENGTH = 1_500
PER_CHUNK = CHUNK_CHARACTERS // LENGTH
BATCH = {
    "user_id": "ann",
    "items": [{"text": f"{n:04}".ljust(LENGTH, "x")} for n in range(2 * PER_CHUNK)] + [{"text": ""}],
}


class Context:
    aws_request_id = "request-1"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1_000)


class House:
    def __init__(self, threads: ThreadPoolExecutor) -> None:
        stores, clock, ids = fake_stores(), FixedClock(), SequentialIds()
        self.memories, embedder, key = stores.memories, MemoryEmbedder(FakeEmbedder()), b"k" * 32
        spaces = Spaces(stores.heads, key, clock)
        remember = Remember(stores.memories, embedder, clock, ids, threads)
        desk = MemoryDesk(stores.memories, embedder, FakeHolds(FakeSubjectHeads()), clock, key)
        standing = Standing(stores.heads, stores.memories, stores.sessions, stores.entities, clock)
        self.application = Application(
            MemoryWrites(spaces, remember, desk, clock, ids).operations(),
            spaces.for_writing,
            Idempotency(stores.idempotency, standing, key, clock),
            fake_auditor(FakeAuditTrail(), clock),
            Listener(),
        )

    def send(self, path: str, body: object, seconds: float, key: str = "k") -> tuple[dict[str, Any], bool]:
        """The answer, and whether it is a repetition."""
        event = {
            "routeKey": f"POST {path}",
            "rawPath": path,
            "headers": {"content-type": "application/json", "idempotency-key": key},
            "requestContext": {"authorizer": {"lambda": context_of(CALLER)}},
            "body": json.dumps(body),
        }
        answer = self.application(cast(Event, event), Context(seconds))
        assert answer["statusCode"] in (200, 201), answer["body"]
        return json.loads(answer["body"]), "Idempotency-Replayed" in answer["headers"]


@pytest.fixture
def house() -> Iterator[House]:
    with ThreadPoolExecutor(1) as threads:
        yield House(threads)


def test_what_was_not_reached_is_rejected_with_an_error_that_a_retry_mends(house: House) -> None:
    answer, _ = house.send("/v1/memories/batch", BATCH, seconds=8.0)

    assert answer["counts"] == {"stored": PER_CHUNK, "rejected": PER_CHUNK + 1}
    events = [result["event"] for result in answer["results"]]
    assert events == ["stored"] * PER_CHUNK + ["rejected"] * (PER_CHUNK + 1)
    assert [result["index"] for result in answer["results"]] == list(range(2 * PER_CHUNK + 1))
    late = answer["results"][-2]
    assert (late["id"], late["error"]["code"], late["error"]["field"]) == (None, "unavailable", None)
    assert "again" in late["error"]["message"]
    assert answer["results"][-1]["error"]["code"] == "invalid"


def test_the_same_key_reaches_the_rest_and_then_keeps_the_answer(house: House) -> None:
    house.send("/v1/memories/batch", BATCH, seconds=8.0)
    second, replayed = house.send("/v1/memories/batch", BATCH, seconds=8.0)

    assert second["counts"] == {"duplicate": PER_CHUNK, "stored": PER_CHUNK, "rejected": 1}
    assert not replayed
    assert all(result["id"] for result in second["results"][:-1])
    assert house.send("/v1/memories/batch", BATCH, seconds=8.0) == (second, True)


def test_with_time_enough_all_is_stored_at_once(house: House) -> None:
    first, _ = house.send("/v1/memories/batch", BATCH, seconds=29.0)

    assert first["counts"] == {"stored": 2 * PER_CHUNK, "rejected": 1}
    assert house.send("/v1/memories/batch", BATCH, seconds=29.0) == (first, True)


def test_statements_of_messages_that_were_not_reached_are_named(house: House) -> None:
    said = [{"role": "user", "content": f"I own {n} boats. " + "And " * 400 + "oars."} for n in range(40)]
    answer, _ = house.send("/v1/memories", {"user_id": "ann", "messages": said}, seconds=8.0)

    events = [result["event"] for result in answer["results"] if result["event"] != "dropped"]
    assert set(events) == {"stored", "rejected"}
    late = [result for result in answer["results"] if result["event"] == "rejected"]
    assert {(result["reason"], result["memory"]) for result in late} == {("unavailable", None)}
    assert house.send("/v1/memories", {"user_id": "ann", "messages": said}, seconds=29.0)[1] is True
