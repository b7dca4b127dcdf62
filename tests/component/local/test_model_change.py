"""A change of the embedding model on the laptop, by the settings and the command that docs/models.md names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lethe.entry.wiring.embedding import reembedder
from lethe.services.reembedding import Reembedded
from lethe_local.stack import LocalStack, StackOptions
from tests.support.api import ROOT, Api, ApiStack
from tests.support.embedding_servers import EmbeddingServer

OLD, NEW = "openai:old-words?dimensions=48", "openai:new-words?dimensions=48"
LABELS = {OLD: "openai/old-words@48", NEW: "openai/new-words@48"}


class Laptop:
    """One state folder, run with one model after the other."""

    def __init__(self, folder: Path, embeddings: EmbeddingServer) -> None:
        self._folder = folder
        self._embeddings = embeddings
        self._presented: str | None = None

    @contextmanager
    def runs(self, embedder: str, second: str | None = None) -> Iterator[tuple[ApiStack, Api]]:
        address = self._embeddings.url + "/v1"
        settings = {"LETHE_EMBEDDER": embedder, "LETHE_EMBEDDER_URL": address}
        if second is not None:
            settings |= {"LETHE_SECOND_EMBEDDER": second, "LETHE_SECOND_EMBEDDER_URL": address}
        with LocalStack.start(StackOptions(ROOT, self._folder, settings=settings, say=print)) as local:
            stack = ApiStack(local, self._embeddings)
            try:
                if self._presented is None:
                    stack.access.create_tenant("acme")
                    _, self._presented = stack.access.create_key("acme", ("read", "write"))
                yield stack, Api(stack.wire, self._presented)
            finally:
                stack.wire.close()


def found_by_meaning(api: Api) -> int:
    """How many memories the vector of the question was compared with."""
    body = {"user_id": "ann", "query": "Which bird is fond of trout?", "threshold": 0, "top_k": 50, "explain": True}
    answer: dict[str, Any] = api.post("/v1/memories/search", body).ok()
    assert not answer["degraded"]
    return sum(any(name == "vector" for name in each["legs"]) for each in answer["explain"])


def vectors(stack: ApiStack) -> set[tuple[str | None, str | None]]:
    items = [item for item in stack.everything_stored() if item["sk"]["S"].startswith(("MEM#", "OLD#"))]
    return {(item["model"]["S"], item.get("second_model", {}).get("S")) for item in items}


def reembed(stack: ApiStack) -> Reembedded:
    return reembedder(stack.local.environment).run(lambda done: None)


def test_memories_are_found_by_meaning_from_the_first_step_to_the_last(tmp_path: Path) -> None:
    old, new = LABELS[OLD], LABELS[NEW]
    with EmbeddingServer() as embeddings:
        laptop = Laptop(tmp_path / "state", embeddings)
        with laptop.runs(OLD) as (stack, api):
            for number in range(12):
                changed = api.remember(f"Heron number {number} of my neighbour is fond of trout.")
            api.patch(
                f"/v1/memories/{changed['id']}", {"user_id": "ann", "version": 1, "text": "Herons are fond of frogs."}
            ).ok()
            assert vectors(stack) == {(old, None)}
        with laptop.runs(OLD, second=NEW) as (stack, api):
            api.remember("A stork is fond of trout as well.")
            assert found_by_meaning(api) == 13
            assert reembed(stack) == Reembedded(versions=14, embedded=13)
            assert reembed(stack) == Reembedded(versions=14)
            assert vectors(stack) == {(old, new)}
            assert found_by_meaning(api) == 13
        with laptop.runs(NEW, second=OLD) as (stack, api):
            assert found_by_meaning(api) == 13
            api.remember("And so is an otter, which is no bird.")
            assert found_by_meaning(api) == 14
        with laptop.runs(OLD, second=NEW) as (stack, api):
            assert found_by_meaning(api) == 14, "the way back is open until the last step"
        with laptop.runs(NEW) as (stack, api):
            assert found_by_meaning(api) == 14
            assert reembed(stack).embedded == 15
            assert vectors(stack) == {(new, None)}
            assert found_by_meaning(api) == 14
