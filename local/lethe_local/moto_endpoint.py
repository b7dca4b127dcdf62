"""Hands requests that came to a socket of ours to moto, as if botocore had sent them to AWS."""

from __future__ import annotations

import secrets
from functools import cache

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from moto.core.botocore_stubber import BotocoreStubber

from lethe_local.exchange import Answer, Request
from lethe_local.intrinsics import REGION


def own_account() -> str:
    """An account that nobody else has: what moto keeps is global to the process."""
    return f"{secrets.randbelow(10**12):012}"


def call_moto(service: str, account: str, request: Request) -> Answer:
    """moto's answer, for ``service`` as addresses name it, such as ``states``."""
    host = f"{service}.{REGION}.amazonaws.com"
    headers = HTTPHeaders()
    for name, value in request.headers:
        # Without a signature moto takes the region from the address: one region, whatever the caller's is.
        if name not in ("host", "authorization"):
            headers[name] = value
    headers["host"] = host
    headers["x-moto-account-id"] = account
    answer = _stubber().process_request(
        AWSPreparedRequest(request.method, f"https://{host}/", headers, request.body, False)
    )
    if answer is None:
        raise RuntimeError("moto did not take the request")
    status, given, body = answer
    kept = tuple((name.lower(), str(value)) for name, value in given.items())
    return Answer(int(status), kept, body if isinstance(body, bytes) else str(body).encode())


@cache
def _stubber() -> BotocoreStubber:
    return BotocoreStubber()
