"""Restoring tables from before erasures: after the ledger was replayed over them, nothing erased is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from lethe.adapters.dynamodb.models import table_of
from lethe.domain.access import Tenant
from lethe.domain.erasure import ErasureState, TheseMemories, WholeSubject, WholeTenant
from lethe.domain.head import SubjectState
from lethe.domain.identity import Caller
from lethe.entry.wiring import operator
from lethe.errors import NotFound
from lethe.services.erasure.replay import Replay, Replayed
from lethe.services.erasure.requests import NamedSession
from lethe.services.erasure.tenants import TenantAdmission
from tests.support.erasing import Erasing, ended, rows
from tests.support.stores import REGION
from tests.support.subjects import fill

pytestmark = pytest.mark.dynoxide

Backup = Mapping[tuple[str, str, str], object]


def tables(house: Erasing, access: bool = False) -> list[str]:
    models = house.database.models
    data = [table_of(row) for row in (models.head, models.session, models.entity, models.memory)]
    return [*data, table_of(models.tenant)] if access else data


def restore(house: Erasing, backup: Backup, access: bool = False) -> None:
    """Make the tables what they were, item by item; the ledger stays."""
    client = house.inspected
    for table, pk, sk in rows(client, tables(house, access)):
        client.delete_item(TableName=table, Key={"pk": {"S": pk}, "sk": {"S": sk}})
    for (table, _, _), item in backup.items():
        client.put_item(TableName=table, Item=item)  # type: ignore[arg-type]  # as it was read


def replayed(house: Erasing) -> Replayed:
    """Replay, and let the tick and the machine do the rest."""
    told: list[Replayed] = []
    done = Replay(house.ledger, house.heads, house.access, house.clock).run(told.append)
    assert not told or told[-1] == done
    house.clock.move(timedelta(minutes=5))
    house.executions.started.clear()
    assert house.tick.run() >= done.opened  # a replay before this one may have opened others
    for tenant, erasure_id, _ in house.executions.started:
        erasure = house.ledger.read(tenant, erasure_id)
        assert erasure is not None
        assert ended(house.drive(erasure))
    return done


def sees(house: Erasing, caller: Caller, user: str) -> bool:
    """Whether a reader finds anything."""
    try:
        return house.memories.count(house.spaces.for_reading(caller, user)) > 0
    except NotFound:
        return False


def test_no_erased_subject_is_seen_and_the_admitted_ones_work(house: Erasing, caller: Caller) -> None:
    users = [f"user-{n}" for n in range(8)]
    for user in users:
        fill(house, house.write(caller, user), user)
    backup = rows(house.inspected, tables(house))
    for user in users[:6]:
        house.erase(caller, user, WholeSubject())
    for user in users[:3]:
        house.requests.admit(caller, user)
    fill(house, house.write(caller, users[0]), "again")
    for _ in range(2):
        house.erase(caller, users[2], WholeSubject())
    house.requests.admit(caller, users[2])
    restore(house, backup)
    assert all(sees(house, caller, user) for user in users)

    Replay(house.ledger, house.heads, house.access, house.clock).run(lambda done: None)

    assert [user for user in users if sees(house, caller, user)] == users[6:]
    replayed(house)
    assert [user for user in users if sees(house, caller, user)] == users[6:]
    left = str(rows(house.inspected, tables(house)))
    assert not [user for user in users[:6] if f"{user} states" in left]
    states = [head.state for user in users if (head := house.spaces.head(caller, user)) is not None]
    assert states == [SubjectState.ACTIVE] * 3 + [SubjectState.ERASED] * 3 + [SubjectState.ACTIVE] * 2
    fill(house, house.write(caller, users[1]), "works")
    assert sees(house, caller, users[1])
    assert replayed(house).subjects == 6
    assert sees(house, caller, users[1])


def test_no_epoch_between_is_shown_for_a_moment(house: Erasing, caller: Caller) -> None:
    """The backup is from between two erasures: what the second one ended must not be seen by way of the first."""
    fill(house, house.write(caller, "alice"), "first")
    house.erase(caller, "alice", WholeSubject())
    house.requests.admit(caller, "alice")
    fill(house, house.write(caller, "alice"), "second")
    backup = rows(house.inspected, tables(house))
    house.erase(caller, "alice", WholeSubject())
    restore(house, backup)
    assert sees(house, caller, "alice")
    replayed(house)
    head = house.spaces.head(caller, "alice")
    assert head is not None
    assert (head.epoch, head.state) == (3, SubjectState.ERASED)
    assert "second states" not in str(rows(house.inspected, tables(house)))


def test_parts_are_erased_again(house: Erasing, caller: Caller) -> None:
    filled = fill(house, house.write(caller, "alice"), "word")
    backup = rows(house.inspected, tables(house))
    house.erase(caller, "alice", TheseMemories((filled.memories[1].id,)))
    house.erase(caller, "alice", NamedSession("s-word"))
    after = kept(house)
    restore(house, backup)
    assert house.memories.get(filled.space, filled.memories[1].id) is not None

    assert replayed(house).opened == 2

    assert house.memories.get(filled.space, filled.memories[1].id) is None
    assert kept(house) == after


def kept(house: Erasing) -> set[tuple[str, str, str]]:
    """What stands of the data, by its keys; notes of changes bear the time at which they were made."""
    found = rows(house.inspected, tables(house)[1:])
    return {place for place in found if not place[2].startswith("CHANGED#")}


@pytest.mark.parametrize("access", [False, True])
@pytest.mark.parametrize("admitted", [False, True])
def test_tenants_are_erased_again(house: Erasing, caller: Caller, access: bool, admitted: bool) -> None:
    house.access.put_tenant(Tenant(caller.tenant, house.clock.now()))
    other = replace(caller, tenant=f"{caller.tenant}-2")
    for each in (caller, other):
        fill(house, house.write(each, "alice"), "alice")
        fill(house, house.write(each, "bob"), "bob")
    backup = rows(house.inspected, tables(house, access))
    assert house.erase(caller, None, WholeTenant()).state is ErasureState.COMPLETED
    if admitted:
        TenantAdmission(house.access, house.ledger, house.clock).admit(caller.tenant)
        house.requests.admit(caller, "alice")
    restore(house, backup, access)
    assert sees(house, caller, "alice")

    done = replayed(house)

    assert (done.tenants, done.subjects, done.opened) == (0 if admitted else 1, 2, 1)
    assert not sees(house, caller, "alice")
    assert not sees(house, caller, "bob")
    assert sees(house, other, "alice")
    tenant = house.access.tenant(caller.tenant)
    assert tenant is not None
    assert (tenant.fenced is None) == admitted
    left = {sk for _, pk, sk in rows(house.inspected, tables(house)) if pk.startswith(f"{caller.tenant}#")}
    assert left == {"HEAD", "IDEMPOTENCY"}
    if admitted:
        fill(house, house.write(caller, "alice"), "anew")
        assert sees(house, caller, "alice")


def test_what_ended_before_the_backup_is_left_alone(house: Erasing, caller: Caller) -> None:
    house.write(caller, "alice")
    house.erase(caller, "alice", WholeSubject())
    house.clock.move(timedelta(days=2))
    house.write(caller, "bob")
    house.erase(caller, "bob", WholeSubject())
    since = house.clock.now() - timedelta(days=1)
    done = Replay(house.ledger, house.heads, house.access, house.clock).run(lambda done: None, since)
    assert (done.erasures, done.subjects, done.opened) == (1, 1, 1)


def test_the_operators_commands_are_wired(house: Erasing, caller: Caller, dynoxide: str) -> None:
    models = house.database.models
    environment = {
        "AWS_REGION": REGION,
        "LETHE_DYNAMODB_ENDPOINT": dynoxide,
        "LETHE_ACCESS_TABLE": table_of(models.tenant),
        "LETHE_LEDGER_TABLE": table_of(models.erasure),
        "LETHE_SUBJECTS_TABLE": table_of(models.head),
    }
    house.access.put_tenant(Tenant(caller.tenant, house.clock.now()))
    house.write(caller, "alice")
    done = house.erase(caller, None, WholeTenant())
    assert operator.tenant_admission(environment).admit(caller.tenant).fenced is None
    assert operator.replay(environment).run(lambda done: None) == Replayed(1, 1, 0, 1)
    assert house.ledger.open() == ((caller.tenant, done.id),)
