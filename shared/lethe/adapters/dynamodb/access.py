"""Tenants and API keys in the table of access."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

from lethe.adapters.dynamodb.database import TRANSACTION_LIMIT, Database, Transaction
from lethe.adapters.dynamodb.failures import ConditionFailed, with_retries
from lethe.adapters.dynamodb.models import KeyRow, TenantRow
from lethe.domain import keys
from lethe.domain.access import ApiKey, Tenant
from lethe.domain.identity import Permission
from lethe.errors import Conflict, NotFound


class DynamoAccessStore:
    """``AccessStore`` in the table of access."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tenant = database.models.tenant
        self._key = database.models.key

    def put_tenant(self, tenant: Tenant) -> None:
        """The tenant and its place in the list of tenants, in one transaction."""
        free = self._tenant.pk.does_not_exist()
        places = ((keys.tenant_partition(tenant.name), keys.TENANT), (keys.TENANTS, tenant.name))
        transaction = Transaction()
        for pk, sk in places:
            transaction.put(self._tenant(pk, sk, name=tenant.name, created_at=tenant.created_at), free)
        try:
            with_retries(lambda: self._database.transact(transaction))
        except ConditionFailed as failed:
            raise Conflict("there is a tenant of this name") from failed

    def tenants(self) -> tuple[Tenant, ...]:
        """One query."""
        rows = self._database.rows(self._tenant, keys.TENANTS, keys.everything())
        return tuple(Tenant(row.name, row.created_at, row.fenced) for row in rows)

    def tenant(self, name: str) -> Tenant | None:
        """One read."""
        row = self._database.get(self._tenant, keys.tenant_partition(name), keys.TENANT)
        return None if row is None else Tenant(row.name, row.created_at, row.fenced)

    def put_key(self, key: ApiKey) -> None:
        """The key and its place in its tenant's list, in one transaction, with a look at the tenant."""
        transaction = Transaction()
        for row in self._rows(key):
            transaction.put(row, self._key.pk.does_not_exist())
        tenant = self._tenant(keys.tenant_partition(key.tenant), keys.TENANT)
        transaction.check(tenant, self._tenant.pk.exists() & self._tenant.fenced.does_not_exist())
        try:
            with_retries(lambda: self._database.transact(transaction))
        except ConditionFailed as failed:
            if failed.found[-1] is not None:
                if self.tenant(key.tenant) is None:
                    raise NotFound("there is no such tenant") from failed
                raise Conflict("the tenant is erased: no key can be added") from failed
            raise Conflict("the id of the key is taken") from failed

    def key(self, key_id: str) -> ApiKey | None:
        """One read."""
        row = self._database.get(self._key, keys.api_key(key_id), keys.KEY)
        return None if row is None else _api_key(row)

    def keys(self, tenant: str) -> tuple[ApiKey, ...]:
        """One query; ids are ULIDs, so the oldest comes first."""
        rows = self._database.rows(self._key, keys.tenant_partition(tenant), keys.beginning_with(keys.API_KEYS))
        return tuple(_api_key(row) for row in rows)

    def revoke_key(self, key_id: str, moment: datetime) -> ApiKey:
        """A read, and a transaction over both places; the first moment stays."""
        found = self.key(key_id)
        if found is None:
            raise NotFound
        revoked = self._key.revoked_at
        transaction = Transaction()
        for row in self._rows(found):
            transaction.update(row, [revoked.set(revoked | moment)], self._key.pk.exists())
        try:
            with_retries(lambda: self._database.transact(transaction))
        except ConditionFailed as failed:
            raise NotFound from failed
        changed = self.key(key_id)
        if changed is None:
            raise NotFound
        return changed

    def fence_tenant(self, tenant: str, erasure_id: str) -> str:
        """The tenant first, by a conditional update after which no key can be added; then its keys, 50 together."""
        free = self._tenant.fenced.does_not_exist() | (self._tenant.fenced == erasure_id)
        for row in self._places_of(tenant):
            try:
                with_retries(
                    partial(
                        self._database.update,
                        row,
                        [self._tenant.fenced.set(erasure_id)],
                        self._tenant.pk.exists() & free,
                    )
                )
            except ConditionFailed as failed:
                standing = self.tenant(tenant)
                if standing is None or standing.fenced is None:
                    raise NotFound("there is no such tenant") from failed
                return standing.fenced
        self._mark([key for key in self.keys(tenant) if key.fenced != erasure_id], erasure_id)
        return erasure_id

    def _mark(self, unmarked: Sequence[ApiKey], erasure_id: str) -> None:
        together = TRANSACTION_LIMIT // 2
        for start in range(0, len(unmarked), together):
            transaction = Transaction()
            for key in unmarked[start : start + together]:
                for row in self._rows(key):
                    transaction.update(row, [self._key.fenced.set(erasure_id)], self._key.pk.exists())
            with_retries(partial(self._database.transact, transaction))

    def admit_tenant(self, tenant: str, erasure_id: str) -> None:
        """The tenant, then key after key, each in both of its places."""
        if self.tenant(tenant) is None:
            raise NotFound("there is no such tenant")
        for row in self._places_of(tenant):
            mine = self._tenant.fenced == erasure_id
            with suppress(ConditionFailed):  # admitted before, or fenced by another erasure since
                with_retries(partial(self._database.update, row, [self._tenant.fenced.remove()], mine))
        for key in self.keys(tenant):
            if key.fenced == erasure_id:
                transaction = Transaction()
                for place in self._rows(key):
                    transaction.update(place, [self._key.fenced.remove()], self._key.fenced == erasure_id)
                with suppress(ConditionFailed):
                    with_retries(partial(self._database.transact, transaction))

    def _places_of(self, tenant: str) -> Sequence[TenantRow]:
        """The tenant's own place first: keys are added by what that one says."""
        return [self._tenant(keys.tenant_partition(tenant), keys.TENANT), self._tenant(keys.TENANTS, tenant)]

    def _rows(self, key: ApiKey) -> Sequence[KeyRow]:
        """The key's two places, with the same content: the authorizer reads one, the tenant's list the other."""
        places = ((keys.api_key(key.id), keys.KEY), (keys.tenant_partition(key.tenant), keys.api_key(key.id)))
        return [
            self._key(
                pk,
                sk,
                id=key.id,
                tenant=key.tenant,
                actor=key.actor,
                secret_hash=key.secret_hash,
                permissions=tuple(sorted(key.permissions)),
                subjects=key.subjects,
                created_at=key.created_at,
                revoked_at=key.revoked_at,
                fenced=key.fenced,
            )
            for pk, sk in places
        ]


def _api_key(row: KeyRow) -> ApiKey:
    return ApiKey(
        id=row.id,
        tenant=row.tenant,
        actor=row.actor,
        secret_hash=row.secret_hash,
        permissions=frozenset(Permission(name) for name in row.permissions),
        subjects=row.subjects,
        created_at=row.created_at,
        revoked_at=row.revoked_at,
        fenced=row.fenced,
    )
