"""`make dev`: serve the API on this machine until Ctrl-C, with live logs.

PORT (default 8700) and FRESH=1 come from the environment or from options; some LETHE_… variables go to the functions,
such as LETHE_EMBEDDER. LETHE_DYNAMODB_ENDPOINT puts the tables on another DynamoDB. OPENSEARCH=1 searches on an
OpenSearch node of its own, with a heap of LETHE_OPENSEARCH_HEAP (default 1g); OPENSEARCH=http://… on one that runs.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import urllib3
from botocore.exceptions import BotoCoreError

from lethe.entry.wiring.access import access_service
from lethe_local.backends import Choice, tables_wanted
from lethe_local.dev_key import TENANT, dev_key
from lethe_local.intrinsics import TemplateError
from lethe_local.moto_tables import StateUnreadable
from lethe_local.opensearch_node import NodeWanted, node_wanted
from lethe_local.processes import port_number
from lethe_local.screen import FunctionOutput, Screen, banner
from lethe_local.stack import LocalStack, StackOptions
from lethe_local.state import AlreadyRunning
from lethe_local.under_make import follow_make

DEFAULT_PORT = 8700
_PASSED_ON = frozenset(
    {
        "LETHE_AUDIT",
        "LETHE_CACHE_MEGABYTES",
        "LETHE_CACHE_SECONDS",
        "LETHE_EMBEDDER",
        "LETHE_EMBEDDER_KEY_ARN",
        "LETHE_EMBEDDER_URL",
        "LETHE_SECOND_EMBEDDER",
        "LETHE_SECOND_EMBEDDER_KEY_ARN",
        "LETHE_SECOND_EMBEDDER_URL",
        "POWERTOOLS_LOG_LEVEL",
    }
)
_HEALTH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class DevOptions:
    """What the user asked for."""

    root: Path
    state_dir: Path
    port: int
    fresh: bool
    tables: Choice
    opensearch: NodeWanted | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGINT, SIGTERM or SIGHUP; 0 after a clean stop, 1 when it could not start."""
    screen = Screen(sys.stdout)
    try:
        options = _options(arguments, os.environ)
        with _stop_requested() as stop, contextlib.redirect_stdout(FunctionOutput(screen)):
            _log_to(screen)
            follow_make(stop)
            _serve(options, screen, stop)
    except _CannotStart as error:
        print(f"make dev: {error}", file=sys.stderr)
        return 1
    return 0


class _CannotStart(Exception):
    """Something that the user can change; the message says what."""


def _serve(options: DevOptions, screen: Screen, stop: threading.Event) -> None:
    with _started(options, screen) as stack:
        key = dev_key(access_service(stack.environment), options.state_dir / "dev_key.json")
        stack.warm_up()
        _wait_for_health(stack.url)
        facts = {"url": stack.url, "api_key": key.presented, "tenant": TENANT, "pid": os.getpid()}
        stack.announce(facts | {"environment": dict(stack.environment)})
        screen.line(banner(stack.url, key.presented, stack.description, str(options.state_dir)))
        stop.wait()
        screen.line("  stopping: answering what still runs, saving the state")
    screen.line("  stopped")


@contextlib.contextmanager
def _started(options: DevOptions, screen: Screen) -> Iterator[LocalStack]:
    wanted = StackOptions(
        root=options.root,
        state_dir=options.state_dir,
        port=options.port,
        fresh=options.fresh,
        dynamodb_endpoint=os.environ.get("LETHE_DYNAMODB_ENDPOINT") or None,
        tables=options.tables,
        opensearch=options.opensearch,
        settings={name: value for name, value in os.environ.items() if name in _PASSED_ON},
        report=screen.request,
        say=lambda text: screen.line(f"  {text}"),
    )
    try:
        stack = LocalStack.start(wanted)
    except _USERS_TO_MEND as error:
        raise _CannotStart(_in_words(error, options)) from error
    with stack:
        yield stack


# Settings, the template, what is installed, what runs already: words are enough. Anything else is a fault of ours.
_USERS_TO_MEND = (AlreadyRunning, TemplateError, StateUnreadable, OSError, RuntimeError, ValueError, BotoCoreError)


def _in_words(error: Exception, options: DevOptions) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {options.port} is taken; choose another one with PORT="
    if isinstance(error, AlreadyRunning):
        return f"{error}: {options.state_dir}; stop it first"
    return str(error)


def _wait_for_health(url: str) -> None:
    """Ask once, with patience: the first answer loads what the functions need."""
    answer = urllib3.request("GET", f"{url}/v1/health", timeout=_HEALTH_SECONDS, retries=False)
    if answer.status != 200:
        raise _CannotStart(f"{url}/v1/health answers {answer.status}; the lines above say why")


@contextlib.contextmanager
def _stop_requested() -> Iterator[threading.Event]:
    """An event that SIGINT, SIGTERM and SIGHUP set, instead of ending the process on the spot."""
    event = threading.Event()
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: event.set()) for number in wanted}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _log_to(screen: Screen) -> None:
    """Show the local stack's own warnings and errors, tracebacks included."""

    class ToScreen(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            screen.line(screen.coloured(f"          {self.format(record)}", "31"))

    logger = logging.getLogger("lethe_local")
    logger.addHandler(ToScreen(logging.WARNING))
    logger.propagate = False


def _options(arguments: Sequence[str] | None, environment: Mapping[str, str]) -> DevOptions:
    parser = argparse.ArgumentParser(prog="python -m lethe_local.dev", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the folder with template.yaml")
    parser.add_argument("--state-dir", type=Path, help="where data and dev.json live (default: .lethe in the root)")
    parser.add_argument("--port", default=environment.get("PORT") or str(DEFAULT_PORT))
    parser.add_argument("--fresh", action="store_true", default=environment.get("FRESH", "0") not in ("", "0", "no"))
    parser.add_argument("--tables", choices=get_args(Choice), help="what holds the tables")
    given = parser.parse_args(arguments)
    root = given.root.resolve()
    if not (root / "template.yaml").is_file():
        raise _CannotStart("there is no template.yaml here; run it in the project's folder")
    state = given.state_dir.resolve() if given.state_dir else root / ".lethe"
    try:
        port = port_number(given.port)
        opensearch = node_wanted(environment)
        tables: Choice = given.tables or tables_wanted(environment)
    except ValueError as error:
        raise _CannotStart(str(error)) from error
    return DevOptions(root, state, port, given.fresh, tables, opensearch)


if __name__ == "__main__":
    sys.exit(main())
