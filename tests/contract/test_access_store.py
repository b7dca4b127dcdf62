"""The contract of AccessStore, over the fake and both DynamoDBs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lethe.domain.access import ApiKey, Tenant
from lethe.domain.identity import Permission
from lethe.errors import Conflict, NotFound
from lethe.ports import AccessStore
from tests.fakes.time_and_ids import START, SequentialIds
from tests.support.stores import Stores


def api_key(key_id: str, tenant: str = "acme") -> ApiKey:
    permissions = frozenset({Permission.READ, Permission.WRITE})
    return ApiKey(key_id, tenant, f"key {key_id}", "a" * 64, permissions, ("b" * 32, "c" * 32), START)


def test_nothing_there(empty_stores: Stores) -> None:
    access = empty_stores.access
    assert access.tenants() == ()
    assert access.tenant("acme") is None
    assert access.key("k") is None
    assert access.keys("acme") == ()
    with pytest.raises(NotFound):
        access.revoke_key("k", START)


def test_tenants_are_listed_by_name(empty_stores: Stores) -> None:
    access = empty_stores.access
    tenants = [Tenant(name, START + timedelta(microseconds=n)) for n, name in enumerate(["b", "a-c", "a", "a1"])]
    for tenant in tenants:
        access.put_tenant(tenant)
    assert access.tenants() == tuple(sorted(tenants, key=lambda tenant: tenant.name))
    assert access.tenant("a-c") == tenants[1]


def test_a_name_is_taken_once(empty_stores: Stores) -> None:
    first = Tenant("acme", START)
    empty_stores.access.put_tenant(first)
    with pytest.raises(Conflict):
        empty_stores.access.put_tenant(Tenant("acme", START + timedelta(days=1)))
    assert empty_stores.access.tenants() == (first,)


def test_a_key_comes_back(empty_stores: Stores) -> None:
    access = empty_stores.access
    access.put_tenant(Tenant("acme", START))
    key = api_key("01KEY")
    everything = ApiKey("02KEY", "acme", "x", "d" * 64, frozenset(Permission), ("*",), START, START)
    nothing = ApiKey("03KEY", "acme", "x", "e" * 64, frozenset(), (), START)
    for new in (key, everything, nothing):
        access.put_key(new)
        assert access.key(new.id) == new
    assert access.keys("acme") == (key, everything, nothing)


def test_keys_are_listed_oldest_first_and_by_tenant(empty_stores: Stores) -> None:
    access, ids = empty_stores.access, SequentialIds()
    for name in ("acme", "acme2"):
        access.put_tenant(Tenant(name, START))
    keys = [api_key(ids.new("")) for _ in range(12)]
    for key in keys[::-1]:
        access.put_key(key)
    access.put_key(api_key(ids.new(""), "acme2"))
    assert access.keys("acme") == tuple(keys)
    assert len(access.keys("acme2")) == 1


def test_a_key_needs_its_tenant_and_an_id_of_its_own(empty_stores: Stores) -> None:
    access = empty_stores.access
    with pytest.raises(NotFound):
        access.put_key(api_key("01KEY", "nobody"))
    assert access.key("01KEY") is None
    for name in ("acme", "other"):
        access.put_tenant(Tenant(name, START))
    access.put_key(api_key("01KEY"))
    with pytest.raises(Conflict):
        access.put_key(api_key("01KEY", "other"))
    assert access.key("01KEY") == api_key("01KEY")
    assert access.keys("other") == ()


def test_a_revoked_key_stays_with_its_first_date(empty_stores: Stores) -> None:
    access = empty_stores.access
    access.put_tenant(Tenant("acme", START))
    for key_id in ("01KEY", "02KEY"):
        access.put_key(api_key(key_id))
    revoked = access.revoke_key("01KEY", START + timedelta(seconds=1))
    assert revoked.revoked_at == START + timedelta(seconds=1)
    assert access.revoke_key("01KEY", START + timedelta(seconds=2)) == revoked
    assert access.key("01KEY") == revoked
    assert access.keys("acme") == (revoked, api_key("02KEY"))


def two_tenants(access: AccessStore, keys: int) -> list[ApiKey]:
    for name in ("acme", "other"):
        access.put_tenant(Tenant(name, START))
    mine = [api_key(f"K{n:03d}") for n in range(keys)]
    for key in (*mine, api_key("OTHER", "other")):
        access.put_key(key)
    return mine


def test_a_fence_marks_the_tenant_and_all_of_its_keys(empty_stores: Stores) -> None:
    access = empty_stores.access
    mine = two_tenants(access, 51)
    assert access.fence_tenant("acme", "er_1") == "er_1"
    assert access.tenant("acme") == Tenant("acme", START, "er_1")
    assert [tenant.fenced for tenant in access.tenants()] == ["er_1", None]
    assert access.keys("acme") == tuple(replace(key, fenced="er_1") for key in mine)
    assert {access.key(key.id) for key in mine} == {replace(key, fenced="er_1") for key in mine}
    assert access.key("OTHER") == api_key("OTHER", "other")


def test_the_first_erasure_fences_and_another_is_told_so(empty_stores: Stores) -> None:
    access = empty_stores.access
    two_tenants(access, 2)
    assert access.fence_tenant("acme", "er_1") == "er_1"
    assert access.fence_tenant("acme", "er_2") == "er_1"
    assert access.fence_tenant("acme", "er_1") == "er_1"
    assert {key.fenced for key in access.keys("acme")} == {"er_1"}
    assert access.fence_tenant("other", "er_2") == "er_2"
    with pytest.raises(NotFound):
        access.fence_tenant("nobody", "er_1")


def test_a_fenced_tenant_gets_no_key(empty_stores: Stores) -> None:
    access = empty_stores.access
    two_tenants(access, 1)
    access.fence_tenant("acme", "er_1")
    with pytest.raises(Conflict):
        access.put_key(api_key("NEW"))
    assert access.key("NEW") is None
    access.put_key(api_key("NEW", "other"))


def test_a_revoked_key_stays_fenced(empty_stores: Stores) -> None:
    access = empty_stores.access
    two_tenants(access, 1)
    access.fence_tenant("acme", "er_1")
    assert access.revoke_key("K000", START).fenced == "er_1"


def test_who_is_admitted_is_as_before(empty_stores: Stores) -> None:
    access = empty_stores.access
    mine = two_tenants(access, 3)
    access.fence_tenant("acme", "er_1")
    access.admit_tenant("acme", "er_2")
    assert access.tenant("acme") == Tenant("acme", START, "er_1")
    for _ in range(2):
        access.admit_tenant("acme", "er_1")
    assert access.tenants() == (Tenant("acme", START), Tenant("other", START))
    assert access.keys("acme") == tuple(mine)
    assert {access.key(key.id) for key in mine} == set(mine)
    access.put_key(api_key("NEW"))
    assert access.fence_tenant("acme", "er_2") == "er_2"
    with pytest.raises(NotFound):
        access.admit_tenant("nobody", "er_1")
