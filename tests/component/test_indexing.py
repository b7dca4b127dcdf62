"""The stream's records in, the index in step: duplicates, any order, poison, outages, fences."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from lethe.adapters.opensearch.flavours import Flavour
from lethe.domain import keys
from lethe.domain.head import SubjectState
from lethe.domain.identity import Space
from lethe.domain.memory import Memory
from lethe.domain.times import to_rfc3339
from lethe.entry.stream import BatchResponse, Record, StreamApplication
from lethe.errors import Unavailable
from lethe.ports import DeadLetter
from lethe.services.indexing import Indexer
from tests.fakes.opensearch.failures import Refusal
from tests.support.search_worlds import World, fake_world, texts

POISON = Refusal(400, "mapper_parsing_exception", "failed to parse")
BUSY = Refusal(429, "rejected_execution_exception", "queue is full")


class Letters:
    """Dead letters, kept; ``fails`` times it does not answer first."""

    def __init__(self) -> None:
        self.kept: list[DeadLetter] = []
        self.fails = 0

    def add(self, letters: Sequence[DeadLetter]) -> None:
        if letters and self.fails:
            self.fails -= 1
            raise Unavailable
        self.kept += letters


class Watched:
    """What the observer was told."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, int, int, float]] = []
        self.outages = 0

    def indexed(self, applied: int, again: int, dead: int, lag_seconds: float) -> None:
        self.batches.append((applied, again, dead, lag_seconds))

    def away(self, error: BaseException) -> None:
        self.outages += 1


class Stream:
    """The table's stream and the function at its end."""

    def __init__(self, world: World, threads: ThreadPoolExecutor) -> None:
        self.world, self.letters, self.watched = world, Letters(), Watched()
        indexer = Indexer(world.heads, world.memories, world.writer, threads, within=0.2)
        self.function = StreamApplication(indexer.apply, self.letters, self.watched, world.clock)
        self._sequence = 0

    def record(self, space: Space, memory: Memory, *, removed: bool = False) -> Record:
        """The record of a write of ``memory`` that was the newest when it was made, or of its removal."""
        self._sequence += 1
        image = {
            "version": {"N": str(memory.version)},
            "updated_at": {"S": to_rfc3339(memory.updated_at)},
            "written": {"S": str(self.world.opened(space).written)},
        }
        return {
            "eventName": "REMOVE" if removed else "INSERT",
            "dynamodb": {
                "Keys": {"pk": {"S": keys.space_partition(space)}, "sk": {"S": keys.memory(memory.id)}},
                "SequenceNumber": f"{self._sequence:021d}",
                "ApproximateCreationDateTime": self.world.clock.now().timestamp(),
                **({} if removed else {"NewImage": image}),
            },
        }

    def said(self, space: Space, *words: str) -> list[Record]:
        """One memory a write, with its record."""
        return [self.record(space, self.world.say(space, text)[0]) for text in words]

    def deliver(self, records: Sequence[Record]) -> BatchResponse:
        answer = self.function({"Records": records}, context=None)  # type: ignore[arg-type]  # it is not looked at
        self.world.show()
        return answer

    def until_done(self, records: Sequence[Record], most: int = 5) -> int:
        """Deliver as Lambda does, from the lowest failed record on; how often it took."""
        for attempt in range(1, most + 1):
            failed = {failure["itemIdentifier"] for failure in self.deliver(records)["batchItemFailures"]}
            if not failed:
                return attempt
            records = [record for record in records if record["dynamodb"]["SequenceNumber"] >= min(failed)]
        raise AssertionError(f"not done after {most} deliveries")


@pytest.fixture
def stream() -> Iterator[Stream]:
    with ThreadPoolExecutor(8) as threads:
        yield Stream(fake_world(Flavour.LOCAL, threads), threads)


def entries(stream: Stream) -> set[str]:
    return {entry.memory_id for entry in stream.world.writer.page(10_000, None).items}


def test_what_was_written_is_found_by_the_index_alone(stream: Stream) -> None:
    world, space = stream.world, stream.world.subject()
    records = stream.said(space, "Ann plays the cello", "Ben keeps bees")
    assert stream.deliver(records) == {"batchItemFailures": []}
    before = len(world.memories.all(space))
    result = world.search(space, "Who keeps bees?")
    assert (texts(result)[0], result.stored, result.degraded) == ("Ben keeps bees", before, False)
    assert stream.watched.batches == [(2, 0, 0, 0.0)]


