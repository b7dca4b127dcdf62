"""Writing the audit trail: who asked for what about whom, with every name hidden before anything is kept."""

from __future__ import annotations

from typing import Final

from lethe.domain.audit import AuditEntry, AuditEvent, Verdict
from lethe.domain.identity import EVERY_USER, Caller, hidden, key_of, session_of, subject_of
from lethe.domain.immutable import immutable
from lethe.ports import AuditTrail, Clock

MOST_TARGETS: Final = 20
"""Of one entry; an erasure that names more memories has all of them in its own record."""


@immutable
class Named:
    """What a request names, as it was sent. ``ids`` are those that Lethe made; they are kept as they are.

    ``owner`` is whose that is, where no user is named: a subject, or EVERY_USER for what is of the whole tenant.
    ``erasure`` is the id of the erasure that the request came to.
    """

    user_id: str | None = None
    owner: str | None = None
    ids: tuple[str, ...] = ()
    erasure: str | None = None
    session_id: str | None = None
    entity_key: str | None = None
    hold: str | None = None


class AuditBook:
    """Makes entries of requests."""

    def __init__(self, trail: AuditTrail, master_key: bytes, clock: Clock) -> None:
        self._trail = trail
        self._master_key = master_key
        self._clock = clock

    def record(self, caller: Caller, action: str, request_id: str, named: Named, permitted: bool) -> AuditEntry:
        """Add an entry. ``permitted`` is whether the key may do such a thing at all, and now; whether it covers the
        user, or every user, is found here. Raises Unavailable or Throttled.
        """
        owner = self._owner(caller, named)
        subject = None if owner == EVERY_USER else owner
        allowed = permitted and (owner is None or caller.covers(owner))
        event = AuditEvent(
            tenant=caller.tenant,
            at=self._clock.now(),
            key=key_of(caller.tenant, caller.key_id, self._master_key),
            action=action,
            verdict=Verdict.ALLOWED if allowed else Verdict.REFUSED,
            subject=subject,
            targets=self._targets(caller.tenant, subject, named),
            request_id=request_id,
        )
        return self._trail.append(event)

    def _owner(self, caller: Caller, named: Named) -> str | None:
        """The subject that the request is about, or EVERY_USER; None where it names none, or what is no user id."""
        if named.owner is not None:
            return named.owner
        if named.user_id is None:
            return caller.subjects[0] if len(caller.subjects) == 1 and caller.subjects[0] != EVERY_USER else None
        try:
            return subject_of(caller.tenant, named.user_id, self._master_key)
        except ValueError:
            return None

    def _targets(self, tenant: str, subject: str | None, named: Named) -> tuple[str, ...]:
        found = list(named.ids[:MOST_TARGETS])
        if named.erasure is not None:
            found.append(named.erasure)
        if named.hold is not None:
            found.append("hold:" + hidden("hold", tenant, named.hold, self._master_key))
        if subject is not None and named.session_id is not None:
            found.append("session:" + session_of(tenant, subject, named.session_id, self._master_key))
        if subject is not None and named.entity_key is not None:
            key = hidden("entity", tenant, f"{subject}\x00{named.entity_key}", self._master_key)
            found.append("entity:" + key)
        return tuple(found)
