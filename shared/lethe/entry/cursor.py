"""Cursors of lists: signed, and bound to the caller, the subject and the query that they continue."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping

from lethe.domain.identity import Caller
from lethe.domain.json_values import canonical
from lethe.errors import MalformedRequest

Binding = Mapping[str, str | None]
"""What a list was asked for: its name, the subject, the filters."""

_MAC_BYTES = 16


class Cursors:
    """Writes and reads cursors."""

    def __init__(self, master_key: bytes) -> None:
        self._key = hmac.new(master_key, b"cursor", hashlib.sha256).digest()

    def write(self, next_key: str | None, caller: Caller, binding: Binding) -> str | None:
        """The cursor for the page after this one; None when there is none."""
        if next_key is None:
            return None
        payload = next_key.encode()
        return base64.urlsafe_b64encode(self._mac(payload, caller, binding) + payload).rstrip(b"=").decode()

    def read(self, cursor: str | None, caller: Caller, binding: Binding) -> str | None:
        """The key to go on from. Raises MalformedRequest (invalid_cursor) on anything but our own cursor."""
        if cursor is None:
            return None
        refused = MalformedRequest("invalid_cursor", "the cursor is not one that this list gave")
        try:
            raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            text = raw[_MAC_BYTES:].decode()
        except ValueError:
            raise refused from None
        if not hmac.compare_digest(raw[:_MAC_BYTES], self._mac(raw[_MAC_BYTES:], caller, binding)):
            raise refused
        # Base 64 has spellings that decode alike; only the one that we write is ours.
        if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != cursor:
            raise refused
        return text

    def _mac(self, payload: bytes, caller: Caller, binding: Binding) -> bytes:
        bound = canonical({"caller": caller.identity, "query": binding})
        return hmac.new(self._key, bound.encode() + b"\x00" + payload, hashlib.sha256).digest()[:_MAC_BYTES]
