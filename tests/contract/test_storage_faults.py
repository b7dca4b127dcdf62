"""What the DynamoDB adapters do when the store refuses, is slow, does things in part, or loses an answer."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeAlias

import pytest
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError

from lethe.adapters.dynamodb import Database, TableNames, Timeouts, build_models, make_client
from lethe.domain.access import Tenant
from lethe.domain.identity import Space
from lethe.errors import Erased, LetheError, Throttled, Unavailable
from tests.fakes.time_and_ids import START
from tests.support.faulty import LOST, Fault, FaultyClient, PartialClient, after, before, refused
from tests.support.makers import entity, memory, said
from tests.support.stores import REGION, Stores, stores_over

Plan: TypeAlias = Mapping[tuple[str, int], Fault]
CONFLICT = refused("TransactionCanceledException", ["TransactionConflict", "None", "None"])


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)


def faulty(stores: Stores, plan: Plan) -> tuple[Stores, FaultyClient]:
    assert stores.database is not None
    client = FaultyClient(stores.database._client, plan)
    return stores_over("dynoxide", Database(client.as_client(), stores.database.models)), client


def end_threads(stores: Stores) -> None:
    assert stores.database is not None
    stores.database.end_threads()


OPERATIONS: dict[str, Callable[[Stores, Space], object]] = {
    "heads.read": lambda s, space: s.heads.read(space.tenant, space.subject),
    "heads.create": lambda s, space: s.heads.create(space.tenant, space.subject),
    "heads.raise_revision": lambda s, space: s.heads.raise_revision(space),
    "sessions.append": lambda s, space: s.sessions.append(space, "s", [said("x", client_id="1")], START, 60),
    "sessions.get": lambda s, space: s.sessions.get(space, "s", START),
    "sessions.list": lambda s, space: s.sessions.list(space, START, 5, None),
    "sessions.newest": lambda s, space: s.sessions.newest(space, "s", START, 5),
    "sessions.end": lambda s, space: s.sessions.end(space, "s", START),
    "sessions.delete": lambda s, space: s.sessions.delete(space, "s"),
    "entities.put": lambda s, space: s.entities.put(space, entity("k"), None),
    "entities.list": lambda s, space: s.entities.list(space, START),
    "entities.delete": lambda s, space: s.entities.delete(space, "k", None),
    "memories.add": lambda s, space: s.memories.add(space, [memory()]),
    "memories.add of many": lambda s, space: s.memories.add(space, [memory(str(n)) for n in range(60)]),
    "memories.get": lambda s, space: s.memories.get(space, "mem_1"),
    "memories.get_many": lambda s, space: s.memories.get_many(space, ["mem_1"]),
    "memories.all": lambda s, space: s.memories.all(space),
    "memories.page": lambda s, space: s.memories.page(space, 5, None),
    "memories.update": lambda s, space: s.memories.update(space, memory(), memory()),
    "memories.delete": lambda s, space: s.memories.delete(space, ["mem_1"]),
    "memories.count": lambda s, space: s.memories.count(space),
    "access.put_tenant": lambda s, space: s.access.put_tenant(Tenant(space.tenant, START)),
    "access.key": lambda s, _: s.access.key("k"),
    "access.tenants": lambda s, _: s.access.tenants(),
    "idempotency.claim": lambda s, space: s.idempotency.claim(space.tenant, "k", "r", START, START),
    "idempotency.answer": lambda s, space: s.idempotency.answer(space, "k", START),
    "idempotency.release": lambda s, space: s.idempotency.release(space.tenant, "k", "r"),
}
CHANGES = (
    "create",
    "raise_revision",
    "append",
    "end",
    "delete",
    "put",
    "add",
    "update",
    "put_tenant",
    "claim",
    "release",
)
CALLS = (
    "get_item",
    "put_item",
    "update_item",
    "delete_item",
    "query",
    "batch_get_item",
    "batch_write_item",
    "transact_write_items",
)
REFUSALS: list[tuple[Exception, type[LetheError]]] = [
    (refused("ProvisionedThroughputExceededException"), Throttled),
    (refused("ThrottlingException"), Throttled),
    (refused("RequestLimitExceeded"), Throttled),
    (refused("TransactionCanceledException", ["None", "ThrottlingError"]), Throttled),
    (refused("TransactionCanceledException", ["ProvisionedThroughputExceeded"]), Throttled),
    (refused("InternalServerError"), Unavailable),
    (refused("503"), Unavailable),
    (refused("AccessDeniedException"), Unavailable),
    (refused("ResourceNotFoundException"), Unavailable),
    (refused("ExpiredTokenException"), Unavailable),
    (LOST, Unavailable),
    (EndpointConnectionError(endpoint_url="http://store.invalid"), Unavailable),
    (ConnectionClosedError(endpoint_url="http://store.invalid"), Unavailable),
    (refused("ValidationException"), LetheError),
]


WRITES = ("put_item", "update_item", "delete_item", "batch_write_item", "transact_write_items")


@pytest.mark.parametrize("conflict", [CONFLICT, refused("TransactionConflictException")])
@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name.split(".")[1] in CHANGES])
def test_writes_that_always_meet_others_are_given_up(
    strict_stores: Stores, operation: str, conflict: Exception
) -> None:
    space = strict_stores.new_space()
    strict_stores.sessions.append(space, "s", [said("x")], START, 3600)
    strict_stores.entities.put(space, entity("k"), None)
    strict_stores.memories.add(space, [memory("one", id="mem_1")])
    stores, client = faulty(strict_stores, {(call, 0): before(conflict) for call in WRITES})
    with pytest.raises(Throttled):
        OPERATIONS[operation](stores, space)
    assert 5 < sum(client.calls.values()) <= 4 * 41
    end_threads(stores)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_refusal_becomes_one_of_ours(strict_stores: Stores, operation: str) -> None:
    space = strict_stores.new_space()
    for refusal, expected in REFUSALS:
        stores, client = faulty(strict_stores, {(call, 0): before(refusal) for call in CALLS})
        with pytest.raises(LetheError) as raised:
            OPERATIONS[operation](stores, space)
        assert type(raised.value) is expected
        assert "CANARY" not in repr((raised.value, raised.value.detail, getattr(raised.value, "__notes__", ())))
        assert sum(client.calls.values()) <= 12 * 45
        end_threads(stores)


def test_the_cause_is_noted_for_the_operator_and_not_told_to_the_caller(strict_stores: Stores) -> None:
    stores, _ = faulty(strict_stores, {("get_item", 0): before(refused("AccessDeniedException"))})
    with pytest.raises(Unavailable) as raised:
        stores.heads.read("t", "s")
    assert raised.value.__notes__ == ["DynamoDB: AccessDeniedException"]
    assert raised.value.detail == "the store cannot be used"


@contextmanager
def listening(backlog: int) -> Iterator[str]:
    """The address of a socket that takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(backlog)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_store_that_never_answers_is_given_up_in_time(strict_stores: Stores) -> None:
    usual = Timeouts()
    assert usual.attempts * (usual.connect + usual.read) < 10
    assert strict_stores.database is not None
    with listening(16) as url:
        client = make_client(REGION, url, Timeouts(connect=0.2, read=0.2))
        stores = stores_over("silent", Database(client, strict_stores.database.models))
        with pytest.raises(Unavailable):
            stores.heads.read("t", "s")
        with pytest.raises(Unavailable):
            stores.memories.add(Space("t", "s", 1), [memory()])
        client.close()


