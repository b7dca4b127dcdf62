"""Stops `make dev` when somebody stops make.

Ctrl-C reaches make and this process alike. A SIGINT sent to make alone does not: make takes it, waits for its
child, and would wait for ever. On Linux it can be seen that make does so: SIGINT stays blocked in it.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

_PAUSE_SECONDS = 0.25
_HANGUP_OR_INTERRUPT = 0b11


def follow_make(stop: threading.Event) -> None:
    """Set ``stop`` once the make that started this process has ended or was interrupted; nothing without make."""
    if "MAKELEVEL" in os.environ:
        threading.Thread(target=_watch, args=(stop, os.getppid()), name="make-watch", daemon=True).start()


def _watch(stop: threading.Event, make: int) -> None:
    blocked_before = _blocks_interrupts(make)
    seen = 0
    while not stop.wait(_PAUSE_SECONDS):
        # make blocks signals for a moment whenever it starts something: once is not enough.
        seen = seen + 1 if not blocked_before and _blocks_interrupts(make) else 0
        if os.getppid() != make or seen > 1:
            stop.set()


def _blocks_interrupts(process: int) -> bool:
    """Whether SIGINT or SIGHUP is blocked in ``process``; False where that cannot be seen."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return False
    masks = [int(line.split()[1], 16) for line in lines if line.startswith("SigBlk:")]
    return bool(masks) and bool(masks[0] & _HANGUP_OR_INTERRUPT)
