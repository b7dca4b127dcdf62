"""The contract of Memories, over the fake and both DynamoDBs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from lethe.domain.identity import Space
from lethe.domain.json_values import canonical
from lethe.domain.memory import Embedding, Memory, MemoryKind, Vector
from lethe.errors import Conflict, Erased, NotFound, TooLarge, VersionConflict
from tests.fakes.time_and_ids import START
from tests.support.makers import MODEL, TEXTS, full_memory, memory, unit_vector
from tests.support.stores import Stores


def vector_of(stored: Memory) -> Vector:
    assert stored.embedding is not None
    return stored.embedding.vector


def changed(seen: Memory, text: str) -> Memory:
    """``seen`` as a service would change it."""
    content = memory(text).content_hash
    return replace(seen, text=text, content_hash=content, updated_at=seen.updated_at + timedelta(seconds=1))


def test_every_field_comes_back(stores: Stores) -> None:
    space, new = stores.new_space(), full_memory()
    (result,) = stores.memories.add(space, [new])
    assert (result.memory, result.duplicate_of) == (new, None)
    stored = stores.memories.get(space, new.id)
    assert stored is not None
    assert replace(stored, metadata={}) == replace(new, metadata={})
    assert canonical(stored.metadata) == canonical(new.metadata)


def test_a_memory_without_its_optional_fields(stores: Stores) -> None:
    space, new = stores.new_space(), memory(embedding=None)
    stores.memories.add(space, [new])
    assert stores.memories.get(space, new.id) == new
    assert stores.memories.all(space) == (new,)


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_texts_come_back_to_the_letter(stores: Stores, number: int) -> None:
    space, text = stores.new_space(), TEXTS[number]
    new = memory(text, speaker=text or None, context=text or None, metadata={text: text})
    stores.memories.add(space, [new])
    assert stores.memories.get(space, new.id) == new
    assert stores.memories.all(space) == (new,)


def test_vectors_come_back_with_little_loss_and_unit_length(stores: Stores) -> None:
    space = stores.new_space()
    new = [memory(f"text {n}", embedding=Embedding(MODEL, unit_vector(n, 384))) for n in range(20)]
    stores.memories.add(space, new)
    for given, stored in zip(new, stores.memories.all(space), strict=True):
        assert float(vector_of(given) @ vector_of(stored)) > 0.99999
        assert float(np.linalg.norm(vector_of(stored))) == pytest.approx(1, abs=1e-5)
        assert vector_of(stored).dtype == np.float32


def test_what_is_missing_is_left_out(stores: Stores) -> None:
    space = stores.new_space()
    new = [memory(f"text {n}") for n in range(3)]
    stores.memories.add(space, new)
    assert stores.memories.get(space, memory().id) is None
    wanted = [new[2].id, memory().id, new[0].id, new[0].id]
    assert stores.memories.get_many(space, wanted) == {new[0].id: new[0], new[2].id: new[2]}
    assert stores.memories.get_many(space, []) == {}


def test_an_empty_space(stores: Stores) -> None:
    space = stores.new_space()
    assert stores.memories.all(space) == ()
    assert stores.memories.old_versions(space) == ()
    assert stores.memories.history(space, memory().id) == ()
    assert stores.memories.page(space, 10, None).items == ()
    assert stores.memories.count(space) == 0
    assert stores.memories.delete(space, [memory().id]) == 0
    assert stores.memories.add(space, []) == ()
    assert stores.revision(space) == 0


@pytest.mark.parametrize("count", [1, 2, 49, 50, 120])
def test_an_add_raises_the_revision_once(stores: Stores, count: int) -> None:
    space = stores.new_space()
    stored = stores.memories.add(space, [memory(f"text {n}") for n in range(count)])
    assert [result.duplicate_of for result in stored] == [None] * count
    assert stores.memories.count(space) == count
    assert stores.revision(space) == 1


def test_the_same_statement_is_stored_once(stores: Stores) -> None:
    space, first, again = stores.new_space(), memory(), memory()
    stores.memories.add(space, [first])
    (result,) = stores.memories.add(space, [again])
    assert (result.memory, result.duplicate_of) == (again, first.id)
    assert stores.memories.all(space) == (first,)
    assert stores.memories.get(space, again.id) is None
    assert stores.revision(space) == 1


@pytest.mark.parametrize("count", [1, 3, 60])
def test_adding_the_same_memories_again_is_no_duplicate(stores: Stores, count: int) -> None:
    """What a caller does whose first answer got lost."""
    space = stores.new_space()
    new = [memory(f"text {n}") for n in range(count)]
    for _ in range(2):
        results = stores.memories.add(space, new)
        assert [result.duplicate_of for result in results] == [None] * count
    assert stores.memories.all(space) == tuple(new)


def test_duplicates_among_new_ones(stores: Stores) -> None:
    space = stores.new_space()
    old = memory("old")
    stores.memories.add(space, [old])
    new, twin, repeated, last = memory("new"), memory("new"), memory("old"), memory("last")
    results = stores.memories.add(space, [repeated, new, twin, memory("old"), last])
    assert [result.duplicate_of for result in results] == [old.id, None, new.id, old.id, None]
    assert stores.memories.all(space) == (old, new, last)
    assert stores.revision(space) == 2


def test_delete_of_a_version_that_was_seen(stores: Stores) -> None:
    space = stores.new_space()
    one = memory("one")
    stores.memories.add(space, [one])
    newest = stores.memories.update(space, one, changed(one, "two"))
    for stale in (0, 1, 3):
        with pytest.raises(VersionConflict) as refused:
            stores.memories.delete(space, [one.id], stale)
        assert refused.value.current_version == 2
    assert stores.memories.get(space, one.id) == newest
    assert stores.memories.delete(space, [one.id], 2) == 1
    assert stores.memories.delete(space, [one.id], 2) == 0


def test_holders_are_the_newest_versions_that_say_it(stores: Stores) -> None:
    space = stores.new_space()
    one, two = memory("one"), memory("two")
    stores.memories.add(space, [one, two])
    asked = [one.content_hash, memory("three").content_hash, two.content_hash, one.content_hash]
    assert stores.memories.holders(space, asked) == {one.content_hash: one.id, two.content_hash: two.id}
    assert stores.memories.holders(space, []) == {}
    assert stores.memories.holders(stores.new_space(), asked) == {}

    third = stores.memories.update(space, one, changed(one, "three"))
    assert stores.memories.holders(space, asked) == {third.content_hash: one.id, two.content_hash: two.id}
    stores.memories.delete(space, [one.id, two.id])
    assert stores.memories.holders(space, asked) == {}


def test_a_thousand_at_once_with_duplicates_inside(big_stores: Stores) -> None:
    space = big_stores.new_space()
    known = [memory(f"text {n}") for n in range(0, 900, 100)]
    big_stores.memories.add(space, known)
    batch = [memory(f"text {n % 900}") for n in range(1000)]
    results = big_stores.memories.add(space, batch)
    holders = {m.text: m.id for m in known}
    for new, result in zip(batch, results, strict=True):
        expected = holders.setdefault(new.text, new.id)
        assert result.duplicate_of == (None if expected == new.id else expected)
    assert {m.id for m in big_stores.memories.all(space)} == set(holders.values())
    assert big_stores.memories.count(space) == 900
    assert big_stores.revision(space) == 2


def test_no_more_than_a_thousand(big_stores: Stores) -> None:
    with pytest.raises(ValueError, match="1000"):
        big_stores.memories.add(big_stores.new_space(), [memory(str(n)) for n in range(1001)])


def test_all_is_in_the_order_of_ids_beyond_a_megabyte(big_stores: Stores) -> None:
    space = big_stores.new_space()
    new = [memory(f"{n} " + "x" * 9_000) for n in range(400)]
    for start in (200, 0):
        big_stores.memories.add(space, new[start : start + 200])
    assert [m.id for m in big_stores.memories.all(space)] == [m.id for m in new]
    assert len(big_stores.memories.get_many(space, [m.id for m in new])) == 400
    assert big_stores.memories.count(space) == 400


def test_since_gives_the_memories_from_an_id_on(stores: Stores) -> None:
    space = stores.new_space()
    added = sorted((memory(f"I know {n} songs") for n in range(5)), key=lambda each: each.id)
    stores.memories.add(space, added)
    ids = [each.id for each in added]
    assert [each.id for each in stores.memories.since(space, ids[2])] == ids[2:]
    assert [each.id for each in stores.memories.since(space, ids[4])] == ids[4:]
    assert len(stores.memories.since(space, "mem_00000000000000000000000000")) == 5
    assert stores.memories.since(space, "mem_7ZZZZZZZZZZZZZZZZZZZZZZZZZ") == ()
    assert stores.memories.since(stores.new_space(), ids[0]) == ()
    assert vector_of(stores.memories.since(space, ids[4])[0]).shape == vector_of(added[4]).shape


def test_only_additions_leave_the_head_unrewritten(stores: Stores) -> None:
    space = stores.new_space()

    def rewritten() -> int:
        head = stores.heads.read(space.tenant, space.subject)
        assert head is not None
        return head.rewritten

    one, two = memory("I know one song"), memory("I know two songs")
    stores.memories.add(space, [one])
    stores.memories.add(space, [two])
    assert rewritten() == 0
    stores.memories.update(space, one, changed(one, "I know no song"))
    assert rewritten() == stores.revision(space)
    stores.memories.add(space, [memory("I know three songs")])
    assert rewritten() == stores.revision(space) - 1
    stores.memories.delete(space, [two.id])
    assert rewritten() == stores.revision(space)


def test_changes_are_noted_with_their_time(stores: Stores) -> None:
    space = stores.new_space()
    one, two, three = (memory(f"text {n}") for n in range(3))
    stores.memories.add(space, [one, two, three])
    assert stores.memories.changed_since(space, START - timedelta(days=1)) == ()
    second = stores.memories.update(space, two, changed(two, "two, later"))
    later = replace(changed(one, "one, later still"), updated_at=second.updated_at + timedelta(microseconds=1))
    first = stores.memories.update(space, one, later)
    assert stores.memories.changed_since(space, START - timedelta(days=1)) == (two.id, one.id)
    assert stores.memories.changed_since(space, second.updated_at) == (two.id, one.id)
    assert stores.memories.changed_since(space, first.updated_at) == (one.id,)
    assert stores.memories.changed_since(space, first.updated_at + timedelta(microseconds=1)) == ()
    assert stores.memories.changed_since(stores.new_space(), START - timedelta(days=1)) == ()


@pytest.mark.parametrize("count", [1, 120])
def test_every_write_of_memories_marks_the_head_anew(stores: Stores, count: int) -> None:
    space = stores.new_space()

    def mark() -> str | None:
        head = stores.heads.read(space.tenant, space.subject)
        assert head is not None
        return head.written

    marks = [mark()]
    new = [memory(f"text {n}") for n in range(count)]
    stores.memories.add(space, new)
    marks.append(mark())
    stores.memories.update(space, new[0], changed(new[0], "another text"))
    marks.append(mark())
    assert marks[0] is None
    assert None not in marks[1:]
    assert len(set(marks)) == 3
    stores.memories.delete(space, [new[0].id])
    stores.memories.add(space, [memory("another text")])  # no longer said by another: written
    marks.append(mark())
    stores.memories.add(space, [memory("another text")])  # a duplicate: nothing is written
    stores.heads.raise_revision(space)
    assert mark() == marks[-1]
    stores.heads.raise_revision(space, unmarks=True)
    assert mark() is None


def test_a_refused_change_is_not_noted(stores: Stores) -> None:
    space, seen = stores.new_space(), memory()
    stores.memories.add(space, [seen])
    with pytest.raises(VersionConflict):
        stores.memories.update(space, replace(seen, version=2), changed(seen, "never"))
    assert stores.memories.changed_since(space, START - timedelta(days=1)) == ()


def test_pages_are_newest_first_and_complete(stores: Stores) -> None:
    space = stores.new_space()
    new = [memory(f"text {n}") for n in range(23)]
    stores.memories.add(space, new)
    found: list[str] = []
    start: str | None = None
    sizes = []
    while True:
        page = stores.memories.page(space, 10, start)
        found += [m.id for m in page.items]
        sizes.append(len(page.items))
        if page.next_key is None:
            break
        start = page.next_key
    assert found == [m.id for m in reversed(new)]
    assert sizes == [10, 10, 3]
    assert replace(page.items[-1], embedding=new[0].embedding) == new[0]


def test_a_full_last_page_ends_the_list(stores: Stores) -> None:
    space = stores.new_space()
    stores.memories.add(space, [memory(f"text {n}") for n in range(4)])
    first = stores.memories.page(space, 2, None)
    assert first.next_key is not None
    assert stores.memories.page(space, 2, first.next_key).next_key is None


def test_a_page_goes_on_behind_a_memory_that_was_deleted(stores: Stores) -> None:
    space = stores.new_space()
    new = [memory(f"text {n}") for n in range(5)]
    stores.memories.add(space, new)
    first = stores.memories.page(space, 2, None)
    stores.memories.delete(space, [new[3].id])
    assert [m.id for m in stores.memories.page(space, 5, first.next_key).items] == [m.id for m in new[2::-1]]


def test_an_update_keeps_what_was_before(stores: Stores) -> None:
    space, first = stores.new_space(), full_memory()
    stores.memories.add(space, [first])
    second = stores.memories.update(space, first, changed(first, "second"))
    third = stores.memories.update(space, second, replace(second, kind=MemoryKind.EPISODE))
    assert (second.version, third.version) == (2, 3)
    assert stores.memories.get(space, first.id) == third
    assert stores.memories.all(space) == (third,)
    old = (replace(first, superseded_at=second.updated_at), replace(second, superseded_at=third.updated_at))
    assert stores.memories.history(space, first.id) == (*old, third)
    assert stores.memories.old_versions(space) == old
    assert float(vector_of(stores.memories.old_versions(space)[0]) @ vector_of(first)) > 0.99999
    assert stores.memories.count(space) == 1
    assert stores.revision(space) == 3


def test_ten_versions_in_order(stores: Stores) -> None:
    space, newest = stores.new_space(), memory("0")
    stores.memories.add(space, [newest])
    for n in range(1, 12):
        newest = stores.memories.update(space, newest, changed(newest, str(n)))
    assert [m.text for m in stores.memories.history(space, newest.id)] == [str(n) for n in range(12)]


def test_a_stale_update_changes_nothing(stores: Stores) -> None:
    space, first = stores.new_space(), memory("first")
    stores.memories.add(space, [first])
    second = stores.memories.update(space, first, changed(first, "second"))
    with pytest.raises(VersionConflict) as refused:
        stores.memories.update(space, first, changed(first, "other"))
    assert refused.value.current_version == 2
    assert stores.memories.get(space, first.id) == second
    assert len(stores.memories.history(space, first.id)) == 2
    assert stores.revision(space) == 2


def test_an_update_of_nothing(stores: Stores) -> None:
    space, missing = stores.new_space(), memory()
    with pytest.raises(NotFound):
        stores.memories.update(space, missing, changed(missing, "x"))
    assert stores.memories.all(space) == ()
    assert stores.revision(space) == 0


def test_an_update_cannot_take_the_statement_of_another(stores: Stores) -> None:
    space, one, other = stores.new_space(), memory("one"), memory("other")
    stores.memories.add(space, [one, other])
    with pytest.raises(Conflict):
        stores.memories.update(space, one, changed(one, "other"))
    assert stores.memories.get(space, one.id) == one


def test_the_old_statement_is_free_again_after_an_update(stores: Stores) -> None:
    space, first = stores.new_space(), memory("first")
    stores.memories.add(space, [first])
    second = stores.memories.update(space, first, changed(first, "second"))
    again, taken = stores.memories.add(space, [memory("first"), memory("second")])
    assert (again.duplicate_of, taken.duplicate_of) == (None, first.id)
    with pytest.raises(Conflict):
        stores.memories.update(space, second, changed(second, "first"))


def test_delete_takes_versions_and_statement_along(stores: Stores) -> None:
    space, first, other = stores.new_space(), memory("first"), memory("other")
    stores.memories.add(space, [first, other])
    stores.memories.update(space, first, changed(first, "second"))
    before = stores.revision(space)
    assert stores.memories.delete(space, [first.id, memory().id, first.id]) == 1
    assert stores.revision(space) == before + 1
    assert stores.memories.get(space, first.id) is None
    assert stores.memories.history(space, first.id) == ()
    assert stores.memories.old_versions(space) == ()
    assert stores.memories.all(space) == (other,)
    assert stores.memories.count(space) == 1
    assert stores.memories.delete(space, [first.id]) == 0
    assert stores.revision(space) == before + 1
    (result,) = stores.memories.add(space, [memory("second")])
    assert result.duplicate_of is None


def test_delete_many(stores: Stores) -> None:
    space = stores.new_space()
    new = [memory(f"text {n}") for n in range(120)]
    stores.memories.add(space, new)
    assert stores.memories.delete(space, [m.id for m in new[:110]]) == 110
    assert stores.memories.all(space) == tuple(new[110:])
    assert stores.revision(space) == 2


def test_delete_of_a_memory_with_more_versions_than_a_transaction_holds(big_stores: Stores) -> None:
    space, newest = big_stores.new_space(), memory("0")
    big_stores.memories.add(space, [newest])
    for n in range(1, 104):
        newest = big_stores.memories.update(space, newest, replace(newest, confidence=n / 1000))
    assert big_stores.memories.delete(space, [newest.id]) == 1
    assert big_stores.memories.old_versions(space) == ()
    assert big_stores.memories.all(space) == ()


def test_others_see_nothing(stores: Stores) -> None:
    space, new = stores.new_space(), memory()
    stores.memories.add(space, [new])
    stores.memories.update(space, new, changed(new, "second"))
    foreign = [
        stores.new_space(space.tenant),
        Space(stores.new_space().tenant, space.subject, 1),
        replace(space, epoch=2),
        replace(space, subject=space.subject[:-1]),
    ]
    for other in foreign:
        assert stores.memories.get(other, new.id) is None
        assert stores.memories.get_many(other, [new.id]) == {}
        assert stores.memories.all(other) == ()
        assert stores.memories.old_versions(other) == ()
        assert stores.memories.history(other, new.id) == ()
        assert stores.memories.page(other, 10, None).items == ()
        assert stores.memories.count(other) == 0
        assert stores.memories.delete(other, [new.id]) == 0
    assert len(stores.memories.history(space, new.id)) == 2


def test_the_same_statement_in_another_space_is_no_duplicate(stores: Stores) -> None:
    space = stores.new_space()
    for other in (space, stores.new_space(space.tenant), stores.new_space()):
        (result,) = stores.memories.add(other, [memory()])
        assert result.duplicate_of is None


@pytest.mark.parametrize("count", [1, 3, 60])
def test_a_late_writer_is_told_and_seen_by_nobody(stores: Stores, count: int) -> None:
    space = stores.new_space()
    kept = memory("kept")
    stores.memories.add(space, [kept])
    after = stores.begin_erasure(space)
    with pytest.raises(Erased):
        stores.memories.add(space, [memory(f"late {n}") for n in range(count)])
    with pytest.raises(Erased):
        stores.memories.update(space, kept, changed(kept, "late"))
    stores.admit(space)
    with pytest.raises(Erased):
        stores.memories.add(space, [memory("late")])
    assert stores.memories.all(after) == ()
    assert stores.revision(space) == 1


def test_a_memory_too_large_names_the_field(strict_stores: Stores) -> None:
    with pytest.raises(TooLarge, match="context"):
        strict_stores.memories.add(strict_stores.new_space(), [memory(context="c" * 390_000)])


def test_large_memories_in_one_call(big_stores: Stores) -> None:
    space = big_stores.new_space()
    new = [memory(f"{n}", context=f"{n}" + "c" * 250_000) for n in range(20)]
    big_stores.memories.add(space, new)
    assert big_stores.memories.all(space) == tuple(new)


def test_ids_and_times_are_kept_apart(stores: Stores) -> None:
    """A later memory with an earlier id, as clocks of two containers make them, has its place by its id."""
    space = stores.new_space()
    late, early = memory("late"), memory("early")
    swapped = [replace(late, id=early.id), replace(early, id=late.id, created_at=START - timedelta(days=1))]
    stores.memories.add(space, [swapped[0]])
    stores.memories.add(space, [swapped[1]])
    assert [m.text for m in stores.memories.all(space)] == ["early", "late"]
