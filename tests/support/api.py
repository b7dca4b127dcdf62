"""The HTTP API as its clients meet it: a stack on this machine, tenants with keys, requests and replies.

The embedder is the loopback server of `tests.support.embedding_servers`, reached through the ordinary settings, so
that component tests run the product's own code without loading a model.
"""

from __future__ import annotations

import http.client
import itertools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from lethe.domain import keys
from lethe.domain.identity import subject_of
from lethe.domain.times import parse_rfc3339
from lethe.entry.wiring.access import access_service
from lethe.services.access import Access
from lethe_local.backends import dynamodb_client
from lethe_local.stack import LocalStack, StackOptions
from tests.support.embedding_servers import EmbeddingServer

ROOT = Path(__file__).resolve().parents[2]
PROBLEM_MEMBERS = {"type", "title", "status", "detail", "code", "request_id", "errors"}

# The table of the contract, and what this service adds to it where the table is silent.
CODES: Mapping[int, frozenset[str]] = {
    400: frozenset({"invalid_json", "invalid_cursor", "invalid_header"}),
    401: frozenset({"unauthenticated"}),
    403: frozenset({"forbidden"}),
    404: frozenset({"not_found"}),
    405: frozenset({"method_not_allowed"}),
    409: frozenset({"in_progress", "conflict"}),
    410: frozenset({"erased"}),
    412: frozenset({"version_conflict"}),
    413: frozenset({"too_large"}),
    415: frozenset({"unsupported_media_type"}),
    422: frozenset({"invalid", "idempotency_mismatch"}),
    429: frozenset({"throttled"}),
    431: frozenset({"too_large"}),
    503: frozenset({"unavailable"}),
}