def test_the_default_client_waits_as_long_as_it_says() -> None:
    client = make_client(REGION, "http://127.0.0.1:9")
    limits, config = Timeouts(), vars(client.meta.config)["_user_provided_options"]
    assert (config["connect_timeout"], config["read_timeout"]) == (limits.connect, limits.read)
    assert config["retries"] == {"mode": "standard", "total_max_attempts": limits.attempts}
    client.close()


def test_nobody_there(strict_stores: Stores) -> None:
    assert strict_stores.database is not None
    with listening(1) as url:
        pass
    client = make_client(REGION, url)
    stores = stores_over("gone", Database(client, strict_stores.database.models))
    with pytest.raises(Unavailable):
        stores.access.tenants()
    client.close()


def test_batches_done_in_part_are_finished(strict_stores: Stores) -> None:
    assert strict_stores.database is not None
    space = strict_stores.new_space()
    partial = PartialClient(strict_stores.database._client)
    stores = stores_over("partial", Database(partial.as_client(), strict_stores.database.models))
    new = [memory(str(n)) for n in range(130)]
    stores.memories.add(space, new)
    assert len(stores.memories.get_many(space, [m.id for m in new])) == 130
    again = stores.memories.add(space, [memory(str(n)) for n in range(130)])
    assert [result.duplicate_of for result in again] == [m.id for m in new]
    stores.sessions.append(space, "s", [said(str(n), client_id=str(n)) for n in range(40)], START, 60)
    assert stores.sessions.delete(space, "s") == 81
    assert stores.sessions.page(space, "s", START, 50, None).items == ()
    assert partial.calls["batch_write_item"] > 4
    end_threads(stores)


