"""The verifier's searches on a real node: over the indexes of two models, by subject and epoch, page by page."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lethe.adapters.inspection.index import Entries, Group
from lethe.adapters.opensearch.administration import IndexAdministration
from lethe.adapters.opensearch.connection import Cluster, make_client
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.writer import OpenSearchWriter
from lethe.domain.embedding import EmbeddingModel
from lethe.domain.identity import Space
from lethe.domain.indexing import Mark, Put
from lethe.domain.memory import Memory
from lethe.errors import Unavailable
from tests.fakes.time_and_ids import START, FixedClock
from tests.support.makers import memory
from tests.support.stores import REGION

pytestmark = pytest.mark.opensearch

MODELS = (EmbeddingModel("test/one", "1", 64), EmbeddingModel("test/two", "1", 32))
SPACE = Space("acme", "a" * 32, 1)


class Node:
    """Two indexes of one alias, and what looks into them."""

    def __init__(self, url: str) -> None:
        self.client = make_client(url, Flavour.LOCAL, REGION)
        self.alias = f"inspected-{secrets.token_hex(6)}"
        cluster = Cluster(self.client, Flavour.LOCAL)
        self.made = [IndexAdministration(cluster, self.alias, model, beside=MODELS[0]) for model in MODELS]
        for indexes in self.made:
            indexes.make()
            indexes.show()
        self.writers = [
            OpenSearchWriter(cluster, indexes.name, model.label, FixedClock())
            for indexes, model in zip(self.made, MODELS, strict=True)
        ]
        self.entries = Entries(self.client, f"{self.alias}-v", None)

    def put(self, number: int, space: Space, *memories: Memory) -> None:
        self.writers[number].apply([Put(space, each) for each in memories], 30.0)

    def groups(self, subject: str | None = SPACE.subject) -> set[Group]:
        self.entries.settle()
        return set(self.entries.groups("acme", subject))


@pytest.fixture
def node(opensearch: str) -> Iterator[Node]:
    node = Node(opensearch)
    yield node
    for indexes in node.made:
        indexes.drop()


def test_entries_are_counted_by_subject_and_epoch_over_both_indexes(node: Node) -> None:
    other, later = replace(SPACE, subject="b" * 32), replace(SPACE, epoch=12)
    for number in (0, 1):
        node.put(number, SPACE, *(memory(f"{n}") for n in range(3)))
        node.put(number, replace(SPACE, tenant="elsewhere"), memory("x"))
    node.put(1, later, memory("y"))
    node.put(0, other, memory("z"))
    node.writers[0].apply([Mark(later, "mark", START)], 30.0)

    assert node.groups() == {Group(SPACE.subject, 1, 6), Group(SPACE.subject, 12, 2)}
    assert node.groups(None) == node.groups() | {Group(other.subject, 1, 1)}


def test_groups_and_pages_go_on_to_the_end(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lethe.adapters.inspection.index._PAGE", 5)
    memories = [memory(f"{n}") for n in range(23)]
    for number in (0, 1):
        node.put(number, SPACE, *memories)
        node.put(number, replace(SPACE, epoch=2), memory("later"))
    for n in range(12):
        node.put(n % 2, replace(SPACE, subject=f"{n:032d}"), memory("one"))
    assert len(node.groups(None)) == 14
    found = list(node.entries.memories("acme", SPACE.subject, 1))
    assert sorted(facts.memory_id or "" for facts in found) == sorted([each.id for each in memories] * 2)
    assert {(facts.kind, facts.created_at, facts.session) for facts in found} == {("fact", START, None)}


def test_what_is_deleted_shows_no_more_and_what_is_closed_is_no_proof(node: Node) -> None:
    node.put(0, SPACE, memory("x"))
    assert node.groups() == {Group(SPACE.subject, 1, 1)}
    node.writers[0].clear(SPACE)
    assert node.groups() == set()
    node.put(1, SPACE, memory("x"))
    node.client.indices.close(index=f"{node.made[1].name}-index")
    with pytest.raises(Unavailable):
        node.groups()
