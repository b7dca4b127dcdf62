"""Embedding models, and the upkeep of the vectors that memories carry."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lethe.entry.settings import ReembedSettings, WritingSettings
from lethe.entry.wiring.stores import open_database, read_secret

if TYPE_CHECKING:
    from lethe.ports import Embedder
    from lethe.services.embedding import MemoryEmbedder
    from lethe.services.reembedding import Reembedder


def open_embedder(region: str, name: str, url: str | None = None, key_arn: str | None = None) -> Embedder:
    """The embedder of a setting, its URL and the secret of its key. Raises ValueError."""
    from lethe.adapters.embedders import make_embedder

    api_key = (lambda: read_secret(region, key_arn)) if key_arn else None
    return make_embedder(name, region=region, url=url, api_key=api_key)


def memory_embedder(settings: WritingSettings | ReembedSettings) -> MemoryEmbedder:
    """What gives memories their vectors: of the model that serves, and of the second one where there is one."""
    from lethe.services.embedding import MemoryEmbedder

    region = settings.region
    first = open_embedder(region, settings.embedder, settings.embedder_url, settings.embedder_key_arn)
    if settings.second_embedder is None:
        return MemoryEmbedder(first)
    url, key_arn = settings.second_embedder_url, settings.second_embedder_key_arn
    return MemoryEmbedder(first, open_embedder(region, settings.second_embedder, url, key_arn))


def reembedder(environment: Mapping[str, str]) -> Reembedder:
    """The upkeep of vectors, for the command line."""
    from lethe.adapters.dynamodb.heads import DynamoSubjectHeads
    from lethe.adapters.dynamodb.reembedding import DynamoMemoryVectors
    from lethe.services.reembedding import Reembedder

    settings = ReembedSettings.from_environment(environment)
    database = open_database(
        settings.region,
        settings.dynamodb_endpoint,
        subjects=settings.subjects_table,
        memories=settings.memories_table,
    )
    return Reembedder(
        DynamoSubjectHeads(database), DynamoMemoryVectors(database), memory_embedder(settings), time.sleep
    )
