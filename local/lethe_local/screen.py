"""What `make dev` shows: the banner, one line a request, and the functions' own logs in readable form."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import threading
from datetime import datetime
from http import HTTPMethod
from typing import TextIO

from lethe.domain.json_values import JsonObject, JsonValue
from lethe_local.exchange import Answer, Request

_STANDARD = frozenset({"level", "location", "message", "timestamp", "service", "xray_trace_id"})
_METHODS = frozenset({*HTTPMethod, "-"})
"""Those of RFC 9110 and PATCH; ``-`` where no request could be read."""
_COLOURS = {"2": "32", "3": "36", "4": "33", "5": "31"}


class Screen:
    """Writes whole lines to one stream from many threads, in colour where it is a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._colours = stream.isatty()
        self._lock = threading.Lock()

    def line(self, text: str = "") -> None:
        """Write one line and show it at once; once nobody reads any more, nothing."""
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def request(self, request: Request, answer: Answer, seconds: float) -> None:
        """One answered request. The route stands for the path: paths and queries carry ids that clients choose, and a
        method may be any word as well.
        """
        method = request.method if request.method in _METHODS else "other"
        path = answer.route_key.partition(" ")[2] or answer.route_key
        moment = datetime.now().strftime("%H:%M:%S")  # the reader's own time of day
        status = self.coloured(str(answer.status), _COLOURS.get(str(answer.status)[0], "0"))
        self.line(f"{moment}  {method:<7}{path:<42}{status}{seconds * 1000:>9.1f} ms")

    def coloured(self, text: str, code: str) -> str:
        """``text`` in a terminal's colour, plain elsewhere."""
        return f"\x1b[{code}m{text}\x1b[0m" if self._colours else text


class FunctionOutput(io.TextIOBase):
    """Stands in for standard output while functions run: turns their JSON log lines into text, drops metrics."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._rest = threading.local()

    def writable(self) -> bool:
        """It only takes output."""
        return True

    def write(self, text: str) -> int:
        """Take output; whole lines are shown."""
        lines = (getattr(self._rest, "text", "") + text).split("\n")
        self._rest.text = lines.pop()
        for line in lines:
            shown = self._readable(line)
            if shown is not None:
                self._screen.line(shown)
        return len(text)

    def _readable(self, line: str) -> str | None:
        record = _json_object(line)
        if record is None:
            return line or None
        if "_aws" in record:
            return None  # metrics in CloudWatch's embedded format
        level = str(record.get("level", "INFO"))
        # Every served request has its own line already.
        if record.get("message") == "served" or logging.getLevelNamesMapping().get(level, 0) < logging.INFO:
            return None
        extra = " ".join(f"{name}={_short(value)}" for name, value in record.items() if name not in _STANDARD)
        colour = "31" if level in ("ERROR", "CRITICAL") else "33" if level == "WARNING" else "2"
        text = f"          {level:<8}{record.get('service', '')}: {record.get('message', '')} {extra}"
        return self._screen.coloured(text.rstrip(), colour)


def _json_object(line: str) -> JsonObject | None:
    if not line.startswith("{"):
        return None
    try:
        record: JsonValue = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _short(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


_CALLS = (
    ("POST", "/v1/memories", {"user_id": "alice", "text": "I moved to Lisbon in May, and I am vegetarian."}),
    (
        "POST",
        "/v1/sessions/first/messages",
        {"user_id": "alice", "messages": [{"role": "user", "content": "My sister Ines visits me on Friday."}]},
    ),
    ("POST", "/v1/memories/search", {"user_id": "alice", "query": "Where did I move to in May?"}),
    ("POST", "/v1/recall", {"user_id": "alice", "query": "What could I cook when my sister visits?"}),
)


def banner(url: str, key: str, description: str, state: str) -> str:
    """What a user needs to begin: what it runs on, where it answers, a key, and calls that work as they stand."""
    authorization = f"-H 'Authorization: Bearer {key}'"
    head = f"{authorization} -H 'Content-Type: application/json'"
    calls = [f"  curl -s -X {method} {url}{path} {head} -d '{json.dumps(body)}'" for method, path, body in _CALLS]
    lines = [
        "",
        f"  Lethe is up: {url}",
        f"  {description}",
        f"  State in {state}; FRESH=1 drops it. Documentation: {url}/docs",
        "",
        "  Key of tenant dev, for all users:",
        f"  {key}",
        "",
        "  Try it, line by line:",
        *calls,
        f"  curl -s {url}/v1/openapi.json",
        "",
        "  Forget alice, with proof (`lethe erasures show` and `lethe receipt show` take the id; `lethe admit alice`):",
        f"  curl -s -X DELETE {url}/v1/subjects/alice {authorization}",
        "",
        "  Ctrl-C stops it; the state is kept. Requests:",
    ]
    return "\n".join(lines)
