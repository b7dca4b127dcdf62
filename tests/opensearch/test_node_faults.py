"""A real node that is down, silent, emptied or back again: the right answer in time, and nothing lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from opensearchpy import RequestsHttpConnection

from lethe.adapters.opensearch.administration import IndexAdministration
from lethe.adapters.opensearch.breaker import Breaker
from lethe.adapters.opensearch.engine import OpenSearchIndex
from lethe.domain.identity import Space
from lethe.domain.memory import Embedding, MemoryFilter
from lethe.domain.search import SearchQuery
from lethe.errors import Unavailable
from lethe.services.reconcile import Reconciler
from lethe_local.opensearch_node import OpenSearchNode
from tests.fakes.memories import FakeMemoryTable
from tests.support.makers import unit_vector
from tests.support.real_node import why_no_node
from tests.support.search_worlds import EMBEDDER, LABEL, World, node_world, texts

pytestmark = [pytest.mark.opensearch, pytest.mark.timeout(600)]

WITHIN = 8.0
"""Seconds that a search waits for the node: more than a function's 2.5, since other tests run beside these."""

LIMIT_SECONDS = 30.0
"""By then every search has an answer, right or refused; not a measure of speed."""


class House:
    """A node of one's own and a world on it, since what is done to it here would disturb others."""

    def __init__(self, home: Path, threads: ThreadPoolExecutor) -> None:
        self._home = home
        self.node = OpenSearchNode.start(home, heap="512m")
        self.world: World = node_world(self.node.url, RequestsHttpConnection, threads)
        self.moment = 0.0
        assert self.world.on is not None
        self.world.index = OpenSearchIndex(
            self.world.memories,
            self.world.on.cluster,
            self.world.on.searched,
            self.world.scan,
            threads,
            WITHIN,
            Breaker(lambda: self.moment),
        )

    def restart(self) -> None:
        """Stop the node and start it on the same data, at the same address."""
        port = int(self.node.url.rpartition(":")[2])
        self.node.stop()
        self.node = OpenSearchNode.start(self._home, port=port, heap="512m")

    def asked(self, space: Space, question: str) -> tuple[list[str], bool]:
        """Texts and whether the answer was degraded; in time. The breaker's pause is over by then."""
        self.moment += 60
        began = time.monotonic()
        result = self.world.search(space, question)
        assert time.monotonic() - began < LIMIT_SECONDS
        return texts(result), result.degraded

    def repaired(self) -> int:
        """Divergences that a repair found."""
        world = self.world
        assert world.on is not None
        indexes = IndexAdministration(world.on.cluster, world.on.alias, EMBEDDER.model)
        table = FakeMemoryTable(world.memories)
        reconciler = Reconciler(world.heads, world.memories, table, world.writer, indexes, world.clock)
        return reconciler.repair(lambda findings: None).divergences


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    missing = why_no_node()
    if missing is not None:
        pytest.skip(missing)
    with ThreadPoolExecutor(8) as threads:
        house = House(tmp_path_factory.mktemp("node"), threads)
        yield house
        house.node.stop()


@pytest.fixture
def space(house: House) -> Space:
    """A subject whose index has caught up."""
    space = house.world.subject()
    house.world.say(space, "Ann plays the cello", "Ben keeps bees", "Cleo collects stamps")
    house.world.catch_up()
    assert house.asked(space, "Who keeps bees?") == (house.asked(space, "Who keeps bees?")[0], False)
    return space


def test_a_node_that_is_down_and_comes_back(house: House, space: Space) -> None:
    world = house.world
    house.node.stop()
    found, degraded = house.asked(space, "Who keeps bees?")
    assert (found[0], degraded) == ("Ben keeps bees", True)
    world.say(space, "Dora builds kites")
    assert house.asked(space, "Who builds kites?")[0][0] == "Dora builds kites"
    with pytest.raises(Unavailable):
        world.catch_up()
    house.restart()
    world.catch_up()
    found, degraded = house.asked(space, "Who builds kites?")
    assert (found[0], degraded) == ("Dora builds kites", False)
    assert house.repaired() == 0


def test_a_node_that_is_silent_is_waited_for_once(house: House, space: Space) -> None:
    house.node.pause()
    try:
        found, degraded = house.asked(space, "Who keeps bees?")
        assert (found[0], degraded) == ("Ben keeps bees", True)
        # The breaker is open: the node is not even asked.
        before = house.moment
        result = house.world.search(space, "Who collects stamps?")
        assert (texts(result)[0], result.degraded, house.moment) == ("Cleo collects stamps", True, before)
    finally:
        house.node.resume()
    assert house.asked(space, "Who keeps bees?")[1] is False


def test_a_write_that_is_not_shown_yet(house: House, space: Space) -> None:
    house.world.say(space, "Emil sings bass")
    house.world.catch_up(show=False)
    found, degraded = house.asked(space, "Who sings bass?")
    assert (found[0], degraded) == ("Emil sings bass", False)


def test_a_memory_that_is_deleted_and_still_shown(house: House, space: Space) -> None:
    world = house.world
    (gone,) = [memory for memory in world.memories.all(space) if memory.text == "Ben keeps bees"]
    world.delete(space, gone)
    world.catch_up(show=False)
    found, degraded = house.asked(space, "Who keeps bees?")
    assert "Ben keeps bees" not in found
    assert degraded is False
    world.show()
    assert house.repaired() == 0


def test_a_question_with_a_vector_of_another_length_is_answered_by_its_words(house: House, space: Space) -> None:
    vector = Embedding(LABEL, unit_vector(1, 7))
    house.moment += 60
    result = house.world.index.search(
        house.world.opened(space), SearchQuery("Who keeps bees?", vector), MemoryFilter(), house.world.clock.now(), 10
    )
    assert result.degraded
    assert texts(result)[0] == "Ben keeps bees"


def test_an_index_that_somebody_dropped_is_rebuilt_from_the_table(house: House, space: Space) -> None:
    world = house.world
    assert world.on is not None
    indexes = IndexAdministration(world.on.cluster, world.on.alias, EMBEDDER.model)
    indexes.drop()
    found, degraded = house.asked(space, "Who keeps bees?")
    assert (found[0], degraded) == ("Ben keeps bees", True)
    table = FakeMemoryTable(world.memories)
    reconciler = Reconciler(world.heads, world.memories, table, world.writer, indexes, world.clock)
    assert reconciler.rebuild(lambda findings: None).refused == 0
    found, degraded = house.asked(space, "Who keeps bees?")
    assert (found[0], degraded) == ("Ben keeps bees", False)
    assert house.repaired() == 0
