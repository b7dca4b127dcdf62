"""Erasing a whole tenant: all of its subjects go, its keys see nothing, and the other tenants stay as they were."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import timedelta
from math import inf

import pytest

from lethe.domain.access import ApiKey, Tenant
from lethe.domain.erasure import Erasure, ErasureState, StepName, WholeSubject, WholeTenant
from lethe.domain.head import SubjectState
from lethe.domain.identity import EVERY_USER, Caller, Permission
from lethe.errors import Conflict, Erased, NotFound
from lethe.ports import Search
from lethe.services.erasure.tenants import TenantAdmission
from tests.component.erasure.leftovers import ORDINARY, Leftover
from tests.component.erasure.test_whole_subjects import everything
from tests.fakes.time_and_ids import START
from tests.support.erasing import ORDER, Erasing
from tests.support.subjects import fill

pytestmark = pytest.mark.dynoxide

USERS = ("alice", "bob", "carol", "dave")


@pytest.fixture
def tenant(house: Erasing) -> Caller:
    return new_tenant(house)


def new_tenant(house: Erasing) -> Caller:
    """An administrator of a tenant that has three keys."""
    name = f"t-{secrets.token_hex(4)}"
    house.access.put_tenant(Tenant(name, house.clock.now()))
    for number in range(3):
        house.access.put_key(api_key(name, number))
    return house.caller(name)


def api_key(tenant: str, number: int) -> ApiKey:
    granted = frozenset({Permission.ADMIN})
    return ApiKey(f"{tenant}-{number}", tenant, "tester", "a" * 64, granted, (EVERY_USER,), START)


def admit(house: Erasing, tenant: Caller) -> Tenant:
    return TenantAdmission(house.access, house.ledger, house.clock).admit(tenant.tenant)


def of_tenant(house: Erasing, tenant: str) -> dict[tuple[str, str, str], object]:
    return {place: item for place, item in everything(house).items() if place[1].split("#")[0] == tenant}


def test_one_tenant_goes_and_the_others_stay_byte_for_byte(house: Erasing, tenant: Caller) -> None:
    others = [new_tenant(house) for _ in range(2)]
    for caller in (tenant, *others):
        for user in USERS:
            fill(house, house.write(caller, user), f"{caller.tenant}-{user}")
    house.erase(tenant, "dave", WholeSubject())
    house.requests.admit(tenant, "dave")
    fill(house, house.write(tenant, "dave"), "dave-again")
    before = {caller.tenant: of_tenant(house, caller.tenant) for caller in others}
    stored = len(of_tenant(house, tenant.tenant))

    done = house.erase(tenant, None, WholeTenant())

    assert done.state is ErasureState.COMPLETED
    assert {caller.tenant: of_tenant(house, caller.tenant) for caller in others} == before
    left = of_tenant(house, tenant.tenant)
    assert {sk for _, _, sk in left} == {"HEAD", "IDEMPOTENCY"}
    counted = [step for step in done.steps if step.name not in (StepName.INDEX, StepName.SWEEP)]
    assert sum(step.deleted for step in counted) == stored - len(left)
    assert [each.is_clean for each in done.verified] == [True, True]
    heads = [house.spaces.head(tenant, user) for user in USERS]
    assert [head.state for head in heads if head is not None] == [SubjectState.ERASED] * 4
    receipt = house.receipt(done)
    assert tenant.tenant in str(receipt)
    assert not any(user in str(receipt) for user in USERS)


def test_from_the_answer_on_every_key_is_fenced(house: Erasing, tenant: Caller) -> None:
    begun = house.begin(tenant, None, WholeTenant())
    assert begun.unreadable_since == house.clock.now()
    assert {key.fenced for key in house.access.keys(tenant.tenant)} == {begun.id}
    with pytest.raises(Conflict):
        house.access.put_key(api_key(tenant.tenant, 9))
    again = house.begin(tenant, None, WholeTenant())
    assert again.id == begun.id
    assert house.ledger.open() == ((tenant.tenant, begun.id),)


def test_a_first_writer_that_came_late_is_erased_with_the_rest(house: Erasing, tenant: Caller) -> None:
    """It saw its key before the fence: the drain waits for it, and the sweep finds what it wrote."""
    fill(house, house.write(tenant, "alice"), "alice")
    space = house.write(tenant, "alice")

    def late() -> None:
        fill(house, house.write(tenant, "newcomer"), "newcomer")
        late_item(house, space.subject, space.tenant).plant(house.inspected, house)

    house.at_drain = late
    done = house.erase(tenant, None, WholeTenant())

    assert done.state is ErasureState.COMPLETED
    assert done.step(StepName.SWEEP).deleted > 10
    assert {sk for _, _, sk in of_tenant(house, tenant.tenant)} == {"HEAD", "IDEMPOTENCY"}
    with pytest.raises(Erased):
        house.write(tenant, "newcomer")


def late_item(house: Erasing, subject: str, tenant: str) -> Leftover:
    store, sort_key, others = ORDINARY["a memory"]
    return Leftover("late", store, f"{tenant}#{subject}#1", sort_key("1"), others, True)


def test_a_subject_that_the_sweep_missed_is_left_over(house: Erasing, tenant: Caller) -> None:
    begun = house.begin(tenant, None, WholeTenant())
    for task in ORDER[: ORDER.index(StepName.SWEEP) + 1]:
        house.worker.run(task, begun.tenant, begun.id, lambda: inf)
    space = house.write(tenant, "missed")
    missed = late_item(house, space.subject, space.tenant)
    missed.plant(house.inspected, house)
    assert look(house, begun) == {"memories": 1}


def look(house: Erasing, erasure: Erasure) -> dict[str, int]:
    search = Search(erasure.tenant, None, erasure.scope, erasure.epochs, 0, erasure.requested_at)
    return dict(house.verifier.look(search, (), None, lambda: inf).remaining)


def test_a_subject_between_fence_and_probe_is_erased_in_another_round(house: Erasing, tenant: Caller) -> None:
    begun = house.begin(tenant, None, WholeTenant())
    for task in ORDER[: ORDER.index(StepName.ARCHIVE) + 1]:
        house.worker.run(task, begun.tenant, begun.id, lambda: inf)
    fill(house, house.write(tenant, "between"), "between")
    done = house.drive(begun)
    assert done.state is ErasureState.COMPLETED
    assert [each.is_clean for each in done.verified] == [False, True, True]


def test_a_tenant_is_admitted_when_all_is_gone_and_begins_empty(house: Erasing, tenant: Caller) -> None:
    fill(house, house.write(tenant, "alice"), "alice")
    begun = house.begin(tenant, None, WholeTenant())
    with pytest.raises(Conflict):
        admit(house, tenant)
    house.drive(begun)
    for _ in range(2):
        assert admit(house, tenant).fenced is None
    assert {key.fenced for key in house.access.keys(tenant.tenant)} == {None}
    with pytest.raises(NotFound):
        house.spaces.for_reading(tenant, "alice")
    house.requests.admit(tenant, "alice")
    assert house.memories.count(house.write(tenant, "alice")) == 0
    fill(house, house.write(tenant, "new"), "new")
    assert look(house, house.read(begun)) == {}
    with pytest.raises(NotFound):
        TenantAdmission(house.access, house.ledger, house.clock).admit("nobody")


def test_a_repetition_after_admission_takes_nothing_new(house: Erasing, tenant: Caller) -> None:
    """As after the release of a hold."""
    fill(house, house.write(tenant, "alice"), "alice")
    house.holds.place(tenant, "alice", "court", WholeSubject())
    done = house.erase(tenant, None, WholeTenant())
    assert done.state is ErasureState.COMPLETED_WITH_HOLDS
    assert done.holds == ("court",)
    admit(house, tenant)
    house.requests.admit(tenant, "alice")
    fill(house, house.write(tenant, "alice"), "again")
    fill(house, house.write(tenant, "new"), "new")
    anew = of_tenant(house, tenant.tenant)
    house.holds.release(tenant, "court")

    house.clock.move(timedelta(minutes=5))
    assert house.tick.run() == 1
    assert house.drive(done).state is ErasureState.COMPLETED

    old = {place for place in anew if place[1].endswith("#1") and "alice" in str(anew[place])}
    left = of_tenant(house, tenant.tenant)
    assert len(house.read(done).receipts) == 2
    assert old
    assert not old & set(left)
    assert "again states 0" in str(left)
    assert "new states 0" in str(left)
    assert house.access.keys(tenant.tenant)[0].fenced is None


@pytest.mark.parametrize("seconds", [0.0, 6.0])
def test_without_time_it_goes_on_where_it_was(
    house: Erasing, tenant: Caller, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr("lethe.services.erasure.whole._PAGE", 5)
    for user in USERS:
        fill(house, house.write(tenant, user), user)
    begun = house.begin(tenant, None, WholeTenant())
    calls = counted(house)
    done = house.drive(begun, lambda: seconds)
    assert done.state is ErasureState.COMPLETED
    assert len(calls) > 2 * len(ORDER)
    assert {sk for _, _, sk in of_tenant(house, tenant.tenant)} == {"HEAD", "IDEMPOTENCY"}


def counted(house: Erasing) -> list[StepName]:
    """The tasks that are run from now on."""
    ran: list[StepName] = []
    run: Callable[..., object] = house.worker.run

    def counting(task: StepName, *others: object) -> object:
        ran.append(task)
        return run(task, *others)

    house.worker.run = counting  # type: ignore[method-assign,assignment]  # counts what passes
    return ran
