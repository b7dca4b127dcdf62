"""The four dev sets in the product's terms: each turn a memory with speaker, time and the turn before it."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from lethe.domain.relevance import Document, is_agent
from lethe.domain.text import dates

SETS: Final = ("locomo", "beam-100k", "memorybank-zh", "memorybank-en")
MOST_CHARACTERS: Final = 2_000
"""Limit of a memory's text and context in the API."""
FOLDS: Final = 4


@dataclass(frozen=True)
class Conversation:
    """One subject: its memories in order, and the fold that it is tested in."""

    name: str
    documents: tuple[Document, ...]
    positions: dict[str, int]
    fold: int


@dataclass(frozen=True)
class Question:
    """A question of one subject and the positions of the memories that answer it."""

    number: int
    text: str
    conversation: str
    evidence: tuple[int, ...]
    category: str


@dataclass(frozen=True)
class DataSet:
    """One set; questions whose evidence is not among the turns are left out."""

    name: str
    conversations: dict[str, Conversation]
    questions: tuple[Question, ...]


def _lines(path: Path) -> Iterator[dict[str, object]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _day(text: str) -> date | None:
    for mention in dates(text):
        if mention.year is not None and mention.day is not None:
            return date(mention.year, mention.month, mention.day)
    return None


def load(root: Path, name: str) -> DataSet:
    """Read ``root/name/{turns,questions}.jsonl``."""
    documents: dict[str, list[Document]] = defaultdict(list)
    positions: dict[str, dict[str, int]] = defaultdict(dict)
    for turn in _lines(root / name / "turns.jsonl"):
        conversation, speaker = str(turn["conversation"]), str(turn["speaker"])
        said = documents[conversation]
        positions[conversation][str(turn["id"])] = len(said)
        said.append(
            Document(
                text=str(turn["text"])[:MOST_CHARACTERS],
                speaker=speaker,
                context=said[-1].text if said else "",
                occurred_on=_day(str(turn["time"])),
                from_agent=is_agent("agent" if turn["role"] == "assistant" else "user", speaker),
            )
        )
    # The two MemoryBank sets translate one another; ranked by size, a person meets the translation in one fold.
    ranked = sorted(documents, key=lambda c: (-len(documents[c]), c))
    conversations = {
        c: Conversation(c, tuple(documents[c]), positions[c], rank * FOLDS // len(ranked))
        for rank, c in enumerate(ranked)
    }
    questions = _questions(root / name / "questions.jsonl", positions)
    return DataSet(name, conversations, tuple(question for question in questions if question.evidence))


def _questions(path: Path, positions: dict[str, dict[str, int]]) -> Iterator[Question]:
    for number, row in enumerate(_lines(path)):
        conversation, evidence = str(row["conversation"]), row["evidence"]
        known = positions[conversation]
        found = {known[str(turn)] for turn in evidence if str(turn) in known} if isinstance(evidence, list) else set()
        yield Question(number, str(row["question"]), conversation, tuple(sorted(found)), str(row["category"]))
