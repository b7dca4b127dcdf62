"""Requirement R7: what was acknowledged is found, by every container; and both halves of the order are needed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lethe.adapters.scan_index import ScanIndex
from lethe.domain import ids
from lethe.domain.identity import Space
from lethe.domain.memory import Memory, MemoryFilter, MemoryKind, MemoryStatus, Origin, Source, content_hash
from lethe.domain.search import SearchQuery

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def memory(name: str, text: str) -> Memory:
    return Memory(
        id=f"mem_{name}",
        text=text,
        kind=MemoryKind.FACT,
        status=MemoryStatus.CURRENT,
        confidence=1.0,
        language="en",
        source=Source("test", Origin.USER),
        occurred_at=NOW,
        valid_from=NOW,
        created_at=NOW,
        updated_at=NOW,
        content_hash=content_hash(text, None, None),
    )


class Table:
    """What DynamoDB holds: items, and beside them the head's revision."""

    def __init__(self) -> None:
        self.items: list[Memory] = []
        self.revision = 0
        self.rewritten = 0
        self.loads = 0
        self.extensions = 0

    def all(self, space: Space) -> tuple[Memory, ...]:
        self.loads += 1
        return tuple(self.items)

    def since(self, space: Space, first_id: str) -> tuple[Memory, ...]:
        self.extensions += 1
        return tuple(item for item in self.items if item.id >= first_id)

    def old_versions(self, space: Space) -> tuple[Memory, ...]:
        return ()

    def open(self) -> Space:
        """Read the head, as every request does first."""
        return Space("t", "s", 1, self.revision, self.rewritten)

    def write(self, item: Memory) -> None:
        """The right order: the item, then the revision; then the writer answers."""
        self.items.append(item)
        self.revision += 1

    def delete(self, memory_id: str) -> None:
        """Takes an item away, which is more than an addition."""
        self.items = [item for item in self.items if item.id != memory_id]
        self.revision += 1
        self.rewritten = self.revision


