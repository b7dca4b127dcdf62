"""Whether the search index answers: what searches met, else one look, and never many looks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from opensearchpy.exceptions import ConnectionTimeout

from lethe.adapters.opensearch.breaker import Breaker
from lethe.adapters.opensearch.flavours import ABILITIES, Flavour
from lethe.adapters.opensearch.pulse import KNOWN_SECONDS, Pulse
from tests.fakes.opensearch.cluster import FakeOpenSearch
from tests.fakes.opensearch.failures import Refusal
from tests.support.search_worlds import World, dropped

AWAKE = [flavour.value for flavour in Flavour if not ABILITIES[flavour].sleeps]
ASLEEP = [flavour.value for flavour in Flavour if ABILITIES[flavour].sleeps]


@pytest.fixture(params=[*AWAKE, pytest.param("node", marks=pytest.mark.opensearch)])
def awake(request: pytest.FixtureRequest, make_world: Callable[[str], World]) -> World:
    """An index that never sleeps: a look costs nothing but itself."""
    return make_world(request.param)


@pytest.fixture(params=AWAKE)
def awake_fake(request: pytest.FixtureRequest, make_world: Callable[[str], World]) -> World:
    """As ``awake``, in memory: it fails when told to."""
    return make_world(request.param)


@pytest.fixture(params=ASLEEP)
def asleep(request: pytest.FixtureRequest, make_world: Callable[[str], World]) -> World:
    """An index in memory that sleeps while nobody asks it."""
    return make_world(request.param)


class House:
    """A pulse over an index, with a clock of its own."""

    def __init__(self, world: World) -> None:
        assert world.on is not None
        self.moment = 0.0
        self.breaker = Breaker(lambda: self.moment)
        self.pulse = Pulse(world.on.cluster, world.on.searched, self.breaker, lambda: self.moment)


def fake_of(world: World) -> FakeOpenSearch:
    assert world.on is not None
    assert world.on.fake is not None
    return world.on.fake


def used(world: World) -> World:
    """After a first search, which on a node compiles and connects."""
    space = world.subject()
    world.say(space, "Ana plays the guitar.")
    world.catch_up()
    assert not world.search(space, "Who plays the guitar?").degraded
    return world


def test_an_engine_answers(world: World) -> None:
    assert used(world).index.answers()


def test_an_index_that_is_gone_does_not(awake: World) -> None:
    house = House(used(awake))
    assert house.pulse.beats()
    dropped(awake)
    house.moment += KNOWN_SECONDS - 1
    assert house.pulse.beats(), "what a look saw holds for five seconds"
    house.moment += 1
    assert not house.pulse.beats()


def test_looks_are_few_however_often_anybody_asks(awake_fake: World) -> None:
    house, fake = House(awake_fake), fake_of(awake_fake)
    before = len(fake.requests)
    fake.failures.append(ConnectionTimeout("TIMEOUT", "slow", None))
    assert [house.pulse.beats() for _ in range(50)] == [False] * 50
    assert len(fake.requests) == before + 1
    house.moment += KNOWN_SECONDS
    assert [house.pulse.beats() for _ in range(50)] == [True] * 50
    assert len(fake.requests) == before + 2


def test_what_searches_met_goes_before_a_look_and_is_not_changed_by_one(awake_fake: World) -> None:
    house, fake = House(awake_fake), fake_of(awake_fake)
    before = len(fake.requests)
    house.breaker.failed()
    assert not house.pulse.beats()
    house.breaker.worked()
    assert house.pulse.beats()
    assert len(fake.requests) == before
    house.moment += KNOWN_SECONDS + 1
    fake.failures.append(Refusal(503, "unavailable", "no"))
    assert not house.pulse.beats()
    assert house.breaker.allows(), "a recall asks the index all the same"


def test_an_open_breaker_that_nobody_tried_again_is_no_news(faked: World) -> None:
    house = House(faked)
    house.breaker.failed()
    house.moment += KNOWN_SECONDS + 1
    assert house.pulse.beats()


def test_a_collection_that_sleeps_is_not_woken_by_looks(asleep: World) -> None:
    house, fake = House(asleep), fake_of(asleep)
    before = len(fake.requests)
    fake.failures.append(ConnectionTimeout("TIMEOUT", "asleep", None))
    assert house.pulse.beats()
    assert len(fake.requests) == before
    house.breaker.failed()
    assert not house.pulse.beats(), "what a search met is told"
