"""The contract of Signer, over the fake, the laptop's key file, and KMS as moto has it."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from botocore.session import get_session
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lethe.adapters.kms import KmsSigner
from lethe.adapters.local_signer import LocalSigner
from lethe.errors import Throttled, Unavailable
from lethe.ports import Signer
from tests.fakes.receipts import FakeSigner
from tests.support.moto_kms import moto_kms
from tests.support.receipts import verifier
from tests.support.stores import REGION


@pytest.fixture
def kms() -> Iterator[KmsSigner]:
    with moto_kms():
        client = get_session().create_client("kms", region_name=REGION)
        key = client.create_key(KeyUsage="SIGN_VERIFY", KeySpec="ECC_NIST_P256")  # type: ignore[attr-defined]  # no stubs of it here
        yield KmsSigner(REGION, key["KeyMetadata"]["Arn"])


@pytest.fixture(params=["fake", "file", "kms"])
def signer(request: pytest.FixtureRequest, tmp_path: Path) -> Signer:
    if request.param == "fake":
        return FakeSigner()
    if request.param == "file":
        return LocalSigner(tmp_path / "receipt_key.pem")
    found: KmsSigner = request.getfixturevalue("kms")
    return found


@pytest.mark.parametrize("message", [b"x", bytes(range(256)), '{"a":"你好"}'.encode(), b"m" * 4096])
def test_who_has_the_public_key_can_check(signer: Signer, message: bytes) -> None:
    verify = verifier(signer.public_key())
    signature = signer.sign(message)
    assert verify(message, signature)
    assert not verify(message + b"x", signature)
    assert not verify(message[:-1], signature)
    assert not verifier(FakeSigner(8).public_key())(message, signature)


def test_the_key_is_one_of_p_256_and_has_a_name(signer: Signer) -> None:
    key = serialization.load_der_public_key(signer.public_key())
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"
    assert signer.algorithm == "ECDSA_SHA_256"
    assert signer.key_id
    assert signer.public_key() == signer.public_key()


def test_a_key_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "receipt_key.pem"
    first = LocalSigner(file)
    signature = first.sign(b"once")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = LocalSigner(file)
    assert again.key_id == first.key_id
    assert verifier(again.public_key())(b"once", signature)
    assert os.listdir(tmp_path) == ["receipt_key.pem"]


def test_many_that_begin_at_once_have_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda _: LocalSigner(tmp_path / "key").public_key(), range(16)))
    assert len(found) == 1
    assert os.listdir(tmp_path) == ["key"]


@pytest.mark.parametrize("content", ["", "no key", "p384", "public"])
def test_a_file_with_something_else_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "key"
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    if content == "p384":
        key = ec.generate_private_key(ec.SECP384R1())
        file.write_bytes(key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain))
    elif content == "public":
        public = ec.generate_private_key(ec.SECP256R1()).public_key()
        file.write_bytes(public.public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo))
    else:
        file.write_text(content)
    with pytest.raises(Unavailable):
        LocalSigner(file).sign(b"x")


def test_a_folder_that_is_missing_is_not_a_crash(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        LocalSigner(tmp_path / "nowhere" / "key").public_key()


@pytest.mark.parametrize("size", [0, 4097])
def test_a_message_that_kms_would_refuse_is_not_sent(kms: KmsSigner, size: int) -> None:
    with pytest.raises(ValueError, match="4096"):
        kms.sign(b"x" * size)


def test_an_unknown_key_is_unavailable_and_says_no_more() -> None:
    with moto_kms():
        missing = KmsSigner(REGION, f"arn:aws:kms:{REGION}:123456789012:key/00000000-0000-0000-0000-000000000000")
        with pytest.raises(Unavailable) as caught:
            missing.sign(b"x")
    assert str(caught.value) == "nothing can be signed"
    assert caught.value.__notes__ == ["KMS: NotFoundException"]


class _Answering:
    """A service on loopback that gives every request one answer."""

    def __init__(self, status: int, code: str) -> None:
        body = f'{{"__type": "{code}", "message": "secret words"}}'.encode()
        self._answer = (
            f"HTTP/1.1 {status} No\r\ncontent-type: application/x-amz-json-1.1\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        ).encode() + body
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            with connection:
                connection.recv(65_536)
                connection.sendall(self._answer)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.mark.parametrize(
    ("status", "code", "raised"),
    [
        (400, "ThrottlingException", Throttled),
        (500, "KMSInternalException", Unavailable),
        (400, "DisabledException", Unavailable),
        (400, "AccessDeniedException", Unavailable),
    ],
)
def test_refusals_become_ours_without_their_words(status: int, code: str, raised: type[Exception]) -> None:
    service = _Answering(status, code)
    try:
        with pytest.raises(raised) as caught:
            KmsSigner(REGION, "key", service.url).sign(b"x")
    finally:
        service.close()
    assert "secret words" not in str(caught.value)
    assert caught.value.__notes__ == [f"KMS: {code}"]


def test_nobody_there_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Unavailable):
        KmsSigner(REGION, "key", f"http://127.0.0.1:{port}").public_key()
