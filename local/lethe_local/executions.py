"""Which executions of state machines began and ended: a file in the state folder that outlives the process.

Step Functions keeps an execution going whatever happens to the caller; moto forgets it with the process. What had not
ended is begun again by the next stack, from its first state: the tasks of a state machine may be repeated.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lethe_local.state import write_private


@dataclass(frozen=True, slots=True)
class Begun:
    """An execution: the state machine's name, its own name, its input."""

    machine: str
    name: str
    input: str


class Executions:
    """The executions in ``file``. Safe to use from many threads."""

    def __init__(self, file: Path) -> None:
        """Raises ValueError when the file cannot be read."""
        self._file = file
        self._lock = threading.Lock()
        self._running, self._ended = _read(file)

    def begin(self, execution: Begun) -> None:
        """An execution begins; the same again changes nothing."""
        with self._lock:
            self._running[execution.name] = execution
            self._save()

    def end(self, name: str) -> None:
        """It has ended, well or not."""
        with self._lock:
            if self._running.pop(name, None) is not None:
                self._ended.add(name)
                self._save()

    def has_ended(self, name: str) -> bool:
        """Whether an execution of that name has ended; a name is never given again."""
        with self._lock:
            return name in self._ended

    def running(self) -> tuple[Begun, ...]:
        """Those that have not ended."""
        with self._lock:
            return tuple(self._running.values())

    def _save(self) -> None:
        running = {each.name: {"machine": each.machine, "input": each.input} for each in self._running.values()}
        write_private(self._file, json.dumps({"running": running, "ended": sorted(self._ended)}, indent=1))


def _read(file: Path) -> tuple[dict[str, Begun], set[str]]:
    try:
        saved = json.loads(file.read_text(encoding="utf-8"))
        running: Mapping[str, Mapping[str, str]] = saved["running"]
        begun = {name: Begun(each["machine"], name, each["input"]) for name, each in running.items()}
        return begun, set(saved["ended"])
    except FileNotFoundError:
        return {}, set()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{file.name} cannot be read; start fresh to begin without it") from error