@dataclass(frozen=True)
class Reply:
    """One answer."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.raw)
        return document

    @property
    def text(self) -> str:
        return self.raw.decode()

    def ok(self, status: int = 200) -> dict[str, Any]:
        """The body of a success with this very status; {} when there is none."""
        assert self.status == status, f"{self.status} {self.text[:400]}"
        return self.json if self.raw else {}

    def problem(self, status: int, code: str) -> dict[str, Any]:
        """The problem document of a refusal with this very status and code, its form checked."""
        assert (self.status, self.check_problem()["code"]) == (status, code), self.text[:400]
        return self.json

    def check_problem(self) -> dict[str, Any]:
        """The problem document, whichever it is; its members, media type and code checked."""
        assert self.headers["content-type"] == "application/problem+json", self.text[:400]
        document = self.json
        assert document.keys() >= PROBLEM_MEMBERS
        assert document.keys() - PROBLEM_MEMBERS == ({"current_version"} if self.status == 412 else set())
        assert document["status"] == self.status
        assert document["code"] in CODES[self.status]
        assert all(isinstance(document[name], str) and document[name] for name in ("type", "title", "detail"))
        assert document["request_id"]
        for error in document["errors"]:
            assert error.keys() == {"field", "message"}
            assert error["field"]
            assert error["message"]
        return document

    def fields(self) -> list[str]:
        """The fields that a refusal names."""
        return [error["field"] for error in self.problem(422, "invalid")["errors"]]


class Wire:
    """Sends requests as they are; one kept-open connection a thread."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 0
        self._local = threading.local()
        self._all: list[http.client.HTTPConnection] = []

    def send(
        self, method: str, target: str, body: bytes | None = None, headers: Sequence[tuple[str, str]] = ()
    ) -> Reply:
        """One request; a connection that the server closed in between is opened again."""
        try:
            return self._send(method, target, body, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self._connection().close()
            return self._send(method, target, body, headers)

    def _send(self, method: str, target: str, body: bytes | None, headers: Sequence[tuple[str, str]]) -> Reply:
        connection = self._connection()
        try:
            connection.putrequest(method, target, skip_accept_encoding=True)
            for name, value in headers:
                connection.putheader(name, value.encode("latin-1"))
            if body is not None:
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Reply(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())
        except BaseException:
            connection.close()
            raise

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = http.client.HTTPConnection(self._host, self._port, timeout=60)
            self._all.append(connection)
        return connection

    def close(self) -> None:
        for connection in self._all:
            connection.close()


class Api:
    """Requests with one key. Bodies are JSON values, or bytes as they are to be sent."""

    def __init__(self, wire: Wire, key: str | None) -> None:
        self.wire = wire
        self.key = key

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        target = quote(path, safe="/:%~") + ("?" + urlencode(query) if query else "")
        given = {} if self.key is None else {"authorization": f"Bearer {self.key}"}
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if raw is not None:
            given["content-type"] = "application/json"
        return self.wire.send(method, target, raw, tuple((given | dict(headers or {})).items()))

    def get(self, path: str, /, **query: object) -> Reply:
        return self.send("GET", path, query=query)

    def delete(self, path: str, /, **query: object) -> Reply:
        return self.send("DELETE", path, query=query)

    def post(self, path: str, body: object = None, **headers: str) -> Reply:
        return self.send("POST", path, body, headers=_named(headers))

    def put(self, path: str, body: object = None, **headers: str) -> Reply:
        return self.send("PUT", path, body, headers=_named(headers))

    def patch(self, path: str, body: object = None, **headers: str) -> Reply:
        return self.send("PATCH", path, body, headers=_named(headers))

    def remember(self, text: str, user_id: str = "ann", **fields: object) -> dict[str, Any]:
        """The memory that one statement became."""
        body = self.post("/v1/memories", {"user_id": user_id, "text": text, **fields}).ok(201)
        memory: dict[str, Any] = body["results"][0]["memory"]
        return memory

    def say(self, session_id: str, *texts: str, user_id: str = "ann", **fields: object) -> dict[str, Any]:
        """Append user messages to a session."""
        messages = [{"role": "user", "content": text} for text in texts]
        body = {"user_id": user_id, "messages": messages, **fields}
        done: dict[str, Any] = self.post(f"/v1/sessions/{session_id}/messages", body).ok(201)
        return done


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


class TenantOnStack:
    """A tenant of its own for one test."""

    def __init__(self, stack: ApiStack, name: str) -> None:
        self._stack = stack
        self.name = name
        self.admin = self.api("admin")

    def api(self, *permissions: str, users: Sequence[str] = ("*",), actor: str | None = None) -> Api:
        """A client with a new key."""
        return Api(self._stack.wire, self.key(*permissions, users=users, actor=actor)[1])

    def key(self, *permissions: str, users: Sequence[str] = ("*",), actor: str | None = None) -> tuple[str, str]:
        """Id and text of a new key."""
        key, text = self._stack.access.create_key(self.name, permissions, users, actor)
        return key.id, text


class ApiStack:
    """A running stack and what tests need beside it."""

    def __init__(self, local: LocalStack, embeddings: EmbeddingServer) -> None:
        self.local = local
        self.embeddings = embeddings
        self.access: Access = access_service(local.environment)
        self.wire = Wire(local.url)
        self.stranger = Api(self.wire, None)
        self._numbers = itertools.count(1)

    def tenant(self) -> TenantOnStack:
        """A new, empty tenant."""
        name = f"tenant-{next(self._numbers)}"
        self.access.create_tenant(name)
        return TenantOnStack(self, name)

    def now(self) -> datetime:
        return self.local.clock.now()

    def set_subject_state(self, tenant: str, user_id: str, state: str) -> None:
        """What an erasure does to a subject's head before anything else."""
        environment = self.local.environment
        subject = subject_of(tenant, user_id, environment["LETHE_MASTER_KEY"].encode())
        client = dynamodb_client(environment["LETHE_DYNAMODB_ENDPOINT"])
        client.update_item(
            TableName=environment["LETHE_SUBJECTS_TABLE"],
            Key={"pk": {"S": keys.subject_partition(tenant, subject)}, "sk": {"S": keys.HEAD}},
            UpdateExpression="SET #state = :state ADD epoch :one",
            ExpressionAttributeNames={"#state": "state"},
            ExpressionAttributeValues={":state": {"S": state}, ":one": {"N": "1"}},
            ConditionExpression="attribute_exists(pk)",
        )
        client.close()

    def everything_stored(self) -> Iterator[dict[str, Any]]:
        """Every item of every table, as DynamoDB holds it."""
        client = dynamodb_client(self.local.environment["LETHE_DYNAMODB_ENDPOINT"])
        for name in client.list_tables()["TableNames"]:
            for page in client.get_paginator("scan").paginate(TableName=name):
                yield from page["Items"]
        client.close()


@contextmanager
def running_stack(state_dir: Path) -> Iterator[ApiStack]:
    """The product's stack on the fastest tables there are."""
    with EmbeddingServer() as embeddings:
        settings = {"LETHE_EMBEDDER": "openai:words?dimensions=48", "LETHE_EMBEDDER_URL": embeddings.url + "/v1"}
        options = StackOptions(ROOT, state_dir, port=0, fresh=True, settings=settings, say=print)
        with LocalStack.start(options) as local:
            stack = ApiStack(local, embeddings)
            try:
                yield stack
            finally:
                stack.wire.close()


def moment(text: str) -> datetime:
    """A time of an answer; it must be UTC and end in Z."""
    assert text.endswith("Z")
    return parse_rfc3339(text)
