"""mem0 beside Lethe: the same statements and questions, the same vectors, turn by turn in one run."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO

import numpy as np
from numpy.typing import NDArray

from bench.speed.latency import BATCH, Latency, Scenario, embedding_alone
from bench.speed.rig import ROOT, new_user

_ENVIRONMENT = ROOT / ".venv-bench-mem0"
_REQUIREMENTS = Path(__file__).with_name("peer-requirements.txt")
_CHILD = Path(__file__).with_name("peer_child.py")


@dataclass(frozen=True)
class Beside:
    """Both at one size; seconds of a search and memories a second of an add, embedding out of both."""

    size: int
    our_search: float
    their_search: float
    our_rate: float
    their_rate: float


class Mem0:
    """A running mem0."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in: IO[str] = process.stdin
        self._out: IO[str] = process.stdout

    def start(self, vectors: Path, opensearch: dict[str, object] | None = None) -> None:
        """Hand over the vectors, and where to keep them if not in memory; wait until it is ready."""
        self._line({"vectors": str(vectors), "opensearch": opensearch})

    def add(self, user: str, texts: Sequence[str]) -> float:
        return self._ask({"user": user, "add": list(texts)}, len(texts))

    def search(self, user: str, query: str) -> float:
        return self._ask({"user": user, "search": query}, 1)

    def _ask(self, asked: dict[str, object], least: int) -> float:
        answer = self._line(asked)
        if answer["results"] < least:
            raise RuntimeError(f"mem0 gave {answer['results']} results where {least} were due")
        return answer["seconds"]

    def _line(self, asked: dict[str, object]) -> dict[str, float]:
        self._in.write(json.dumps(asked) + "\n")
        self._in.flush()
        line = self._out.readline()
        if not line:
            raise RuntimeError("mem0 ended; its words are above")
        answer: dict[str, float] = json.loads(line)
        return answer


def install() -> str | None:
    """Make mem0's environment where it is missing; None, or why there is none."""
    python = _ENVIRONMENT / "bin" / "python"
    done = _ENVIRONMENT / ".done"
    if done.exists() and done.read_text() == _REQUIREMENTS.read_text():
        return None
    try:
        subprocess.run([sys.executable, "-m", "venv", str(_ENVIRONMENT)], check=True, capture_output=True, text=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "-r", str(_REQUIREMENTS)]
        subprocess.run(pip, check=True, capture_output=True, text=True, timeout=300)
    except subprocess.CalledProcessError as error:
        return f"mem0 could not be installed: {str(error.stderr).strip().splitlines()[-1]}"
    except subprocess.TimeoutExpired:
        return "mem0 could not be installed: pip took longer than 5 minutes"
    done.write_text(_REQUIREMENTS.read_text())
    return None


@contextmanager
def running(
    texts: Sequence[str],
    vectors: Sequence[NDArray[np.float32]],
    folder: Path,
    opensearch: dict[str, object] | None = None,
) -> Iterator[Mem0]:
    """mem0, knowing the vectors of ``texts``; in memory, or in an OpenSearch index."""
    path = folder / "vectors.npz"
    np.savez(path, texts=np.array(texts), vectors=np.stack(vectors))
    command = [str(_ENVIRONMENT / "bin" / "python"), "-P", str(_CHILD)]
    # Lethe's functions have one thread for numpy, by their template; mem0 has what it takes by itself.
    own = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, env=own
    ) as process:
        mem0 = Mem0(process)
        mem0.start(path, opensearch)
        yield mem0
        assert process.stdin is not None
        process.stdin.close()


def compare(latency: Latency, mem0: Mem0, statements: Sequence[str], questions: Sequence[str], size: int) -> Beside:
    """Fill both with ``size`` memories in batches, then ask both each question, in turn."""
    ours, theirs = new_user(), new_user()
    our_seconds = their_seconds = 0.0
    for start in range(0, size, BATCH):
        part = statements[start : min(start + BATCH, size)]
        request = latency.batch(ours, part)
        our_seconds += request.seconds - embedding_alone(request)
        their_seconds += mem0.add(theirs, part)
    searches = Scenario("search beside mem0", size)
    their_searches = []
    for question in questions:
        searches.runs.append(latency.search(ours, question))
        their_searches.append(mem0.search(theirs, question))
    warm = Scenario(searches.name, size, searches.runs[1:])
    return Beside(
        size, warm.p50_without_embedding, median(their_searches[1:]), size / our_seconds, size / their_seconds
    )
