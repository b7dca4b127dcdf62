"""Embeddings of any server with an OpenAI-compatible ``/embeddings`` call: OpenAI, vLLM, Ollama, LM Studio, others.

The protocol is https://platform.openai.com/docs/api-reference/embeddings/create.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import numpy as np
import urllib3
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from urllib3.exceptions import HTTPError

from lethe import __version__
from lethe.adapters.embedding_support import (
    Deadline,
    Failure,
    ModelMisconfigured,
    Patience,
    Purpose,
    Vectors,
    batches,
    each,
    misconfigured,
    passing,
    persist,
    refused,
    sendable,
    stack,
    throttled,
    unit_vectors,
)
from lethe.adapters.endpoint_urls import checked_base_url
from lethe.domain.embedding import EmbeddingModel
from lethe.domain.immutable import immutable

_LONGEST_ANSWER: Final = 32 * 2**20
_SHORTEST_ATTEMPT: Final = 0.25
_PIECE: Final = 2**16

Rows = Sequence[Sequence[float] | NDArray[np.float32]]


class _Item(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)

    index: int = Field(ge=0)
    embedding: list[float] | str


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)

    data: list[_Item]


@immutable
class OpenAISettings:
    """Where and how the server is called.

    Attributes:
        base_url: The part before ``/embeddings``, such as ``https://api.openai.com/v1``; from configuration only.
        api_key: Gives the key when it is needed (it may come from a secret and be rotated); None sends none.
        shorten: Whether to send ``dimensions``. Only for models that can shorten their vectors: vLLM, for one,
            refuses the field for any other, even with the model's own length.
        texts_a_call: Texts in one request; 32 is what the more careful servers take at most.
        characters_a_call: Characters in one request; OpenAI takes 300,000 tokens.
        characters_a_text: Characters of a text that are sent; OpenAI takes 8,192 tokens.
        workers: Requests in flight at once.
        connect_seconds: Time to connect.
        read_seconds: Time between two pieces of an answer.
        patience: Attempts, pauses and deadlines.
        today: The time, for a ``Retry-After`` that is a date.
    """

    base_url: str
    api_key: Callable[[], str] | None = field(default=None, repr=False)
    shorten: bool = False
    texts_a_call: int = 32
    characters_a_call: int = 60_000
    characters_a_text: int = 8_000
    workers: int = 4
    connect_seconds: float = 1.0
    read_seconds: float = 5.0
    patience: Patience = field(default_factory=Patience)
    today: Callable[[], datetime] = lambda: datetime.now(UTC)


class OpenAICompatibleEmbedder:
    """The Embedder port over ``POST <base URL>/embeddings``; redirects are not followed."""

    def __init__(self, model_name: str, dimensions: int, settings: OpenAISettings) -> None:
        """Set the model; no call happens before the first text. Raises ValueError for a URL that is not allowed."""
        self._url = f"{checked_base_url(settings.base_url)}/embeddings"
        self._model_name = model_name
        self._model = EmbeddingModel(f"openai/{model_name}", str(dimensions), dimensions)
        self._settings = settings
        self._http = urllib3.PoolManager(maxsize=settings.workers)

    @property
    def model(self) -> EmbeddingModel:
        """Such as ``openai/text-embedding-3-small@512``: other dimensions are other vectors."""
        return self._model

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """One unit vector a text. Texts beyond ``characters_a_text`` are embedded by their beginning.

        Raises:
            Throttled: The server says so, after retries.
            Unavailable: No usable answer in time, after retries.
            ModelMisconfigured: Key, address, model or dimensions are wrong.
        """
        settings = self._settings
        deadline = settings.patience.deadline(purpose)
        whole = [sendable(text, settings.characters_a_text) for text in texts]
        work = list(batches(whole, settings.texts_a_call, settings.characters_a_call))
        parts = each(work, lambda batch: self._embed_batch(batch, deadline), settings.workers)
        return stack(parts, self._model)

    def _embed_batch(self, batch: list[str], deadline: Deadline) -> Vectors:
        request: dict[str, object] = {"model": self._model_name, "input": batch, "encoding_format": "float"}
        if self._settings.shorten:
            request["dimensions"] = self._model.dimensions
        body, headers = json.dumps(request).encode(), self._headers()
        rows = persist(
            lambda: self._ask(body, headers, deadline),
            self._model,
            self._settings.patience,
            deadline,
            shortest=_SHORTEST_ATTEMPT,
        )
        return unit_vectors(rows, len(batch), self._model)

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": f"lethe/{__version__}",
        }
        key = "" if self._settings.api_key is None else self._settings.api_key().strip()
        if not (key.isascii() and key.isprintable()) or " " in key:
            # The HTTP library would refuse such a header too, and quote the key.
            raise ModelMisconfigured(f"{self._model.label}: the API key has characters that no key has")
        if key:
            headers["Authorization"] = f"Bearer {key}"
        return headers

    def _ask(self, body: bytes, headers: dict[str, str], deadline: Deadline) -> Rows | Failure:
        settings, left = self._settings, max(deadline.remaining(), _SHORTEST_ATTEMPT)
        try:
            response = self._http.request(
                "POST",
                self._url,
                body=body,
                headers=headers,
                redirect=False,
                retries=False,
                preload_content=False,
                timeout=urllib3.Timeout(
                    connect=min(settings.connect_seconds, left), read=min(settings.read_seconds, left)
                ),
            )
        except (HTTPError, OSError):
            return passing(self._model, "the model did not answer in time or broke off")
        try:
            if response.status != 200:
                return self._refusal(response.status, response.headers.get("Retry-After"))
            answer = self._read(response, deadline)
        except (HTTPError, OSError):
            return passing(self._model, "the model did not answer in time or broke off")
        finally:
            # A whole answer has given its connection back by now; what is unread otherwise is not worth reading.
            response.close()
        return answer if isinstance(answer, Failure) else self._rows(answer)

    def _read(self, response: urllib3.BaseHTTPResponse, deadline: Deadline) -> bytes | Failure:
        """The whole answer, unless it is too long or comes so slowly that the deadline passes."""
        answer = bytearray()
        while piece := response.read1(_PIECE):
            answer += piece
            if len(answer) > _LONGEST_ANSWER:
                return refused(self._model, "the model's answer is too long")
            if deadline.remaining() < 0:
                return refused(self._model, "the model's answer comes too slowly")
        return bytes(answer)

    def _rows(self, answer: bytes) -> Rows | Failure:
        """The vectors in the order of the texts, whatever the order of the answer."""
        try:
            items = sorted(_Answer.model_validate_json(answer).data, key=lambda item: item.index)
            rows = [_numbers(item.embedding) for item in items]
        except (ValidationError, binascii.Error, ValueError):
            return passing(self._model, "the model's answer has not the documented form")
        if [item.index for item in items] != list(range(len(items))):
            return refused(self._model, "the model numbered its vectors wrongly")
        return rows

    def _refusal(self, status: int, retry_after: str | None) -> Failure:
        """What an error answer means; its body is not read, since it may quote the text."""
        wait = _seconds(retry_after, self._settings.today)
        if status == 429:
            return throttled(self._model, wait)
        if status in (408, 409, 425) or status >= 500:
            return passing(self._model, f"the model failed (status {status})", wait)
        if 300 <= status < 400:
            what = "the server redirects elsewhere, which is not followed; set the address where the model answers"
            return misconfigured(self._model, what)
        if status in (401, 403):
            return misconfigured(self._model, f"the server refuses the API key (status {status})")
        if status in (404, 405):
            return misconfigured(self._model, f"the server has not this path or model (status {status})")
        return refused(self._model, f"the model refused the request (status {status})")


def _numbers(embedding: list[float] | str) -> Sequence[float] | NDArray[np.float32]:
    """A vector as sent: numbers, or base64 of little-endian 32-bit floats, which some servers answer unasked."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return embedding


def _seconds(retry_after: str | None, today: Callable[[], datetime]) -> float | None:
    """Seconds to wait by a ``Retry-After`` header (RFC 9110, 10.2.3): a count or a date; None for anything else."""
    if retry_after is None:
        return None
    value = retry_after.strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - today()).total_seconds())
