"""mem0 on the same node, with the same texts and vectors: both are asked the same questions, in turn.

mem0's own mapping names the engine nmslib, whose native library this node does not have. So its index is made
beforehand, with mem0's fields and an engine that runs here, and graphs are built for neither side.
"""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.scale.node import Index, ask
from bench.scale.world import MODEL, Subject, Table
from bench.speed import peer
from lethe.adapters.opensearch.connection import Cluster, IndexMissing, Json, make_client
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.mapping import IndexShape

NAME: Final = "bench-mem0"
EACH: Final = 50
_FIRST: Final = 30_000_000
_QUESTIONS: Final = 200
_BATCH: Final = 500


@dataclass(frozen=True)
class Beside:
    """Medians of the seconds of a search, and memories a second."""

    memories: int
    our_search: float
    their_search: float
    our_rate: float
    their_rate: float


def compare(url: str, memories: int, say: Callable[[str], None]) -> Beside | str:
    """Fill both with ``memories`` and ask both; or why mem0 could not take part."""
    failed = peer.install()
    if failed is not None:
        return failed
    subjects = [Subject(_FIRST + n, EACH) for n in range(memories // EACH)]
    index = Index(url, "bench-beside", IndexShape())
    index.make()
    say(f"mem0 beside: {memories:,} memories each")
    our_seconds = index.fill(subjects)
    asked = subjects[:: max(1, len(subjects) // _QUESTIONS)][:_QUESTIONS]
    questions = [(subject, *subject.questions(1)[0]) for subject in asked]
    texts, vectors = [], []
    for subject in subjects:
        for memory in subject.memories():
            assert memory.embedding is not None
            texts.append(f"{memory.text} {memory.id}")
            vectors.append(memory.embedding.vector)
    # A question is known to mem0 by its text, so each gets one of its own.
    for number, (_, text, vector) in enumerate(questions):
        texts.append(f"{text} {number}")
        vectors.append(vector)
    cluster = Cluster(make_client(url, Flavour.LOCAL, "us-east-1"), Flavour.LOCAL)
    _make_theirs(cluster)
    host, port = url.removeprefix("http://").split(":")
    where: dict[str, object] = {"host": host, "port": int(port), "collection_name": NAME}
    with tempfile.TemporaryDirectory() as folder, peer.running(texts, vectors, Path(folder), where) as mem0:
        their_seconds = 0.0
        for number, subject in enumerate(subjects):
            own = texts[number * EACH : (number + 1) * EACH]
            their_seconds += mem0.add(subject.space.subject, own)
        cluster.call("POST", f"/{NAME}/_refresh")
        engine = index.engine(Table(asked))
        ours, theirs = [], []
        for number, (subject, text, vector) in enumerate(questions):
            ours.append(ask(engine, subject, text, vector))
            theirs.append(mem0.search(subject.space.subject, f"{text} {number}"))
    index.drop()
    cluster.call("DELETE", f"/{NAME}")
    return Beside(memories, median(ours), median(theirs), memories / our_seconds, memories / their_seconds)


def _make_theirs(cluster: Cluster) -> None:
    with suppress(IndexMissing):
        cluster.call("DELETE", f"/{NAME}")
    vector: Json = {
        "type": "knn_vector",
        "dimension": MODEL.dimensions,
        "method": {"engine": "faiss", "name": "hnsw", "space_type": "cosinesimil"},
    }
    fields: Json = {"vector_field": vector, "payload": {"type": "object"}, "id": {"type": "keyword"}}
    settings: Json = {"index": {"knn": True, "knn.advanced.approximate_threshold": -1, "number_of_replicas": 0}}
    cluster.call("PUT", f"/{NAME}", {"settings": settings, "mappings": {"properties": fields}})
