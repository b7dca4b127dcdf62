"""How far each stream was delivered, and what was given up: two files in the state folder that outlive the process."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from lethe.domain.json_values import JsonValue
from lethe_local.state import write_private
from lethe_local.stream_delivery import GivenUp


class Checkpoints:
    """The sequence number, by mapping and shard, up to which everything was delivered or given up."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._closed = False
        self._places: dict[str, str] = _read(file)

    def get(self, mapping: str, stream: str, shard: str) -> str | None:
        """The place in a shard; None when nothing of it was delivered."""
        with self._lock:
            return self._places.get(f"{mapping} {stream} {shard}")

    def put(self, mapping: str, stream: str, shard: str, sequence: str) -> None:
        """Keep a place; those in earlier streams of the mapping, which are gone with their tables, are dropped."""
        with self._lock:
            if self._closed:
                return  # whoever was left behind by a stop is delivered again to the next stack
            kept = f"{mapping} {stream} "
            if self._places.get(kept + shard) == sequence:
                return
            self._places = {
                place: at for place, at in self._places.items() if place.startswith(kept) or place.split()[0] != mapping
            }
            self._places[kept + shard] = sequence
            write_private(self._file, json.dumps(self._places, indent=1))

    def forget(self, mapping: str, stream: str, shard: str) -> None:
        """The place no longer exists in the stream: begin with what is left of it."""
        with self._lock:
            self._places.pop(f"{mapping} {stream} {shard}", None)

    def close(self) -> None:
        """Keep nothing more: the folder may be another stack's from now on."""
        with self._lock:
            self._closed = True


def _read(file: Path) -> dict[str, str]:
    try:
        places = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(
            f"{file.name} cannot be read; start fresh, or remove it to deliver all changes again"
        ) from error
    if not isinstance(places, Mapping):
        raise ValueError(f"{file.name} cannot be read; start fresh, or remove it to deliver all changes again")
    return {str(place): str(at) for place, at in places.items()}


def write_given_up(file: Path, what: GivenUp, function: str, shard: str, stream: str) -> None:
    """Append what Lambda sends to an on-failure destination, as one line: where the records are, not what they hold."""
    first, last = what.records[0], what.records[-1]
    line: dict[str, JsonValue] = {
        "version": "1.0",
        "timestamp": _time(datetime.now(UTC).timestamp()),
        "requestContext": {
            "functionArn": function,
            "condition": what.condition,
            "approximateInvokeCount": what.attempts,
        },
        "DDBStreamBatchInfo": {
            "shardId": shard,
            "startSequenceNumber": first.sequence,
            "endSequenceNumber": last.sequence,
            "approximateArrivalOfFirstRecord": _time(first.created),
            "approximateArrivalOfLastRecord": _time(last.created),
            "batchSize": len(what.records),
            "streamArn": stream,
        },
    }
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
