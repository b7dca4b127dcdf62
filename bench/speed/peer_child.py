"""mem0 in its own environment, asked line by line: {"add": [texts]} or {"search": text}, each over one user.

The first line names a file of texts and their vectors: Lethe's model made them, so that embedding costs neither side
anything here; and the OpenSearch index that mem0 shall use, if it shall use one. Answers are lines of JSON with the
seconds that the call took.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp(prefix="mem0-")

import numpy as np
from mem0 import Memory  # type: ignore[import-not-found]  # in the other environment
from mem0.embeddings.base import EmbeddingBase  # type: ignore[import-not-found]  # as above
from qdrant_client import QdrantClient  # type: ignore[import-not-found]  # as above


class GivenVectors(EmbeddingBase):  # type: ignore[misc]  # the base has no types
    """mem0's embedder interface over vectors that are there already."""

    def __init__(self, path: str) -> None:
        super().__init__()
        with np.load(path) as given:
            self._rows = {str(text): row.tolist() for text, row in zip(given["texts"], given["vectors"], strict=True)}

    @property
    def dimensions(self) -> int:
        return len(next(iter(self._rows.values())))

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return list(self._rows[text])


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever mem0 prints is no answer
    wanted = json.loads(sys.stdin.readline())
    embedder = GivenVectors(wanted["vectors"])
    memory = _memory(embedder, wanted.get("opensearch"))
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        user = asked["user"]
        started = time.perf_counter()
        if "add" in asked:
            messages = [{"role": "user", "content": text} for text in asked["add"]]
            found = memory.add(messages, user_id=user, infer=False)
        else:
            found = memory.search(asked["search"], filters={"user_id": user}, top_k=5)
        seconds = time.perf_counter() - started
        print(json.dumps({"seconds": seconds, "results": len(found["results"])}), file=answers, flush=True)


def _memory(embedder: GivenVectors, opensearch: dict[str, object] | None) -> Memory:
    """Vectors in memory, nothing on disk but mem0's own history: the fastest that it can be set up here; or in an
    OpenSearch index.
    """
    provider, vectors = "qdrant", {"client": QdrantClient(":memory:"), "embedding_model_dims": embedder.dimensions}
    if opensearch is not None:
        plain = {"use_ssl": False, "verify_certs": False, "embedding_model_dims": embedder.dimensions}
        provider, vectors = "opensearch", {**opensearch, **plain}
    memory = Memory.from_config(
        {
            "embedder": {"provider": "openai", "config": {"api_key": "unused"}},
            "llm": {"provider": "openai", "config": {"api_key": "unused"}},
            "vector_store": {"provider": provider, "config": vectors},
            "history_db_path": os.path.join(os.environ["MEM0_DIR"], "history.db"),
        }
    )
    memory.embedding_model = embedder
    return memory


main()
