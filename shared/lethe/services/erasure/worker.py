"""The tasks of the state machine: each does its part again and again until it is done, and notes it in the ledger.

A task may be repeated, run twice at once, or be cut short anywhere: the effect comes first and the note after it, and
every effect is such that doing it again changes nothing. What was found is noted before any of it goes, so that a note
that was never made costs the work done again and no count. Nothing but the tenant's name and the erasure's id comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final

from lethe.domain.erasure import (
    ABSENT_FOR,
    DELETING,
    Erasure,
    ErasureState,
    Step,
    StepName,
    StepState,
    Verification,
    balanced,
    given_up,
)
from lethe.domain.immutable import immutable
from lethe.errors import LetheError, NotFound, SubjectErasing, Throttled
from lethe.ports import Clock, Ledger, TimeLeft
from lethe.services.erasure.partial import PartialDeletion
from lethe.services.erasure.receipts import ReceiptWriter
from lethe.services.erasure.verification import Looking
from lethe.services.erasure.whole import WholeDeletion

ROUNDS: Final = 3
"""So many looks of the first verification may find something; each but the last sends the deleting steps round."""
MOST_WAITS: Final = 60
"""How often a part waits for the erasure of its whole subject, 20 seconds each time, before it gives up."""
TO_RUN_ON: Final = 30.0
"""Seconds that must be left for another step within the same call."""
NOTE_AFTER: Final = timedelta(seconds=1)
"""How old the ledger's row may be before a call that goes on through several steps notes how far it is."""


class LeftBehind(LetheError):
    """The verifier found what should have been gone."""

    code, title = "left_behind", "Something of what was erased is still there"


class Unknown(NotFound):
    """There is no such erasure."""


@immutable
class Done:
    """Whether a task is through, and which one comes next when that is not the same or the one after it."""

    done: bool
    following: StepName | None = None
    state: ErasureState = ErasureState.RUNNING
    later: bool = False
    """Whether it is of no use to go on at once: something else has to end first."""


Work = Callable[[Erasure, Step, TimeLeft], "StepProgress"]


@immutable
class StepProgress:
    """What a stretch of a step did."""

    done: bool
    deleted: int = 0
    cursor: str | None = None
    erasure: Erasure | None = None
    """The row, where more than the step changed in it."""
    left_behind: bool = False
    """Whether the erasure ends here, once this is noted."""
    later: bool = False
    """As of ``Done``."""


