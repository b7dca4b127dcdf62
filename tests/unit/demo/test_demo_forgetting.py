"""The last act believes nothing either: what is still there, readable, or not as the receipt says, fails its check."""

import copy
import io
import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from lethe.domain.erasure import WholeSubject
from lethe.domain.json_values import canonical
from lethe.domain.residuals import Retention
from lethe_client import Erasure, JsonObject, Lethe, Memory, MemoryResult
from lethe_local.demo.content import Conversation, Fact, Line, PastSession, Question
from lethe_local.demo.forget import NEW_STATEMENT, Callers, forget, prove, return_empty, telling_texts
from lethe_local.demo.play import Played
from lethe_local.demo.screen import Screen
from lethe_local.demo.stores import FileWithWords, Stores
from tests.fakes.receipts import FakeSigner
from tests.support.receipts import document_of, done_erasure
from tests.unit.client.samples import erasure, memory, problem, running_erasure
from tests.unit.client.stub_service import Reply, StubService

SIGNER = FakeSigner()
STEPS = [{"name": "memories", "state": "done", "found": 3, "deleted": 3, "attempts": 1}]
CLEAN = {"at": "2026-05-04T09:01:00Z", "remaining": {"memories": 0}, "held": {}}
LEFT = {"at": "2026-05-04T09:01:00Z", "remaining": {"memories": 1}, "held": {}}
NOTHING_STORED: dict[str, object] = {
    "context": "",
    "memories": [],
    "entities": [],
    "summary": None,
    "messages": [],
    "route": {"tiers": [], "reasons": {}, "summary_due": False},
    "outcome": "nothing_stored",
    "degraded": False,
    "tokens": 0,
}
MISSING, GONE = Reply(404, problem(404, "not_found")), Reply(410, problem(410, "erased"))


class ScriptedStores(Stores):
    """Finds what it was told, one answer after the other; the last one again and again."""

    def __init__(self, tables: Sequence[int] = (0,), files: Sequence[Sequence[FileWithWords]] = ((),)) -> None:
        super().__init__({}, Path())
        self._tables = list(tables)
        self._found = [list(each) for each in files]

    def public_key(self) -> bytes:
        return SIGNER.public_key()

    def in_tables(self, texts: Sequence[str]) -> int:
        return self._tables.pop(0) if len(self._tables) > 1 else self._tables[0]

    def in_files(self, texts: Sequence[str]) -> list[FileWithWords]:
        return self._found.pop(0) if len(self._found) > 1 else self._found[0]


def conversation(user_id: str = "alice") -> Conversation:
    said = datetime(2026, 5, 3, 9, tzinfo=UTC)
    lines = (Line("u1", "user", "I moved to a house in Lisbon.", said), Line("u2", "user", "Fine.", said))
    question = Question("In which town does she live?", "found", ("u1",), "nothing", None, None)
    facts = (Fact("shoe", "profile", 42),)
    return Conversation(
        "en", user_id, "Alicia", "A test.", (), "u1", (PastSession("s1", "One", lines),), facts, (question,)
    )


def played(user_id: str = "alice") -> Played:
    told = Played(conversation(user_id))
    stored = MemoryResult("stored", "statement", "", Memory.parse(parsed(memory())), (), {})
    told.results.append((told.conversation.lines[0], stored))
    return told


def parsed(sample: dict[str, object]) -> JsonObject:
    answer: JsonObject = json.loads(json.dumps(sample))
    return answer


def silent() -> Screen:
    return Screen(Console(file=io.StringIO(), width=96))


def failures(screen: Screen) -> list[str]:
    return [check.claim for check in screen.failures]


def forgetting(
    meets: Sequence[Reply], end: dict[str, object], stores: Stores, after: Sequence[str] = ("mem_9",)
) -> list[str]:
    screen = silent()
    listed = [Reply(200, {"memories": [memory(name) for name in names], "next_cursor": None})
              for names in (["mem_9"], after)]  # fmt: skip
    begun = Reply(202, {"id": "er_1", "erasure": running_erasure()})
    with StubService(listed[0], *meets, listed[1]) as agent, StubService(begun, Reply(200, end)) as desk:
        callers = Callers(Lethe(agent.url, "lk_a_b"), Lethe(desk.url, "lk_c_d"))
        ended = forget(callers, played(), played("bob"), stores, screen)
    assert ended is not None
    assert len(screen.checks) == 9
    return failures(screen)


