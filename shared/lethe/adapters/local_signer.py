"""Signatures by a key in a file: the laptop's. Never part of a deployed stack, whose layer has no ``cryptography``."""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lethe.domain.receipt import ALGORITHM
from lethe.errors import Unavailable


class LocalSigner:
    """``Signer`` with a P-256 key (PEM, PKCS #8) that is made when it is missing, readable by its owner alone."""

    algorithm = ALGORITHM

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def key_id(self) -> str:
        """``local:`` and the beginning of the public key's SHA-256. Raises Unavailable."""
        return f"local:{hashlib.sha256(self.public_key()).hexdigest()[:16]}"

    def sign(self, message: bytes) -> bytes:
        """The DER signature. Raises Unavailable when the file cannot be used."""
        return self._key.sign(message, ec.ECDSA(hashes.SHA256()))

    def public_key(self) -> bytes:
        """The public key, DER (SubjectPublicKeyInfo). Raises Unavailable when the file cannot be used."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self._key.public_key().public_bytes(serialization.Encoding.DER, form)

    @cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        try:
            if not self._file.exists():
                _make(self._file)
            key = serialization.load_pem_private_key(self._file.read_bytes(), password=None)
        except (OSError, ValueError, TypeError) as error:
            raise Unavailable("the file of the signing key cannot be used") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise Unavailable("the file of the signing key holds another kind of key")
        return key


def _make(file: Path) -> None:
    """Write a new key, whole or not at all; where several begin at once, the first one's key stays."""
    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(text)
        with suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink()