class Worker:
    """Runs one task of one erasure."""

    def __init__(
        self,
        ledger: Ledger,
        whole: WholeDeletion,
        partial: PartialDeletion,
        looking: Looking,
        receipts: ReceiptWriter,
        clock: Clock,
    ) -> None:
        self._ledger = ledger
        self._whole = whole
        self._partial = partial
        self._looking = looking
        self._receipts = receipts
        self._clock = clock
        self._work: Mapping[StepName, Work] = {
            StepName.FENCE: self._fence,
            StepName.INDEX: self._delete,
            StepName.DERIVED: self._delete,
            StepName.MEMORIES: self._delete,
            StepName.ENTITIES: self._delete,
            StepName.SESSIONS: self._delete,
            StepName.ARCHIVE: self._delete,
            StepName.PROBE: self._verify,
            StepName.SWEEP: self._sweep,
            StepName.VERIFY: self._verify,
            StepName.RECEIPT: self._sign,
        }

    def run(self, task: StepName, tenant: str, erasure_id: str, time_left: TimeLeft) -> Done:
        """A stretch of ``task``; once it is through, its successors up to the last deletion as well, while there is
        time. The machine finds them done when it comes to them: its way from one task to the next would be most of
        what the erasure of a small subject takes. The answer is about ``task`` alone.

        Raises Unknown, LeftBehind, and what the ports raise, also for a successor: then the machine repeats ``task``,
        which is done, and goes on behind it.
        """
        erasure = self._claimed(tenant, erasure_id)
        done, following, later = True, None, False
        if erasure.step(task).state is not StepState.DONE:
            progress, row = self._stretch(erasure, task, time_left)
            erasure = self._save(row)
            if progress.left_behind:
                raise LeftBehind
            done, following, later = progress.done, _following(erasure, task), progress.later
        if done:
            erasure = self._run_on(erasure, task, time_left)
        return Done(done, following, erasure.state, later)

    def _claimed(self, tenant: str, erasure_id: str) -> Erasure:
        """The row, noted as running: what runs is not started again by the tick."""
        erasure = self._read(tenant, erasure_id)
        if erasure.state is ErasureState.ACCEPTED:
            return self._save(replace(erasure, state=ErasureState.RUNNING))
        return erasure

    def _run_on(self, erasure: Erasure, task: StepName, time_left: TimeLeft) -> Erasure:
        """The steps behind ``task`` up to the last deletion, as far as the time goes. Each note is a call, so steps
        share one where they are quick; what the fence counts is noted before anything goes.
        """
        noted = erasure
        for name in _BEHIND.get(task, ()):
            if time_left() < TO_RUN_ON:
                break
            if erasure.step(name).state is StepState.DONE:
                continue
            progress, erasure = self._stretch(erasure, name, time_left)
            if name is StepName.FENCE or self._is_old(noted):
                noted = erasure = self._save(erasure)
            if not progress.done:
                break
        return erasure if erasure is noted else self._save(erasure)

    def _is_old(self, noted: Erasure) -> bool:
        return noted.touched_at is None or self._clock.now() - noted.touched_at >= NOTE_AFTER

    def _stretch(self, erasure: Erasure, task: StepName, time_left: TimeLeft) -> tuple[StepProgress, Erasure]:
        """Some work on a step that is not done; the row as it stands then, to be noted. When the work raises, the row
        up to there is noted, and that the step was begun.
        """
        step = erasure.step(task)
        begun = replace(step, state=StepState.RUNNING, attempts=step.attempts + 1)
        try:
            progress = self._work[task](erasure.with_step(begun), begun, time_left)
        except Exception:
            with suppress(LetheError):  # the work failed, and so may the note: the first failure is the one to tell
                self._save(erasure.with_step(begun))
            raise
        row = progress.erasure or erasure.with_step(begun)
        worked = row.step(task)
        finished = replace(
            worked,
            state=StepState.DONE if progress.done else StepState.RUNNING,
            deleted=worked.deleted + progress.deleted,
            cursor=None if progress.done else progress.cursor,
        )
        return progress, row.with_step(finished)

    def fail(self, tenant: str, erasure_id: str, why: str) -> None:
        """Write the honest end of a machine that gave up. ``why`` is the name of an error."""
        erasure = self._read(tenant, erasure_id)
        if not erasure.state.is_end:  # an execution of an earlier run may come late
            self._save(given_up(erasure, why[:64], self._clock.now()))

    def _read(self, tenant: str, erasure_id: str) -> Erasure:
        erasure = self._ledger.read(tenant, erasure_id)
        if erasure is None:
            raise Unknown
        return erasure

    def _save(self, erasure: Erasure) -> Erasure:
        return self._ledger.save(replace(erasure, touched_at=self._clock.now()))

    def _fence(self, erasure: Erasure, step: Step, time_left: TimeLeft) -> StepProgress:
        """The fence, if the request did not come to it, and what there is to delete then."""
        if erasure.is_whole:
            stretch = self._whole.fence(erasure, step.cursor, time_left)
        else:
            stretch = self._partial.count(erasure)
        counted = erasure
        for name, found in stretch.found:
            known = counted.step(name)
            # A request for a part has counted and perhaps deleted before: what went then was among what it found.
            in_all = known.found + found if erasure.is_whole else max(known.found, known.deleted + found)
            counted = counted.with_step(replace(known, found=in_all))
        counted = counted.owing(stretch.owed)
        if stretch.done and counted.unreadable_since is None and stretch.unreadable:
            counted = replace(counted, unreadable_since=self._clock.now())
        return StepProgress(stretch.done, cursor=stretch.cursor, erasure=counted)

    def _delete(self, erasure: Erasure, step: Step, time_left: TimeLeft) -> StepProgress:
        deletion = self._whole if erasure.is_whole else self._partial
        stretch = deletion.delete(erasure, step.name, step.cursor, time_left)
        row = replace(erasure, holds=tuple(sorted({*erasure.holds, *stretch.holds}))).owing(stretch.owed)
        if step.name is StepName.ARCHIVE and stretch.done and row.unreadable_since is None:
            row = replace(row, unreadable_since=self._clock.now())
        return StepProgress(stretch.done, stretch.deleted, stretch.cursor, row)

    def _sweep(self, erasure: Erasure, step: Step, time_left: TimeLeft) -> StepProgress:
        """The machine has waited: no writer lives any more that saw the old head, and what such a one wrote goes."""
        drained = replace(erasure.step(StepName.DRAIN), state=StepState.DONE)
        return self._delete(erasure.with_step(drained), step, time_left)

    def _verify(self, erasure: Erasure, step: Step, time_left: TimeLeft) -> StepProgress:
        """A look over all stores, in stretches; the row keeps what was counted so far."""
        try:
            seen = self._looking.stretch(erasure, step, time_left)
        except SubjectErasing as error:
            if step.attempts > MOST_WAITS:
                raise Throttled(error.detail) from error
            return StepProgress(False, cursor=step.cursor, later=True)
        if not seen.done:
            return StepProgress(False, cursor=seen.cursor, erasure=erasure)
        verification = Verification(self._clock.now(), seen.remaining, seen.held)
        row = replace(erasure, verified=(*erasure.verified, verification), held=sum(count for _, count in seen.held))
        if verification.is_clean:
            return StepProgress(True, erasure=_draining(row) if step.name is StepName.PROBE else row)
        return self._again(row, step)

    def _again(self, erasure: Erasure, step: Step) -> StepProgress:
        """What the first verification finds is deleted in another round; what the second finds ends the erasure."""
        rounds = sum(not each.is_clean for each in erasure.verified)
        if step.name is StepName.VERIFY or rounds >= ROUNDS:
            return StepProgress(False, erasure=erasure, left_behind=True)
        pending = tuple(
            replace(each, state=StepState.PENDING, cursor=None) if each.name in DELETING else each
            for each in erasure.steps
        )
        return StepProgress(False, erasure=replace(erasure, steps=pending))

    def _sign(self, erasure: Erasure, step: Step, time_left: TimeLeft) -> StepProgress:
        """The receipt, then the head, then the end in the ledger: each is the same when it is done again."""
        now = self._clock.now()
        state = ErasureState.COMPLETED_WITH_HOLDS if erasure.held else ErasureState.COMPLETED
        holds = erasure.holds if erasure.held else ()
        ended = replace(balanced(erasure), state=state, holds=holds, ended_at=now, failures=0)
        receipt_id = self._receipts.write(ended)
        if erasure.is_whole:
            self._whole.end(erasure, now + ABSENT_FOR)
        receipts = erasure.receipts if receipt_id in erasure.receipts else (*erasure.receipts, receipt_id)
        return StepProgress(True, erasure=replace(ended, receipts=receipts))


def _draining(erasure: Erasure) -> Erasure:
    """The wait has no task of its own: it is noted where it begins and where it has ended."""
    step = erasure.step(StepName.DRAIN)
    return erasure.with_step(replace(step, state=StepState.RUNNING, attempts=step.attempts + 1))


def _following(erasure: Erasure, task: StepName) -> StepName | None:
    """The first deleting step, when the first verification has sent them round."""
    goes_round = task is StepName.PROBE and erasure.step(StepName.INDEX).state is StepState.PENDING
    return StepName.INDEX if goes_round else None


_TO_THE_LAST_DELETION: Final = (StepName.LEDGER, StepName.FENCE, *DELETING[:-1])
_BEHIND: Final = {name: _TO_THE_LAST_DELETION[n:] for n, name in enumerate(_TO_THE_LAST_DELETION, 1)}
"""What one call goes on to, behind each task."""
