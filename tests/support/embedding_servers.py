"""A loopback server that speaks Bedrock's InvokeModel and OpenAI's embeddings, and can misbehave by script.

It checks requests as the vendors document them, so that a wrong request fails here too. Its vectors are those of
the fake embedder, times 3.7, so that nobody gets unit vectors by luck. Its refusals quote the request, as vendors'
sometimes do.
"""

import base64
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import unquote

import numpy as np

from tests.fakes.embedder import word_vector

Body = dict[str, Any]
NATIVE_DIMENSIONS = 48
"""Length of the OpenAI-compatible model's vectors unless a request asks for others."""


@dataclass(frozen=True)
class Fault:
    """How one request is answered instead of well. Only what is set differs from a good answer."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    change: Callable[[Body], Body] | None = None
    raw: bytes | None = None
    cut_to: int | None = None
    silent: bool = False
    endless: bool = False
    reset: bool = False

    def __str__(self) -> str:
        return " ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name))


SILENT = Fault(silent=True)
RESET = Fault(reset=True)
ENDLESS = Fault(endless=True)
CUT_BODY = Fault(cut_to=40)


def status(code: int, **headers: str) -> Fault:
    """An error answer; `retry_after="2"` becomes the header Retry-After."""
    return Fault(status=code, headers={name.replace("_", "-").title(): value for name, value in headers.items()})


def changed(change: Callable[[Body], Body]) -> Fault:
    """A good answer whose body went through `change`."""
    return Fault(change=change)


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Body


class Refusal(Exception):
    """The request is not what the vendor documents."""


def _vector(text: str, dimensions: int) -> list[float]:
    return [float(x) for x in 3.7 * word_vector(text, dimensions)]


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise Refusal(message)


def _titan(body: Body) -> Body:
    _need(set(body) <= {"inputText", "dimensions", "normalize", "embeddingTypes"}, "unknown field")
    text, dimensions = body["inputText"], body.get("dimensions", 1024)
    _need(isinstance(text, str) and 1 <= len(text) <= 50_000 and bool(text.strip()), f"bad inputText: {text}")
    _need(dimensions in (256, 512, 1024), "bad dimensions")
    vector = _vector(text, dimensions)
    return {"embedding": vector, "inputTextTokenCount": len(text) // 4, "embeddingsByType": {"float": vector}}


def _cohere(body: Body) -> Body:
    _need(set(body) <= {"texts", "input_type", "truncate", "embedding_types"}, "unknown field")
    texts = body["texts"]
    _need(isinstance(texts, list) and 1 <= len(texts) <= 96, "bad number of texts")
    for text in texts:
        _need(isinstance(text, str) and 1 <= len(text) <= 2048, f"expected maxLength: 2048: {text}")
    _need(body["input_type"] in ("search_document", "search_query"), "bad input_type")
    _need(body.get("truncate", "NONE") in ("NONE", "START", "END"), "bad truncate")
    return {
        "id": "5b6d",
        "response_type": "embeddings_floats",
        "texts": texts,
        "embeddings": [_vector(text, 1024) for text in texts],
    }


def _openai(body: Body, as_base64: bool) -> Body:
    _need(set(body) <= {"model", "input", "encoding_format", "dimensions", "user"}, "unknown field")
    texts, dimensions = body["input"], body.get("dimensions", NATIVE_DIMENSIONS)
    _need(isinstance(texts, list) and 1 <= len(texts) <= 2048, "bad number of inputs")
    _need(all(isinstance(t, str) and t.strip() for t in texts), f"blank input in {texts}")
    _need(body.get("encoding_format", "float") in ("float", "base64"), "bad encoding_format")
    vectors: list[list[float] | str] = [_vector(text, dimensions) for text in texts]
    if as_base64 or body.get("encoding_format") == "base64":
        vectors = [base64.b64encode(np.array(v, "<f4").tobytes()).decode() for v in vectors]
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    return {"object": "list", "model": body["model"], "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


class EmbeddingServer:
    """Answers well, but for the faults of `script`, one a request, and `always` once the script is over."""

    def __init__(
        self, *script: Fault, always: Fault | None = None, key: str | None = None, as_base64: bool = False
    ) -> None:
        self.asked: list[Asked] = []
        self.connections = 0
        self._script = deque(script)
        self._always, self._key, self._as_base64 = always, key, as_base64
        self.lock = threading.Lock()
        self.open = threading.Event()
        self.open.set()
        self.over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"service": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """Endpoint for Bedrock; `/v1` behind it is the OpenAI-compatible base URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def bodies(self) -> list[Body]:
        return [asked.body for asked in self.asked]

    def __enter__(self) -> "EmbeddingServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Every request within fails, as long as it is tried."""
        with self.lock:
            before, self._always = self._always, status(500)
        try:
            yield
        finally:
            with self.lock:
                self._always = before

    @contextmanager
    def held(self) -> Iterator[None]:
        """Requests that arrive within are answered when the block has ended."""
        self.open.clear()
        try:
            yield
        finally:
            self.open.set()

    def next_fault(self) -> Fault | None:
        with self.lock:
            return self._script.popleft() if self._script else self._always

    def answer(self, asked: Asked) -> tuple[int, Mapping[str, str], Body]:
        try:
            if asked.path == "/v1/embeddings":
                if self._key is not None and asked.headers.get("authorization") != f"Bearer {self._key}":
                    return 401, {}, {"error": {"message": f"wrong key {asked.headers.get('authorization')}"}}
                return 200, {}, _openai(asked.body, self._as_base64)
            model = unquote(asked.path).removeprefix("/model/").removesuffix("/invoke")
            _need(asked.headers.get("content-type") == "application/json", "bad content type")
            if model == "amazon.titan-embed-text-v2:0":
                return 200, {}, _titan(asked.body)
            if model == "cohere.embed-multilingual-v3":
                return 200, {}, _cohere(asked.body)
            return 404, {"x-amzn-ErrorType": "ResourceNotFoundException"}, {"message": f"no model {model}"}
        except Refusal as refusal:
            return 400, {"x-amzn-ErrorType": "ValidationException"}, {"message": str(refusal)}


class _Handler(BaseHTTPRequestHandler):
    service: EmbeddingServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        with self.service.lock:
            self.service.connections += 1

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, sent)
        with self.service.lock:
            self.service.asked.append(asked)
        self.service.open.wait(30)
        fault = self.service.next_fault()
        if fault is None:
            self._send(*self.service.answer(asked))
        else:
            self._misbehave(fault, asked)

    def _misbehave(self, fault: Fault, asked: Asked) -> None:
        if fault.silent:
            self.service.over.wait()
            self.close_connection = True
        elif fault.reset:
            # With a linger of 0 seconds closing sends RST instead of FIN.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
        elif fault.endless:
            self._send_forever()
        elif fault.status != 200:
            self._send(fault.status, fault.headers, {"message": f"no: {asked.body}"})
        else:
            _, headers, body = self.service.answer(asked)
            self._send(200, headers, fault.change(body) if fault.change else body, fault.raw, fault.cut_to)

    def _send(
        self, code: int, headers: Mapping[str, str], body: Body, raw: bytes | None = None, cut_to: int | None = None
    ) -> None:
        data = json.dumps(body).encode() if raw is None else raw
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:cut_to])
        if cut_to is not None:
            self.close_connection = True

    def _send_forever(self) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while not self.service.over.is_set():
                self.wfile.write(b" " * 2**16)
        except OSError:
            return  # the client has had enough

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the output of a test run is for tests."""
