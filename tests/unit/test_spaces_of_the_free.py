"""A subject whose thirty days are over is admitted by its first writer, unless it is erased again meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lethe.domain.head import SubjectHead
from lethe.domain.identity import Caller, Permission
from lethe.errors import Erased
from lethe.services.spaces import Spaces
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.time_and_ids import FixedClock

CALLER = Caller("acme", "key:1", frozenset({Permission.ADMIN}), ("*",), "1")


class Heads(FakeSubjectHeads):
    """``erases``: another erasure begins just after the next look at the head."""

    erases = False

    def read(self, tenant: str, subject: str) -> SubjectHead | None:
        head = super().read(tenant, subject)
        if self.erases and head is not None:
            self.fence(tenant, subject, "er_2", head.epoch)
        return head


@pytest.mark.parametrize("erases", [False, True])
def test_the_first_writer_does_not_undo_another_erasure(erases: bool) -> None:
    heads, clock = Heads(), FixedClock()
    spaces = Spaces(heads, b"k" * 32, clock)
    subject = spaces.for_writing(CALLER, "ann").subject
    heads.fence("acme", subject, "er_1", 1)
    heads.end_erasure("acme", subject, "er_1", clock.now() + timedelta(days=30))
    clock.move(timedelta(days=31))
    heads.erases = erases

    if erases:
        with pytest.raises(Erased):
            spaces.for_writing(CALLER, "ann")
    else:
        assert spaces.for_writing(CALLER, "ann").epoch == 2
