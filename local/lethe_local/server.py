"""An HTTP/1.1 server on loopback: one thread a connection, the protocol itself by h11."""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from http.client import responses
from typing import ClassVar

import h11

from lethe.errors import LetheError, TooLarge
from lethe_local.exchange import Answer, Request, new_request_id, problem

BODY_BYTES = 10 * 1024 * 1024
"""The payload limit of an HTTP API."""

HEAD_BYTES = 10_240
"""The limit of an HTTP API for request line and headers together."""

_DISCARDED_BYTES = 64 * 1024 * 1024
_READ_SECONDS = 30.0
_LINGER_SECONDS = 1.0
_POLL_SECONDS = 0.05
_CHUNK = 65_536

Respond = Callable[[Request], Answer]
Report = Callable[[Request, Answer, float], None]
_log = logging.getLogger("lethe_local.server")


class HeadersTooLarge(LetheError):
    """Request line and headers are over the limit together."""

    status, code, title = 431, "too_large", "The request's headers are too large"


class BadRequest(LetheError):
    """What came is no HTTP request."""

    status, code, title = 400, "invalid_header", "The request cannot be read"


class HttpServer:
    """A server on 127.0.0.1: it has its port from the start, and answers from ``serve`` until ``stop``."""

    def __init__(self, port: int) -> None:
        """Bind the port (0: a free one). Raises OSError when it is taken."""
        self._server = _TcpServer(("127.0.0.1", port))
        self._thread: threading.Thread | None = None

    def serve(self, respond: Respond, report: Report | None = None) -> None:
        """Answer every request by ``respond``; ``report`` hears of each answer, with its seconds."""
        self._server.respond, self._server.report = respond, report
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="http", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def stop(self, grace_seconds: float = 5.0) -> None:
        """Accept no more, let running requests answer for at most ``grace_seconds``, close all connections."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        self._server.close_connections(grace_seconds)


class _TcpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    respond: Respond
    report: Report | None

    def __init__(self, address: tuple[str, int]) -> None:
        self._connections: set[_Connection] = set()
        self._changed = threading.Condition()
        self.stopping = False
        super().__init__(address, _Connection)

    def entered(self, connection: _Connection) -> None:
        with self._changed:
            self._connections.add(connection)

    def left(self, connection: _Connection) -> None:
        with self._changed:
            self._connections.discard(connection)
            self._changed.notify_all()

    def idle(self) -> None:
        """Some request has been answered."""
        with self._changed:
            self._changed.notify_all()

    def close_connections(self, grace_seconds: float) -> None:
        deadline = time.monotonic() + grace_seconds
        with self._changed:
            self.stopping = True
            self._changed.wait_for(
                lambda: not any(connection.busy for connection in self._connections), deadline - time.monotonic()
            )
            for connection in self._connections:
                connection.close()
            self._changed.wait_for(lambda: not self._connections, 1.0)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say what went wrong with a connection; the others go on."""
        _log.exception("a connection failed")


