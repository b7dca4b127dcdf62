"""Tenants and keys in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lethe.domain.access import ApiKey, Tenant
from lethe.errors import Conflict, NotFound


class FakeAccessStore:
    def __init__(self) -> None:
        self._tenants: dict[str, Tenant] = {}
        self._keys: dict[str, ApiKey] = {}

    def put_tenant(self, tenant: Tenant) -> None:
        if tenant.name in self._tenants:
            raise Conflict
        self._tenants[tenant.name] = tenant

    def tenants(self) -> tuple[Tenant, ...]:
        return tuple(tenant for _, tenant in sorted(self._tenants.items()))

    def tenant(self, name: str) -> Tenant | None:
        return self._tenants.get(name)

    def put_key(self, key: ApiKey) -> None:
        if key.tenant not in self._tenants:
            raise NotFound
        if key.id in self._keys or self._tenants[key.tenant].fenced is not None:
            raise Conflict
        self._keys[key.id] = key

    def key(self, key_id: str) -> ApiKey | None:
        return self._keys.get(key_id)

    def keys(self, tenant: str) -> tuple[ApiKey, ...]:
        return tuple(key for _, key in sorted(self._keys.items()) if key.tenant == tenant)

    def revoke_key(self, key_id: str, moment: datetime) -> ApiKey:
        key = self._keys.get(key_id)
        if key is None:
            raise NotFound
        self._keys[key_id] = replace(key, revoked_at=key.revoked_at or moment)
        return self._keys[key_id]

    def fence_tenant(self, tenant: str, erasure_id: str) -> str:
        standing = self._tenant_named(tenant).fenced or erasure_id
        if standing == erasure_id:
            self._tenants[tenant] = replace(self._tenants[tenant], fenced=erasure_id)
            for key in self.keys(tenant):
                self._keys[key.id] = replace(key, fenced=erasure_id)
        return standing

    def admit_tenant(self, tenant: str, erasure_id: str) -> None:
        if self._tenant_named(tenant).fenced == erasure_id:
            self._tenants[tenant] = replace(self._tenants[tenant], fenced=None)
        for key in self.keys(tenant):
            if key.fenced == erasure_id:
                self._keys[key.id] = replace(key, fenced=None)

    def _tenant_named(self, name: str) -> Tenant:
        if name not in self._tenants:
            raise NotFound
        return self._tenants[name]
