"""Cold starts: fresh processes of each function against fresh processes of boto3, in turn.

The interpreter's own start is left out on both sides; bytecode is there on both sides, as in the layer. Time on the
processor is given beside the clock's, since it hardly moves when the machine has other work.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TypedDict

from bench.speed.rig import ROOT, TENANT, Tables, call, event, new_user
from lethe.entry.events import Event
from lethe.entry.wiring.access import access_service
from lethe.entry.wiring.api import build_write
from tests.support.embedding_servers import EmbeddingServer

FLOOR = "boto3"
_CHILD = Path(__file__).with_name("cold_child.py")
_STUB_DIMENSIONS = 896
_SECONDS = 120
_ON_LAMBDA = {"AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand"}


class Settings(TypedDict):
    """What a child reads."""

    environment: dict[str, str]
    folders: list[str]
    table: str
    event: Event
    stub_dimensions: int


@dataclass
class Starts:
    """All cold starts of one kind: milliseconds until each mark, on the clock and on the processor."""

    name: str
    clock: dict[str, list[float]] = field(default_factory=dict)
    processor: dict[str, list[float]] = field(default_factory=dict)

    def add(self, marks: Mapping[str, tuple[float, float]]) -> None:
        for mark, (clock, processor) in marks.items():
            self.clock.setdefault(mark, []).append(1000 * clock)
            self.processor.setdefault(mark, []).append(1000 * processor)

    def p50(self, mark: str = "answered") -> float:
        return median(self.clock[mark])

    def p50_processor(self, mark: str = "answered") -> float:
        return median(self.processor[mark])


@dataclass(frozen=True)
class Kind:
    """Something to start: a function's folder, or boto3, and where its settings are."""

    name: str
    what: str
    settings: Path


@contextmanager
def prepared(tables: Tables, folder: Path) -> Iterator[list[Kind]]:
    """Data for the first requests, and settings in ``folder``; the model's server runs inside the block."""
    access = access_service(tables.shared_environment())
    access.create_tenant(TENANT)
    _, key = access.create_key(TENANT, ["read", "write"])
    user = new_user()
    memory = event("POST /v1/memories", {"user_id": user, "text": "The spare key hangs behind the blue door."})
    call(build_write(tables.environment("write")), memory)
    question = event("POST /v1/memories/search", {"user_id": user, "query": "Where is the spare key?"})
    presented: Event = {"routeKey": "GET /v1/memories", "headers": {"authorization": f"Bearer {key}"}}
    table = tables.template.table_names["SubjectsTable"]
    with EmbeddingServer() as server:
        bedrock = {"LETHE_EMBEDDER": "bedrock:amazon.titan-embed-text-v2:0", "LETHE_EMBEDDER_URL": server.url}

        def kind(name: str, what: str, made: Event, stub: int, **environment: str) -> Kind:
            settings = Settings(
                environment=tables.environment("recall" if what == FLOOR else what) | _ON_LAMBDA | environment,
                folders=[str(ROOT / "functions" / what), str(ROOT / "shared")],
                table=table,
                event=made,
                stub_dimensions=stub,
            )
            path = folder / f"{len(list(folder.iterdir()))}.json"
            path.write_text(json.dumps(settings), encoding="utf-8")
            return Kind(name, what, path)

        yield [
            kind(FLOOR, FLOOR, {}, 0),
            kind("authorize", "authorize", presented, 0),
            kind("write", "write", memory, _STUB_DIMENSIONS),
            kind("recall", "recall", question, _STUB_DIMENSIONS),
            kind("recall, Bedrock's protocol", "recall", question, 0, **bedrock),
        ]


def measure(kinds: list[Kind], runs: int, folder: Path) -> list[Starts]:
    """``runs`` starts of each kind, one of each in turn; the first round fills the bytecode cache and is dropped."""
    starts = {kind.name: Starts(kind.name) for kind in kinds}
    for run in range(runs + 1):
        for kind in kinds:
            marks = _start(kind, folder)
            if run:
                starts[kind.name].add(marks)
    return list(starts.values())


def _start(kind: Kind, folder: Path) -> Mapping[str, tuple[float, float]]:
    words = _run(kind, folder, [])
    outcome = json.loads(words.splitlines()[-1])
    if outcome["status"] not in (200, 201):
        raise RuntimeError(f"{kind.name}: the first request answered {outcome['status']}")
    marks: Mapping[str, tuple[float, float]] = outcome["marks"]
    return marks


def _run(kind: Kind, folder: Path, options: list[str]) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    command = [sys.executable, "-P", *options, str(_CHILD), kind.what, str(kind.settings)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"{kind.name} did not start: {done.stderr[-2000:]}")
    return done.stderr


def imports(kind: Kind, folder: Path, runs: int = 3) -> dict[str, float]:
    """Milliseconds that importing each package costs by itself, without what it imports; the median of a few."""
    found: list[Counter[str]] = []
    for _ in range(runs):
        own: Counter[str] = Counter()
        for line in _run(kind, folder, ["-X", "importtime"]).splitlines():
            microseconds, _, rest = line.removeprefix("import time:").partition("|")
            if microseconds.strip().isdigit():
                own[_package(rest.partition("|")[2].strip())] += int(microseconds)
        found.append(own)
    names = {name for own in found for name in own}
    costs = {name: median(own[name] for own in found) / 1000 for name in names}
    return dict(sorted(costs.items(), key=lambda item: -item[1]))


def _package(module: str) -> str:
    top, _, rest = module.partition(".")
    if top == "lethe":
        return ".".join(["lethe", *rest.split(".")[:2]])
    return top if top not in sys.stdlib_module_names else "the standard library"