def test_duplicates_and_any_order_end_alike(stream: Stream) -> None:
    world, space = stream.world, stream.world.subject()
    records = stream.said(space, *(f"fact number {n}" for n in range(30)))
    gone = world.memories.all(space)[:10]
    world.delete(space, *gone)
    records += [stream.record(space, memory, removed=True) for memory in gone]
    shuffled = random.Random(7).sample(records * 3, 3 * len(records))
    for start in range(0, len(shuffled), 17):
        stream.until_done(shuffled[start : start + 17])
    assert entries(stream) == {memory.id for memory in world.memories.all(space)}


def test_one_poison_in_a_hundred_goes_to_the_dead_letters_and_holds_nobody_up(stream: Stream) -> None:
    world, space = stream.world, stream.world.subject()
    records = stream.said(space, *(f"fact number {n}" for n in range(100)))
    poisoned = world.memories.all(space)[41]
    assert world.on is not None
    assert world.on.fake is not None
    world.on.fake.item_failures[f"{space.subject}-1-{poisoned.id}"] = deque([POISON] * 9)
    assert stream.deliver(records) == {"batchItemFailures": []}
    assert len(entries(stream)) == 99
    (letter,) = stream.letters.kept
    assert (letter.memory_id, letter.reason) == (poisoned.id, "refused")
    # The index never came as far as the newest write, so the table is still asked, and the memory is found.
    assert poisoned.text in texts(world.search(space, "Which fact is number 41?"))


def test_a_record_that_cannot_be_read_is_a_dead_letter_too(stream: Stream) -> None:
    space = stream.world.subject()
    (good,) = stream.said(space, "a fact")
    bad: Record = {"dynamodb": {"Keys": {"pk": {"S": "a#b"}, "sk": {"S": "MEM#x"}}, "SequenceNumber": "9"}}
    other: Record = {"dynamodb": {"Keys": {"pk": {"S": "a#b#1"}, "sk": {"S": "HASH#x"}}, "SequenceNumber": "10"}}
    assert stream.deliver([bad, other, good]) == {"batchItemFailures": []}
    assert [(letter.sequence, letter.reason) for letter in stream.letters.kept] == [("9", "unreadable")]
    assert len(entries(stream)) == 1


def test_dead_letters_that_nobody_takes_come_again(stream: Stream) -> None:
    stream.letters.fails = 1
    bad: Record = {"dynamodb": {"Keys": {"pk": {"S": "a#b"}, "sk": {"S": "MEM#x"}}, "SequenceNumber": "9"}}
    assert stream.deliver([bad]) == {"batchItemFailures": [{"itemIdentifier": "9"}]}
    assert stream.until_done([bad]) == 1
    assert len(stream.letters.kept) == 1


def test_an_item_that_is_refused_for_now_comes_again_with_what_follows(stream: Stream) -> None:
    world, space = stream.world, stream.world.subject()
    records = stream.said(space, *(f"fact number {n}" for n in range(10)))
    busy = world.memories.all(space)[4]
    assert world.on is not None
    assert world.on.fake is not None
    world.on.fake.item_failures[f"{space.subject}-1-{busy.id}"] = deque([BUSY])
    assert stream.deliver(records)["batchItemFailures"] == [
        {"itemIdentifier": records[4]["dynamodb"]["SequenceNumber"]}
    ]
    assert len(entries(stream)) == 9
    assert busy.text in texts(world.search(space, "Which fact is number 4?")), "found in the table meanwhile"
    assert stream.until_done(records[4:]) == 1
    assert len(entries(stream)) == 10


def test_an_index_that_is_away_loses_nothing(stream: Stream) -> None:
    world, space = stream.world, stream.world.subject()
    records = stream.said(space, "Ann plays the cello", "Ben keeps bees")
    assert world.on is not None
    assert world.on.fake is not None
    world.on.fake.failures.extend([Refusal(503, "unavailable", "away")] * 40)
    failed = stream.function({"Records": records}, context=None)  # type: ignore[arg-type]  # it is not looked at
    assert failed == {"batchItemFailures": [{"itemIdentifier": records[0]["dynamodb"]["SequenceNumber"]}]}
    assert stream.watched.outages == 1
    world.on.fake.failures.clear()
    assert stream.until_done(records) == 1
    assert len(entries(stream)) == 2


