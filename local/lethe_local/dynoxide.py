"""Runs dynoxide: a strict, durable DynamoDB in one small binary (https://github.com/nubo-db/dynoxide)."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.request import urlopen

from lethe_local.processes import free_port, stop_process

HOW_TO_GET = "npm install @dynoxide/linux-x64 (or -arm64, or the package of your system), or set LETHE_DYNOXIDE"
_START_SECONDS = 15.0


def find_binary(root: Path) -> Path | None:
    """The dynoxide binary: ``LETHE_DYNOXIDE``, else on PATH, else in ``node_modules`` of ``root``; None without one.

    Raises FileNotFoundError when ``LETHE_DYNOXIDE`` names no file: who sets it means it.
    """
    named = os.environ.get("LETHE_DYNOXIDE")
    if named:
        if not Path(named).is_file():
            raise FileNotFoundError("LETHE_DYNOXIDE names no file")
        return Path(named)
    on_path = shutil.which("dynoxide")
    if on_path is not None:
        return Path(on_path)
    found = sorted(path for path in root.glob("node_modules/@dynoxide/*/dynoxide*") if path.is_file())
    return found[0] if found else None


class Dynoxide:
    """One running dynoxide on loopback; started by ``start``, stopped by ``stop`` through its process id."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self._process = process
        self.pid = process.pid
        self.url = f"http://127.0.0.1:{port}"

    @classmethod
    def start(cls, binary: Path, port: int = 0, db_path: Path | None = None) -> Dynoxide:
        """Start it and wait until it answers. Port 0 takes a free one; without ``db_path`` all is in memory.

        Raises RuntimeError with its own words when it does not come up.
        """
        attempts = 1 if port else 5
        for attempt in range(attempts):
            try:
                return cls._start_once(binary, port or free_port(), db_path)
            except RuntimeError:
                # Somebody may have taken the free port between our look and its bind.
                if attempt == attempts - 1:
                    raise
        raise AssertionError("the loop above returns or raises")

    @classmethod
    def _start_once(cls, binary: Path, port: int, db_path: Path | None) -> Dynoxide:
        command = [str(binary), "serve", "--host", "127.0.0.1", "--port", str(port)]
        if db_path is not None:
            command += ["--db-path", str(db_path)]
        with tempfile.TemporaryFile() as words:
            # Its own process group: Ctrl-C in the terminal reaches us, and we stop it once nobody writes any more.
            process = subprocess.Popen(command, stdout=words, stderr=subprocess.STDOUT, start_new_session=True)
            server = cls(process, port)
            try:
                server._wait_until_it_answers(words)
            except BaseException:
                server.stop()
                raise
        return server

    def _wait_until_it_answers(self, words: IO[bytes]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            if _answers(self.url):
                # Another server may hold the port; ours then ends at once.
                time.sleep(0.02)
                if self._process.poll() is None:
                    return
            time.sleep(0.02)
        words.seek(0)
        raise RuntimeError(f"dynoxide did not start: {words.read(2000).decode(errors='replace').strip()}")

    def stop(self) -> None:
        """End the process; its database file is complete afterwards. Again is no error."""
        stop_process(self._process)


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=1):
            return True
    except URLError as error:
        # An HTTP error is an answer too; a refused connection is none.
        return hasattr(error, "code")
    except OSError:
        return False