def test_a_batch_that_is_never_done_is_given_up(strict_stores: Stores) -> None:
    def nothing_done(_call: object) -> dict[str, object]:
        return {"Responses": {}, "UnprocessedKeys": {table: {"Keys": [{"pk": {"S": "p"}, "sk": {"S": "s"}}]}}}

    assert strict_stores.database is not None
    table = str(strict_stores.database.models.memory.Meta.table_name)
    stores, client = faulty(strict_stores, {("batch_get_item", 0): nothing_done})
    with pytest.raises(Throttled):
        stores.memories.get_many(strict_stores.new_space(), ["mem_1"])
    assert 5 < client.calls["batch_get_item"] <= 50


def test_a_lost_answer_to_an_add(strict_stores: Stores) -> None:
    """The caller hears that it failed, tries again with the same memory, and nothing is there twice."""
    space, new = strict_stores.new_space(), memory()
    stores, _ = faulty(strict_stores, {("transact_write_items", 1): after(LOST)})
    with pytest.raises(Unavailable):
        stores.memories.add(space, [new])
    (result,) = stores.memories.add(space, [new])
    assert result.duplicate_of is None
    assert stores.memories.all(space) == (new,)
    assert stores.revision(space) >= 1


def test_a_lost_answer_to_an_add_is_a_duplicate_for_a_new_request(strict_stores: Stores) -> None:
    space, new = strict_stores.new_space(), memory()
    stores, _ = faulty(strict_stores, {("transact_write_items", 1): after(LOST)})
    with pytest.raises(Unavailable):
        stores.memories.add(space, [new])
    (result,) = stores.memories.add(space, [memory()])
    assert result.duplicate_of == new.id
    assert stores.memories.count(space) == 1


@pytest.mark.parametrize("count", [1, 30, 120])
def test_an_add_that_took_effect_though_a_conflict_was_answered(strict_stores: Stores, count: int) -> None:
    space, new = strict_stores.new_space(), [memory(str(n)) for n in range(count)]
    stores, _ = faulty(strict_stores, {("transact_write_items", 1): after(CONFLICT)})
    results = stores.memories.add(space, new)
    assert [result.duplicate_of for result in results] == [None] * count
    assert stores.memories.all(space) == tuple(new)
    assert stores.revision(space) >= 1
    end_threads(stores)


def test_an_add_that_met_others_goes_on_without_the_head(strict_stores: Stores) -> None:
    space = strict_stores.new_space()
    stores, client = faulty(strict_stores, {("transact_write_items", n): before(CONFLICT) for n in (1, 2)})
    stores.memories.add(space, [memory()])
    assert stores.revision(space) == 1
    assert client.calls == {"transact_write_items": 4, "get_item": 1}


def test_a_seal_that_meets_others_leaves_the_head_without_a_mark(strict_stores: Stores) -> None:
    """Which write was the newest is not known then, and no reader may think that it is."""
    space = strict_stores.new_space()
    strict_stores.memories.add(space, [memory("one")])
    stores, client = faulty(strict_stores, {("transact_write_items", n): before(CONFLICT) for n in (1, 3)})
    stores.memories.add(space, [memory("two")])
    head = stores.heads.read(space.tenant, space.subject)
    assert head is not None
    assert (head.revision, head.written) == (2, None)
    assert client.calls == {"transact_write_items": 3, "update_item": 1, "get_item": 1}
    stores.memories.add(space, [memory("three")])
    head = stores.heads.read(space.tenant, space.subject)
    assert head is not None
    assert head.written is not None


