"""Runs the template's functions over real handlers and notes every DynamoDB action that each of them takes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import botocore
import botocore.session
from botocore.model import OperationModel

from lethe.adapters.system import SystemClock
from lethe.domain.erasure import StepName
from lethe.domain.json_values import JsonObject, JsonValue
from lethe.entry.wiring.access import access_service
from lethe.ports import Clock
from lethe_local.backends import dynamodb_client
from lethe_local.exchange import Answer, Request
from lethe_local.functions import Event, LocalFunction
from lethe_local.gateway import Gateway
from lethe_local.tables import create_tables
from lethe_local.template import FunctionResource, read_template
from tests.template.stack import TEMPLATE

TENANT = "acme"
Taken = tuple[str, str, str]
"""Function, table, action; functions and tables by logical id."""

_OF_A_TRANSACTION = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}


class Recorder:
    """The actions taken while a function runs. One request at a time: its threads are not told apart."""

    def __init__(self, table_names: Mapping[str, str]) -> None:
        self.taken: set[Taken] = set()
        self._tables = {name: logical_id for logical_id, name in table_names.items()}
        self._running: str | None = None
        self._lock = threading.Lock()

    @contextmanager
    def running(self, function: str) -> Iterator[None]:
        self._running = function
        try:
            yield
        finally:
            self._running = None

    def watch(self, session: botocore.session.Session) -> None:
        """To be called with every new session of botocore."""
        session.register("provide-client-params.dynamodb", self._note)

    def _note(self, **call: object) -> None:
        if self._running is None:
            return
        operation = cast("OperationModel", call["model"]).name
        actions = _actions(operation, cast("Mapping[str, object]", call["params"]))
        with self._lock:
            self.taken |= {(self._running, self._tables[table], action) for table, action in actions}


def _actions(operation: str, params: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Table and IAM action of a call: a transaction needs the right to each of its parts."""
    if operation == "TransactWriteItems":
        for part in cast("Sequence[Mapping[str, Mapping[str, str]]]", params["TransactItems"]):
            for kind, request in part.items():
                yield request["TableName"], _OF_A_TRANSACTION[kind]
    elif "RequestItems" in params:
        for table in cast("Mapping[str, object]", params["RequestItems"]):
            yield table, operation
    else:
        yield str(params["TableName"]), operation


class _Watched(LocalFunction):
    """A function that tells the recorder when it runs."""

    def __init__(
        self, resource: FunctionResource, environment: Mapping[str, str], clock: Clock, recorder: Recorder
    ) -> None:
        super().__init__(resource, environment, clock, most_containers=1)
        self._recorder = recorder

    def invoke(self, event: Event, wait_seconds: float) -> JsonValue:
        with self._recorder.running(self.resource.logical_id):
            return super().invoke(event, wait_seconds)


class Client:
    """Sends requests to the gateway as one user's agent, and tasks to the eraser as the state machine does."""

    def __init__(self, gateway: Gateway, key: str, eraser: LocalFunction) -> None:
        self._gateway = gateway
        self._key = key
        self._eraser = eraser

    def tick(self) -> None:
        """What the schedule sends."""
        self._eraser.invoke({"task": "tick"}, 60)

    def work_off(self, erasure_id: str) -> None:
        """Every task of an erasure, in order."""
        for step in StepName:
            while step is not StepName.DRAIN:
                answer = self._eraser.invoke({"task": step.value, "tenant": TENANT, "erasure": erasure_id}, 60)
                if cast("JsonObject", answer)["done"]:
                    break

    def send(self, method: str, target: str, body: JsonObject | None = None, **headers: str) -> Answer:
        """The answer; ``idempotency_key="a"`` becomes the header Idempotency-Key."""
        path, _, query = target.partition("?")
        given = {"authorization": f"Bearer {self._key}"} | {n.replace("_", "-"): v for n, v in headers.items()}
        content = b"" if body is None else json.dumps(body).encode()
        if content:
            given |= {"content-type": "application/json", "content-length": str(len(content))}
        return self._gateway.handle(Request(method, path, query, tuple(given.items()), content))


@contextmanager
def recorded_stack(dynamodb_url: str, embedder_url: str, receipt_key: Path) -> Iterator[tuple[Client, Recorder]]:
    """The template's functions and tables, with a key for every permission."""
    template = read_template(TEMPLATE)
    recorder = Recorder(template.table_names)
    create_tables(dynamodb_client(dynamodb_url), template.tables, template.table_names)
    overrides = {
        "LETHE_EMBEDDER": "openai:words?dimensions=48",
        "LETHE_EMBEDDER_URL": f"{embedder_url}/v1",
        "LETHE_SECRET_ARN": "",
        "LETHE_MASTER_KEY": "a key for tests, 32 characters or more",
        "LETHE_DYNAMODB_ENDPOINT": dynamodb_url,
        "LETHE_RECEIPT_KEY_FILE": str(receipt_key),
        "LETHE_STEP_FUNCTIONS_ENDPOINT": "http://127.0.0.1:9",  # nobody is there: `work_off` does what is started
    }
    clock = SystemClock()
    botocore.register_initializer(recorder.watch)
    try:
        functions = {
            logical_id: _Watched(resource, {**resource.environment, **overrides}, clock, recorder)
            for logical_id, resource in template.functions.items()
        }
        access = access_service({**overrides, "LETHE_ACCESS_TABLE": template.table_names["AccessTable"]})
        access.create_tenant(TENANT)
        _, presented = access.create_key(TENANT, ["read", "write", "erase", "govern"])
        yield Client(Gateway(template, functions, clock), presented, functions["EraseFunction"]), recorder
    finally:
        botocore.unregister_initializer(recorder.watch)
