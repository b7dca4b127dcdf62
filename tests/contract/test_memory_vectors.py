"""The contract of MemoryVectors: all versions of all spaces are listed, and vectors are put on what stands alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import groupby

import numpy as np
import pytest

from lethe.adapters.dynamodb.reembedding import GROUP, DynamoMemoryVectors
from lethe.domain import keys
from lethe.domain.memory import Embedding, Memory
from lethe.errors import Erased
from lethe.ports import MemoryVectors, OwnedMemory
from tests.fakes.memories import FakeMemories, FakeMemoryVectors
from tests.support.makers import MODEL, full_memory, memory, unit_vector
from tests.support.stores import Stores

OTHER = "test/other@2"


@pytest.fixture
def stores(empty_stores: Stores) -> Stores:
    """Tables of each test's own, since it reads all that they hold."""
    return empty_stores


def vectors_of(stores: Stores) -> MemoryVectors:
    if stores.database is not None:
        return DynamoMemoryVectors(stores.database)
    assert isinstance(stores.memories, FakeMemories)
    return FakeMemoryVectors(stores.memories)


def listed(vectors: MemoryVectors, limit: int) -> list[OwnedMemory]:
    found: list[OwnedMemory] = []
    start: str | None = None
    while True:
        page = vectors.page(limit, start)
        assert len(page.items) <= limit
        found += page.items
        start = page.next_key
        if start is None:
            return found


def with_both(seen: Memory) -> Memory:
    return replace(seen, second_embedding=Embedding(OTHER, unit_vector(7, 32)))


def labels(seen: Memory) -> list[str | None]:
    return [each.model if each is not None else None for each in (seen.embedding, seen.second_embedding)]


def changed(stores: Stores, space: object, seen: Memory) -> Memory:
    later = replace(seen, confidence=0.9, updated_at=seen.updated_at + timedelta(seconds=1))
    return stores.memories.update(space, seen, later)  # type: ignore[arg-type]  # a Space, from new_space


def test_every_version_of_every_space_once_with_its_vectors(stores: Stores) -> None:
    spaces = [stores.new_space() for _ in range(3)]
    expected = set()
    for space in spaces:
        new = [memory(f"text {n}") for n in range(12)]
        stores.memories.add(space, new)
        changed(stores, space, changed(stores, space, new[3]))
        stores.memories.delete(space, [new[7].id])
        expected |= {(space, each.id, 1) for each in new if each is not new[7]}
        expected |= {(space, new[3].id, version) for version in (2, 3)}
    for limit in (5, 1_000):
        found = listed(vectors_of(stores), limit)
        assert len(found) == 3 * 13
        assert {(each.space, each.memory.id, each.memory.version) for each in found} == expected
        assert {label for each in found for label in labels(each.memory)} == {MODEL, None}
        assert len([space for space, _ in groupby(found, key=lambda each: each.space)]) == 3


def test_vectors_come_to_every_version_and_nothing_else_changes(stores: Stores) -> None:
    space = stores.new_space()
    first = full_memory()
    stores.memories.add(space, [first, memory("another")])
    changed(stores, space, first)
    before = [each.memory for each in listed(vectors_of(stores), 100)]
    revision = stores.revision(space)

    assert vectors_of(stores).replace(space, [with_both(each) for each in before]) == 3

    after = [each.memory for each in listed(vectors_of(stores), 100)]
    assert [labels(each) for each in after] == [[MODEL, OTHER]] * 3
    assert [replace(each, second_embedding=None) for each in after] == before
    for each in after:
        np.testing.assert_allclose(each.embedding_of(OTHER).vector, unit_vector(7, 32), atol=1e-3)  # type: ignore[union-attr]  # labelled above
    head = stores.heads.read(space.tenant, space.subject)
    assert head is not None
    assert revision < head.revision == head.rewritten, "views that were kept are read anew"


def test_vectors_are_taken_away_as_well(stores: Stores) -> None:
    space = stores.new_space()
    new = with_both(memory())
    stores.memories.add(space, [new])
    assert labels(stores.memories.all(space)[0]) == [MODEL, OTHER]
    alone = replace(new, embedding=new.second_embedding, second_embedding=None)
    assert vectors_of(stores).replace(space, [alone]) == 1
    assert labels(stores.memories.all(space)[0]) == [OTHER, None]


def test_what_was_changed_or_deleted_meanwhile_is_left(stores: Stores) -> None:
    space = stores.new_space()
    new = [memory(f"text {n}") for n in range(3)]
    stores.memories.add(space, new)
    changed(stores, space, new[0])
    stores.memories.delete(space, [new[1].id])

    assert vectors_of(stores).replace(space, [with_both(each) for each in new]) == 1

    standing = {each.id: labels(each) for each in stores.memories.all(space)}
    assert standing == {new[0].id: [MODEL, None], new[2].id: [MODEL, OTHER]}
    assert labels(stores.memories.old_versions(space)[0]) == [MODEL, None]
    assert vectors_of(stores).replace(space, [with_both(new[1])]) == 0


def test_a_version_that_lost_its_context_gets_no_vector_of_it(stores: Stores) -> None:
    space = stores.new_space()
    new = memory(context="before it: something that was erased")
    stores.memories.add(space, [new])
    changed(stores, space, new)
    (old,) = stores.memories.old_versions(space)
    assert vectors_of(stores).replace(space, [with_both(replace(old, context="other"))]) == 0
    assert vectors_of(stores).replace(space, [with_both(replace(old, context=None))]) == 0
    assert labels(stores.memories.old_versions(space)[0]) == [MODEL, None]
    assert vectors_of(stores).replace(space, [with_both(old)]) == 1


def test_a_fenced_subject_gets_none(stores: Stores) -> None:
    space = stores.new_space()
    new = memory()
    stores.memories.add(space, [new])
    stores.begin_erasure(space)
    with pytest.raises(Erased):
        vectors_of(stores).replace(space, [with_both(new)])
    assert [labels(each) for each in stores.memories.all(space)] == [[MODEL, None]]


def test_more_than_one_transaction_takes(stores: Stores) -> None:
    space = stores.new_space()
    new = [memory(f"text {n}") for n in range(GROUP + 5)]
    stores.memories.add(space, new)
    assert vectors_of(stores).replace(space, [with_both(each) for each in new]) == GROUP + 5
    assert {str(labels(each)) for each in stores.memories.all(space)} == {str([MODEL, OTHER])}


@pytest.mark.dynoxide
def test_the_stream_tells_of_no_write(strict_stores: Stores) -> None:
    """The indexer takes the mark of a record for how far it has come; an old one would send it back."""
    stores = strict_stores
    assert stores.database is not None
    space = stores.new_space()
    new = memory()
    stores.memories.add(space, [new])
    row, partition = stores.database.models.memory, keys.space_partition(space)
    assert "written" in (stores.database.get_item(row, partition, keys.memory(new.id)) or {})
    vectors_of(stores).replace(space, [with_both(new)])
    item = stores.database.get_item(row, partition, keys.memory(new.id)) or {}
    assert ("written" in item, "second_vector" in item) == (False, True)
