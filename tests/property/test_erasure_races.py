"""200 races of eight threads against erasures and admissions: no text of an ended epoch is read, or left anywhere.

A writer, a summariser, decay, the indexer with hints that come twice and in any order, an import, requests that are
sent again, a reader and the eraser work on one user at once. Every text says under which epoch it was written. Some
requests are slow: they read the head, and write only when the eraser waits for them. The seed plans what each thread
does and how long it rests; which thread comes first is the machine's.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import pytest

from lethe.adapters.cached_entities import CachedEntities
from lethe.adapters.dynamodb import Database, build_models
from lethe.adapters.scan_index import ScanIndex
from lethe.domain import keys
from lethe.domain.erasure import ErasureState, StepName, WholeSubject
from lethe.domain.idempotency import StoredAnswer
from lethe.domain.identity import Space
from lethe.domain.memory import Memory, MemoryFilter, MemoryKind
from lethe.domain.search import SearchQuery
from lethe.entry.idempotency import Idempotency
from lethe.errors import AnswerErased, Conflict, Erased, InProgress, NotFound, Throttled, VersionConflict
from lethe.services.indexing import Hint, Indexer
from lethe.services.standing import Standing
from tests.conftest import Shared
from tests.fakes.time_and_ids import FixedClock
from tests.support.erasing import KEY, Erasing
from tests.support.makers import entity, memory, said
from tests.support.racing import IndexBeside, Underway, left_of, tagged, tags
from tests.support.stores import REGION, drop_tables, new_tables
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

pytestmark = pytest.mark.dynoxide

RACES, AT_A_TIME = 200, 20
MANY = 50
"""Memories of an import: too many for one transaction with the head."""

USER, SESSION, WEEK = "ann", "talk", 7 * 24 * 3_600
EVERYTHING = MemoryFilter(statuses=())
REFUSALS = (Erased, NotFound, Conflict, VersionConflict, Throttled, InProgress, AnswerErased)
"""How a request may honestly end that met an erasure, or another request."""


@dataclass(frozen=True)
class Ground:
    """What races share: tables, their client, and the threads that the indexer reads with."""

    client: DynamoDBClient
    database: Database
    threads: Executor

    @property
    def tables(self) -> list[str]:
        """Where content is."""
        models = self.database.models
        return [row.Meta.table_name for row in (models.head, models.session, models.entity, models.memory)]


class Race:
    """One race, and what was seen in it."""

    def __init__(self, seed: int, ground: Ground) -> None:
        self.seed, self.ground = seed, ground
        clock = FixedClock()
        self.index = IndexBeside.make(clock)
        self.house = Erasing(
            ground.database, ground.client, self.index.writer, self.index.entries, clock, whole_tables=False
        )
        self.house.at_drain = self._drain
        self.caller = self.house.caller(f"race-{seed}")
        self.underway = Underway()
        self.draining, self.over = threading.Event(), threading.Event()
        self.ended = 0
        self.acknowledged: list[tuple[int, str]] = []
        self.seen: Counter[str] = Counter()
        house = self.house
        self.scan = ScanIndex(house.memories, 10_000_000, 3_600)
        self.values = CachedEntities(house.entities, 3_600)
        self.indexer = Indexer(house.heads, house.memories, self.index.writer, ground.threads, 10.0)
        standing = Standing(house.heads, house.memories, house.sessions, house.entities, clock)
        self.idempotency = Idempotency(house.answers, standing, KEY, clock)

    def run(self) -> None:
        """All threads at once, then everything that must hold when they are done."""
        self.write_one(self.house.write(self.caller, USER), "first", 0)
        working: list[Callable[[random.Random], None]] = [
            self.writer,
            self.summariser,
            self.decay,
            self.importer,
            self.repeater,
            self.eraser,
        ]
        watching = [self.delivery, self.reader]
        with ThreadPoolExecutor(len(working) + len(watching)) as threads:
            begun = [threads.submit(self._alone, each) for each in (*working, *watching)]
            self._join(begun, len(working))
        self.settle()

    def _alone(self, role: Callable[[random.Random], None]) -> None:
        role(random.Random(f"{self.seed} {role.__name__}"))

    def _join(self, begun: list[Future[None]], working: int) -> None:
        try:
            for each in begun[:working]:
                each.result()
        finally:
            self.over.set()
            self.draining.set()
        for each in begun[working:]:
            each.result()

    def _drain(self) -> None:
        self.draining.set()
        self.underway.drain()

    @contextmanager
    def request(self) -> Iterator[None]:
        """A request that may be refused."""
        with self.underway.request():
            try:
                yield
            except REFUSALS as error:
                self.seen[type(error).__name__] += 1

    def rest(self, chance: random.Random, slow: float = 0.12) -> None:
        """Between the head and what comes after it: mostly short, ``slow`` of the time until the eraser waits."""
        if chance.random() < slow:
            assert self.draining.wait(PATIENCE)
        elif chance.random() < 0.6:
            time.sleep(chance.random() * 0.02)

    # Who writes.

    def writer(self, chance: random.Random) -> None:
        for number in range(6):
            with self.request():
                space, kind = self.house.write(self.caller, USER), chance.randrange(3)
                self.rest(chance, slow=0.3 if kind == 1 else 0.1)
                self.write_one(space, f"note {number}", kind)

    def write_one(self, space: Space, what: str, kind: int) -> None:
        """One small write, acknowledged when it returns."""
        house, text = self.house, tagged(what, space.epoch)
        if kind == 0:
            house.memories.add(space, [self._memory(text)])
        elif kind == 1:
            house.sessions.append(space, SESSION, [said(text)], house.clock.now(), WEEK)
        else:
            house.entities.put(space, entity(re.sub(r"\W", "-", text), text, house.clock.now()), None)
        self.acknowledged.append((space.epoch, text))

    def _memory(self, text: str, kind: MemoryKind = MemoryKind.FACT) -> Memory:
        return memory(text, self.house.clock.now(), kind=kind)

    def summariser(self, chance: random.Random) -> None:
        """Makes a memory of what a session says, in the space that was opened before it was read."""
        for number in range(3):
            with self.request():
                space = self.house.write(self.caller, USER)
                now = self.house.clock.now()
                session = self.house.sessions.get(space, SESSION, now)
                if session is None:
                    self.write_one(space, f"talk {number}", 1)
                    continue
                words = [each.content for each in self.house.sessions.newest(space, SESSION, now, 9)]
                self.rest(chance)
                made = self._memory(tagged(f"{number} sums up {words}", space.epoch), MemoryKind.SUMMARY)
                self.house.memories.add(space, [made], session)

    def decay(self, chance: random.Random) -> None:
        """Writes back what it read, fainter."""
        for _ in range(3):
            with self.request():
                space = self.house.spaces.for_changing(self.caller, USER)
                found = self.house.memories.all(space)
                self.rest(chance)
                for each in chance.sample(found, min(2, len(found))):
                    faded = replace(each, heat=each.heat * 0.8, version=each.version + 1)
                    self.house.memories.update(space, each, faded)

    def importer(self, chance: random.Random) -> None:
        """Batches that are stored without the head in their transactions."""
        for batch in range(chance.randint(1, 2)):
            with self.request():
                space = self.house.write(self.caller, USER)
                self.rest(chance, slow=0.4)
                texts = [tagged(f"item {batch}.{number}", space.epoch) for number in range(MANY)]
                self.house.memories.add(space, [self._memory(text) for text in texts])
                self.acknowledged += [(space.epoch, text) for text in texts]

    def repeater(self, chance: random.Random) -> None:
        """Requests with a key, each sent again up to twice; what it answers shows what it read."""
        for number in range(3):
            for _ in range(chance.randint(1, 3)):
                with self.request():
                    ended = self.ended
                    answer, again = self.idempotency.run(
                        f"key-{number}",
                        self.caller,
                        (f"request {number}",),
                        lambda: self.house.write(self.caller, USER),
                        partial(self.perform, chance, number),
                    )
                    self.seen["replayed"] += again
                    self.given([answer.body], ended)

    def perform(self, chance: random.Random, number: int) -> StoredAnswer:
        """What the request does: it opens its own space, as each operation does, reads and writes."""
        space = self.house.write(self.caller, USER)
        read = [each.text for each in self.house.memories.all(space)[:3]]
        made = self._memory(tagged(f"asked {number}", space.epoch))
        self.house.memories.add(space, [made])
        self.rest(chance, slow=0.5)
        return StoredAnswer(201, f"{made.text} beside {read}", frozenset({made.id}))

    # Who reads.

    def reader(self, chance: random.Random) -> None:
        while not self.over.is_set():
            with self.request():
                ended = self.ended
                space = self.house.spaces.for_reading(self.caller, USER)
                self.given(self.read(space), ended)
                self.seen["reads"] += 1
            self.rest_a_little(chance)

    def rest_a_little(self, chance: random.Random) -> None:
        """Between two rounds of what goes on to the end."""
        time.sleep(0.03 + chance.random() * 0.1)

    def read(self, space: Space) -> list[str]:
        """Everything that recall could be given in ``space``."""
        now = self.house.clock.now()
        query = SearchQuery("what was written under which epoch")
        found = self.scan.search(space, query, EVERYTHING, now, 1_000)
        texts = [candidate.memory.text for candidate in found.candidates]
        texts += [str(each.value) for each in self.values.list(space, now)]
        return texts + [each.content for each in self.house.sessions.newest(space, SESSION, now, 1_000)]

    def given(self, texts: list[str], ended: int) -> None:
        """``ended`` is the last epoch whose erasure was acknowledged before the reader opened its space."""
        old = [text for text in texts if any(epoch <= ended for epoch in tags(text))]
        assert not old, f"epoch {ended} had ended, and a reader was given {old[:3]}"

    # The index.

    def delivery(self, chance: random.Random) -> None:
        """The stream: whatever it ever showed comes late, twice, and in any order."""
        shown: dict[tuple[Space, str], Hint] = {}
        while not self.over.is_set():
            shown |= self.hints()
            batch = [*shown.values()]
            chance.shuffle(batch)
            batch = [*batch[:10], *batch[:3]]
            with self.request():
                self.indexer.apply(batch)
            self.rest_a_little(chance)
        self.shown = shown

    def hints(self) -> dict[tuple[Space, str], Hint]:
        """What the stream tells of the memories that stand now."""
        subject = self.house.spaces.subject(self.caller, USER)
        row = self.ground.database.models.memory
        found: dict[tuple[Space, str], Hint] = {}
        for epoch in range(1, self.ended + 2):
            space = Space(self.caller.tenant, subject, epoch)
            within = keys.beginning_with(keys.MEMORIES)
            wanted = ("sk", "written", "updated_at")
            for page in self.ground.database.pages(row, keys.space_partition(space), within, attributes=wanted):
                for item in page:
                    memory_id = keys.memory_named_in(str(item["sk"]["S"]))
                    changed = datetime.fromisoformat(str(item["updated_at"]["S"])).astimezone(UTC)
                    written = str(item["written"]["S"]) if "written" in item else None
                    found[space, memory_id] = Hint("0", space, memory_id, written, changed)
        return found

    # The eraser.

    def eraser(self, chance: random.Random) -> None:
        """One or two erasures at random moments, with an admission while they run, after them, or not at all."""
        for _ in range(chance.choice((1, 1, 2))):
            self.underway.wait_for_begun(self.underway.begun + chance.randint(2, 12))
            self.draining.clear()
            begun = self.house.begin(self.caller, USER, WholeSubject())
            self.ended = begun.epochs
            when = chance.choice(("at once", "while it runs", "at the end", "never"))
            admission = threading.Thread(target=self.admit, args=(chance.random() * 0.2,))
            if when == "at once":
                self.admit(0)
            elif when == "while it runs":
                admission.start()
            done = self.house.drive(begun)
            self.draining.set()
            if when == "while it runs":
                admission.join()
            if when == "at the end":
                self.admit(0)
            assert done.state is ErasureState.COMPLETED, (done.failure, done.verified)
            assert done.receipt_id is not None
            self.seen["swept after the drain"] += done.step(StepName.SWEEP).deleted
            self.seen["erasures"] += 1
            if when == "never":
                return

    def admit(self, after: float) -> None:
        time.sleep(after)
        self.house.requests.admit(self.caller, USER)

    # What must hold in the end.

    def settle(self) -> None:
        """Hints of everything come once more; then nothing of ended epochs is anywhere, and the subject works."""
        self.admit(0)
        space = self.house.write(self.caller, USER)
        assert space.epoch == self.ended + 1
        for kind in range(3):
            self.write_one(space, f"last {kind}", kind)
        everything = [*(self.shown | self.hints()).values()]
        self.indexer.apply([*everything, *everything[:10]])
        assert not self.index.of_ended(space.subject, self.ended)
        stored = {each.id for each in self.house.memories.all(space)}
        assert self.index.memories(space) == stored
        texts = self.read(self.house.spaces.for_reading(self.caller, USER))
        self.given(texts, self.ended)
        expected = {text for epoch, text in self.acknowledged if epoch == space.epoch}
        assert expected <= set(texts), f"{len(expected - set(texts))} acknowledged texts are missing"
        self.seen["acknowledged after an admission"] += len(expected) - 3


@pytest.fixture
def ground(dynoxide: str, shared: Shared) -> Iterator[Ground]:
    """Tables for some races."""
    client = shared.client("dynoxide", dynoxide)
    tables = new_tables(client)
    database = Database(client, build_models(tables, REGION))
    with ThreadPoolExecutor(4) as threads:
        yield Ground(client, database, threads)
    database.end_threads()
    drop_tables(client, tables)


@pytest.mark.parametrize("first", range(0, RACES, AT_A_TIME))
def test_nothing_of_an_ended_epoch_is_read_or_left(ground: Ground, first: int) -> None:
    seen: Counter[str] = Counter()
    last: dict[tuple[str, str], int] = {}
    for seed in range(first, first + AT_A_TIME):
        race = Race(seed, ground)
        try:
            race.run()
        except BaseException:
            print(f"the race with seed {seed} was lost")
            raise
        seen += race.seen
        last[race.caller.tenant, race.house.spaces.subject(race.caller, USER)] = race.ended
    left = left_of(ground.client, ground.tables, last)
    assert not left, [(partition.partition("#")[0], sort) for partition, sort in left[:5]]
    assert all(seen[what] for what in ("reads", "replayed", "swept after the drain"))
    assert seen["Erased"] + seen["NotAdmitted"]
    assert seen["acknowledged after an admission"] > 0
    print(f"{AT_A_TIME} races, 0 resurrections: {dict(sorted(seen.items()))}")
