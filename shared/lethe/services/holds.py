"""Placing, reading and releasing legal holds."""

from __future__ import annotations

from lethe.domain.erasure import OneSession, Scope, WholeTenant
from lethe.domain.holds import Hold
from lethe.domain.identity import Caller, session_of
from lethe.errors import InvalidInput, NotFound
from lethe.ports import About, Clock, Holds, Page, untold
from lethe.services.erasure.requests import NamedSession, Wanted
from lethe.services.pages import accepted_pages
from lethe.services.spaces import Spaces


class HoldDesk:
    """What governance does with holds. What a hold kept from an erasure is erased soon after it is released."""

    def __init__(self, spaces: Spaces, holds: Holds, clock: Clock, master_key: bytes) -> None:
        self._spaces = spaces
        self._holds = holds
        self._clock = clock
        self._master_key = master_key

    def place(self, caller: Caller, user_id: str | None, name: str, wanted: Wanted) -> tuple[Hold, bool]:
        """The hold, and whether it is new. Raises Forbidden, Conflict, Erased, NotFound."""
        if isinstance(wanted, WholeTenant):
            raise InvalidInput.of("scope", "a hold is on records of one user")
        subject = self._spaces.subject(caller, user_id)
        scope: Scope
        if isinstance(wanted, NamedSession):
            scope = OneSession(session_of(caller.tenant, subject, wanted.session_id, self._master_key))
        else:
            scope = wanted
        now = self._clock.now()
        placed = self._holds.place(caller.tenant, Hold(name, subject, scope, now))
        return placed, placed.created_at == now

    def get(self, caller: Caller, name: str, about: About = untold) -> Hold:
        """One hold on a user that the key covers. Raises NotFound."""
        hold = self._find(caller, name, about)
        if hold is None:
            raise NotFound
        return hold

    def list(self, caller: Caller, limit: int, start: str | None, subject: str | None = None) -> Page[Hold]:
        """Holds on users that the key covers, or on the one ``subject``, by name."""
        if subject is not None:
            on_it = sorted(self._holds.of_subject(caller.tenant, subject), key=lambda hold: hold.name)
            rest = tuple(hold for hold in on_it if start is None or hold.name > start)
            return Page(rest[:limit], rest[limit - 1].name if len(rest) > limit else None)
        return accepted_pages(
            lambda most, after: self._holds.of_tenant(caller.tenant, most, after),
            lambda hold: caller.covers(hold.subject),
            lambda hold: hold.name,
            limit,
            start,
        )

    def release(self, caller: Caller, name: str, about: About = untold) -> None:
        """Remove it; one that is not there is no error."""
        if self._find(caller, name, about) is not None:
            self._holds.release(caller.tenant, name)

    def _find(self, caller: Caller, name: str, about: About) -> Hold | None:
        """The hold, when the key covers whose it is; ``about`` hears of him in any case."""
        hold = self._holds.hold(caller.tenant, name)
        if hold is None:
            return None
        about(hold.subject)
        return hold if caller.covers(hold.subject) else None