class Seconds:
    """A monotonic clock that only a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def container(table: Table, seconds: Seconds | None = None) -> ScanIndex:
    return ScanIndex(table, 64 * 1024 * 1024, 300, seconds or Seconds())  # type: ignore[arg-type]  # only what it reads


def found(index: ScanIndex, space: Space) -> set[str]:
    result = index.search(space, SearchQuery("tea and coffee"), MemoryFilter(), NOW, 10)
    return {candidate.memory.id for candidate in result.candidates}


def test_every_container_finds_what_was_acknowledged() -> None:
    table = Table()
    one, other = container(table), container(table)
    table.write(memory("1", "She drinks tea"))
    assert found(one, table.open()) == {"mem_1"}
    assert found(other, table.open()) == {"mem_1"}
    table.write(memory("2", "She drinks coffee"))
    assert found(one, table.open()) == {"mem_1", "mem_2"}
    assert found(other, table.open()) == {"mem_1", "mem_2"}


def test_a_warm_container_reads_nothing_but_the_head() -> None:
    table = Table()
    index = container(table)
    table.write(memory("1", "She drinks tea"))
    for _ in range(3):
        assert found(index, table.open()) == {"mem_1"}
    assert table.loads == 1


def test_a_writer_that_raises_the_revision_first_would_be_missed() -> None:
    table = Table()
    index = container(table)
    table.write(memory("1", "She drinks tea"))
    table.revision += 1  # wrong: before the item
    assert found(index, table.open()) == {"mem_1"}  # this load is remembered for the new revision
    table.items.append(memory("2", "She drinks coffee"))
    assert found(index, table.open()) == {"mem_1"}, "acknowledged, and not found: the order matters"


def test_a_reader_that_loads_before_the_head_would_miss_a_write() -> None:
    table = Table()
    table.write(memory("1", "She drinks tea"))
    loaded_too_early = table.all(table.open())
    table.write(memory("2", "She drinks coffee"))

    class EarlyTable(Table):
        def all(self, space: Space) -> tuple[Memory, ...]:
            return loaded_too_early

    early = EarlyTable()
    early.revision = table.revision
    index = container(early)
    assert found(index, early.open()) == {"mem_1"}, "loaded before the head was read: the second memory is missed"
    assert found(container(table), table.open()) == {"mem_1", "mem_2"}


def test_an_item_without_acknowledgement_shows_at_the_time_limit_at_the_latest() -> None:
    table, seconds = Table(), Seconds()
    index = container(table, seconds)
    table.write(memory("1", "She drinks tea"))
    assert found(index, table.open()) == {"mem_1"}
    table.items.append(memory("2", "She drinks coffee"))  # its writer died before the revision
    assert found(index, table.open()) == {"mem_1"}
    seconds.now = 300.0
    assert found(index, table.open()) == {"mem_1", "mem_2"}


def test_a_new_epoch_and_another_subject_share_nothing_with_the_cached_view() -> None:
    table = Table()
    index = container(table)
    table.write(memory("1", "She drinks tea"))
    assert found(index, Space("t", "s", 1, 1)) == {"mem_1"}
    table.items.clear()
    assert found(index, Space("t", "s", 2, 1)) == set()
    assert found(index, Space("t", "other", 1, 1)) == set()
    assert found(index, Space("other", "s", 1, 1)) == set()


def test_the_cache_forgets_the_subject_served_longest_ago() -> None:
    table = Table()
    table.write(memory("1", "She drinks tea"))
    index = ScanIndex(table, 3_500, 300, Seconds())  # type: ignore[arg-type]  # only what it reads; room for one view
    found(index, Space("t", "a", 1, 1))
    found(index, Space("t", "b", 1, 1))
    assert table.loads == 2
    found(index, Space("t", "b", 1, 1))
    assert table.loads == 2
    found(index, Space("t", "a", 1, 1))
    assert table.loads == 3


def test_a_later_view_serves_a_request_that_opened_earlier() -> None:
    table = Table()
    index = container(table)
    table.write(memory("1", "She drinks tea"))
    early = table.open()
    table.write(memory("2", "She drinks coffee"))
    assert found(index, table.open()) == {"mem_1", "mem_2"}
    assert found(index, early) == {"mem_1", "mem_2"}
    assert table.loads == 1


def test_an_addition_extends_the_view_and_is_found_like_after_a_load() -> None:
    table = Table()
    index = container(table)
    for n in range(30):
        table.write(memory(f"{n}", f"She drinks tea number {n} with {'milk' if n % 3 else 'lemon'}"))
        extended = index.search(table.open(), SearchQuery("tea with lemon"), MemoryFilter(), NOW, 50)
        loaded = container(table).search(table.open(), SearchQuery("tea with lemon"), MemoryFilter(), NOW, 50)
        assert {c.memory.id: c.relevance for c in extended.candidates} == {
            c.memory.id: c.relevance for c in loaded.candidates
        }
    assert table.extensions == 29
    assert table.loads == 1 + 30  # this container's first, and one of each fresh container


def test_what_was_deleted_is_not_kept_in_an_extended_view() -> None:
    table = Table()
    index = container(table)
    table.write(memory("1", "She drinks tea"))
    table.write(memory("2", "She drinks coffee"))
    assert found(index, table.open()) == {"mem_1", "mem_2"}
    table.delete("mem_1")
    table.write(memory("3", "She drinks cocoa, tea and coffee"))
    assert found(index, table.open()) == {"mem_2", "mem_3"}
    assert (table.loads, table.extensions) == (2, 0)


def test_an_id_made_long_before_it_was_acknowledged_is_found() -> None:
    table = Table()
    index = container(table)
    early = replace(memory("1", "She drinks tea"), id=ids.MEMORY + ids.ulid(NOW - timedelta(seconds=80), 1))
    table.write(replace(memory("2", "She drinks coffee"), id=ids.MEMORY + ids.ulid(NOW - timedelta(seconds=60), 2)))
    assert len(found(index, table.open())) == 1
    table.write(early)
    assert found(index, table.open()) == {item.id for item in table.items}
    assert (table.loads, table.extensions) == (1, 1)


def test_a_revision_without_new_memories_keeps_what_was_prepared() -> None:
    table = Table()
    index = container(table)
    table.write(memory("1", "She drinks tea"))
    assert found(index, table.open()) == {"mem_1"}
    table.revision += 1  # an entity changed
    assert found(index, table.open()) == {"mem_1"}
    assert (table.loads, table.extensions) == (1, 1)
