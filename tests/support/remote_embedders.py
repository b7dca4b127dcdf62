"""The remote embedders pointed at a loopback server, with a clock that only sleeping moves."""

from datetime import UTC, datetime
from typing import Protocol

import botocore.session

from lethe.adapters.bedrock import COHERE, TITAN, BedrockEmbedder, BedrockSettings
from lethe.adapters.embedding_support import Patience
from lethe.adapters.openai_compatible import OpenAICompatibleEmbedder, OpenAISettings
from lethe.ports import Embedder
from tests.support.embedding_servers import (
    NATIVE_DIMENSIONS,
    EmbeddingServer,
)

SESSION = botocore.session.Session()  # one for all: reading botocore's data takes a while
SESSION.set_credentials("AKIDEXAMPLE", "secret")


class Time:
    """A clock that only sleeping moves, and the pauses that were slept."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def patience(self, jitter: float = 1.0) -> Patience:
        return Patience(clock=self.clock, sleep=self.sleep, jitter=lambda: jitter)


def titan(server: EmbeddingServer, time: Time, *, dimensions: int | None = None, read: float = 5.0) -> Embedder:
    settings = BedrockSettings("eu-central-1", server.url, read_seconds=read, patience=time.patience())
    return BedrockEmbedder(TITAN, settings, dimensions, SESSION)


def cohere(server: EmbeddingServer, time: Time, *, read: float = 5.0) -> Embedder:
    settings = BedrockSettings("eu-central-1", server.url, read_seconds=read, patience=time.patience())
    return BedrockEmbedder(COHERE, settings, None, SESSION)


def openai(server: EmbeddingServer, time: Time, *, read: float = 5.0, key: str | None = None) -> Embedder:
    settings = OpenAISettings(
        f"{server.url}/v1/",
        api_key=None if key is None else lambda: key,
        read_seconds=read,
        patience=time.patience(),
        today=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
    return OpenAICompatibleEmbedder("tiny", NATIVE_DIMENSIONS, settings)


class Maker(Protocol):
    def __call__(self, server: EmbeddingServer, time: Time, *, read: float = ...) -> Embedder: ...


MAKERS: dict[str, Maker] = {"titan": titan, "cohere": cohere, "openai": openai}
