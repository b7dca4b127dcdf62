"""mem0 on the same node, with the same texts and vectors: both are asked the same questions, in turn.

mem0's own mapping names the engine nmslib, whose native library this node does not have. So its index is made
beforehand, with mem0's fields and an engine that runs here, and graphs are built for neither side.
"""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.scale.node import Index, ask
from bench.scale.world import MODEL, Subject, Table
from bench.speed import peer
from lethe.adapters.opensearch.connection import Cluster, IndexMissing, Json, make_client
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.mapping import IndexShape

NAME: Final = "bench-mem0"
EACH: Final = 50
_FIRST: Final = 30_000_000
_SUBJECTS: Final = 200
_ROUNDS: Final = 5
_WARM_UP: Final = 5
_WAYS: Final = ("the index", "the table, read whole", "the view")

Question: TypeAlias = tuple[Subject, str, NDArray[np.float32]]


@dataclass(frozen=True)
class Searches:
    """Those that ours answered in one way: how many, and the medians of our seconds and of mem0's."""

    way: str
    count: int
    ours: float
    theirs: float


@dataclass(frozen=True)
class Beside:
    """Searches by the way in which ours were answered, and memories put a second."""

    memories: int
    subjects: int
    searches: tuple[Searches, ...]
    our_rate: float
    their_rate: float


def compare(url: str, memories: int, say: Callable[[str], None]) -> Beside | str:
    """Fill both with ``memories`` and ask both; or why mem0 could not take part.

    Every subject is asked in each of five rounds, each time something else, of both in turn. Before, the node, mem0 and
    our process are warmed by the first round's questions; our container is new, and knows no subject.
    """
    failed = peer.install()
    if failed is not None:
        return failed
    subjects = [Subject(_FIRST + n, EACH) for n in range(memories // EACH)]
    index = Index(url, "bench-beside", IndexShape())
    index.make()
    say(f"mem0 beside: {memories:,} memories each")
    our_seconds = index.fill(subjects)
    asked = subjects[:: max(1, len(subjects) // _SUBJECTS)][:_SUBJECTS]
    rounds = _rounds(asked)
    texts, vectors = [], []
    for subject in subjects:
        for memory in subject.memories():
            assert memory.embedding is not None
            texts.append(f"{memory.text} {memory.id}")
            vectors.append(memory.embedding.vector)
    for _, text, vector in chain.from_iterable(rounds):
        texts.append(text)
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
        say("  both are asked")
        searches = _searches(index, mem0, asked, rounds)
    index.drop()
    cluster.call("DELETE", f"/{NAME}")
    return Beside(memories, len(asked), searches, memories / our_seconds, memories / their_seconds)


def _rounds(asked: Sequence[Subject]) -> list[list[Question]]:
    """A question to each subject, as often as there are rounds. mem0 knows a question's vector by its text, so each
    text is made its own by a number.
    """
    of_each = [subject.questions(_ROUNDS) for subject in asked]
    return [
        [
            (subject, f"{questions[turn][0]} {turn * len(asked) + number}", questions[turn][1])
            for number, (subject, questions) in enumerate(zip(asked, of_each, strict=True))
        ]
        for turn in range(_ROUNDS)
    ]


def _searches(
    index: Index, mem0: peer.Mem0, asked: Sequence[Subject], rounds: Sequence[Sequence[Question]]
) -> tuple[Searches, ...]:
    table = Table(asked)
    always_index = index.engine(table)
    for subject, text, vector in [*rounds[0]] * _WARM_UP:
        ask(always_index, subject, text, vector)
        mem0.search(subject.space.subject, text)
    engine = index.container(table)
    seconds: dict[str, list[tuple[float, float]]] = {way: [] for way in _WAYS}
    for subject, text, vector in chain.from_iterable(rounds):
        before = index.asked, table.read_whole
        ours = ask(engine, subject, text, vector)
        way = _WAYS[0] if index.asked > before[0] else _WAYS[1] if table.read_whole > before[1] else _WAYS[2]
        seconds[way].append((ours, mem0.search(subject.space.subject, text)))
    return tuple(
        Searches(way, len(pairs), median(ours for ours, _ in pairs), median(theirs for _, theirs in pairs))
        for way, pairs in seconds.items()
        if pairs
    )


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
