"""Reading the audit trail from the table itself, for those who operate it: check, export, newest entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from lethe.domain.audit import AuditEntry, Ends, entry_of
from lethe.domain.audit_trail import TrailChecked, check_trail, export
from lethe.domain.identity import subject_of
from lethe.domain.json_values import JsonObject
from lethe.errors import NotFound
from lethe.ports import AuditTrail

NO_ENTRY: Final = "there is no entry at all: is that the tenant's name?"
STRETCH: Final = 500
"""Entries read at once."""


class AuditDesk:
    """``master_key`` is asked for when a user is named, and not before."""

    def __init__(self, trail: AuditTrail, master_key: Callable[[], bytes]) -> None:
        self._trail = trail
        self._master_key = master_key

    def verify(self, tenant: str, known: Iterable[Ends] = ()) -> TrailChecked:
        """Walk all strands in the table, against where they ended when the walk began and against ``known`` ends."""
        ends = self._trail.ends(tenant)
        noted = [ends, *known]
        strands = {strand: self._strand(tenant, strand, None) for each in noted for strand in each}
        return check_trail(tenant, strands, noted)

    def export(self, tenant: str) -> Iterator[str]:
        """The lines of an export (``domain.audit_trail``). Raises NotFound where there is no entry."""
        ends = self._ends(tenant)
        entries = (entry for strand, end in sorted(ends.items()) for entry in self._strand(tenant, strand, end.length))
        return export(tenant, ends, entries)

    def newest(self, tenant: str, limit: int) -> tuple[AuditEntry, ...]:
        """The newest entries of all strands, newest first. Raises NotFound where there is none, ValueError on one that
        is no entry.
        """
        found = [
            entry_of(stored)
            for strand, end in self._ends(tenant).items()
            for stored in self._trail.stretch(tenant, strand, max(0, end.length - limit), limit)
        ]
        found.sort(key=lambda entry: (entry.event.at, entry.n), reverse=True)
        return tuple(found[:limit])

    def of_user(self, tenant: str, user_id: str, limit: int) -> tuple[AuditEntry, ...]:
        """The newest entries about a user, newest first. Raises NotFound where there is no entry, about him or anybody,
        ValueError on what is no user id.
        """
        subject = subject_of(tenant, user_id, self._master_key())
        found = self._trail.of_subject(tenant, subject, limit, None).items
        if not found:
            self._ends(tenant)
        return found

    def _ends(self, tenant: str) -> Ends:
        """Raises NotFound where there is no entry: it is more likely a wrong name than a trail."""
        ends = self._trail.ends(tenant)
        if not ends:
            raise NotFound(NO_ENTRY)
        return ends

    def _strand(self, tenant: str, strand: int, most: int | None) -> Iterator[JsonObject]:
        """The entries of a strand, up to the ``most``-th."""
        after = 0
        while most is None or after < most:
            left = STRETCH if most is None else min(STRETCH, most - after)
            stretch = self._trail.stretch(tenant, strand, after, left)
            yield from stretch
            after += len(stretch)
            if len(stretch) < left:
                return
