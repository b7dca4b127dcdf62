"""Step Functions on loopback: the template's state machines in moto's interpreter, with the functions of this stack.

A Wait state is there for what may still be under way, so it neither sleeps nor moves the clock: it lasts until every
invocation that had begun has ended. Pauses before a retry are cut short. An execution that a stop interrupts goes on
in the next stack.
"""

from __future__ import annotations

import importlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lethe.domain.json_values import JsonValue
from lethe_local.exchange import Answer, Request
from lethe_local.executions import Begun, Executions
from lethe_local.functions import FunctionFailed, FunctionLate, LocalFunction
from lethe_local.moto_endpoint import call_moto, own_account
from lethe_local.server import HttpServer
from lethe_local.workflows import StateMachineResource, TaskFailed, state_machine_arn

_INTERPRETER = "lethe_local.moto_machines"
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02
_MARGIN_SECONDS = 30.0
"""How much longer than its own time-out a function is waited for, since it may have to wait for a container."""
_log = logging.getLogger("lethe_local.step_functions")


class StepFunctions:
    """The endpoint, which takes requests from the start, and the executions behind it, from ``start`` to ``stop``."""

    def __init__(self, machines: Sequence[StateMachineResource], file: Path, most_pause: float) -> None:
        """``file`` remembers executions. Raises ValueError when it cannot be read.

        ``most_pause`` is how many seconds a pause before a retry lasts at most.
        """
        self._machines = tuple(machines)
        self._executions = Executions(file)
        self._most_pause = most_pause
        self._account = own_account()
        self._functions: Mapping[str, LocalFunction] = {}
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._stopping = threading.Event()
        # The interpreter takes seconds to import: while the tables start, rather than after them.
        self._loader = threading.Thread(target=importlib.import_module, args=(_INTERPRETER,), daemon=True)
        self._loader.start()
        self._server = HttpServer(0)
        self._server.serve(self._respond)
        self.url = f"http://127.0.0.1:{self._server.port}"

    @property
    def settings(self) -> dict[str, str]:
        """How the functions find the state machine: the template has one."""
        (machine,) = self._machines
        return {"LETHE_STEP_FUNCTIONS_ENDPOINT": self.url, "LETHE_STATE_MACHINE_ARN": self._arn(machine.name)}

    def _arn(self, name: str) -> str:
        return state_machine_arn(name, self._account)

    def start(self, functions: Mapping[str, LocalFunction]) -> None:
        """Begin, with ``functions`` by logical id, and go on with what an earlier stack left unfinished."""
        self._loader.join()
        from lethe_local import moto_machines

        self._functions = functions
        moto_machines.attach(self._account, self)
        backend = moto_machines.backend_of(self._account)
        role = f"arn:aws:iam::{self._account}:role/local"
        for machine in self._machines:
            backend.create_state_machine(machine.name, machine.definition, role, sm_type="STANDARD")
        self._ready.set()
        for begun in self._executions.running():
            backend.start_execution(self._arn(begun.machine), begun.name, begun.input)

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until no execution runs; whether that happened in time."""
        return _within(seconds, lambda: not self._runs())

    def stop(self) -> None:
        """Let the tasks that run end, and no other begin. Again is no error."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._loader.join()
        if self._ready.is_set() and not _within(_STOP_SECONDS, lambda: not self._runs()):
            _log.warning("a task of a state machine was left behind; it is repeated at the next start")
        self._server.stop()
        if self._ready.is_set():
            from lethe_local import moto_machines

            moto_machines.detach(self._account)

    def _runs(self) -> bool:
        from lethe_local import moto_machines

        return moto_machines.anything_runs(self._account)

    def _respond(self, request: Request) -> Answer:
        target = request.header("x-amz-target") or ""
        if not target.startswith("AWSStepFunctions."):
            return Answer(400, (("content-type", "text/plain"),), b"this endpoint speaks Step Functions only\n")
        if not self._ready.is_set() or self._stopping.is_set():
            return _refusal(503, "ServiceUnavailable")
        if target != "AWSStepFunctions.StartExecution":
            return call_moto("states", self._account, request)
        with self._lock:  # moto would let two of one name begin
            return self._start(request)

    def _start(self, request: Request) -> Answer:
        asked = json.loads(request.body)
        name = str(asked.get("name"))
        if self._executions.has_ended(name):
            return _refusal(400, "ExecutionAlreadyExists")
        known = {each.name for each in self._executions.running()}
        machine = str(asked.get("stateMachineArn")).rpartition(":")[2]
        # Before it begins: it may have ended when moto answers.
        if name not in known:
            self._executions.begin(Begun(machine, name, str(asked.get("input", "{}"))))
        answer = call_moto("states", self._account, request)
        if answer.status != 200 and name not in known:
            self._executions.end(name)
        return answer

    # What moto's interpreter asks of its host.

    def invoke(self, function_arn: str, event: JsonValue) -> JsonValue:
        """The answer of a function of this stack. Raises what ``Host`` tells."""
        if self._stopping.is_set():
            raise TaskFailed("Stopping")
        function = self._functions[function_arn.rpartition(":")[2]]
        assert isinstance(event, dict)  # the parameters of a task are a map
        try:
            return function.invoke(event, function.resource.timeout_seconds + _MARGIN_SECONDS)
        except FunctionLate as error:
            raise TimeoutError from error
        except FunctionFailed as error:
            name = "Sandbox.Timedout" if error.__cause__ is None else type(error.__cause__).__name__
            raise TaskFailed(name) from error

    def pause(self, seconds: float) -> None:
        """Before a retry."""
        self._stopping.wait(min(seconds, self._most_pause))

    def wait(self, seconds: float) -> None:
        """Until what runs now has ended, which took less than ``seconds`` on AWS."""
        begun = [thread for function in self._functions.values() for thread in function.running()]
        while not self._stopping.is_set() and any(thread.is_alive() for thread in begun):
            time.sleep(_POLL_SECONDS)

    def ended(self, name: str) -> None:
        """An execution ended by itself, or because of the stop, and then it has not ended at all."""
        if not self._stopping.is_set():
            self._executions.end(name)


def _within(seconds: float, true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _refusal(status: int, kind: str) -> Answer:
    body = json.dumps({"__type": kind, "message": kind}).encode()
    return Answer(status, (("content-type", "application/x-amz-json-1.0"), ("x-amzn-errortype", kind)), body)
