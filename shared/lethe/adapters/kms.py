"""Signatures by a key in AWS KMS, which nobody can take out of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from lethe.adapters.aws_logging import quiet_botocore
from lethe.adapters.aws_session import aws_session
from lethe.domain.receipt import ALGORITHM, STATEMENT_BYTES
from lethe.errors import LetheError, Throttled, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_kms.client import KMSClient

_THROTTLED: Final = frozenset(("ThrottlingException", "LimitExceededException", "RequestLimitExceeded"))


class KmsSigner:
    """``Signer`` by ``kms:Sign`` and ``kms:GetPublicKey`` on one key; the client is made at the first call."""

    algorithm = ALGORITHM

    def __init__(self, region: str, key_arn: str, endpoint: str | None = None) -> None:
        self.key_id = key_arn
        self._region = region
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._client: KMSClient | None = None
        self._public_key: bytes | None = None

    def sign(self, message: bytes) -> bytes:
        """One call. Raises Unavailable or Throttled, and ValueError on a message that KMS would refuse."""
        if not 0 < len(message) <= STATEMENT_BYTES:
            raise ValueError(f"a signed message has 1 to {STATEMENT_BYTES} bytes")
        with _translated():  # KMS hashes a RAW message itself
            answer = self._kms().sign(KeyId=self.key_id, Message=message, MessageType="RAW", SigningAlgorithm=ALGORITHM)
        return answer["Signature"]

    def public_key(self) -> bytes:
        """One call a process: a key's public half never changes. Raises Unavailable or Throttled."""
        if self._public_key is None:
            with _translated():
                self._public_key = self._kms().get_public_key(KeyId=self.key_id)["PublicKey"]
        return self._public_key

    def _kms(self) -> KMSClient:
        with self._lock:
            if self._client is None:
                quiet_botocore()
                config = Config(
                    connect_timeout=1, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 3}
                )
                client = aws_session().create_client(
                    "kms", region_name=self._region, endpoint_url=self._endpoint, config=config
                )
                self._client = cast("KMSClient", client)
            return self._client


@contextmanager
def _translated() -> Iterator[None]:
    """Raises Throttled or Unavailable in the place of botocore's exceptions; the vendor's code stands in a note."""
    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        refused = Throttled("no more signatures now") if code in _THROTTLED else Unavailable("nothing can be signed")
        raise _noted(refused, code) from error
    except (BotoCoreError, HTTPClientError) as error:
        raise _noted(Unavailable("the key service does not answer"), type(error).__name__) from error


def _noted(error: LetheError, code: str) -> LetheError:
    error.add_note(f"KMS: {code}")
    return error
