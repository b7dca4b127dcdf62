"""The entries of the audit trail, as frozen records (see `models` for the rest)."""

from dataclasses import dataclass, field
from datetime import datetime

from lethe_client.fields import Fields
from lethe_client.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What was asked of the service: which key did what, about whom, to which things, and when.

    `key`, `subject` and the names in `targets` are keyed hashes, ids of Lethe's own are as they are. `verdict` is
    `allowed` or `refused`. The entry is the `n`-th of its strand, a chain: `hash` is the SHA-256 of all other members
    of `raw` as canonical JSON, `previous` that of the entry before.
    """

    at: datetime
    action: str
    verdict: str
    key: str
    subject: str | None
    targets: tuple[str, ...]
    request_id: str
    strand: int
    n: int
    previous: str
    hash: str
    raw: JsonObject = field(repr=False, compare=False)

    @classmethod
    def parse(cls, data: JsonObject) -> "AuditEntry":
        """Read it from an answer."""
        fields = Fields(data, "audit entry")
        return cls(
            at=fields.time("at"),
            action=fields.text("action"),
            verdict=fields.text("verdict"),
            key=fields.text("key"),
            subject=fields.optional_text("subject"),
            targets=fields.texts("targets"),
            request_id=fields.text("request_id"),
            strand=fields.integer("strand"),
            n=fields.integer("n"),
            previous=fields.text("previous"),
            hash=fields.text("hash"),
            raw=data,
        )
