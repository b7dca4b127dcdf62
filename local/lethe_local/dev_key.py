"""The tenant and API key that `make dev` prints: made once, kept while they are valid."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from lethe.domain.identity import EVERY_USER, Permission
from lethe.errors import Conflict, NotFound
from lethe.services.access import Access
from lethe_local.state import write_private

TENANT = "dev"


@dataclass(frozen=True, slots=True)
class DevKey:
    """A key of the tenant ``dev``: its id and the text to present."""

    id: str
    presented: str


def dev_key(access: Access, file: Path) -> DevKey:
    """The key kept in ``file``, while it is known and not revoked; else a new one, kept there, for all users."""
    kept = _read(file)
    if kept is not None and _is_valid(access, kept):
        return kept
    with contextlib.suppress(Conflict):  # an earlier run made it
        access.create_tenant(TENANT)
    key, presented = access.create_key(TENANT, [permission.value for permission in Permission], [EVERY_USER], "dev")
    made = DevKey(key.id, presented)
    write_private(file, json.dumps({"id": made.id, "api_key": made.presented}))
    return made


def _read(file: Path) -> DevKey | None:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        return DevKey(str(kept["id"]), str(kept["api_key"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return None  # whatever it is, it is not what we wrote: a new key takes its place


def _is_valid(access: Access, key: DevKey) -> bool:
    try:
        return any(known.id == key.id and known.revoked_at is None for known in access.list_keys(TENANT))
    except NotFound:
        return False
