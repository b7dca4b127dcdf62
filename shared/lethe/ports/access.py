"""Tenants, keys, and the requests that were made before."""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime
from typing import Protocol

from lethe.domain.access import ApiKey, Tenant
from lethe.domain.idempotency import Claim, StoredAnswer
from lethe.domain.identity import Space


class AccessStore(Protocol):
    """Tenants and their API keys; beside the Spaces, since it is what callers are made of."""

    def put_tenant(self, tenant: Tenant) -> None:
        """Store a new tenant. Raises Conflict when the name is taken."""
        ...

    def tenants(self) -> tuple[Tenant, ...]:
        """All tenants, by name."""
        ...

    def tenant(self, name: str) -> Tenant | None:
        """One tenant, or None."""
        ...

    def put_key(self, key: ApiKey) -> None:
        """Store a new key. Raises NotFound without its tenant, Conflict when its id is taken or its tenant fenced."""
        ...

    def key(self, key_id: str) -> ApiKey | None:
        """The key, read consistently, or None."""
        ...

    def keys(self, tenant: str) -> tuple[ApiKey, ...]:
        """All keys of a tenant, revoked ones too, oldest first."""
        ...

    def revoke_key(self, key_id: str, moment: datetime) -> ApiKey:
        """Mark the key as revoked; again is no error. Raises NotFound."""
        ...

    def fence_tenant(self, tenant: str, erasure_id: str) -> str:
        """Mark the tenant and all of its keys as fenced by the erasure, unless another fences it; the id of the one
        that does. When this returns, every request of the tenant is seen to be fenced, and no key can be added. Again
        finishes what was cut short. Raises NotFound.
        """
        ...

    def admit_tenant(self, tenant: str, erasure_id: str) -> None:
        """Take the marks of that erasure from the tenant and its keys; again finishes what was cut short. Marks of
        another erasure stay. Raises NotFound.
        """
        ...


class IdempotencyRecords(Protocol):
    """Remembers which request used an idempotency key, and the answer it got, for 24 hours.

    The claim holds digests only; the answer, which holds content, lives in the subject's space and is erased
    with it.
    """

    def claim(self, tenant: str, key_digest: str, request_digest: str, now: datetime, deadline: datetime) -> Claim:
        """Claim the key for this request; exactly one of many concurrent callers gets ``Claim.STARTED``.

        A claim whose ``deadline`` passed unanswered may be taken over by the same request.
        Raises InProgress or IdempotencyMismatch.
        """
        ...

    def store(self, space: Space, tenant: str, key_digest: str, answer: StoredAnswer, now: datetime) -> None:
        """Keep the first answer and mark the claim as answered."""
        ...

    def answer(self, space: Space, key_digest: str, now: datetime) -> StoredAnswer | None:
        """The first answer, or None when it has been erased or has expired."""
        ...

    def forget(self, space: Space, about: Set[str]) -> int:
        """Delete the answers that speak of anything in ``about``; how many went. Their claims stay answered."""
        ...

    def named(self, space: Space) -> frozenset[str]:
        """Everything that the answers which stand speak of; consistent."""
        ...

    def release(self, tenant: str, key_digest: str, request_digest: str) -> None:
        """Give a claim up after a failure, so that the request may be tried again."""
        ...
