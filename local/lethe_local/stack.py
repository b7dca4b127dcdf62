"""The whole stack on this machine: the template's functions and tables behind its HTTP API, in one process."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from lethe.adapters.embedders import make_embedder
from lethe.entry.routes import complete_models
from lethe.entry.wiring.search import reconciler
from lethe_local.backends import Backend, Choice, TablesWanted, choose_binary, open_backend
from lethe_local.checkpoints import Checkpoints
from lethe_local.clock import VirtualClock
from lethe_local.functions import LocalFunction
from lethe_local.gateway import WAIT_SECONDS, Gateway
from lethe_local.intrinsics import REGION, TemplateError
from lethe_local.opensearch_node import NodeWanted
from lethe_local.schedules import Schedules
from lethe_local.search_backend import PARAMETERS, SearchBackend, open_search
from lethe_local.server import HttpServer, Report
from lethe_local.state import StateFolder, write_private
from lethe_local.step_functions import StepFunctions
from lethe_local.stream_modes import StreamMode
from lethe_local.streams import Streams, Surroundings, streams_client
from lethe_local.template import Template, read_template

_LAST_SECONDS = 5.0
"""How long a stop waits for changes to be delivered that the next run could not see."""
_log = logging.getLogger("lethe_local.stack")


@dataclass(frozen=True, slots=True)
class StackOptions:
    """How to run the stack.

    Attributes:
        root: the folder with template.yaml.
        state_dir: where the data and the master key live; one stack at a time.
        port: of the HTTP API on 127.0.0.1; 0 takes a free one.
        fresh: drop what an earlier run left in ``state_dir``.
        dynamodb_endpoint: another DynamoDB for the tables, instead of one of our own.
        tables: what holds the tables; ``auto`` takes dynoxide when its binary or npm is there, else moto.
        opensearch: the search index; None searches by scan.
        stream_mode: how the tables' streams are delivered, for tests.
        settings: further environment variables of all functions, over the template's.
        report: hears of every answered request.
        say: hears of what takes long, such as an installation.
        wait_seconds: how long the gateway waits for a function.
        most_pause: how many seconds a state machine pauses before a retry at most.
    """

    root: Path
    state_dir: Path
    port: int = 0
    fresh: bool = False
    dynamodb_endpoint: str | None = None
    tables: Choice = "auto"
    opensearch: NodeWanted | None = None
    stream_mode: StreamMode = field(default_factory=StreamMode)
    settings: Mapping[str, str] = field(default_factory=dict)
    report: Report | None = None
    say: Callable[[str], None] = _log.info
    wait_seconds: float = WAIT_SECONDS
    most_pause: float = 1.0


class LocalStack:
    """A running stack; a context manager that stops it at the end."""

    def __init__(
        self,
        server: HttpServer,
        backend: Backend,
        environment: Mapping[str, str],
        clock: VirtualClock,
        state: StateFolder,
        beside: _Beside,
        resources: ExitStack,
    ) -> None:
        self._dev_file = state.dev_file
        self.folder = state.path
        self._backend = backend
        self._beside = beside
        self._resources = resources
        self.url = f"http://127.0.0.1:{server.port}"
        self.environment = environment
        self.clock = clock

    @classmethod
    def start(cls, options: StackOptions) -> Self:
        """Start everything; what is returned answers requests.

        Raises AlreadyRunning, TemplateError, StateUnreadable, OSError when the port is taken, RuntimeError when
        dynoxide or OpenSearch is demanded and is missing or does not start.
        """
        with ExitStack() as resources:
            state = StateFolder(options.state_dir, options.fresh)
            resources.callback(state.close)
            server = HttpServer(options.port)  # first of all: a port that is taken should be said at once
            resources.callback(server.stop)
            template = read_template(options.root / "template.yaml", PARAMETERS if options.opensearch else None)
            process = _process_variables(options)
            resources.callback(_with_environment(process))
            backend = _open_tables(options, template)
            resources.callback(backend.stop)
            clock = VirtualClock()
            workflows = _open_step_functions(options, template, resources)
            machine = workflows.settings if workflows is not None else {}
            overrides = process | machine | _overrides(options, backend, state)
            search = _open_search(options, state, overrides, resources)
            overrides |= search.settings if search is not None else {}
            functions = {
                logical_id: LocalFunction(
                    resource, {**resource.environment, **overrides}, clock, most_containers=backend.containers
                )
                for logical_id, resource in template.functions.items()
            }
            complete_models()
            gateway = Gateway(template, functions, clock, options.wait_seconds)
            environment = {**_shared_settings(template), **overrides}
            if search is not None and (backend.late_streams or not search.is_whole):
                _fill_index(environment, options.say)
            streams = _start_streams(options, template, functions, backend, resources)
            if workflows is not None:
                workflows.start(functions)
                resources.callback(workflows.stop)
            schedules = Schedules(template.schedules, functions)
            server.serve(gateway.handle, options.report)
            # Before the tables: what still runs needs them.
            resources.callback(server.stop)
            schedules.start()
            resources.callback(schedules.stop)
            beside = _Beside(search, streams, workflows, schedules)
            return cls(server, backend, environment, clock, state, beside, resources.pop_all())

    @property
    def description(self) -> str:
        """One line: what it runs on, and how to get the other."""
        search = self._beside.search
        return self._backend.description if search is None else f"{self._backend.description}; {search.description}"

    @property
    def search(self) -> SearchBackend | None:
        """The OpenSearch that it runs on, if it does."""
        return self._beside.search

    def wait_until_indexed(self, seconds: float = 60.0) -> bool:
        """Wait until every change made before the call is in the index; whether that happened in time.

        A search may see it a moment later, at the index's next refresh.
        """
        streams = self._beside.streams
        return streams is None or streams.wait_until_caught_up(seconds)

    def tick(self) -> None:
        """Invoke now what the template's schedules invoke. Raises FunctionFailed or FunctionLate."""
        self._beside.schedules.tick()

    def wait_until_erased(self, seconds: float = 60.0) -> bool:
        """Wait until no state machine runs; whether that happened in time."""
        workflows = self._beside.workflows
        return workflows is None or workflows.wait_until_idle(seconds)

    def announce(self, facts: Mapping[str, object]) -> None:
        """Write ``facts`` to dev.json in the state folder, where it stays as long as this stack runs."""
        write_private(self._dev_file, json.dumps(facts, indent=2))

    def warm_up(self) -> None:
        """Load the local embedding model now, seconds of work, rather than at the first request that needs it."""
        if self.environment["LETHE_EMBEDDER"] == "local":
            make_embedder("local", region=REGION).embed(["warm-up"], "query")

    def stop(self) -> None:
        """Answer what still runs, save the state, end. Again is no error."""
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@dataclass(frozen=True, slots=True)
class _Beside:
    """What runs beside the API: the search index, if there is one, what feeds functions with the tables' changes, state
    machines, schedules.
    """

    search: SearchBackend | None
    streams: Streams | None
    workflows: StepFunctions | None
    schedules: Schedules