REFUSED = (MISSING, MISSING, MISSING, MISSING, GONE)
ENDED = erasure(steps=STEPS, verified=[CLEAN, CLEAN])


def test_who_is_forgotten_meets_nothing() -> None:
    assert forgetting(REFUSED, ENDED, ScriptedStores([2])) == []


def test_texts_that_cannot_be_found_before_prove_nothing_afterwards() -> None:
    (claim,) = forgetting(REFUSED, ENDED, ScriptedStores([1]))
    assert claim.startswith("before: ")


@pytest.mark.parametrize("place", range(5))
def test_whatever_still_answers_is_seen(place: int) -> None:
    answers = (
        Reply(200, NOTHING_STORED),
        Reply(200, memory()),
        Reply(200, {"messages": [], "session": {"turns": 0, "messages": 0}, "summary": None}),
        Reply(403, problem(403, "forbidden")),
        Reply(201, {"results": [], "notice": ""}),
    )
    meets = [answers[place] if place == at else refusal for at, refusal in enumerate(REFUSED)]
    (claim,) = forgetting(meets, ENDED, ScriptedStores([2]))
    assert ", but " in claim


@pytest.mark.parametrize(
    "end",
    [
        erasure(state="failed", failure="left_behind", steps=STEPS, verified=[CLEAN, CLEAN]),
        erasure(state="completed_with_holds", steps=STEPS, verified=[CLEAN, CLEAN]),
        erasure(steps=[{**STEPS[0], "state": "running"}], verified=[CLEAN, CLEAN]),
        erasure(steps=STEPS, verified=[CLEAN]),
        erasure(steps=STEPS, verified=[LEFT, CLEAN]),
    ],
)
def test_any_other_end_is_seen(end: dict[str, object]) -> None:
    assert len(forgetting(REFUSED, end, ScriptedStores([2]))) == 1


@pytest.mark.parametrize("after", [[], ["mem_9", "mem_10"], ["mem_8"]])
def test_somebody_else_who_lost_or_won_memories_is_seen(after: list[str]) -> None:
    assert len(forgetting(REFUSED, ENDED, ScriptedStores([2]), after)) == 1


def proving(stores: Stores, document: JsonObject) -> Screen:
    screen = silent()
    with StubService(Reply(200, document)) as desk:
        prove(Lethe(desk.url, "lk_c_d"), Erasure.parse(parsed(ENDED)), stores, conversation(), screen)
    return screen


def document(tables: str = "dynoxide") -> JsonObject:
    assert tables in ("dynoxide", "moto")
    retention = Retention("moto" if tables == "moto" else "dynoxide", "scan", 14, 30, 300, 7)
    signed = document_of(done_erasure(random.Random(7), scope=WholeSubject()), SIGNER, retention=retention)
    loaded: JsonObject = json.loads(canonical(signed))
    return loaded


IN_TABLE_FILE = FileWithWords("dynoxide.db", 1, "table_file")


@pytest.mark.parametrize("files", [(), (IN_TABLE_FILE,)])
def test_a_proof_that_holds(files: tuple[FileWithWords, ...]) -> None:
    screen = proving(ScriptedStores(files=[files]), document())
    assert len(screen.checks) == 5
    assert failures(screen) == []


def test_a_receipt_that_was_changed_is_seen() -> None:
    changed = copy.deepcopy(document())
    receipt = changed["receipt"]
    assert isinstance(receipt, dict)
    receipt["tenant"] = "other"
    (claim,) = failures(proving(ScriptedStores(), changed))
    assert claim.startswith("the receipt is valid")


def test_rows_that_are_left_are_seen() -> None:
    (claim,) = failures(proving(ScriptedStores(tables=[1]), document()))
    assert claim.startswith("the rows of the tables")


