"""The HTTP server by bare sockets: what is no HTTP is answered or ended, never hung on, and others are served on."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import urllib3

from lethe_local.exchange import Answer, Request
from lethe_local.server import BODY_BYTES, HEAD_BYTES, HttpServer

OK = b"HTTP/1.1 200 "


def _respond(request: Request) -> Answer:
    facts = {"method": request.method, "path": request.path, "query": request.query, "length": len(request.body)}
    return Answer(200, (("content-type", "application/json"),), json.dumps(facts).encode())


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    server = HttpServer(0)
    server.serve(_respond)
    yield server
    server.stop()


@contextmanager
def _connected(server: HttpServer) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        yield client


def _said_until_the_end(client: socket.socket) -> bytes:
    answer = b""
    while part := client.recv(65_536):
        answer += part
    return answer


def _exchange(server: HttpServer, sent: bytes) -> bytes:
    """All that the server says to ``sent`` and the end of it."""
    with _connected(server) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        return _said_until_the_end(client)


def _get(extra: str = "", target: str = "/a?b=c", version: str = "1.1") -> bytes:
    return f"GET {target} HTTP/{version}\r\nHost: here\r\n{extra}\r\n".encode("latin-1")


def _code(answer: bytes) -> str:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    document = json.loads(body)
    return f"{document['status']} {document['code']}"


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /a HTTP/1.1\r\n\r\n",  # no host
        b"GET /a HTTP/9.9\r\nHost: here\r\n\r\n",
        b"GET /\xc3\xa9 HTTP/1.1\r\nHost: here\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: here\r\n\r\n",
        _get("no colon\r\n"),
        _get("Bad Name: x\r\n"),
        _get("X: a\x00b\r\n"),
        _get("Content-Length: many\r\n"),
        _get("Content-Length: 1\r\nContent-Length: 2\r\n"),
        _get("Transfer-Encoding: gzip\r\n"),
        b"CONNECT there:443 HTTP/1.1\r\nHost: there\r\n\r\n",
    ],
)
def test_what_is_no_request_gets_an_error_and_the_end(server: HttpServer, sent: bytes) -> None:
    status = _code(_exchange(server, sent))
    assert status in ("400 invalid_header", "501 invalid_header")
    assert _exchange(server, _get()).startswith(OK)


AMBIGUOUS = [
    "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
    "Content-Length: 4, 4\r\n",
    "content-length: 4\r\nCONTENT-LENGTH: 4\r\n",
    "Content-Length: 4\n",
    "X: y\nContent-Length: 4\r\n",
]


@pytest.mark.parametrize("headers", AMBIGUOUS)
def test_what_two_readers_could_read_in_two_ways_ends_the_connection(server: HttpServer, headers: str) -> None:
    """A second request hides in the body; none of it may be acted upon."""
    sent = f"POST /a HTTP/1.1\r\nHost: here\r\n{headers}\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: here\r\n\r\n"
    for before in (b"", _get(target="/first")):
        answer = _exchange(server, before + sent.encode())
        ours = answer.rpartition(b"HTTP/1.1 ")[2]
        assert answer.count(b"HTTP/1.1 ") == 1 + bool(before)
        assert _code(ours) == "400 invalid_header"
        assert b"connection: close" in ours.lower()
        assert b"hidden" not in answer


def test_lines_that_end_in_lf_alone_are_no_request(server: HttpServer) -> None:
    assert _code(_exchange(server, b"GET /a HTTP/1.1\nHost: here\n\n")) == "400 invalid_header"


def test_a_head_that_comes_byte_by_byte_is_read_whole(server: HttpServer) -> None:
    body = "Content-Length: 3\r\nConnection: close\r\n"
    for headers, found in ((body, b'"length": 3'), ("Content-Length: 3, 3\r\n", b"400")):
        with _connected(server) as client:
            for byte in f"POST /a HTTP/1.1\r\nHost: here\r\n{headers}\r\n".encode():
                client.sendall(bytes([byte]))
            client.sendall(b"abc")
            assert found in _said_until_the_end(client)


def test_a_body_may_hold_whatever_looks_like_a_head(server: HttpServer) -> None:
    body = b"a\nContent-Length: 1\nTransfer-Encoding: x\n"
    head = f"POST /a HTTP/1.1\r\nHost: here\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    assert _exchange(server, head + body + head + body).count(OK) == 2


def test_a_request_that_stops_in_the_middle_is_not_acted_upon(server: HttpServer) -> None:
    half = b"POST /a HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\nabc"
    assert _code(_exchange(server, half)) == "400 invalid_header"
    assert _exchange(server, b"") == b""
    assert _exchange(server, _get()).startswith(OK)


@pytest.mark.parametrize(("filler", "status"), [(HEAD_BYTES - 200, None), (HEAD_BYTES, "431 too_large")])
def test_headers_have_a_limit(server: HttpServer, filler: int, status: str | None) -> None:
    answer = _exchange(server, _get(f"X-Filler: {'x' * filler}\r\nConnection: close\r\n"))
    if status is None:
        assert answer.startswith(OK)
    else:
        assert _code(answer) == status


def test_endless_headers_and_targets_are_cut_off(server: HttpServer) -> None:
    assert _code(_exchange(server, b"GET /" + b"a" * 200_000)) == "431 too_large"
    many = "".join(f"X-{number}: {'y' * 90}\r\n" for number in range(2_000))
    assert _code(_exchange(server, _get(many))) == "431 too_large"


def test_a_connection_carries_many_requests_also_sent_ahead(server: HttpServer) -> None:
    answers = _exchange(server, _get() + _get(target="/second") + _get("Connection: close\r\n", "/third"))
    assert answers.count(OK) == 3
    assert answers.index(b"/second") < answers.index(b"/third")


def test_an_old_client_is_served_and_let_go(server: HttpServer) -> None:
    with _connected(server) as client:
        client.sendall(b"GET /a HTTP/1.0\r\n\r\n")
        answer = _said_until_the_end(client)
    assert answer.startswith(OK)
    assert b'"path": "/a"' in answer


def test_an_absolute_target_means_its_path(server: HttpServer) -> None:
    answer = _exchange(server, _get("Connection: close\r\n", target="http://here:80/x/y?z=1"))
    assert b'"path": "/x/y", "query": "z=1"' in answer
    assert b'"path": "/"' in _exchange(server, _get("Connection: close\r\n", target="HTTP://here"))


def test_a_client_that_asks_first_is_told_before_it_sends(server: HttpServer) -> None:
    ask = "POST /a HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: {}\r\n\r\n"
    with _connected(server) as client:
        client.sendall(ask.format(3).encode())
        assert client.recv(65_536).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"abc")
        assert b'"length": 3' in _said_until_the_end(client)
    with _connected(server) as client:
        client.sendall(ask.format(BODY_BYTES + 1).encode())
        assert _code(_said_until_the_end(client)) == "413 too_large"


def test_a_body_over_the_limit_is_read_to_its_end_and_refused(server: HttpServer) -> None:
    with urllib3.PoolManager(retries=False, maxsize=1) as pool:
        for body in (b"x" * (BODY_BYTES + 1), iter([b"y" * BODY_BYTES, b"y"])):
            answer = pool.request("POST", f"http://127.0.0.1:{server.port}/a", body=body)
            assert (answer.status, answer.json()["code"]) == (413, "too_large")
        exact = pool.request("POST", f"http://127.0.0.1:{server.port}/a", body=b"x" * BODY_BYTES)
        assert exact.json()["length"] == BODY_BYTES


def test_stop_lets_the_running_request_answer_and_frees_the_port() -> None:
    server = HttpServer(0)
    server.serve(_respond)
    port = server.port
    with _connected(server) as idle:
        idle.sendall(_get())
        assert idle.recv(65_536).startswith(OK)
        server.stop()
        assert idle.recv(65_536) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    again = HttpServer(port)
    again.stop()


def test_a_port_that_is_taken_is_an_error(server: HttpServer) -> None:
    with pytest.raises(OSError, match="in use"):
        HttpServer(server.port)