def test_an_add_that_was_throttled_is_finished(strict_stores: Stores) -> None:
    space = strict_stores.new_space()
    throttled = before(refused("TransactionCanceledException", ["ThrottlingError", "None"]))
    stores, _ = faulty(strict_stores, {("transact_write_items", n): throttled for n in range(1, 8)})
    stores.memories.add(space, [memory(str(n)) for n in range(200)])
    assert stores.memories.count(space) == 200
    end_threads(stores)


def test_an_add_cut_short_leaves_only_what_the_next_one_completes(strict_stores: Stores) -> None:
    """The items are written and the raise of the revision fails: not acknowledged, and no harm on repetition."""
    space, new = strict_stores.new_space(), [memory(str(n)) for n in range(120)]
    stores, _ = faulty(strict_stores, {("transact_write_items", 4): before(LOST)})
    with pytest.raises(Unavailable):
        stores.memories.add(space, new)
    assert stores.revision(space) == 0
    repeated = stores.memories.add(space, new)
    assert [result.duplicate_of for result in repeated] == [None] * 120
    assert stores.revision(space) == 1
    end_threads(stores)


def test_a_part_of_an_add_cut_short_may_be_repeated_by_itself(strict_stores: Stores) -> None:
    space, new = strict_stores.new_space(), [memory(str(n)) for n in range(120)]
    stores, _ = faulty(strict_stores, {("transact_write_items", 4): before(LOST)})
    with pytest.raises(Unavailable):
        stores.memories.add(space, new)
    (result,) = stores.memories.add(space, new[:1])
    assert result.duplicate_of is None
    assert stores.revision(space) == 1
    end_threads(stores)


