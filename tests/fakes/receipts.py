"""Receipts in memory, and a signer with a key of its own."""

from __future__ import annotations

import json
import threading
from collections import defaultdict

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lethe.domain.chain import EMPTY, ChainEnd
from lethe.domain.json_values import JsonObject, canonical
from lethe.errors import Conflict


class FakeReceipts:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[str, ChainEnd] = defaultdict(lambda: EMPTY)
        self._texts: dict[tuple[str, str], str] = {}

    def end(self, tenant: str) -> ChainEnd:
        return self._ends[tenant]

    def append(self, tenant: str, after: ChainEnd, receipt_id: str, document: JsonObject, receipt_hash: str) -> None:
        with self._lock:
            if self._ends[tenant] != after or (tenant, receipt_id) in self._texts:
                raise Conflict
            self._texts[tenant, receipt_id] = canonical(document)
            self._ends[tenant] = ChainEnd(after.length + 1, receipt_hash)

    def read(self, tenant: str, receipt_id: str) -> JsonObject | None:
        text = self._texts.get((tenant, receipt_id))
        if text is None:
            return None
        document: JsonObject = json.loads(text)
        return document


class FakeSigner:
    """Signs with a P-256 key made from ``secret``: the same secret, the same key."""

    algorithm = "ECDSA_SHA_256"

    def __init__(self, secret: int = 7) -> None:
        self._key = ec.derive_private_key(secret, ec.SECP256R1())
        self.key_id = f"test-key-{secret}"
        self.signed: list[bytes] = []

    def sign(self, message: bytes) -> bytes:
        self.signed.append(message)
        return self._key.sign(message, ec.ECDSA(hashes.SHA256()))

    def public_key(self) -> bytes:
        encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        return self._key.public_key().public_bytes(encoding, form)
