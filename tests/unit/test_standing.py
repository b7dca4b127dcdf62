"""Whether a stored answer may be given again, where nothing told the store of answers."""

from __future__ import annotations

import pytest

from lethe.domain.idempotency import about_entity, about_subject, about_value
from lethe.domain.identity import Space
from lethe.services.standing import Standing
from tests.fakes.time_and_ids import START, FixedClock
from tests.support.makers import entity
from tests.support.stores import Stores, fake_stores

SHOWN = {about_entity("pin"), about_value("pin", None)}


def standing(stores: Stores) -> Standing:
    return Standing(stores.heads, stores.memories, stores.sessions, stores.entities, FixedClock())


@pytest.fixture
def stores() -> Stores:
    return fake_stores()


@pytest.fixture
def space(stores: Stores) -> Space:
    return stores.new_space()


@pytest.mark.parametrize(
    ("sensitive", "reveal", "holds"), [(False, False, True), (True, False, False), (True, True, True)]
)
def test_a_value_that_was_marked_since_is_not_shown_again(
    stores: Stores, space: Space, sensitive: bool, reveal: bool, holds: bool
) -> None:
    stores.entities.put(space, entity("pin", moment=START, sensitive=sensitive), None)

    assert standing(stores).holds(space, SHOWN, reveal) is holds


def test_a_mark_in_a_session_says_nothing_of_the_value_outside(stores: Stores, space: Space) -> None:
    stores.entities.put(space, entity("pin", moment=START), None)
    stores.entities.put(space, entity("pin", moment=START, sensitive=True, session_id="s"), None)

    assert standing(stores).holds(space, SHOWN, reveal=False)
    assert not standing(stores).holds(space, {about_entity("pin"), about_value("pin", "s")}, reveal=False)


def test_a_value_that_is_gone_takes_the_answer_along(stores: Stores, space: Space) -> None:
    assert not standing(stores).holds(space, SHOWN, reveal=True)


def test_that_a_subject_may_be_written_to_is_true_while_it_is(stores: Stores, space: Space) -> None:
    about = {about_subject(space.subject)}
    assert standing(stores).holds(space, about, reveal=False)
    stores.begin_erasure(space)
    assert not standing(stores).holds(space, about, reveal=False)
    stores.admit(space)
    assert standing(stores).holds(space, about, reveal=False)
    assert not standing(stores).holds(space, {about_subject("nobody")}, reveal=False)
