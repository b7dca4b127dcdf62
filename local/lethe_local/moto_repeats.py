"""Answers a repeated transaction as DynamoDB does; moto would apply it a second time.

A client repeats a transaction under the same token when no answer came in time. Applied again, a transaction of
conditional writes finds its own items and fails, and the client takes what it stored for a duplicate.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass

from lethe_local.exchange import Answer

_REMEMBERED_SECONDS = 600.0
_MISMATCH = {
    "__type": "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException",
    "message": "The token was used with another transaction",
}


@dataclass(frozen=True, slots=True)
class _Done:
    digest: bytes
    answer: Answer
    moment: float


class Repeats:
    """The transactions of the last ten minutes that succeeded, by token; the caller lets one call in at a time."""

    def __init__(self) -> None:
        self._done: dict[str, _Done] = {}

    def answer(self, body: bytes, call: Callable[[], Answer]) -> Answer:
        """The first answer to the TransactWriteItems request ``body``, else that of ``call``."""
        token, digest = _identity(body)
        now = time.monotonic()
        self._done = {name: done for name, done in self._done.items() if now - done.moment < _REMEMBERED_SECONDS}
        if token is not None and token in self._done:
            done = self._done[token]
            return done.answer if done.digest == digest else _mismatch()
        answer = call()
        if token is not None and answer.status == 200:
            self._done[token] = _Done(digest, answer, now)
        return answer


def _identity(body: bytes) -> tuple[str | None, bytes]:
    """Token and digest of a request; no token for a body that moto refuses."""
    try:
        request = json.loads(body)
        token = request.pop("ClientRequestToken", None)
    except (ValueError, AttributeError, TypeError):
        return None, b""
    digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).digest()
    return token if isinstance(token, str) else None, digest


def _mismatch() -> Answer:
    return Answer(400, (("content-type", "application/x-amz-json-1.0"),), json.dumps(_MISMATCH).encode())