class _Connection(socketserver.BaseRequestHandler):
    """One client's connection, request after request."""

    server: _TcpServer
    request: socket.socket
    busy: bool

    _UNKNOWN: ClassVar[Request] = Request("-", "-", "", ())

    def setup(self) -> None:
        self.busy = False
        self.request.settimeout(_READ_SECONDS)
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._protocol = h11.Connection(h11.SERVER, max_incomplete_event_size=2 * HEAD_BYTES)
        self._arrived = bytearray()
        """What came since the last request ended, as long as a head is read."""
        self.server.entered(self)

    def finish(self) -> None:
        try:
            self._linger()
        finally:
            self.server.left(self)

    def _linger(self) -> None:
        """Close our side first and read on for a moment: a reset would throw away an answer still under way."""
        with contextlib.suppress(OSError):  # the client may be gone by now
            self.request.shutdown(socket.SHUT_WR)
            self.request.settimeout(_LINGER_SECONDS)
            for _ in range(_DISCARDED_BYTES // _CHUNK):
                if not self.request.recv(_CHUNK):
                    return

    def close(self) -> None:
        """End it from another thread: a blocked read ends at once."""
        with contextlib.suppress(OSError):  # the client may have closed it already
            self.request.shutdown(socket.SHUT_RDWR)

    def handle(self) -> None:
        try:
            while not self.server.stopping and self._one_request():
                self._protocol.start_next_cycle()
        except (TimeoutError, ConnectionError):
            return  # an idle client, or one that left: nobody is there to be told
        except h11.RemoteProtocolError as error:
            self._refuse(error)

    def _one_request(self) -> bool:
        """Read and answer one request; whether the connection can carry another one."""
        self._arrived[:] = self._protocol.trailing_data[0]
        head = self._next_event()
        if not isinstance(head, h11.Request):
            return False
        raw_head = bytes(self._arrived[: len(self._arrived) - len(self._protocol.trailing_data[0])])
        self._arrived.clear()
        if ambiguous(raw_head):
            self._send(self._UNKNOWN, problem(new_request_id(), BadRequest(_AMBIGUOUS)), close=True)
            return False
        started = time.monotonic()
        self.busy = True
        try:
            request, refusal = self._read(head)
            answer = refusal if refusal is not None else self.server.respond(request)
            self._send(request, answer)
        finally:
            self.busy = False
            self.server.idle()
        if self.server.report is not None:
            self.server.report(request, answer, time.monotonic() - started)
        return self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE

    def _read(self, head: h11.Request) -> tuple[Request, Answer | None]:
        """The whole request, or the head of it and the answer that refuses it."""
        request = self._to_request(head)
        if _head_bytes(head) > HEAD_BYTES:
            self._discard()
            return request, problem(request.id, HeadersTooLarge(f"at most {HEAD_BYTES} bytes"))
        if head.http_version not in (b"1.0", b"1.1"):
            self._discard()
            return request, problem(request.id, BadRequest("speak HTTP/1.1"))
        if not request.path.startswith("/"):
            self._discard()
            return request, problem(request.id, BadRequest("the request line must name a path"))
        too_large = TooLarge(f"at most {BODY_BYTES} bytes")
        declared = request.header("content-length")
        if self._protocol.they_are_waiting_for_100_continue:
            if declared is not None and int(declared) > BODY_BYTES:
                return request, problem(request.id, too_large)
            self._transmit(h11.InformationalResponse(status_code=100, headers=[], reason="Continue"))
        body = bytearray()
        while isinstance(event := self._next_event(), h11.Data):
            body += event.data
            if len(body) > BODY_BYTES:
                self._discard()
                return request, problem(request.id, too_large)
        if not isinstance(event, h11.EndOfMessage):
            raise ConnectionAbortedError  # the client left in the middle
        return replace(request, body=bytes(body)), None

    def _discard(self) -> None:
        """Read on without keeping it: a client that still sends would never see an answer given before."""
        dropped = 0
        while isinstance(event := self._next_event(), h11.Data) and dropped < _DISCARDED_BYTES:
            dropped += len(event.data)

    def _to_request(self, head: h11.Request) -> Request:
        target = head.target.decode("ascii")
        path, _, query = _origin_form(target).partition("?")
        return Request(
            method=head.method.decode("ascii"),
            path=path,
            query=query,
            headers=tuple((name.decode("ascii"), value.decode("latin-1")) for name, value in head.headers),
            source_ip=str(self.client_address[0]),
            protocol=f"HTTP/{head.http_version.decode('ascii')}",
        )

    def _next_event(self) -> object:
        while True:
            event = self._protocol.next_event()
            if event is not h11.NEED_DATA:
                return event
            data = self.request.recv(_CHUNK)
            if self._protocol.their_state is h11.IDLE:
                self._arrived += data
            self._protocol.receive_data(data)

    def _send(self, request: Request, answer: Answer, close: bool = False) -> None:
        headers = [(name, value) for name, value in answer.headers if name not in _OURS]
        headers.append(("date", format_datetime(datetime.now(UTC), usegmt=True)))
        headers.append(("apigw-requestid", request.id))
        bodyless = answer.status in (204, 304)
        if not bodyless:
            headers.append(("content-length", str(len(answer.body))))
        if self.server.stopping or close:
            headers.append(("connection", "close"))
        events: list[h11.Event] = [
            h11.Response(status_code=answer.status, headers=headers, reason=responses.get(answer.status, ""))
        ]
        if answer.body and not bodyless and request.method != "HEAD":
            events.append(h11.Data(data=answer.body))
        self._transmit(*events, h11.EndOfMessage())

    def _transmit(self, *events: h11.Event) -> None:
        data = b"".join(self._protocol.send(event) or b"" for event in events)
        self.request.sendall(data)

    def _refuse(self, error: h11.RemoteProtocolError) -> None:
        """Answer what is no HTTP, when that is still possible, and end the connection."""
        if self._protocol.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        too_large = error.error_status_hint == 431
        reason: LetheError = HeadersTooLarge() if too_large else BadRequest("the request is not HTTP/1.1")
        answer = problem(new_request_id(), reason)
        with contextlib.suppress(OSError):  # the client may be gone by now
            self._send(self._UNKNOWN, answer)
        if self.server.report is not None:
            self.server.report(self._UNKNOWN, answer, 0.0)


_OURS = frozenset({"content-length", "transfer-encoding", "connection", "date", "keep-alive", "upgrade"})


_AMBIGUOUS = "lines end in CR LF, and one Content-Length or one Transfer-Encoding says where the body ends"
_BODY_HEADER = re.compile(rb"^(content-length|transfer-encoding)[ \t]*:([^\r\n]*)", re.IGNORECASE | re.MULTILINE)


def ambiguous(head: bytes) -> bool:
    """Whether two readers of ``head``, the bytes from the request line to the empty line, could see two requests in it:
    h11 takes what RFC 9112 (2.2, 6.3) lets a server refuse, and a proxy in front might read it otherwise.
    """
    lengths = _BODY_HEADER.findall(head)
    return head.count(b"\n") != head.count(b"\r\n") or len(lengths) > 1 or any(b"," in value for _, value in lengths)


def _head_bytes(head: h11.Request) -> int:
    line = len(head.method) + len(head.target) + len("  HTTP/1.1\r\n")
    return line + sum(len(name) + len(value) + len(": \r\n") for name, value in head.headers)


def _origin_form(target: str) -> str:
    """Path and query of a request target; those of an absolute address too (RFC 9112 §3.2.2)."""
    if target.lower().startswith(("http://", "https://")):
        rest = target.split("://", 1)[1]
        slash = rest.find("/")
        return rest[slash:] if slash >= 0 else "/"
    return target
