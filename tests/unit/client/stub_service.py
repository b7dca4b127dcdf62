"""A loopback HTTP server that answers from a script and keeps what it was asked."""

import json
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from lethe_client import JsonObject


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: JsonObject


@dataclass(frozen=True)
class Reply:
    """One scripted answer; `raw` is sent instead of `body` when given, `drop` closes without answering."""

    status: int = 200
    body: object = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    drop: bool = False


class StubService:
    """Answers each request with the next reply of its script; without one, with 599."""

    def __init__(self, *script: Reply) -> None:
        self.asked: list[Asked] = []
        self._script = deque(script)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "StubService":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = json.loads(data) if data else {}
                stub.asked.append(Asked(self.command, self.path, dict(self.headers.items()), body))
                reply = stub._script.popleft() if stub._script else Reply(599)
                if reply.drop:
                    self.close_connection = True
                    return
                payload = reply.raw if reply.raw is not None else json.dumps(reply.body).encode()
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if reply.status != 204:
                    self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                if reply.status != 204:
                    self.wfile.write(payload)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - the names that http.server calls

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: test output is for failures."""

        return Handler
