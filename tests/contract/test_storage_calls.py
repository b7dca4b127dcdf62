"""How many calls each operation of the storage ports makes: round trips are what requests wait for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import botocore.session
import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.model import OperationModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from lethe.adapters.dynamodb import Database
from lethe.domain.audit import AuditEvent, Verdict
from lethe.domain.idempotency import StoredAnswer
from lethe.domain.identity import Space
from tests.fakes.time_and_ids import START
from tests.support.faulty import FaultyClient
from tests.support.makers import entity, full_memory, memory, said
from tests.support.stores import Stores, stores_over


class Counted:
    """A space with a little in it, and a client that counts."""

    def __init__(self, stores: Stores) -> None:
        assert stores.database is not None
        self.space: Space = stores.new_space()
        self.one = memory("one")
        stores.memories.add(self.space, [self.one, memory("two")])
        stores.sessions.append(self.space, "s", [said("a", client_id="1"), said("b")], START, 3600)
        stores.entities.put(self.space, entity("k", 1), None)
        stores.idempotency.store(self.space, self.space.tenant, "done", StoredAnswer(200, "x"), START)
        stores.audit.append(audited(self.space))
        self.client = FaultyClient(stores.database._client)
        self.stores = stores_over("counted", Database(self.client.as_client(), stores.database.models))

    def calls(self, work: Callable[[Stores, Space], object]) -> Counter[str]:
        self.client.calls.clear()
        work(self.stores, self.space)
        return self.client.calls


@pytest.fixture
def counted(strict_stores: Stores) -> Iterator[Counted]:
    counted = Counted(strict_stores)
    yield counted
    assert counted.stores.database is not None
    counted.stores.database.end_threads()


TRANSACT = {"transact_write_items": 1}
GET = {"get_item": 1}
QUERY = {"query": 1}


def audited(space: Space) -> AuditEvent:
    return AuditEvent(space.tenant, START, "c" * 32, "recall", Verdict.ALLOWED, space.subject, (), "request")


OPERATIONS: dict[str, tuple[Callable[[Stores, Space], object], dict[str, int]]] = {
    "heads.read": (lambda s, space: s.heads.read(space.tenant, space.subject), GET),
    "heads.create": (lambda s, space: s.heads.create(space.tenant, "0" * 32), {"put_item": 1}),
    "heads.raise": (lambda s, space: s.heads.raise_revision(space), {"update_item": 1}),
    "add one": (lambda s, space: s.memories.add(space, [memory("new")]), TRANSACT),
    "add a duplicate": (lambda s, space: s.memories.add(space, [memory("one")]), TRANSACT),
    "add 49": (lambda s, space: s.memories.add(space, [memory(str(n)) for n in range(49)]), TRANSACT),
    "add 49, one known": (
        lambda s, space: s.memories.add(space, [memory("one"), *(memory(str(n)) for n in range(48))]),
        {"transact_write_items": 2},
    ),
    "add 1,000": (
        lambda s, space: s.memories.add(space, [memory(str(n)) for n in range(1000)]),
        {"transact_write_items": 22},
    ),
    "memories.page": (lambda s, space: s.memories.page(space, 50, None), QUERY),
    "memories.all": (lambda s, space: s.memories.all(space), {"query": 2}),
    "memories.old_versions": (lambda s, space: s.memories.old_versions(space), QUERY),
    "memories.count": (lambda s, space: s.memories.count(space), QUERY),
    "first append": (
        lambda s, space: s.sessions.append(space, "new", [said("x")], START, 60),
        {"batch_get_item": 1, **TRANSACT},
    ),
    "append 40 with client ids": (
        lambda s, space: s.sessions.append(space, "s", [said(str(n), client_id=f"c{n}") for n in range(40)], START, 60),
        {"batch_get_item": 1, **TRANSACT},
    ),
    "append what is known": (
        lambda s, space: s.sessions.append(space, "s", [said("a", client_id="1")], START, 60),
        {"batch_get_item": 2},
    ),
    "sessions.get": (lambda s, space: s.sessions.get(space, "s", START), GET),
    "sessions.newest": (lambda s, space: s.sessions.newest(space, "s", START, 10), QUERY),
    "sessions.summary": (lambda s, space: s.sessions.summary(space, "s", START), QUERY),
    "sessions.list": (lambda s, space: s.sessions.list(space, START, 50, None), QUERY),
    "sessions.end": (lambda s, space: s.sessions.end(space, "s", START), {"update_item": 1}),
    "sessions.delete": (
        lambda s, space: s.sessions.delete(space, "s"),
        {"get_item": 1, "query": 1, "batch_write_item": 1, "delete_item": 1},
    ),
    "put a new entity": (lambda s, space: s.entities.put(space, entity("new"), None), TRANSACT),
    "put with a version": (lambda s, space: s.entities.put(space, entity("k", 2), 1), {**GET, **TRANSACT}),
    "put over a value": (lambda s, space: s.entities.put(space, entity("k", 2), None), {"transact_write_items": 2}),
    "entities.get": (lambda s, space: s.entities.get(space, "k", None, START), GET),
    "entities.list": (lambda s, space: s.entities.list(space, START), QUERY),
    "entities.delete": (lambda s, space: s.entities.delete(space, "k", None), {**GET, **QUERY, **TRANSACT}),
    "claim": (lambda s, space: s.idempotency.claim(space.tenant, "k", "r", START, START), {"put_item": 1}),
    "store an answer": (
        lambda s, space: s.idempotency.store(space, space.tenant, "k", StoredAnswer(200, "x"), START),
        {"put_item": 1, "update_item": 1},
    ),
    "give an answer again": (lambda s, space: s.idempotency.answer(space, "done", START), GET),
    "key": (lambda s, _: s.access.key("k"), GET),
    "the first audit entry of a container": (lambda s, space: s.audit.append(audited(space)), {**QUERY, **TRANSACT}),
    "audit.ends": (lambda s, space: s.audit.ends(space.tenant), QUERY),
    "audit.stretch": (lambda s, space: s.audit.stretch(space.tenant, 0, 0, 50), QUERY),
    "audit.of_subject": (
        lambda s, space: s.audit.of_subject(space.tenant, space.subject, 50, None),
        {**QUERY, "batch_get_item": 1},
    ),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_calls_of(counted: Counted, operation: str) -> None:
    work, expected = OPERATIONS[operation]
    assert counted.calls(work) == expected


def test_a_container_that_knows_where_the_trail_ends_writes_an_entry_in_one_call(counted: Counted) -> None:
    counted.calls(lambda s, space: s.audit.append(audited(space)))
    assert counted.calls(lambda s, space: s.audit.append(audited(space))) == TRANSACT


def test_calls_about_one_memory(counted: Counted) -> None:
    one = counted.one
    assert counted.calls(lambda s, space: s.memories.get(space, one.id)) == GET
    assert counted.calls(lambda s, space: s.memories.get_many(space, [one.id])) == {"batch_get_item": 1}
    assert counted.calls(lambda s, space: s.memories.update(space, one, replace(one, heat=2.0))) == TRANSACT
    assert counted.calls(lambda s, space: s.memories.history(space, one.id)) == {**GET, **QUERY}
    fresh = memory("never changed")
    counted.stores.memories.add(counted.space, [fresh])
    assert counted.calls(lambda s, space: s.memories.delete(space, [fresh.id])) == {"batch_get_item": 1, **TRANSACT}
    with_notes = {"batch_get_item": 1, **QUERY, "batch_write_item": 1, **TRANSACT}
    assert counted.calls(lambda s, space: s.memories.delete(space, [one.id])) == with_notes


def test_a_batch_that_repeats_another_asks_before_it_writes(counted: Counted) -> None:
    """The transactions that go out first are cancelled; the others read hashes instead."""
    again = [memory(f"again {n}") for n in range(1000)]
    counted.calls(lambda s, space: s.memories.add(space, again))

    fresh = [memory(one.text) for one in again]
    calls = counted.calls(lambda s, space: s.memories.add(space, fresh))

    assert 1 <= calls["transact_write_items"] <= 4
    assert calls["transact_write_items"] + calls["batch_get_item"] == 21
    assert calls["update_item"] == 0


def test_a_large_space_is_read_in_two_rounds(counted: Counted) -> None:
    """The first page and the ids, then ranges of at most a page each."""
    text = "t" * 1_800
    for start in range(0, 1_500, 500):
        batch = [memory(f"{n} {text}") for n in range(start, start + 500)]
        counted.stores.memories.add(counted.space, batch)
    calls = counted.calls(lambda s, space: s.memories.all(space))
    pages = counted.calls(lambda s, space: s.memories.page(space, 10_000, None))["query"]
    assert pages > 2
    # A range never takes two pages: their number is that of the ranges, and one call each for page and ids.
    assert calls["query"] <= 2 + pages * 5 // 4 + 1


def test_answers_are_read_as_botocore_reads_them(strict_stores: Stores) -> None:
    """The fast parser of ``client.py`` against botocore's own, on the same bytes."""
    assert strict_stores.database is not None
    client, models = strict_stores.database._client, strict_stores.database.models
    space, new = strict_stores.new_space(), full_memory()
    strict_stores.memories.add(space, [new, memory("other", embedding=None)])
    bodies: list[bytes] = []

    def keep(response_dict: dict[str, bytes], **_: object) -> None:
        bodies.append(response_dict["body"])

    table = str(models.memory.Meta.table_name)
    partition = f"{space.tenant}#{space.subject}#1"
    client.meta.events.register_first("before-parse.dynamodb.*", keep)
    try:
        answers = [
            client.query(
                TableName=table,
                KeyConditionExpression="pk = :p",
                ExpressionAttributeValues={":p": {"S": partition}},
                Limit=2,
            ),
            client.batch_get_item(
                RequestItems={table: {"Keys": [{"pk": {"S": partition}, "sk": {"S": f"MEM#{new.id}"}}]}}
            ),
            client.get_item(TableName=table, Key={"pk": {"S": partition}, "sk": {"S": f"MEM#{new.id}"}}),
            client.get_item(TableName=table, Key={"pk": {"S": partition}, "sk": {"S": "MEM#none"}}),
        ]
    finally:
        client.meta.events.unregister("before-parse.dynamodb.*", keep)
    model = botocore.session.get_session().get_service_model("dynamodb")
    assert [bool(json.loads(body)) for body in bodies] == [True, True, True, False]
    for name, body, answer in zip(("Query", "BatchGetItem", "GetItem", "GetItem"), bodies, answers, strict=True):
        shape = model.operation_model(name).output_shape
        assert shape is not None
        expected = create_parser("json").parse({"status_code": 200, "headers": {}, "body": body}, shape)
        got = dict(answer)
        got.pop("ResponseMetadata")
        expected.pop("ResponseMetadata")
        assert got == expected


