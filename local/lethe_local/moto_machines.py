"""moto's interpreter of state machines, with what lies outside of it replaced.

moto would invoke functions in Docker, sleep before a retry and through every wait, and forget an execution with the
process. Here each of these is asked of a ``Host``: one an AWS account, so that several local stacks can live in one
process. The interpreter itself, states, paths, retries, catches and history, is moto's own.

Importing this module takes a second or two: the grammar of the language, and much of moto.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import threading
from collections.abc import Callable
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Final, cast

from antlr4 import ParserRuleContext  # type: ignore[import-untyped]  # antlr4 has no types
from moto.core.config import default_user_config
from moto.stepfunctions.parser import utils as moto_utils

from lethe_local.intrinsics import REGION
from lethe_local.workflows import Host, TaskFailed


def _without_batch() -> None:
    """Import the interpreter without moto's Batch, of which it wants two names, and EC2 behind it: half of the time."""
    name = "moto.batch.utils"
    if name in sys.modules:
        return
    stand_in = ModuleType(name)
    wanted = SimpleNamespace(SUCCEEDED="SUCCEEDED", FAILED="FAILED")
    stand_in.JobStatus = wanted  # type: ignore[attr-defined]  # a module takes any attribute
    sys.modules[name] = stand_in
    try:
        importlib.import_module("moto.stepfunctions.parser.models")
    finally:
        del sys.modules[name]


_without_batch()

# ruff: noqa: E402  # what follows is imported after that
from moto.stepfunctions.parser.asl.component.common.path import result_path
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.common.retry.retrier_decl import RetrierDecl
from moto.stepfunctions.parser.asl.component.eval_component import EvalComponent
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor
from moto.stepfunctions.parser.asl.utils import json_path
from moto.stepfunctions.parser.backend.execution import BaseExecutionWorkerCommunication
from moto.stepfunctions.parser.models import StepFunctionsParserBackend, stepfunctions_parser_backends

_hosts: Final[dict[str, Host]] = {}
_retrying: Final = threading.local()


def attach(account: str, host: Host) -> None:
    """From now on ``host`` answers for the executions of ``account``."""
    _hosts[account] = host


def backend_of(account: str) -> StepFunctionsParserBackend:
    """moto's state machines of an account."""
    return stepfunctions_parser_backends[account][REGION]


def anything_runs(account: str) -> bool:
    """Whether an execution has not ended."""
    machines = backend_of(account).state_machines
    return any(execution.status == "RUNNING" for machine in machines for execution in machine.executions)


def detach(account: str) -> None:
    """Forget the account's machines and executions, which must have ended."""
    backend_of(account).reset()
    _hosts.pop(account, None)


def _host(env: Environment) -> Host:
    return _hosts[env.aws_execution_details.account]


def _invoke(env: Environment, parameters: dict[str, object], region: str, state_credentials: object) -> None:
    """In the place of moto's call of Lambda: the answer goes where moto looks for it."""
    payload = cast("bytes", parameters["Payload"])
    try:
        answer = _host(env).invoke(str(parameters["FunctionName"]), json.loads(payload))
    except TaskFailed as error:
        # What Lambda answers holds a message and a trace besides; nothing may rest on those.
        failure = json.dumps({"errorType": error.error})
        raise lambda_eval_utils.LambdaFunctionErrorException("Unhandled", failure) from error
    env.stack.append({"StatusCode": 200, "Payload": json.loads(json.dumps(answer))})


def _wait(_function: WaitFunction, env: Environment, wait_seconds: float) -> None:
    _host(env).wait(wait_seconds)


class _Clock:
    """Stands for the module ``time`` where moto sleeps before a retry."""

    def sleep(self, seconds: float) -> None:
        cast("Host", _retrying.host).pause(seconds)


def _retry(body: Callable[[RetrierDecl, Environment], None]) -> Callable[[RetrierDecl, Environment], None]:
    def with_host(retrier: RetrierDecl, env: Environment) -> None:
        _retrying.host = _host(env)
        body(retrier, env)

    return with_host


def _terminated(
    body: Callable[[BaseExecutionWorkerCommunication], None],
) -> Callable[[BaseExecutionWorkerCommunication], None]:
    def and_tell(communication: BaseExecutionWorkerCommunication) -> None:
        body(communication)
        # moto keeps every thread that it ever started.
        moto_utils.TMP_THREADS[:] = [thread for thread in moto_utils.TMP_THREADS if thread.is_alive()]
        host = _hosts.get(communication.execution.account_id)
        if host is not None:
            host.ended(communication.execution.name)

    return and_tell


_parse: Final = AmazonStateLanguageParser.parse


@cache
def _tree(definition: str) -> ParserRuleContext:
    """The grammar's tree of a definition, which moto would make anew for each execution, in a sixth of a second."""
    return _parse(definition)[1]


def _program(definition: str) -> tuple[EvalComponent, ParserRuleContext]:
    """What one execution runs, for itself alone."""
    tree = _tree(definition)
    return Preprocessor().visit(tree), tree


def _replace() -> None:
    # Of a state that fails moto logs everything; which function failed, and why, is in that function's log.
    logging.getLogger("moto.stepfunctions").setLevel(logging.CRITICAL)
    default_user_config["stepfunctions"]["execute_state_machine"] = True
    replacements = (
        (AmazonStateLanguageParser, "parse", staticmethod(_program)),
        # Of each path too moto would build a parser every time that it reads it.
        (json_path, "parse", cache(json_path.parse)),  # type: ignore[attr-defined]  # what it imports counts as private
        (result_path, "parse", cache(result_path.parse)),  # type: ignore[attr-defined]  # the same
        (lambda_eval_utils, "execute_lambda_function_integration", _invoke),
        (WaitFunction, "_wait_interval", _wait),
        (retrier_decl, "time", _Clock()),
        (RetrierDecl, "_eval_body", _retry(RetrierDecl._eval_body)),
        (BaseExecutionWorkerCommunication, "terminated", _terminated(BaseExecutionWorkerCommunication.terminated)),
    )
    for holder, name, replacement in replacements:
        setattr(holder, name, replacement)


_replace()
