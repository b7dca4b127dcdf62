"""Made-up subjects, each with its memories: the same in every run, and each made only when it is needed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.speed.corpus import make_corpus
from lethe.domain import ids
from lethe.domain.embedding import EmbeddingModel
from lethe.domain.identity import Space
from lethe.domain.indexing import write_mark
from lethe.domain.keys import parse_space_partition
from lethe.domain.memory import Embedding, Memory, MemoryKind, MemoryStatus, Origin, Source

MODEL: Final = EmbeddingModel("bench/gauss", "1", 384)
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
WRITTEN: Final = write_mark("0" * 16, 1)
_TOPICS: Final = 40
_SOURCE: Final = Source("bench", Origin.USER)
_TEXTS: Final = make_corpus(20_000, 200)


@dataclass(frozen=True)
class Subject:
    """One subject: its number decides everything about it."""

    number: int
    size: int

    @property
    def space(self) -> Space:
        """As a request opens it, nothing being newer than its memories."""
        space = parse_space_partition(f"tenant-{self.number % 50}#{self.number:032x}#1")
        return Space(space.tenant, space.subject, space.epoch, 1, 0, WRITTEN)

    def vectors(self) -> NDArray[np.float32]:
        """Unit vectors around a few topics, shape (size, 384), as exact as the table keeps them."""
        chance = np.random.default_rng(self.number)
        topics = np.random.default_rng(7).standard_normal((_TOPICS, MODEL.dimensions))
        own = topics[chance.integers(0, _TOPICS, self.size)] + chance.standard_normal((self.size, MODEL.dimensions))
        return _unit(own).astype(np.float16).astype(np.float32)

    def memories(self) -> list[Memory]:
        """All of them, oldest first."""
        return [self._memory(n, vector) for n, vector in enumerate(self.vectors())]

    def questions(self, count: int) -> list[tuple[str, NDArray[np.float32]]]:
        """Texts, and vectors near one of the memories each."""
        chance = np.random.default_rng(self.number + 1)
        vectors = self.vectors()
        near = vectors[chance.integers(0, self.size, count)]
        asked = _unit(near + 0.04 * chance.standard_normal(near.shape)).astype(np.float32)
        texts = [_TEXTS.questions[(self.number + n) % len(_TEXTS.questions)] for n in range(count)]
        return list(zip(texts, asked, strict=True))

    def _memory(self, number: int, vector: NDArray[np.float32]) -> Memory:
        moment = START + timedelta(minutes=number)
        text = _TEXTS.statements[(self.number * 31 + number) % len(_TEXTS.statements)]
        return Memory(
            id=ids.MEMORY + ids.ulid(moment, self.number * 100_000 + number),
            text=text,
            kind=MemoryKind.FACT,
            status=MemoryStatus.CURRENT,
            confidence=0.95,
            language="en",
            source=_SOURCE,
            occurred_at=moment,
            valid_from=moment,
            created_at=moment,
            updated_at=moment,
            content_hash=f"{self.number}-{number}",
            speaker="user",
            embedding=Embedding(MODEL.label, vector),
        )


def subjects(first: int, memories: int, each: int) -> Iterator[Subject]:
    """Subjects of ``each`` memories that are ``memories`` together, numbered from ``first`` on."""
    return (Subject(first + n, each) for n in range(memories // each))


class Table:
    """The table of memories as the engine reads it: what was asked lately is at hand.

    It stands in for DynamoDB, whose own time ``bench.speed`` measures; here the index is what is looked at.
    """

    def __init__(self, held: Sequence[Subject]) -> None:
        self._memories = {subject.space: {memory.id: memory for memory in subject.memories()} for subject in held}
        self.read_whole = 0
        """How many times a subject was read whole."""

    def get_many(self, space: Space, memory_ids: Sequence[str]) -> dict[str, Memory]:
        """As the port."""
        own = self._memories[space]
        return {memory_id: own[memory_id] for memory_id in memory_ids if memory_id in own}

    def all(self, space: Space) -> tuple[Memory, ...]:
        """As the port."""
        self.read_whole += 1
        return tuple(self._memories[space].values())

    def since(self, space: Space, first_id: str) -> tuple[Memory, ...]:
        """As the port."""
        return tuple(memory for memory_id, memory in self._memories[space].items() if memory_id >= first_id)

    def changed_since(self, space: Space, moment: datetime) -> tuple[str, ...]:
        """Nothing changes."""
        return ()


def _unit(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True))
