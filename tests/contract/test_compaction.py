"""Compaction of the index: begun over all of Lethe's indexes, where the service has such a call, and nowhere else.

That nothing of an erased user is in the files of a real node after it: tests/component/erasure/test_canaries.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lethe.adapters.opensearch.administration import IndexAdministration
from lethe.adapters.opensearch.compaction import Compaction
from lethe.adapters.opensearch.flavours import ABILITIES, Flavour
from lethe.domain.embedding import EmbeddingModel
from tests.fakes.opensearch.cluster import FakeOpenSearch
from tests.support.search_worlds import OnCluster, World, dropped

NAMES = [flavour.value for flavour in Flavour if ABILITIES[flavour].merges]
merging = pytest.mark.parametrize("name", NAMES)
merging_or_node = pytest.mark.parametrize("name", [*NAMES, pytest.param("node", marks=pytest.mark.opensearch)])
MakeWorld = Callable[[str], World]


def on_cluster(world: World) -> OnCluster:
    assert world.on is not None
    return world.on


def fake_of(world: World) -> FakeOpenSearch:
    fake = on_cluster(world).fake
    assert fake is not None
    return fake


def compaction(world: World) -> Compaction:
    on = on_cluster(world)
    return Compaction(on.cluster, on.alias)


@merging_or_node
def test_a_merge_is_begun_and_what_stands_is_still_found(make_world: MakeWorld, name: str) -> None:
    world = make_world(name)
    space = world.subject()
    kept, gone = world.say(space, "Ana plays the guitar.", "Ana sings in a choir.")
    world.catch_up()
    world.delete(space, gone)
    world.catch_up()

    assert compaction(world).begin() == 1

    found = world.search(space, "What does Ana play?")
    assert [candidate.memory.id for candidate in found.candidates] == [kept.id]


@merging
def test_every_index_of_lethe_is_merged_and_no_other(make_world: MakeWorld, name: str) -> None:
    world = make_world(name)
    fake, own = fake_of(world), on_cluster(world)
    for alias in (own.alias, "of-somebody-else"):
        IndexAdministration(own.cluster, alias, EmbeddingModel("another", "1", 8)).make()
    assert len(fake.indexes) == 3

    compaction(world).begin()

    assert len(fake.merged) == 2
    assert all(each.startswith(own.alias) for each in fake.merged)


@merging_or_node
def test_no_index_is_no_error(make_world: MakeWorld, name: str) -> None:
    world = make_world(name)
    dropped(world)
    assert compaction(world).begin() == 1


def test_where_there_is_no_such_call_none_is_made(make_world: MakeWorld) -> None:
    (name,) = {flavour.value for flavour in Flavour} - set(NAMES)
    world = make_world(name)
    asked = len(fake_of(world).requests)
    assert compaction(world).begin() == 0
    assert len(fake_of(world).requests) == asked
