"""A real OpenSearch node on loopback, built once from published artifacts by Maven: no Docker is needed.

``python -m lethe_local.opensearch_node`` (`make opensearch`) builds and runs one in the foreground.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import urllib3

from lethe_local.processes import end_leftover, free_port, port_number, stop_process, telling
from lethe_local.state import write_private
from lethe_local.under_make import follow_make

HOW_TO_GET = "install a JDK of version 17 or newer and Maven, such as the packages openjdk-17-jdk-headless and maven"
DEFAULT_HEAP = "1g"
DEFAULT_PORT = 9200

SOURCE = Path(__file__).resolve().parents[1] / "opensearch"
_LEAST_JAVA = 17
_BUILD_SECONDS = 1800.0
_START_SECONDS = 180.0
_STOP_SECONDS = 30.0
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_HEAP = re.compile(r"[1-9][0-9]{0,5}[mg]")
_PORT_TAKEN = "Address already in use"


@dataclass(frozen=True, slots=True)
class NodeWanted:
    """Which OpenSearch a stack runs on: the one that answers at ``url`` already, else one of its own.

    ``heap`` is its own one's largest heap, as java writes it, such as ``1g`` or ``512m``.
    """

    url: str | None = None
    heap: str = DEFAULT_HEAP


def node_wanted(environment: Mapping[str, str]) -> NodeWanted | None:
    """What ``OPENSEARCH`` asks for: nothing, a node of the stack's own (1), or the one at an address.

    ``LETHE_OPENSEARCH_HEAP`` is the heap. Raises ValueError for anything else.
    """
    asked = environment.get("OPENSEARCH", "").strip()
    heap = environment.get("LETHE_OPENSEARCH_HEAP") or DEFAULT_HEAP
    if asked.lower() in ("", "0", "no"):
        return None
    if asked.lower() in ("1", "yes"):
        return NodeWanted(heap=heap)
    if re.match(r"https?://[^/\s]+", asked):
        return NodeWanted(url=asked.rstrip("/"))
    raise ValueError(
        "OPENSEARCH must be 1, for a node of its own, or the address of one, such as http://127.0.0.1:9200"
    )


def what_is_missing() -> str | None:
    """A sentence on what this machine lacks to build and run a node; None when it has all."""
    if not (SOURCE / "pom.xml").is_file():
        return "the sources of the OpenSearch node are not here; run it in a checkout of the project"
    java = _find_java()
    if java is None:
        return f"there is no java, which OpenSearch runs on: {HOW_TO_GET}"
    version = _java_version(java)
    if version < _LEAST_JAVA:
        return f"this java is version {version or 'unknown'}, and OpenSearch needs {_LEAST_JAVA} or newer: {HOW_TO_GET}"
    if shutil.which("mvn") is None:
        return f"there is no mvn, which fetches OpenSearch: {HOW_TO_GET}"
    return None


def build_node(say: Callable[[str], None]) -> str:
    """The class path of the node, built when its description or source changed since; ``say`` hears of that.

    Raises RuntimeError, in words, when something is missing or Maven fails.
    """
    missing = what_is_missing()
    if missing is not None:
        raise RuntimeError(missing)
    target = SOURCE / "target"
    target.mkdir(exist_ok=True)
    wanted, stamp = _digest(), target / "built-from"
    with _alone(target / "build.lock"):
        if not stamp.is_file() or stamp.read_text(encoding="ascii") != wanted:
            say("building OpenSearch with its k-NN plugin by Maven, once: it fetches some 55 MB")
            with telling(say, "building OpenSearch"):
                _run_maven()
            stamp.write_text(wanted, encoding="ascii")
    return os.pathsep.join(str(target / part) for part in ("node.jar", "jars/*", "knn/*"))


@dataclass(frozen=True, slots=True)
class _Started:
    """What a process of the node is started with."""

    classes: str
    home: Path
    port: int
    heap: str


class OpenSearchNode:
    """One running node on loopback; started by ``start``, stopped by ``stop`` through its process id."""

    def __init__(self, process: subprocess.Popen[bytes], started: _Started, resources: ExitStack) -> None:
        self._process = process
        self._started = started
        self._resources = resources
        self.url = f"http://127.0.0.1:{started.port}"

    @property
    def pid(self) -> int:
        """Of the process that runs now, or ran last."""
        return self._process.pid

    @classmethod
    def start(
        cls, home: Path, port: int = 0, heap: str = DEFAULT_HEAP, say: Callable[[str], None] = lambda text: None
    ) -> OpenSearchNode:
        """Build what is missing, start a node with its data in ``home``, and wait until it takes requests.

        Port 0 takes a free one. A node that a killed process left on ``home`` is ended first. Raises ValueError for
        a heap that makes no sense, RuntimeError with the node's own words when it does not come up.
        """
        if not _HEAP.fullmatch(heap):
            raise ValueError("the heap of OpenSearch must be written as java takes it, such as 1g or 512m")
        classes = build_node(say)
        home = home.resolve()
        (home / "logs").mkdir(parents=True, exist_ok=True)
        with ExitStack() as resources:
            resources.enter_context(_alone(home / "lock", wait=False))
            end_leftover(_pid_file(home), home, _STOP_SECONDS)
            attempts = 1 if port else 3
            for attempt in range(1, attempts + 1):
                try:
                    started = _Started(classes, home, port or free_port(), heap)
                    return cls(cls._start_once(started, say), started, resources.pop_all())
                except RuntimeError as error:
                    # Somebody may have taken the free port between our look and its bind.
                    if attempt == attempts or _PORT_TAKEN not in str(error):
                        raise
        raise AssertionError("the loop above returns or raises")

    @staticmethod
    def _start_once(
        started: _Started, say: Callable[[str], None], cancelled: Callable[[], bool] = lambda: False
    ) -> subprocess.Popen[bytes]:
        home, port = started.home, started.port
        command = [_find_java() or "java", f"-Xmx{started.heap}", "-Dlog4j2.disable.jmx=true"]
        command += ["-Dopensearch.set.netty.runtime.available.processors=false"]
        command += ["-cp", started.classes, "lethe.LocalNode", str(home), str(port)]
        with (home / "logs" / "node.log").open("w+b") as words:
            # Its own process group: Ctrl-C in the terminal reaches us, and we stop it once nobody writes any more.
            process = subprocess.Popen(command, stdout=words, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                write_private(_pid_file(home), str(process.pid))
                with telling(say, "waiting for OpenSearch"):
                    _wait_until_it_answers(process, f"http://127.0.0.1:{port}", words, cancelled)
            except BaseException:
                stop_process(process, _STOP_SECONDS)
                raise
        return process

    def restart(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Start a process that has ended again, on the same port and data. Raises RuntimeError with the node's own
        words when it does not come up, or when it was ``cancelled`` before.
        """
        self._process = self._start_once(self._started, lambda text: None, cancelled)

    @property
    def runs(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def pause(self) -> None:
        """Let it answer nothing, with its connections open, until ``resume``."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """End a pause."""
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End the process; all that it acknowledged is in its files. Again is no error."""
        self.resume()  # a process that is paused hears of nothing
        stop_process(self._process, _STOP_SECONDS)
        self._resources.close()


def version_at(url: str) -> str:
    """The version of the OpenSearch that answers at ``url``. Raises RuntimeError when none does."""
    try:
        with urllib3.PoolManager(retries=False, timeout=10.0) as http:
            answer = http.request("GET", url)
            return str(json.loads(answer.data)["version"]["number"])
    except (urllib3.exceptions.HTTPError, ValueError, KeyError, TypeError) as error:
        raise RuntimeError(f"no OpenSearch answers at {url}") from error


def _wait_until_it_answers(
    process: subprocess.Popen[bytes],
    url: str,
    words: IO[bytes],
    cancelled: Callable[[], bool],
) -> None:
    deadline = time.monotonic() + _START_SECONDS
    with urllib3.PoolManager(retries=False, timeout=10.0) as http:
        while process.poll() is None and time.monotonic() < deadline:
            if _is_ready(http, url, process.pid):
                return
            if cancelled():
                raise RuntimeError("it was stopped before it answered")
            time.sleep(0.1)
    words.seek(0)
    raise RuntimeError(f"OpenSearch did not start: {_reason(words.read().decode(errors='replace'))}")


def _pid_file(home: Path) -> Path:
    """Beside the data, so that the process can be ended before the data is dropped."""
    return home.with_name(f"{home.name}.pid")


def _is_ready(http: urllib3.PoolManager, url: str, pid: int) -> bool:
    """Whether it answers and is no other node on the same port, and every index that it holds can be searched."""
    try:
        health = http.request("GET", f"{url}/_cluster/health?wait_for_status=yellow&timeout=5s")
        told = http.request("GET", f"{url}/_nodes/_local/process?filter_path=nodes.*.process.id")
        processes = [node["process"]["id"] for node in told.json()["nodes"].values()]
    except (urllib3.exceptions.HTTPError, ValueError, KeyError, AttributeError):
        return False  # not yet
    return health.status == 200 and processes == [pid]


def _reason(log: str) -> str:
    """What a node's log says of its end: its first complaint, or its last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if any(_PORT_TAKEN in line for line in lines):
        return _PORT_TAKEN
    complaints = [line for line in lines if "Exception" in line or "Error" in line]
    return (complaints or lines[-1:] or ["it said nothing"])[0][:500]


def _find_java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").is_file():
        return str(Path(home) / "bin" / "java")
    return shutil.which("java")


def _java_version(java: str) -> int:
    """The main version of ``java``; 0 when it does not say."""
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = _VERSION.search(told.stderr + told.stdout)
    return int(found[1]) if found else 0


def _digest() -> str:
    """What the build is made of."""
    digest = hashlib.sha256()
    for file in [SOURCE / "pom.xml", *sorted((SOURCE / "src").rglob("*.java"))]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _run_maven() -> None:
    command = ["mvn", "-q", "-B", "package"]
    try:
        subprocess.run(
            command, cwd=SOURCE, check=True, capture_output=True, text=True, timeout=_BUILD_SECONDS,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        lines = [line for line in f"{error.stdout}\n{error.stderr}".splitlines() if line.startswith("[ERROR]")]
        raise RuntimeError(f"Maven could not build OpenSearch: {lines[0] if lines else error}") from error
    except subprocess.TimeoutExpired as error:
        raise RuntimeError("Maven could not fetch OpenSearch in half an hour") from error


@contextmanager
def _alone(lock: Path, *, wait: bool = True) -> Iterator[None]:
    """One process at a time; RuntimeError for another one that does not want to ``wait``."""
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise RuntimeError("another OpenSearch node runs on the same data") from error
    finally:
        os.close(handle)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a node until SIGINT or SIGTERM; 0 after a clean stop, 1 when it could not start or ended by itself."""
    parser = argparse.ArgumentParser(prog="python -m lethe_local.opensearch_node", description=__doc__)
    parser.add_argument("--home", type=Path, default=Path(".lethe") / "opensearch-alone", help="where its data lives")
    parser.add_argument("--port", default=os.environ.get("PORT") or str(DEFAULT_PORT), help="0 takes a free one")
    parser.add_argument("--heap", default=os.environ.get("LETHE_OPENSEARCH_HEAP") or DEFAULT_HEAP)
    given = parser.parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    follow_make(stop)
    try:
        port = port_number(given.port)
        node = OpenSearchNode.start(given.home, port, given.heap, lambda text: print(f"  {text}", flush=True))
    except (RuntimeError, ValueError, OSError) as error:
        print(f"make opensearch: {error}", file=sys.stderr)
        return 1
    print(f"  OpenSearch {version_at(node.url)} answers at {node.url}, data in {given.home}", flush=True)
    print(f"  The stack runs on it with: make dev OPENSEARCH={node.url}    Ctrl-C stops it", flush=True)
    while node.runs and not stop.wait(0.25):
        pass
    ended_by_itself = not node.runs
    node.stop()
    return 1 if ended_by_itself else 0


if __name__ == "__main__":
    sys.exit(main())