@pytest.mark.parametrize("surface", [None, "index_segments", "executions_file"])
def test_a_file_that_the_receipt_does_not_name_for_content_is_seen(surface: str | None) -> None:
    stores = ScriptedStores(files=[[IN_TABLE_FILE, FileWithWords("notes", 1, surface)]])
    (claim,) = failures(proving(stores, document()))
    assert claim.startswith("every file ")


def test_a_file_that_is_written_anew_is_waited_for() -> None:
    screen = proving(ScriptedStores(files=[[FileWithWords("tables.json", 2, "table_file")], []]), document("moto"))
    assert failures(screen) == []
    assert screen.checks[-1].claim.startswith("no file of the stack ")


def returning(counts: dict[str, int], before: object, listed: list[dict[str, object]], after: object) -> list[str]:
    screen = silent()
    added = {"results": [{"event": "stored", "reason": "x", "memory": memory(text=NEW_STATEMENT)}], "notice": ""}
    replies = [
        Reply(200, {"state": "active", "counts": counts}),
        Reply(200, before),
        Reply(201, added),
        Reply(200, after),
        Reply(200, {"memories": listed, "next_cursor": None}),
    ]
    with StubService(*replies) as agent, StubService(Reply(200, {"user_id": "alice", "state": "active"})) as desk:
        return_empty(Callers(Lethe(agent.url, "lk_a_b"), Lethe(desk.url, "lk_c_d")), conversation(), screen)
    assert len(screen.checks) == 4
    return failures(screen)


NEW, OLD = memory(text=NEW_STATEMENT), memory("mem_0")
FOUND = {**NOTHING_STORED, "memories": [NEW], "outcome": "found"}


def test_a_new_memory_starts_empty() -> None:
    assert returning({"memories": 0}, NOTHING_STORED, [NEW], FOUND) == []


@pytest.mark.parametrize(
    ("counts", "before", "listed", "after"),
    [
        ({"memories": 1}, NOTHING_STORED, [NEW], FOUND),
        ({}, NOTHING_STORED, [NEW], FOUND),
        ({"memories": 0}, {**FOUND, "memories": [OLD]}, [NEW], FOUND),
        ({"memories": 0}, NOTHING_STORED, [NEW, OLD], FOUND),
        ({"memories": 0}, NOTHING_STORED, [NEW], {**FOUND, "memories": [NEW, OLD]}),
    ],
)
def test_what_comes_back_is_seen(
    counts: dict[str, int], before: object, listed: list[dict[str, object]], after: object
) -> None:
    assert len(returning(counts, before, listed, after)) == 1


def test_files_are_searched_byte_by_byte_and_called_as_receipts_call_them(tmp_path: Path) -> None:
    chinese, quoted = "我搬到了里斯本的一座房子里。", 'She said "a house in Lisbon" twice.'
    escaped = '{"text": "She said \\"a house in Lisbon\\" twice."}'
    for name, content in (
        ("dynoxide.db-wal", b"\x00\xff" + chinese.encode() + b"\x00"),
        ("tables.json", escaped.encode()),
        ("opensearch/data/_0.cfs", chinese.encode()),
        (
            "executions.json",
            b'"\\u6211\\u642c\\u5230\\u4e86\\u91cc\\u65af\\u672c\\u7684\\u4e00\\u5ea7\\u623f\\u5b50\\u91cc\\u3002"',
        ),
        ("master_key", b"nothing of it"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert Stores({}, tmp_path).in_files([chinese, quoted]) == [
        FileWithWords("dynoxide.db-wal", 1, "table_file"),
        FileWithWords("executions.json", 1, None),
        FileWithWords("opensearch/data/_0.cfs", 1, "index_segments"),
        FileWithWords("tables.json", 1, "table_file"),
    ]
    assert Stores({}, tmp_path).in_files(["I never said this."]) == []


def test_only_telling_texts_are_searched_for() -> None:
    assert telling_texts(conversation()) == ["I moved to a house in Lisbon.", "In which town does she live?"]