@pytest.mark.parametrize("count", [20, 120])
def test_an_add_cut_short_may_be_repeated_among_others(strict_stores: Stores, count: int) -> None:
    """In one transaction with statements of another memory and with new ones: each is told apart."""
    space, known = strict_stores.new_space(), memory("known")
    early = [memory(f"early {n}") for n in range(count // 2)]
    strict_stores.memories.add(space, [known])
    strict_stores.memories.add(space, early)
    late = [memory(f"late {n}") for n in range(count // 2)]
    mixed = [one for pair in zip(early, late, strict=True) for one in pair]

    results = strict_stores.memories.add(space, [memory("known"), *mixed])

    assert [result.duplicate_of for result in results] == [known.id, *(None for _ in mixed)]
    assert {found.id for found in strict_stores.memories.all(space)} == {known.id, *(one.id for one in mixed)}


def test_an_append_that_took_effect_though_a_conflict_was_answered(strict_stores: Stores) -> None:
    space = strict_stores.new_space()
    stores, _ = faulty(strict_stores, {("transact_write_items", 1): after(CONFLICT)})
    result = stores.sessions.append(space, "s", [said("a"), said("b")], START, 60)
    assert [(m.sequence, old) for m, old in result.messages] == [(1, False), (2, False)]
    assert [m.content for m in stores.sessions.page(space, "s", START, 9, None).items] == ["a", "b"]
    assert stores.sessions.get(space, "s", START) == result.session


def test_a_lost_answer_to_an_append_with_client_ids(strict_stores: Stores) -> None:
    space = strict_stores.new_space()
    stores, _ = faulty(strict_stores, {("transact_write_items", 1): after(LOST)})
    new = [said("a", client_id="1"), said("b", client_id="2")]
    with pytest.raises(Unavailable):
        stores.sessions.append(space, "s", new, START, 60)
    result = stores.sessions.append(space, "s", new, START, 60)
    assert [(m.sequence, old) for m, old in result.messages] == [(1, True), (2, True)]
    assert len(stores.sessions.page(space, "s", START, 9, None).items) == 2


@pytest.mark.parametrize("first", [True, False])
def test_a_put_that_took_effect_though_a_conflict_was_answered(strict_stores: Stores, first: bool) -> None:
    space = strict_stores.new_space()
    if not first:
        strict_stores.entities.put(space, entity("k", 1), None)
    before_it = strict_stores.revision(space)
    stores, _ = faulty(strict_stores, {("transact_write_items", 1 if first else 2): after(CONFLICT)})
    stored = stores.entities.put(space, entity("k", 2), None)
    assert stored.version == (1 if first else 2)
    assert stores.entities.get(space, "k", None, START) == stored
    assert len(stores.entities.history(space, "k", None, START)) == stored.version
    assert stores.revision(space) == before_it + 1


def test_an_update_that_took_effect_though_a_conflict_was_answered(strict_stores: Stores) -> None:
    space, new = strict_stores.new_space(), memory("one")
    strict_stores.memories.add(space, [new])
    stores, _ = faulty(strict_stores, {("transact_write_items", 1): after(CONFLICT)})
    stored = stores.memories.update(space, new, replace(new, confidence=0.5))
    assert stored.version == 2
    assert stores.memories.history(space, new.id)[1:] == (stored,)
    assert stores.revision(space) == 2


def test_a_delete_of_a_session_that_was_cut_short_is_finished_by_the_next(strict_stores: Stores) -> None:
    space = strict_stores.new_space()
    strict_stores.sessions.append(space, "s", [said(str(n)) for n in range(60)], START, 60)
    stores, _ = faulty(strict_stores, {("batch_write_item", 2): before(LOST)})
    with pytest.raises(Unavailable):
        stores.sessions.delete(space, "s")
    assert stores.sessions.get(space, "s", START) is not None
    assert stores.sessions.delete(space, "s") >= 1
    assert stores.sessions.page(space, "s", START, 100, None).items == ()
    assert stores.sessions.get(space, "s", START) is None
    end_threads(stores)


def test_an_append_during_a_delete_is_not_left_without_its_head(strict_stores: Stores) -> None:
    space = strict_stores.new_space()
    strict_stores.sessions.append(space, "s", [said("old")], START, 60)

    def append_meanwhile(call: Callable[[], dict[str, object]]) -> dict[str, object]:
        answer = call()
        strict_stores.sessions.append(space, "s", [said("meanwhile")], START, 60)
        return answer

    stores, _ = faulty(strict_stores, {("batch_write_item", 1): append_meanwhile})
    assert stores.sessions.delete(space, "s") == 3
    assert stores.sessions.get(space, "s", START) is None
    assert stores.sessions.page(space, "s", START, 9, None).items == ()


def test_an_erasure_in_the_middle_of_an_add(strict_stores: Stores) -> None:
    space = strict_stores.new_space()

    def erase_first(call: Callable[[], dict[str, object]]) -> dict[str, object]:
        strict_stores.begin_erasure(space)
        return call()

    stores, _ = faulty(strict_stores, {("transact_write_items", 2): erase_first})
    with pytest.raises(Erased):
        stores.memories.add(space, [memory(str(n)) for n in range(120)])
    assert strict_stores.memories.all(replace(space, epoch=2)) == ()
    end_threads(stores)


def test_models_never_make_a_client_of_their_own(strict_stores: Stores) -> None:
    """Making one takes 250 ms in a small function; the adapters share one."""
    assert strict_stores.database is not None
    space = strict_stores.new_space()
    for operation in OPERATIONS.values():
        with suppress(LetheError):  # some find nothing to work on
            operation(strict_stores, space)
    models = strict_stores.database.models
    for row in (models.head, models.session, models.message, models.entity, models.memory, models.key, models.claim):
        assert row._get_connection().connection._client is None


def test_models_of_two_stacks_keep_apart() -> None:
    one, other = (build_models(TableNames(*(f"{stack}-{n}" for n in range(5))), REGION) for stack in ("a", "b"))
    assert (one.memory.Meta.table_name, other.memory.Meta.table_name) == ("a-3", "b-3")
    written = [models.content("p", "s", memory_id="m").get_save_kwargs_from_instance() for models in (one, other)]
    assert [request["TableName"] for request in written] == ["a-3", "b-3"]
