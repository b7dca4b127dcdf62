"""What tests of processes need: patience, whether a process runs, and what `make dev` says of itself."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

PATIENCE = 120.0
"""Seconds: the machine that tests run on may be slow."""


def wait_until(condition: Callable[[], bool]) -> None:
    """Return as soon as ``condition`` holds; an AssertionError when it does not in time."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def process_runs(pid: int) -> bool:
    """Whether there is a process of this number that has not ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that ended and that nobody has waited for yet still has its number.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def dev_facts(state: Path) -> dict[str, Any]:
    """What dev.json says; empty while there is none."""
    try:
        return cast("dict[str, Any]", json.loads((state / "dev.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
