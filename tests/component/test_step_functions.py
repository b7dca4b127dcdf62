"""How the start of an execution fails: in words of ours, and without the tenant or the erasure in them."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from lethe.adapters.step_functions import StepFunctionsExecutions
from lethe.errors import LetheError, Throttled, Unavailable
from lethe_local.exchange import Answer, Request
from lethe_local.server import HttpServer

ARN = "arn:aws:states:us-east-1:000000000000:stateMachine:lethe-erase"
ERASURE = "er_01JZ0000000000000000000000"


class Endpoint:
    """Answers every request as it is told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.status, self.code = 200, ""
        self.asked: list[dict[str, str]] = []
        self._server = HttpServer(0)
        self._server.serve(self._respond)
        self.url = f"http://127.0.0.1:{self._server.port}"

    def _respond(self, request: Request) -> Answer:
        self.asked.append(json.loads(request.body))
        body = {"__type": self.code} if self.code else {"executionArn": f"{ARN}:x", "startDate": 1.0}
        return Answer(self.status, (("content-type", "application/x-amz-json-1.0"),), json.dumps(body).encode())

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    running = Endpoint()
    yield running
    running.stop()


def test_a_run_is_named_after_its_erasure(endpoint: Endpoint) -> None:
    executions = StepFunctionsExecutions("us-east-1", ARN, endpoint.url)
    executions.start("acme", ERASURE, 1)
    executions.start("acme", ERASURE, 3)
    assert [asked["name"] for asked in endpoint.asked] == [ERASURE, f"{ERASURE}-3"]
    assert {asked["stateMachineArn"] for asked in endpoint.asked} == {ARN}
    assert [json.loads(asked["input"]) for asked in endpoint.asked] == [{"tenant": "acme", "erasure": ERASURE}] * 2


def test_one_that_was_started_already_is_no_error(endpoint: Endpoint) -> None:
    endpoint.status, endpoint.code = 400, "ExecutionAlreadyExists"
    StepFunctionsExecutions("us-east-1", ARN, endpoint.url).start("acme", ERASURE, 1)
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "ThrottlingException", Throttled),
        (400, "ExecutionLimitExceeded", Throttled),
        (400, "StateMachineDoesNotExist", Unavailable),
        (500, "InternalServerError", Unavailable),
    ],
)
def test_failures_are_the_ports(endpoint: Endpoint, status: int, code: str, kind: type[LetheError]) -> None:
    endpoint.status, endpoint.code = status, code
    with pytest.raises(kind) as caught:
        StepFunctionsExecutions("us-east-1", ARN, endpoint.url).start("acme", ERASURE, 1)
    assert "acme" not in str(caught.value)
    assert ERASURE not in str(caught.value)


@pytest.mark.usefixtures("endpoint")
def test_nobody_there_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Unavailable):
        StepFunctionsExecutions("us-east-1", ARN, f"http://127.0.0.1:{port}").start("acme", ERASURE, 1)