@pytest.mark.parametrize("state", [SubjectState.ERASING, SubjectState.ERASED])
def test_a_late_record_of_a_fenced_space_leaves_no_entry(stream: Stream, state: SubjectState) -> None:
    world, space = stream.world, stream.world.subject()
    first, second = stream.said(space, "Ann plays the cello", "Ben keeps bees")
    stream.deliver([first])
    head = world.heads.read(space.tenant, space.subject)
    assert head is not None
    world.heads.put(replace(head, epoch=2, state=state))
    assert stream.until_done([second, first]) == 1
    assert entries(stream) == set()


def test_a_subject_that_was_admitted_again_keeps_old_records_out(stream: Stream) -> None:
    world, space = stream.world, stream.world.subject()
    late = stream.said(space, "Ann plays the cello")
    head = world.heads.read(space.tenant, space.subject)
    assert head is not None
    world.heads.put(replace(head, epoch=2, state=SubjectState.ACTIVE))
    new = Space(space.tenant, space.subject, 2)
    fresh = stream.said(new, "Ben keeps bees")
    stream.until_done([*late, *fresh])
    assert entries(stream) == {memory.id for memory in world.memories.all(new)}


def test_a_mark_is_written_only_when_everything_before_it_is_applied(stream: Stream) -> None:
    world, space = stream.world, stream.world.subject()
    records = stream.said(space, *(f"fact number {n}" for n in range(120)))
    assert world.on is not None
    assert world.on.fake is not None
    busy = world.memories.all(space)[0]
    world.on.fake.item_failures[f"{space.subject}-1-{busy.id}"] = deque([BUSY])
    stream.deliver(records)
    held_back = world.search(space, "Which fact is number 0?")
    assert held_back.degraded, "more is unseen than can be read beside: the scan answers"
    assert busy.text in texts(held_back)
    stream.until_done(records)
    assert not world.search(space, "Which fact is number 0?").degraded


def test_a_write_that_comes_in_two_batches_is_marked_by_neither_half(stream: Stream) -> None:
    """All memories of one transaction carry one mark: half of them say nothing of the other half."""
    world, space = stream.world, stream.world.subject()
    together = world.say(space, *(f"fact number {n}" for n in range(40)))
    records = [stream.record(space, memory) for memory in together]
    stream.deliver(records[:20])
    late = world.search(space, "Which fact is number 33?")
    assert together[33].text in texts(late), "read from the table"
    stream.deliver(records[20:])
    assert together[33].text in texts(world.search(space, "Which fact is number 33?"))
    (after,) = stream.said(space, "the newest of all")
    stream.deliver([after])
    world.clock.pass_by(600)
    found = world.search(space, "Which fact is number 33?")
    assert (together[33].text in texts(found), found.degraded) == (True, False)


def test_a_write_in_one_batch_is_marked_however_its_records_lie(stream: Stream) -> None:
    world, space = stream.world, stream.world.subject()
    together = world.say(space, *(f"fact number {n}" for n in range(120)))
    records = [stream.record(space, memory) for memory in together]
    random.Random(3).shuffle(records)
    stream.deliver(records)
    found = world.search(space, "Which fact is number 33?")
    assert (together[33].text in texts(found), found.degraded) == (True, False), "marked: else the scan would answer"


@pytest.mark.parametrize("state", [SubjectState.ERASING, SubjectState.ACTIVE])
def test_a_record_that_comes_after_the_fence_leaves_nothing_not_even_a_mark(
    stream: Stream, state: SubjectState
) -> None:
    """Erasing, or admitted again: the record is of an epoch that has ended."""
    world, space = stream.world, stream.world.subject()
    records = stream.said(space, "Ann plays the cello", "Ben keeps bees")
    head = world.heads.read(space.tenant, space.subject)
    assert head is not None
    world.heads.put(replace(head, epoch=space.epoch + 1, state=state))

    assert stream.deliver(records) == {"batchItemFailures": []}

    assert world.writer.clear(space) == 0
