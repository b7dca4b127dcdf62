"""A container's view of confirmed facts: fresh, and not kept beyond its time."""

from __future__ import annotations

from datetime import datetime

import pytest

from lethe.adapters.cached_entities import CachedEntities
from lethe.domain.entity import Entity
from lethe.domain.identity import Space
from tests.fakes.time_and_ids import START
from tests.support.makers import entity


class Table:
    """One value for everybody, and how often it was read."""

    def __init__(self) -> None:
        self.reads = 0

    def list(self, space: Space, now: datetime) -> tuple[Entity, ...]:
        self.reads += 1
        return (entity("colour"),)

    def history(self, space: Space, key: str, session_id: str | None, now: datetime) -> tuple[Entity, ...]:
        return ()


class Container:
    """The cache, a table and a clock."""

    def __init__(self) -> None:
        self.table, self.seconds = Table(), 0.0
        self.cached = CachedEntities(self.table, 300.0, lambda: self.seconds)

    def ask(self, epoch: int = 1, revision: int = 1, subject: str = "s") -> None:
        assert len(self.cached.list(Space("acme", subject, epoch, revision), START)) == 1


@pytest.mark.parametrize(("revision", "seconds", "reads"), [(1, 299.0, 1), (2, 0.0, 2), (1, 300.0, 2)])
def test_it_is_read_again_after_a_change_and_after_its_time(revision: int, seconds: float, reads: int) -> None:
    container = Container()
    container.ask()
    container.seconds = seconds
    container.ask(revision=revision)

    assert container.table.reads == reads


def test_what_nobody_asks_for_again_leaves_the_container_too() -> None:
    """An erased subject comes under another epoch, or never."""
    container = Container()
    container.ask(epoch=1)
    container.seconds = 200.0
    container.ask(subject="another")
    container.seconds = 301.0
    container.ask(subject="another")

    assert [space.subject for space in container.cached._seen] == ["another"]
