"""Dead letters on a laptop: lines of a file, none lost between batches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lethe.adapters.dead_letters import FileDeadLetters
from lethe.entry.settings import IndexSettings
from lethe.entry.wiring.search import dead_letters
from lethe.errors import Unavailable
from lethe.ports import DeadLetter

LETTERS = [DeadLetter("1", "mem_a", "refused"), DeadLetter("2", "", "unreadable"), DeadLetter("3", "mem_b", "refused")]
NEEDED = {
    "LETHE_SUBJECTS_TABLE": "subjects",
    "LETHE_MEMORIES_TABLE": "memories",
    "LETHE_OPENSEARCH_URL": "https://search.test",
}


def test_each_letter_is_a_line(tmp_path: Path) -> None:
    file = tmp_path / "dead-letters.jsonl"
    kept = dead_letters(IndexSettings.from_environment({**NEEDED, "LETHE_DEAD_LETTERS_FILE": str(file)}))
    kept.add(LETTERS[:2])
    kept.add(LETTERS[2:])
    kept.add([])
    assert [DeadLetter(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()] == LETTERS


def test_a_file_that_cannot_be_written_brings_the_batch_again(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        FileDeadLetters(tmp_path / "missing" / "file").add(LETTERS)