def test_requests_are_written_as_botocore_writes_them(strict_stores: Stores) -> None:
    """The fast serialiser of ``client.py`` against botocore's own, on the same parameters."""
    assert strict_stores.database is not None
    client = strict_stores.database._client
    space, new = strict_stores.new_space(), replace(full_memory(), text="Mø 记忆 \U0001f600 \u2028")
    given: list[tuple[str, dict[str, object]]] = []
    sent: list[bytes] = []

    def take(params: dict[str, object], model: OperationModel, **_: object) -> None:
        given.append((model.name, params))

    def keep(request: AWSPreparedRequest, **_: object) -> None:
        assert isinstance(request.body, bytes)
        sent.append(request.body)

    client.meta.events.register_first("provide-client-params.dynamodb.*", take)
    client.meta.events.register_first("before-send.dynamodb.*", keep)
    try:
        strict_stores.memories.add(space, [new])
        strict_stores.memories.get(space, new.id)
        strict_stores.memories.get_many(space, [new.id])
        strict_stores.memories.since(space, new.id)
    finally:
        client.meta.events.unregister("provide-client-params.dynamodb.*", take)
        client.meta.events.unregister("before-send.dynamodb.*", keep)
    service = botocore.session.get_session().get_service_model("dynamodb")
    assert [name for name, _ in given] == ["TransactWriteItems", "GetItem", "BatchGetItem", "Query"]
    for (name, parameters), body in zip(given, sent, strict=True):
        written = create_serializer("json", False).serialize_to_request(parameters, service.operation_model(name))
        assert json.loads(body) == json.loads(written["body"])
