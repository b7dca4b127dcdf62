"""Which erasure a request comes to is told once, when it is known and before anything is deleted: an entry names it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest

from lethe.domain.access import Tenant
from lethe.domain.erasure import Erasure, MemoriesWithin, TheseMemories, WholeSubject, WholeTenant
from lethe.domain.identity import Caller
from lethe.domain.memory import MemoryKind
from lethe.errors import Conflict, Forbidden, Unavailable
from lethe.services.erasure.requests import NamedSession, Wanted
from tests.fakes.erasing import FakeLedger
from tests.support.erasing import ErasingInMemory
from tests.support.subjects import Filled, fill

SCOPES = ("tenant", "subject", "session", "memory", "kind")
PARTS = ("session", "memory")
"""Of which a client can ask to be deleted, beside asking for an erasure of them."""


class ListeningLedger(FakeLedger):
    """Calls ``before`` before a row is begun, once, and ``after`` when it stands."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], object] | None = None
        self.after: Callable[[], object] = lambda: None

    def begin(self, erasure: Erasure) -> Erasure:
        before, self.before = self.before, None
        if before is not None:
            before()
        begun = super().begin(erasure)
        self.after()
        return begun


class House(ErasingInMemory):
    """A tenant with memories of alice."""

    def _open_stores(self) -> None:
        super()._open_stores()
        self.ledger = self.listening = ListeningLedger()

    def __init__(self) -> None:
        super().__init__()
        self.access.put_tenant(Tenant("acme", self.clock.now()))
        self.admin: Caller = self.caller("acme")
        self.filled: Filled = fill(self, self.write(self.admin, "alice"), "W")
        self.told: list[str] = []
        self.stood: list[bool] = []

    def wanted(self, scope: str) -> Wanted:
        scopes: dict[str, Wanted] = {
            "tenant": WholeTenant(),
            "subject": WholeSubject(),
            "session": NamedSession("s-W"),
            "memory": TheseMemories((self.filled.memories[0].id,)),
            "kind": MemoriesWithin(tuple(MemoryKind)),
        }
        return scopes[scope]

    def tell(self, erasure_id: str) -> None:
        self.told.append(erasure_id)
        self.stood.append(self.filled.memories[0].id in {memory.id for memory in self.memories.all(self.filled.space)})

    def ask(self, scope: str, by: Caller | None = None) -> Erasure:
        """As ``POST /v1/erasures`` does."""
        user = None if scope == "tenant" else "alice"
        return self.requests.begin(by or self.admin, user, self.wanted(scope), None, lambda: inf, tell=self.tell)

    def delete(self, scope: str, version: int | None = None) -> Erasure | None:
        """As ``DELETE`` does."""
        wanted = self.wanted(scope)
        assert isinstance(wanted, NamedSession | TheseMemories)
        return self.requests.delete(self.admin, "alice", wanted, version, lambda: inf, tell=self.tell)


@pytest.fixture
def house() -> House:
    return House()


@pytest.mark.parametrize("scope", SCOPES)
def test_a_new_one_is_told_before_anything_is_deleted(house: House, scope: str) -> None:
    begun = house.ask(scope)
    assert (house.told, house.stood) == ([begun.id], [True])
    assert house.ledger.open() == (("acme", begun.id),)


@pytest.mark.parametrize("scope", PARTS)
def test_so_is_one_that_a_deletion_begins(house: House, scope: str) -> None:
    begun = house.delete(scope)
    assert begun is not None
    assert (house.told, house.stood) == ([begun.id], [True])
    assert house.delete(scope) is None
    assert house.told == [begun.id]


@pytest.mark.parametrize("scope", SCOPES)
def test_one_that_runs_is_told_to_who_asks_again(house: House, scope: str) -> None:
    running = house.ask("tenant" if scope == "tenant" else "subject")
    assert house.ask(scope).id == running.id
    assert house.told == [running.id] * 2


@pytest.mark.parametrize("scope", ["tenant", "subject"])
def test_who_is_overtaken_is_told_the_faster_one(house: House, scope: str) -> None:
    faster: list[Erasure] = []
    house.listening.before = lambda: faster.append(house.begin(house.admin, *whole(house, scope)))
    assert house.ask(scope).id == faster[0].id
    assert house.told == [faster[0].id]
    assert house.ledger.open() == (("acme", faster[0].id),)


def whole(house: House, scope: str) -> tuple[str | None, Wanted]:
    return (None if scope == "tenant" else "alice"), house.wanted(scope)


@pytest.mark.parametrize("scope", SCOPES)
def test_one_that_failed_to_begin_and_may_run_all_the_same_is_told(house: House, scope: str) -> None:
    """Its row stands, so that a tick starts it."""

    def fail() -> None:
        raise Unavailable

    house.listening.after = fail
    with pytest.raises(Unavailable):
        house.ask(scope)
    assert [("acme", told) for told in house.told] == list(house.ledger.open())
    assert len(house.told) == 1


@pytest.mark.parametrize("scope", SCOPES)
def test_none_is_told_to_who_may_not(house: House, scope: str) -> None:
    with pytest.raises(Forbidden):
        house.ask(scope, house.caller("acme", "bob"))
    assert house.told == []


@pytest.mark.parametrize("scope", PARTS)
def test_none_is_told_where_a_hold_keeps_it(house: House, scope: str) -> None:
    house.holds.place(house.admin, "alice", "court", WholeSubject())
    with pytest.raises(Conflict):
        house.delete(scope)
    assert house.told == []
