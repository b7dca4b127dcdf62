"""The folder that the local stack keeps its state in: one process at a time, nothing readable by other users."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
from pathlib import Path

from lethe_local.processes import end_leftover

_STATE_FILES = (
    "dynoxide.db*",
    "tables.json*",
    "master_key",
    "receipt_key.pem*",
    "dev_key.json",
    "streams.json*",
    "executions.json*",
    "*.jsonl",
)
_NODE_STOP_SECONDS = 30.0


class AlreadyRunning(Exception):
    """Another local stack uses the same state."""


class StateFolder:
    """The folder, locked for this process until ``close``."""

    def __init__(self, path: Path, fresh: bool) -> None:
        """Create and lock ``path``; with ``fresh`` drop what an earlier stack left there. Raises AlreadyRunning."""
        self.path = path
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.chmod(0o700)
        self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            raise AlreadyRunning("another local stack is running on this state") from error
        # A process that was killed left them; whoever waits for the first waits for this one.
        self.dev_file.unlink(missing_ok=True)
        _drop_drafts(path)
        end_leftover(self.node_pid_file, self.node_home, _NODE_STOP_SECONDS)
        if fresh:
            if self.node_home.exists():
                shutil.rmtree(self.node_home)
            for pattern in _STATE_FILES:
                for file in path.glob(pattern):
                    file.unlink()

    @property
    def dev_file(self) -> Path:
        """Where a running stack says how it is reached."""
        return self.path / "dev.json"

    @property
    def node_home(self) -> Path:
        """Where an OpenSearch node of the stack's own has its data."""
        return self.path / "opensearch"

    @property
    def node_pid_file(self) -> Path:
        """Says which process that node is, for the next stack when this one is killed."""
        return self.path / "opensearch.pid"

    @property
    def receipt_key_file(self) -> Path:
        """Where the key is kept that signs receipts, once there was one to sign."""
        return self.path / "receipt_key.pem"

    def master_key(self) -> str:
        """The root key of subject hashes and cursor signatures: made once, the same over restarts."""
        file = self.path / "master_key"
        if not file.exists():
            write_private(file, secrets.token_urlsafe(48))
        return file.read_text(encoding="ascii")

    def close(self) -> None:
        """Nobody runs here any more: let another process use the folder. Again is no error."""
        if self._lock >= 0:
            self.dev_file.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = -1


_DRAFT = re.compile(r".+\.[0-9]+\.new")


def _drop_drafts(folder: Path) -> None:
    """Remove what nobody goes on with: files that a process was writing when it was killed. Who calls this has the
    folder to himself.
    """
    for file in folder.iterdir():
        if _DRAFT.fullmatch(file.name) and file.is_file():
            file.unlink()


def write_private(file: Path, text: str) -> None:
    """Write a file that only this user can read, whole or not at all, also when the machine stops in between."""
    draft = file.with_name(f"{file.name}.{os.getpid()}.new")  # as ``_DRAFT`` has it
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(file)
    finally:
        with contextlib.suppress(FileNotFoundError):  # it has become the file, unless something failed
            draft.unlink()