def _process_variables(options: StackOptions) -> dict[str, str]:
    """What the AWS libraries read from the process itself.

    Credentials are made up, so that no call can reach an account of the user's, unless the settings name a service
    that is really there: Bedrock, or another DynamoDB. Then the user's own are left alone.
    """
    variables = {"POWERTOOLS_TRACE_DISABLED": "true", "AWS_XRAY_SDK_ENABLED": "false"}
    embedders = (options.settings.get(name, "") for name in ("LETHE_EMBEDDER", "LETHE_SECOND_EMBEDDER"))
    uses_bedrock = any(embedder.startswith("bedrock:") for embedder in embedders)
    brings_own = options.dynamodb_endpoint is not None and _has_credentials()
    if not uses_bedrock and not brings_own:
        made_up = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": REGION}
        variables |= made_up | {"AWS_DEFAULT_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true"}
    return variables


def _has_credentials() -> bool:
    return any(os.environ.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"))


def _with_environment(variables: Mapping[str, str]) -> Callable[[], None]:
    """Set ``variables`` in this process; what is returned puts back what was there before."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)

    def restore() -> None:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    return restore


def _open_tables(options: StackOptions, template: Template) -> Backend:
    binary = None
    if options.dynamodb_endpoint is None:
        binary = choose_binary(options.tables, options.root, options.root / ".lethe" / "tools", options.say)
    read = {source.table for source in template.event_sources}
    streams = frozenset(logical_id for logical_id, name in template.table_names.items() if name in read)
    wanted = TablesWanted(template.tables, template.table_names, streams)
    return open_backend(wanted, options.state_dir, binary, options.dynamodb_endpoint)


def _open_search(
    options: StackOptions, state: StateFolder, settings: Mapping[str, str], resources: ExitStack
) -> SearchBackend | None:
    if options.opensearch is None:
        return None
    search = open_search(options.opensearch, state.node_home, settings, options.say)
    resources.callback(search.stop)
    return search


def _fill_index(environment: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Put what the table holds into an index that no stream has filled, and let searches see it."""
    found = reconciler(environment).rebuild(lambda findings: None)
    if found.memories:
        say(f"the index was filled with the {found.memories} memories of the table")


def _open_step_functions(options: StackOptions, template: Template, resources: ExitStack) -> StepFunctions | None:
    if not template.state_machines:
        return None
    if len(template.state_machines) > 1:
        raise TemplateError("the local stack runs one state machine")
    workflows = StepFunctions(template.state_machines, options.state_dir / "executions.json", options.most_pause)
    resources.callback(workflows.stop)
    return workflows


def _start_streams(
    options: StackOptions,
    template: Template,
    functions: Mapping[str, LocalFunction],
    backend: Backend,
    resources: ExitStack,
) -> Streams | None:
    """Begin to hand the tables' changes to the functions that hear of them; None when none does."""
    if not template.event_sources:
        return None
    checkpoints = Checkpoints(options.state_dir / "streams.json")
    around = Surroundings(streams_client(backend.url), checkpoints, options.state_dir, options.stream_mode)
    streams = Streams.start(template.event_sources, backend.streams, functions, around)
    resources.callback(streams.stop)
    if not backend.keeps_streams:
        resources.callback(streams.wait_until_caught_up, _LAST_SECONDS)
    return streams


def _overrides(options: StackOptions, backend: Backend, state: StateFolder) -> dict[str, str]:
    """What differs from the template on a laptop, in the environment of every function."""
    return {
        "LETHE_EMBEDDER": "local",
        "LETHE_SECRET_ARN": "",
        **options.settings,
        "LETHE_DYNAMODB_ENDPOINT": backend.url,
        "LETHE_MASTER_KEY": state.master_key(),
        "LETHE_RECEIPT_KEY_FILE": str(state.receipt_key_file),
        "LETHE_TABLES": backend.kind,
    }


def _shared_settings(template: Template) -> dict[str, str]:
    """The template's settings for the ``lethe`` command: those that no two functions see differently."""
    merged: dict[str, str] = {}
    disputed: set[str] = set()
    for function in template.functions.values():
        for name, value in function.environment.items():
            if merged.setdefault(name, value) != value:
                disputed.add(name)
    return {name: value for name, value in merged.items() if name.startswith("LETHE_") and name not in disputed}
