"""Embeddings of Amazon Bedrock: Titan Text Embeddings V2 and Cohere Embed Multilingual v3.

Requests and answers follow
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html and
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed-v3.html.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import field
from typing import Final, Protocol, TypedDict, cast

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError
from pydantic import BaseModel, ConfigDict, ValidationError
from urllib3.exceptions import HTTPError

from lethe.adapters.aws_logging import quiet_botocore
from lethe.adapters.aws_session import aws_session
from lethe.adapters.embedding_support import (
    Deadline,
    Failure,
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

TITAN: Final = "amazon.titan-embed-text-v2:0"
COHERE: Final = "cohere.embed-multilingual-v3"

# Titan answers 256, 512 or 1,024 numbers. 512 is the default for what storage costs: a vector is 4 bytes a number,
# so with 1,024 every memory outgrows the 4 KB that DynamoDB reads for one unit (and pays 4 units more to write),
# and the scan engine reads twice the bytes on a cold start; AWS names about 1 % of retrieval accuracy as the price.
_TITAN_DIMENSIONS: Final = (512, 256, 1024)

_QUOTA_CODES: Final = frozenset(("ThrottlingException", "ServiceQuotaExceededException", "ModelNotReadyException"))


class _Body(Protocol):
    def read(self) -> bytes: ...


class _Invoked(TypedDict):
    body: _Body


class _Runtime(Protocol):
    """The one call of the ``bedrock-runtime`` client that is used here."""

    def invoke_model(
        self,
        *,
        modelId: str,  # noqa: N803  # botocore's spelling
        body: bytes,
        contentType: str,  # noqa: N803  # botocore's spelling
        accept: str,
    ) -> _Invoked: ...


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)


class _TitanAnswer(_Strict):
    embedding: list[float]


class _CohereByType(_Strict):
    float: list[list[float]]


class _CohereAnswer(_Strict):
    embeddings: list[list[float]] | _CohereByType


class _Dialect(Protocol):
    """How one family of models is spoken to."""

    @property
    def texts_a_call(self) -> int: ...

    @property
    def characters_a_text(self) -> int: ...

    @property
    def dimensions(self) -> tuple[int, ...]: ...  # the first is the default

    def request(self, texts: Sequence[str], purpose: Purpose, dimensions: int) -> dict[str, object]: ...

    def rows(self, answer: bytes) -> list[list[float]]: ...


@immutable
class _Titan:
    texts_a_call: int = 1
    # Up to 50,000 characters and 8,192 tokens; Chinese needs about a token a character.
    characters_a_text: int = 8_000
    dimensions: tuple[int, ...] = _TITAN_DIMENSIONS

    def request(self, texts: Sequence[str], purpose: Purpose, dimensions: int) -> dict[str, object]:
        del purpose  # Titan makes no difference between what is stored and what is asked
        return {"inputText": texts[0], "dimensions": dimensions, "normalize": True}

    def rows(self, answer: bytes) -> list[list[float]]:
        return [_TitanAnswer.model_validate_json(answer).embedding]


@immutable
class _Cohere:
    texts_a_call: int = 96
    # ``truncate`` works on tokens only: a longer text is refused before the model sees it.
    characters_a_text: int = 2_048
    dimensions: tuple[int, ...] = (1024,)

    def request(self, texts: Sequence[str], purpose: Purpose, dimensions: int) -> dict[str, object]:
        del dimensions  # always 1,024, and no field of the request
        input_type = "search_query" if purpose == "query" else "search_document"
        return {"texts": list(texts), "input_type": input_type, "truncate": "END"}

    def rows(self, answer: bytes) -> list[list[float]]:
        embeddings = _CohereAnswer.model_validate_json(answer).embeddings
        return embeddings.float if isinstance(embeddings, _CohereByType) else embeddings


_DIALECTS: Final[dict[str, _Dialect]] = {TITAN: _Titan(), COHERE: _Cohere()}


@immutable
class BedrockSettings:
    """Where and how Bedrock is called.

    ``endpoint_url`` replaces the regional endpoint (a VPC endpoint, a test server). The times are in seconds and fit a
    Lambda of 29 s; ``workers`` bounds the calls in flight, which matters for Titan's one text a call.
    """

    region: str
    endpoint_url: str | None = None
    connect_seconds: float = 1.0
    read_seconds: float = 5.0
    workers: int = 8
    patience: Patience = field(default_factory=Patience)


class BedrockEmbedder:
    """The Embedder port over ``InvokeModel``; needs ``bedrock:InvokeModel`` on the model and nothing else."""

    def __init__(
        self,
        model_id: str,
        settings: BedrockSettings,
        dimensions: int | None = None,
        session: botocore.session.Session | None = None,
    ) -> None:
        """Set the model; no client is made and no call happens before the first text.

        Raises:
            ValueError: The model is unknown, cannot have these dimensions, or the endpoint is not allowed.
        """
        if model_id not in _DIALECTS:
            raise ValueError(f"of Bedrock's models these are known: {', '.join(_DIALECTS)}")
        self._dialect = _DIALECTS[model_id]
        chosen = self._dialect.dimensions[0] if dimensions is None else dimensions
        if chosen not in self._dialect.dimensions:
            allowed = ", ".join(str(d) for d in sorted(self._dialect.dimensions))
            raise ValueError(f"{model_id} has vectors of {allowed} dimensions")
        self._endpoint = None if settings.endpoint_url is None else checked_base_url(settings.endpoint_url)
        self._model_id = model_id
        self._model = EmbeddingModel(f"bedrock/{model_id}", str(chosen), chosen)
        self._settings = settings
        self._session = session
        self._runtime: _Runtime | None = None
        self._lock = threading.Lock()

    @property
    def model(self) -> EmbeddingModel:
        """Such as ``bedrock/amazon.titan-embed-text-v2:0@512``: other dimensions are other vectors."""
        return self._model

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """One unit vector a text. Texts beyond the model's limit are embedded by their beginning.

        Raises:
            Throttled: Bedrock's quota is used up, after retries.
            Unavailable: No usable answer in time, after retries.
            ModelMisconfigured: Without rights, access to the model, credentials, or with wrong dimensions.
        """
        dialect, deadline = self._dialect, self._settings.patience.deadline(purpose)
        whole = [sendable(text, dialect.characters_a_text) for text in texts]
        work = list(batches(whole, dialect.texts_a_call, dialect.texts_a_call * dialect.characters_a_text))
        parts = each(work, lambda batch: self._embed_batch(batch, purpose, deadline), self._settings.workers)
        return stack(parts, self._model)

    def _embed_batch(self, batch: list[str], purpose: Purpose, deadline: Deadline) -> Vectors:
        request = self._dialect.request(batch, purpose, self._model.dimensions)
        body = json.dumps(request).encode()
        settings = self._settings
        rows = persist(
            lambda: self._ask(body),
            self._model,
            settings.patience,
            deadline,
            shortest=settings.connect_seconds + settings.read_seconds,
        )
        return unit_vectors(rows, len(batch), self._model)

    def _ask(self, body: bytes) -> list[list[float]] | Failure:
        try:
            answer = self._client().invoke_model(
                modelId=self._model_id, body=body, contentType="application/json", accept="application/json"
            )
            return self._dialect.rows(answer["body"].read())
        except ClientError as error:
            return self._refusal(error)
        except (NoCredentialsError, PartialCredentialsError):
            return misconfigured(self._model, "there are no AWS credentials")
        except (BotoCoreError, HTTPError, OSError):
            return passing(self._model, "the model did not answer in time or broke off")
        except ValidationError:
            return passing(self._model, "the model's answer has not the documented form")

    def _refusal(self, error: ClientError) -> Failure:
        """What an error answer means; its message is dropped, since it may quote the text."""
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        if status == 429 or error.response["Error"].get("Code") in _QUOTA_CODES:
            return throttled(self._model)
        if status in (401, 403):
            return misconfigured(self._model, f"Bedrock denies access to the model (status {status})")
        if status == 404:
            return misconfigured(self._model, "this region does not have the model (status 404)")
        if status in (408, 424) or status >= 500:
            return passing(self._model, f"the model failed (status {status})")
        return refused(self._model, f"the model refused the request (status {status})")

    def _client(self) -> _Runtime:
        """The client, made once; botocore's session must not be used by two threads at a time."""
        with self._lock:
            if self._runtime is None:
                quiet_botocore()
                session = self._session or aws_session()
                settings = self._settings
                config = Config(
                    connect_timeout=settings.connect_seconds,
                    read_timeout=settings.read_seconds,
                    max_pool_connections=settings.workers,
                    # One attempt: retries happen above, within one deadline for all batches.
                    retries={"mode": "standard", "total_max_attempts": 1},
                )
                client = session.create_client(
                    "bedrock-runtime", region_name=settings.region, endpoint_url=self._endpoint, config=config
                )
                self._runtime = cast(_Runtime, client)
            return self._runtime
