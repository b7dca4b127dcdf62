"""The contract of SubjectHeads, over the fake and both DynamoDBs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lethe.domain.head import SubjectHead, SubjectState
from lethe.domain.identity import Space
from lethe.errors import Conflict, Erased
from tests.support.stores import Stores


def test_a_subject_that_was_never_written_has_no_head(stores: Stores) -> None:
    assert stores.heads.read("acme", "0" * 32) is None


def test_the_first_head(stores: Stores) -> None:
    space = stores.new_space()
    expected = SubjectHead(space.tenant, space.subject, 1, SubjectState.ACTIVE, 0)
    assert stores.heads.read(space.tenant, space.subject) == expected


def test_creating_again_gives_what_stands(stores: Stores) -> None:
    space = stores.new_space()
    stores.heads.raise_revision(space)
    assert stores.heads.create(space.tenant, space.subject).revision == 1
    stores.begin_erasure(space)
    standing = stores.heads.create(space.tenant, space.subject)
    assert (standing.epoch, standing.state) == (2, SubjectState.ERASING)


def test_the_revision_counts(stores: Stores) -> None:
    space = stores.new_space()
    assert [stores.heads.raise_revision(space) for _ in range(3)] == [1, 2, 3]
    assert stores.revision(space) == 3


def test_rewritten_is_the_revision_of_the_newest_rewrite(stores: Stores) -> None:
    space = stores.new_space()
    for rewrites, expected in ((False, (1, 0)), (True, (2, 2)), (False, (3, 2)), (True, (4, 4))):
        stores.heads.raise_revision(space, rewrites)
        head = stores.heads.read(space.tenant, space.subject)
        assert head is not None
        assert (head.revision, head.rewritten) == expected


def test_heads_of_others_stay(stores: Stores) -> None:
    space = stores.new_space()
    neighbours = [stores.new_space(space.tenant), stores.new_space()]
    same_subject = Space("other-" + space.tenant, space.subject, 1)
    stores.heads.create(same_subject.tenant, same_subject.subject)
    stores.heads.raise_revision(space)
    assert [stores.revision(other) for other in (*neighbours, same_subject)] == [0, 0, 0]


@pytest.mark.parametrize("state", [SubjectState.ERASING, SubjectState.ERASED])
def test_no_revision_for_a_subject_that_is_not_active(stores: Stores, state: SubjectState) -> None:
    space = stores.new_space()
    stores.put_head(SubjectHead(space.tenant, space.subject, 1, state, 7))
    with pytest.raises(Erased):
        stores.heads.raise_revision(space)
    assert stores.revision(space) == 7


def test_no_revision_for_an_old_or_a_future_epoch(stores: Stores) -> None:
    space = stores.new_space()
    stores.put_head(SubjectHead(space.tenant, space.subject, 2, SubjectState.ACTIVE, 0))
    for epoch in (1, 3):
        with pytest.raises(Erased):
            stores.heads.raise_revision(replace(space, epoch=epoch))
    assert stores.revision(space) == 0


def test_no_revision_without_a_head(stores: Stores) -> None:
    with pytest.raises(Erased):
        stores.heads.raise_revision(Space("acme", "f" * 32, 1))
    assert stores.heads.read("acme", "f" * 32) is None


def test_eight_threads_raise_each_revision_once(strict_stores: Stores) -> None:
    space = strict_stores.new_space()
    with ThreadPoolExecutor(8) as threads:
        revisions = list(threads.map(lambda _: strict_stores.heads.raise_revision(space), range(80)))
    assert sorted(revisions) == list(range(1, 81))


def test_eight_threads_create_one_head(strict_stores: Stores) -> None:
    with ThreadPoolExecutor(8) as threads:
        heads = list(threads.map(lambda _: strict_stores.heads.create("race", "a" * 32), range(40)))
    assert set(heads) == {SubjectHead("race", "a" * 32, 1, SubjectState.ACTIVE, 0)}


LATER = datetime(2026, 4, 1, tzinfo=UTC)


def test_a_fence_raises_the_epoch_once(stores: Stores) -> None:
    space = stores.new_space()
    first = stores.heads.fence(space.tenant, space.subject, "er_1", 1)
    assert (first.epoch, first.state, first.erasure) == (2, SubjectState.ERASING, "er_1")
    assert stores.heads.fence(space.tenant, space.subject, "er_1", 1) == first
    assert stores.heads.fence(space.tenant, space.subject, "er_2", 1) == first
    assert stores.heads.read(space.tenant, space.subject) == first


def test_a_fence_of_an_unknown_subject_stands_before_its_first_writer(stores: Stores) -> None:
    tenant, subject = stores.new_space().tenant, "e" * 32
    fenced = stores.heads.fence(tenant, subject, "er_1", 1)
    assert (fenced.epoch, fenced.state) == (2, SubjectState.ERASING)
    assert stores.heads.create(tenant, subject) == fenced


def test_an_old_fence_does_not_touch_who_was_admitted_since(stores: Stores) -> None:
    space = stores.new_space()
    stores.heads.fence(space.tenant, space.subject, "er_1", 1)
    admitted = stores.heads.admit(space.tenant, space.subject)
    assert admitted is not None
    assert (admitted.epoch, admitted.state, admitted.erasure) == (2, SubjectState.ACTIVE, None)
    assert stores.heads.fence(space.tenant, space.subject, "er_1", 1) == admitted
    stores.heads.end_erasure(space.tenant, space.subject, "er_1", LATER)
    assert stores.heads.read(space.tenant, space.subject) == admitted


def test_a_head_from_a_backup_is_not_fenced_over(stores: Stores) -> None:
    space = stores.new_space()
    before = stores.heads.read(space.tenant, space.subject)
    with pytest.raises(Conflict):
        stores.heads.fence(space.tenant, space.subject, "er_1", 2)
    assert stores.heads.read(space.tenant, space.subject) == before


def test_the_end_of_an_erasure_names_until_when(stores: Stores) -> None:
    space = stores.new_space()
    stores.heads.fence(space.tenant, space.subject, "er_1", 1)
    stores.heads.end_erasure(space.tenant, space.subject, "er_2", LATER)
    erasing = stores.heads.read(space.tenant, space.subject)
    assert erasing is not None
    assert erasing.state is SubjectState.ERASING
    stores.heads.end_erasure(space.tenant, space.subject, "er_1", LATER)
    erased = stores.heads.read(space.tenant, space.subject)
    assert erased is not None
    assert (erased.state, erased.erased_until, erased.epoch) == (SubjectState.ERASED, LATER, 2)
    assert [erased.is_free(LATER - timedelta(seconds=1)), erased.is_free(LATER)] == [False, True]


def test_admitting_who_is_active_or_unknown_changes_nothing(stores: Stores) -> None:
    space = stores.new_space()
    before = stores.heads.read(space.tenant, space.subject)
    assert stores.heads.admit(space.tenant, space.subject) == before
    assert stores.heads.admit(space.tenant, "d" * 32) is None


def test_a_restored_head_comes_to_what_the_ledger_says(stores: Stores) -> None:
    space = stores.new_space()
    erased = stores.heads.restore(space.tenant, space.subject, 3, "er_1", LATER)
    assert (erased.epoch, erased.state, erased.erased_until) == (3, SubjectState.ERASED, LATER)
    assert stores.heads.restore(space.tenant, space.subject, 3, "er_1", LATER) == erased
    assert stores.heads.restore(space.tenant, space.subject, 2, "er_0", None) == erased
    active = stores.heads.restore(space.tenant, space.subject, 3, "er_1", None)
    assert (active.epoch, active.state, active.erasure) == (3, SubjectState.ACTIVE, None)
    unknown = stores.heads.restore(space.tenant, "c" * 32, 2, "er_1", LATER)
    assert (unknown.epoch, unknown.state) == (2, SubjectState.ERASED)


def test_a_replay_does_not_lock_out_who_came_back(stores: Stores) -> None:
    space = stores.new_space()
    stores.heads.fence(space.tenant, space.subject, "er_1", 1)
    back = stores.heads.admit(space.tenant, space.subject)
    assert stores.heads.restore(space.tenant, space.subject, 2, "er_1", LATER) == back


def test_of_eight_fences_at_once_one_ends_the_epoch(strict_stores: Stores) -> None:
    space = strict_stores.new_space()
    with ThreadPoolExecutor(8) as threads:
        heads = list(
            threads.map(lambda n: strict_stores.heads.fence(space.tenant, space.subject, f"er_{n}", 1), range(8))
        )
    assert len({(head.epoch, head.erasure) for head in heads}) == 1
    assert heads[0].epoch == 2


def test_who_is_free_is_admitted_only_while_nobody_erases_them_again(stores: Stores) -> None:
    """A writer read that the days were over; before it admits the subject, another erasure begins."""
    space = stores.new_space()
    stores.heads.fence(space.tenant, space.subject, "er_1", 1)
    stores.heads.end_erasure(space.tenant, space.subject, "er_1", LATER)
    before = stores.heads.read(space.tenant, space.subject)
    assert stores.heads.admit(space.tenant, space.subject, LATER - timedelta(seconds=1)) == before

    fenced = stores.heads.fence(space.tenant, space.subject, "er_2", 2)
    assert stores.heads.admit(space.tenant, space.subject, LATER) == fenced
    stores.heads.end_erasure(space.tenant, space.subject, "er_2", LATER)

    admitted = stores.heads.admit(space.tenant, space.subject, LATER)
    assert admitted is not None
    assert (admitted.epoch, admitted.state) == (3, SubjectState.ACTIVE)
