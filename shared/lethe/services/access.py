"""Tenants and API keys, and who a presented key is."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from lethe.domain.access import TENANT_NAME, ApiKey, Tenant, chosen_actor, format_key, hash_secret, own_actor, parse_key
from lethe.domain.identity import EVERY_USER, Caller, Permission, key_of, subject_of
from lethe.errors import InvalidInput, NotFound
from lethe.ports import AccessStore, Clock, Ids


def authenticate(store: AccessStore, presented: str) -> Caller | None:
    """The caller behind a presented key; None when there is no such key, its secret is wrong or it is revoked."""
    parts = parse_key(presented)
    key = store.key(parts[0]) if parts else None
    if parts is None or key is None or not key.opens_with(parts[1]):
        return None
    return Caller(key.tenant, key.actor, key.permissions, key.subjects, key.id, key.fenced is not None)


class Access:
    """What ``lethe tenants`` and ``lethe keys`` do."""

    def __init__(self, store: AccessStore, master_key: bytes, clock: Clock, new_ids: Ids) -> None:
        self._store = store
        self._master_key = master_key
        self._clock = clock
        self._ids = new_ids

    def create_tenant(self, name: str) -> Tenant:
        """A new tenant. Raises InvalidInput on a bad name, Conflict when it is taken."""
        if not TENANT_NAME.fullmatch(name):
            raise InvalidInput.of("name", "1 to 64 of a-z, 0-9 and -, beginning and ending with a letter or digit")
        tenant = Tenant(name, self._clock.now())
        self._store.put_tenant(tenant)
        return tenant

    def list_tenants(self) -> tuple[Tenant, ...]:
        """All tenants, by name."""
        return self._store.tenants()

    def create_key(
        self, tenant: str, permissions: Sequence[str], users: Sequence[str] = (EVERY_USER,), actor: str | None = None
    ) -> tuple[ApiKey, str]:
        """A new key, and the text to present, which is shown this once and stored nowhere.

        Raises NotFound for an unknown tenant, Conflict for one that is erased, InvalidInput for unknown permissions,
        impossible user ids, or an actor whose name could be another key's own.
        """
        if self._store.tenant(tenant) is None:
            raise NotFound("there is no such tenant")
        key_id = self._ids.new("")
        secret = secrets.token_urlsafe(32)
        key = ApiKey(
            id=key_id,
            tenant=tenant,
            actor=own_actor(key_id) if actor is None else _actor(actor),
            secret_hash=hash_secret(secret),
            permissions=_permissions(permissions),
            subjects=self._subjects(tenant, users),
            created_at=self._clock.now(),
        )
        self._store.put_key(key)
        return key, format_key(key_id, secret)

    def list_keys(self, tenant: str) -> tuple[ApiKey, ...]:
        """All keys of a tenant. Raises NotFound for an unknown tenant."""
        if self._store.tenant(tenant) is None:
            raise NotFound("there is no such tenant")
        return self._store.keys(tenant)

    def audit_key(self, key: ApiKey) -> str:
        """The keyed hash by which the audit trail names a key."""
        return key_of(key.tenant, key.id, self._master_key)

    def revoke_key(self, key_id: str) -> ApiKey:
        """Revoke at once and for good. Raises NotFound."""
        return self._store.revoke_key(key_id, self._clock.now())

    def _subjects(self, tenant: str, users: Sequence[str]) -> tuple[str, ...]:
        if not users:
            raise InvalidInput.of("users", "name at least one user, or *")
        if EVERY_USER in users:
            if len(users) > 1:
                raise InvalidInput.of("users", "* already covers every user")
            return (EVERY_USER,)
        try:
            return tuple(dict.fromkeys(subject_of(tenant, user, self._master_key) for user in users))
        except ValueError as error:
            raise InvalidInput.of("users", str(error)) from None


def _actor(name: str) -> str:
    try:
        return chosen_actor(name)
    except ValueError as error:
        raise InvalidInput.of("actor", str(error)) from None


def _permissions(names: Sequence[str]) -> frozenset[Permission]:
    try:
        permissions = frozenset(Permission(name) for name in names)
    except ValueError:
        raise InvalidInput.of("permissions", "any of " + ", ".join(Permission)) from None
    if not permissions:
        raise InvalidInput.of("permissions", "name at least one of " + ", ".join(Permission))
    return permissions
