"""Which epoch of a subject is the readable one, read from the heads anew."""

from __future__ import annotations

from lethe.adapters.inspection.judgement import ACCESS, SUBJECTS
from lethe.adapters.inspection.tables import Tables
from lethe.domain.immutable import immutable


@immutable
class Head:
    """What a head says: its epoch, and whether it is ``active``, ``erasing`` or ``erased``."""

    epoch: int
    state: str

    @property
    def is_active(self) -> bool:
        """Whether the epoch is read and written."""
        return self.state == "active"


class Heads:
    """Heads of a tenant's subjects. One that was read before may be older than it is now, never newer."""

    def __init__(self, tables: Tables, tenant: str) -> None:
        self._tables = tables
        self._tenant = tenant
        self._seen: dict[str, Head | None] = {}

    def seen(self, subject: str) -> Head | None:
        """The head as it was at some moment since the look began."""
        return self._seen[subject] if subject in self._seen else self.now(subject)

    def now(self, subject: str) -> Head | None:
        """The head as it is."""
        item = self._tables.item(SUBJECTS, f"{self._tenant}#{subject}", "HEAD")
        head = None if item is None else Head(int(item["epoch"]["N"]), str(item["state"]["S"]))
        self._seen[subject] = head
        return head

    def tenant_is_fenced(self) -> bool:
        """Whether the whole tenant is being erased, or was, and nobody has admitted it."""
        item = self._tables.item(ACCESS, f"TENANT#{self._tenant}", "TENANT")
        return item is not None and "fenced" in item
