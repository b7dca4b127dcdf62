"""Histories of writers, retries, erasures, admissions and holds: nothing of an ended epoch is ever read again.

A history is a list of single steps of everybody: a request opens its space in one step and writes in a later one, as a
slow function does; the eraser takes one task a step, and may lose its process before any note is written; a client
sends a request again; the tick comes. Every text says in which life of the subject it was acknowledged, a life ending
with the answer to an erasure. Readers look after every step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lethe.domain.entity import Entity
from lethe.domain.erasure import Erasure, ErasureState, StepName, WholeSubject
from lethe.domain.idempotency import StoredAnswer
from lethe.domain.identity import Space
from lethe.domain.memory import Memory
from lethe.errors import Conflict, Erased, LetheError, NotFound
from lethe.services.erasure.worker import LeftBehind
from tests.support.erasing import ORDER, ErasingInMemory
from tests.support.makers import entity, memory, said

USERS = ("ann", "ben")
STEPS = (
    "open",
    "write",
    "write",
    "retry",
    "erase",
    "task",
    "task",
    "task",
    "task",
    "task and crash",
    "run to the end",
    "admit",
    "hold",
    "release",
    "tick",
    "fade",
)

Step = tuple[str, int, int]
HISTORIES = st.lists(
    st.tuples(st.sampled_from(STEPS), st.integers(0, len(USERS) - 1), st.integers(0, 7)), min_size=30, max_size=30
)


@dataclass
class Writer:
    """A request that has opened its space, and will write some time within its time-out."""

    user: str
    space: Space
    life: int
    opened: int


class History:
    """The house, and what ought to be true of it."""

    def __init__(self) -> None:
        self.house = ErasingInMemory()
        self.caller = self.house.caller("acme")
        self.lives = dict.fromkeys(USERS, 0)
        self.acknowledged: dict[str, set[str]] = {user: set() for user in USERS}
        self.writers: list[Writer] = []
        self.running: dict[str, StepName | None] = {}
        self.erasures: dict[str, Erasure] = {}
        self.users: dict[str, str] = {}
        self.time = 0
        self.admissions = 0

    def run(self, steps: list[Step]) -> None:
        """Take every step, and look after each."""
        for name, number, choice in steps:
            self.time += 1
            self.house.clock.move(timedelta(seconds=1))
            getattr(self, name.replace(" ", "_"))(USERS[number], choice)
            for user in USERS:
                self.look(user)

    def open(self, user: str, choice: int) -> None:
        try:
            space = self.house.spaces.for_writing(self.caller, user)
        except Erased:
            return
        self.writers.append(Writer(user, space, self.lives[user], self.time))

    def write(self, user: str, choice: int) -> None:
        """The oldest or newest writer that is under way writes, and is acknowledged if nothing refuses it."""
        if not self.writers:
            return
        writer = self.writers.pop(0 if choice % 2 else -1)
        text = f"{writer.user} life {writer.life} at {self.time}"
        try:
            self._write(writer.space, text, choice)
        except (Erased, Conflict):
            return
        if writer.life == self.lives[writer.user] and choice % 4 != 3:  # an answer is read by its own key alone
            self.acknowledged[writer.user].add(text)

    def _write(self, space: Space, text: str, choice: int) -> None:
        house, now = self.house, self.house.clock.now()
        match choice % 4:
            case 0:
                house.memories.add(space, [self._memory(text)])
            case 1:
                house.sessions.append(space, "talk", [said(text)], now, 3_600 * 24 * 7)
            case 2:
                house.entities.put(space, self._entity(text), None)
            case _:
                house.answers.store(space, space.tenant, f"digest {text}", StoredAnswer(201, text), now)

    def _memory(self, text: str) -> Memory:
        return replace(memory(text, self.house.clock.now()), id=self.house.ids.new("mem_"), content_hash=text)

    def _entity(self, text: str) -> Entity:
        return entity(text.replace(" ", "-"), text, self.house.clock.now())

    def retry(self, user: str, choice: int) -> None:
        """A client sends again what it wrote in an earlier life: it is a new request, or it is refused."""
        self.open(user, choice)

    def fade(self, user: str, choice: int) -> None:
        """Decay writes back what it read when it opened its space, under the condition that it still stands."""
        for writer in self.writers[-1:]:
            for found in self.house.memories.all(writer.space)[:1]:
                try:
                    faded = replace(found, heat=found.heat * 0.8, version=found.version + 1)
                    self.house.memories.update(writer.space, found, faded)
                except LetheError:
                    continue

    def erase(self, user: str, choice: int) -> None:
        begun = self.house.begin(self.caller, user, WholeSubject())
        self.lives[user] += 1
        self.acknowledged[user].clear()
        self.erasures[begun.id], self.users[begun.id] = begun, user
        self.running.setdefault(begun.id, ORDER[0])

    def task(self, user: str, choice: int) -> None:
        """One task of one machine."""
        busy = [erasure_id for erasure_id, at in self.running.items() if at is not None]
        if not busy:
            return
        erasure_id = busy[choice % len(busy)]
        task = self.running[erasure_id]
        assert task is not None
        if task is StepName.SWEEP and any(writer.opened < self.drained_at(erasure_id) for writer in self.writers):
            self.writers = [writer for writer in self.writers if writer.opened >= self.drained_at(erasure_id)]
        try:
            done = self.house.worker.run(task, "acme", erasure_id, lambda: 0.0)
        except LeftBehind:
            self.house.worker.fail("acme", erasure_id, "left_behind")
            self.running[erasure_id] = None
            return
        self.running[erasure_id] = self.house.following(task, done)

    def drained_at(self, erasure_id: str) -> int:
        """Whoever opened its space before now is past its time-out when the drain ends."""
        return self.time

    def task_and_crash(self, user: str, choice: int) -> None:
        """The machine forgets where it was and begins again from its first task, as a restart does."""
        self.task(user, choice)
        for erasure_id, at in self.running.items():
            if at is not None:
                self.running[erasure_id] = ORDER[0]

    def run_to_the_end(self, user: str, choice: int) -> None:
        for _ in range(60):
            if all(at is None for at in self.running.values()):
                return
            self.task(user, choice)

    def admit(self, user: str, choice: int) -> None:
        try:
            self.house.requests.admit(self.caller, user)
            self.admissions += 1
        except NotFound:
            return

    def hold(self, user: str, choice: int) -> None:
        try:
            self.house.holds.place(self.caller, user, f"hold-{user}", WholeSubject())
        except LetheError:
            return

    def release(self, user: str, choice: int) -> None:
        self.house.holds.release(self.caller, f"hold-{user}")

    def tick(self, user: str, choice: int) -> None:
        self.house.clock.move(timedelta(hours=7))
        before = len(self.house.executions.started)
        self.house.tick.run()
        for _, erasure_id, _ in self.house.executions.started[before:]:
            if self.running.get(erasure_id) is None:
                self.running[erasure_id] = ORDER[0]

    def read(self, user: str) -> set[str]:
        """Everything that a reader is given now."""
        house, now = self.house, self.house.clock.now()
        try:
            space = house.spaces.for_reading(self.caller, user)
        except NotFound:
            return set()
        texts = {found.text for found in house.memories.all(space)}
        texts |= {str(value.value) for value in house.entities.list(space, now)}
        for session in house.sessions.list(space, now, 50, None).items:
            texts |= {message.content for message in house.sessions.newest(space, session.id, now, 50)}
        return texts

    def look(self, user: str) -> None:
        """Nothing of an earlier life is read, and all that was acknowledged in this one is."""
        seen = self.read(user)
        assert all(f"{user} life {self.lives[user]} " in text for text in seen)
        assert self.acknowledged[user] <= seen

    def end(self) -> None:
        """Let all machines run out, and look whether every receipt is true."""
        self.writers.clear()
        for user in USERS:
            self.house.holds.release(self.caller, f"hold-{user}")
        for _ in range(3):
            self.run_to_the_end(USERS[0], 0)
            self.tick(USERS[0], 0)
        self.run_to_the_end(USERS[0], 0)
        for erasure_id in self.erasures:
            row = self.house.ledger.read("acme", erasure_id)
            assert row is not None
            assert row.state is ErasureState.COMPLETED
            assert row.receipt_id is not None
        stored = self.house.purge.spaces()  # type: ignore[attr-defined]  # the fake's
        for space in stored:
            head = self.house.heads.read(space.tenant, space.subject)
            assert head is not None
            assert space.epoch == head.epoch


@settings(max_examples=1_000, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(HISTORIES)
def test_nothing_of_an_earlier_life_is_ever_read(steps: list[Step]) -> None:
    history = History()
    history.run(steps)
    history.end()
    for user in USERS:
        history.look(user)
