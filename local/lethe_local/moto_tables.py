"""DynamoDB by moto behind a socket of our own: the tables where there is neither dynoxide's binary nor npm.

moto keeps everything in memory and loses updates when threads meet, so one lock lets a single call in at a time, and
the items of all tables are written to a file: some seconds after a change, and on stop.
"""

from __future__ import annotations

import base64
import json
import logging
import threading
import time
from pathlib import Path

from moto.backends import get_backend
from moto.dynamodb.models import DynamoDBBackend

from lethe_local.exchange import Answer, Request
from lethe_local.intrinsics import REGION
from lethe_local.moto_endpoint import call_moto, own_account
from lethe_local.moto_queries import read_one_partition
from lethe_local.moto_repeats import Repeats
from lethe_local.moto_transactions import leave_tables_uncopied, remember
from lethe_local.server import HttpServer
from lethe_local.state import write_private

_WRITES = ("Put", "Update", "Delete", "BatchWrite", "TransactWrite")
_SAVE_EVERY_SECONDS = 5.0
# Saving holds the lock while it copies: never more than this share of the time.
_MOST_SHARE = 0.05
_log = logging.getLogger("lethe_local.moto")


class StateUnreadable(Exception):
    """The saved tables cannot be read back."""


class MotoTables:
    """A DynamoDB endpoint on loopback, saved in ``file`` (when given) and loaded from there by ``load``."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._lock = threading.RLock()
        self._account = own_account()
        self._repeats = Repeats()
        leave_tables_uncopied()
        read_one_partition()
        self._changed = False
        self._stopping = threading.Event()
        self._server = HttpServer(0)
        self._server.serve(self._respond)
        self.url = f"http://127.0.0.1:{self._server.port}"
        self._saver = threading.Thread(target=self._save_now_and_then, name="moto-saver", daemon=True)
        self._saver.start()

    def load(self) -> int:
        """Put the saved items into the tables, which must exist; how many there were. Raises StateUnreadable."""
        if self._file is None or not self._file.exists():
            return 0
        saved = read_items(self._file)
        with self._lock:
            backend = self._backend()
            for table, items in saved.items():
                if table not in backend.tables:
                    raise StateUnreadable(f"{self._file.name} holds a table {table} that the template does not have")
                for item in items:
                    backend.put_item(table, item)
        return sum(len(items) for items in saved.values())

    def save(self) -> None:
        """Write all items to the file, whole or not at all."""
        if self._file is None:
            return
        with self._lock:
            self._changed = False
            tables = self._backend().tables
            saved = {
                name: [item.to_json()["Attributes"] for item in table.all_items()] for name, table in tables.items()
            }
        write_private(self._file, json.dumps({"version": 1, "tables": saved}, ensure_ascii=False, default=_base64))

    def stop(self) -> None:
        """Save and end. Again is no error."""
        if not self._stopping.is_set():
            self._end()
            self.save()
            self._backend().reset()

    def discard(self) -> None:
        """End without saving: what is in the file stays there."""
        if not self._stopping.is_set():
            self._end()
            self._backend().reset()

    def _end(self) -> None:
        self._stopping.set()
        self._saver.join()
        self._server.stop()

    def _backend(self) -> DynamoDBBackend:
        return get_backend("dynamodb")[self._account][REGION]

    def _respond(self, request: Request) -> Answer:
        target = request.header("x-amz-target") or ""
        if not target.startswith("DynamoDB"):
            return Answer(400, (("content-type", "text/plain"),), b"this endpoint speaks DynamoDB only\n")
        operation = target.partition(".")[2]
        with self._lock:
            self._changed = self._changed or operation.startswith(_WRITES)
            if operation == "TransactWriteItems":
                return self._repeats.answer(request.body, lambda: self._transact(request, target))
            return self._call(request, target)

    def _transact(self, request: Request, target: str) -> Answer:
        undo = remember(self._backend(), request.body)
        answer = self._call(request, target)
        if answer.status != 200:
            undo()
        return answer

    def _call(self, request: Request, target: str) -> Answer:
        return call_moto(
            "streams.dynamodb" if target.startswith("DynamoDBStreams") else "dynamodb", self._account, request
        )

    def _save_now_and_then(self) -> None:
        pause = _SAVE_EVERY_SECONDS
        while not self._stopping.wait(pause):
            if not self._changed:
                continue
            started = time.monotonic()
            try:
                self.save()
            except Exception:  # it tries again at the next change; the data is still in memory
                self._changed = True
                _log.exception("the tables could not be saved")
            pause = max(_SAVE_EVERY_SECONDS, (time.monotonic() - started) / _MOST_SHARE)


def _base64(value: object) -> str:
    """moto keeps binary values inside of maps and lists as bytes."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"an item holds a {type(value).__name__}")


def read_items(file: Path) -> dict[str, list[dict[str, dict[str, object]]]]:
    """The items that ``MotoTables.save`` wrote, by table. Raises StateUnreadable."""
    try:
        saved = json.loads(file.read_text(encoding="utf-8"))
        tables: dict[str, list[dict[str, dict[str, object]]]] = saved["tables"]
    except (ValueError, KeyError, TypeError) as error:
        raise StateUnreadable(f"{file.name} cannot be read; start fresh to begin without it") from error
    return tables
