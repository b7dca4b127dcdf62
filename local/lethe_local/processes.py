"""The servers that run beside ours: a free port for each, its end, and what a killed stack left running."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_END_SECONDS = 10.0
_TELL_SECONDS = 10.0


def port_number(text: str) -> int:
    """The port that ``PORT`` names; 0 for a free one. Raises ValueError, in words."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 5 or int(text) > 65_535:
        raise ValueError("PORT must be a port number: 0 to 65535, and 0 takes a free one")
    return int(text)


@contextlib.contextmanager
def telling(say: Callable[[str], None], what: str, every: float = _TELL_SECONDS) -> Iterator[None]:
    """Say, while the body takes long, that one is still at it, such as ``still waiting for X, 10 s``."""
    done = threading.Event()

    def tell() -> None:
        times = 1
        while not done.wait(every):
            say(f"still {what}, {times * every:g} s")
            times += 1

    teller = threading.Thread(target=tell, name="telling", daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses now; somebody may take it before its user does."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def stop_process(process: subprocess.Popen[bytes], seconds: float = _END_SECONDS) -> None:
    """End ``process`` in order, and after ``seconds`` at once. One that has ended is no error."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_leftover(pid_file: Path, data: Path, seconds: float = _END_SECONDS) -> None:
    """End the server of a stack that was killed: it would go on beside ours, on the same ``data``.

    Nobody else can need it, since the state folder is locked for us. A process that has its number by chance, and
    another command line, is left alone.
    """
    try:
        pid = int(pid_file.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return
    if str(data) in _command_line(pid):
        with contextlib.suppress(ProcessLookupError):  # it ended by itself in between
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + seconds
        while str(data) in _command_line(pid) and time.monotonic() < deadline:
            time.sleep(0.02)
    pid_file.unlink()


def _command_line(pid: int) -> str:
    """The command line of a running process; empty when there is none."""
    try:
        if Path("/proc/self").exists():
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""  # no such process
