"""A DynamoDB client for tests with calls by the thousand: the same operations as botocore's, for a tenth of its
processor time, since it neither signs nor validates nor retries. The contract tests hold the ports over the real one.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from tests.support.stores import PATIENT

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_HEADERS: Final = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20261130T000000Z",
    # A store on this machine wants a signature and does not check it.
    "Authorization": "AWS4-HMAC-SHA256 Credential=testing/20261130/eu-central-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=0",
}


class QuickClient:
    """Calls by the names that botocore gives them; safe for use by many threads, each of which keeps a connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 0
        self._mine = threading.local()
        self._lock = threading.Lock()
        self._all: list[http.client.HTTPConnection] = []

    def as_client(self) -> DynamoDBClient:
        """Itself, as what it stands in for."""
        return cast("DynamoDBClient", self)

    def __getattr__(self, operation: str) -> Callable[..., dict[str, Any]]:
        name = "".join(word.title() for word in operation.split("_"))

        def call(**request: object) -> dict[str, Any]:
            return self._call(name, request)

        return call

    def close(self) -> None:
        """End all connections."""
        for connection in self._all:
            connection.close()

    def _call(self, name: str, request: dict[str, object]) -> dict[str, Any]:
        connection = self._connection()
        body = json.dumps(request, default=_text_of).encode()
        try:
            connection.request("POST", "/", body, {**_HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{name}"})
            answer = connection.getresponse()
            document: dict[str, Any] = json.loads(answer.read(), object_hook=_with_bytes)
        except BaseException:
            connection.close()
            raise
        if answer.status == 200:
            return document
        kind = re.split("[.#]", document.pop("__type"))[-1]
        message = document.get("message") or document.get("Message", "")
        raise ClientError(cast("Any", {**document, "Error": {"Code": kind, "Message": message}}), name)

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=PATIENT.read)
            self._mine.connection = connection
            with self._lock:
                self._all.append(connection)
        return connection


def _text_of(value: object) -> str:
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode()


def _with_bytes(value: dict[str, Any]) -> dict[str, Any]:
    """An attribute of binary type holds bytes."""
    if value.keys() == {"B"} and isinstance(value["B"], str):
        return {"B": base64.b64decode(value["B"])}
    return value
