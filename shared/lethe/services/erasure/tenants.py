"""Letting a tenant be used again after all of it was erased."""

from __future__ import annotations

from lethe.domain.access import Tenant
from lethe.domain.erasure import ErasureState
from lethe.errors import Conflict, NotFound
from lethe.ports import AccessStore, Clock, Ledger


class TenantAdmission:
    """Lifts the fence of a tenant. Each of its former subjects stays erased until it is admitted or its days are over;
    new ones begin empty.
    """

    def __init__(self, access: AccessStore, ledger: Ledger, clock: Clock) -> None:
        self._access = access
        self._ledger = ledger
        self._clock = clock

    def admit(self, name: str) -> Tenant:
        """The tenant as it is then; of one that nothing fences nothing changes. The ledger knows first, so that a
        replay does not fence it anew.

        Raises NotFound, and Conflict while the erasure has not come to a good end.
        """
        tenant = self._access.tenant(name)
        if tenant is None:
            raise NotFound("there is no such tenant")
        fences = {key.fenced for key in self._access.keys(name)} | {tenant.fenced}
        for erasure_id in sorted(fence for fence in fences if fence is not None):
            erasure = self._ledger.read(name, erasure_id)
            if erasure is not None and erasure.state not in _GOOD_ENDS:
                raise Conflict("the tenant is still being erased")
            self._ledger.admit(name, erasure_id, 1, self._clock.now())
            self._access.admit_tenant(name, erasure_id)
        return self._access.tenant(name) or tenant


_GOOD_ENDS = (ErasureState.COMPLETED, ErasureState.COMPLETED_WITH_HOLDS)
