"""The demo believes nothing: what is not in the answers of the service fails its check."""

import io
import json
from datetime import UTC, datetime

import pytest
from rich.console import Console

from lethe_client import JsonObject, Lethe, RecallResult
from lethe_local.demo.ask import ask_all, evidence_rank
from lethe_local.demo.content import Conversation, Line, PastSession, Question, load_conversation
from lethe_local.demo.play import Played, play
from lethe_local.demo.screen import Screen
from lethe_local.demo.silence import check_log
from lethe_local.demo.walls import try_the_walls
from lethe_local.demo.why import check_stored, show_why
from tests.unit.client.samples import memory, problem, session
from tests.unit.client.stub_service import Reply, StubService

LINES = (
    Line("u1", "user", "I moved to Lisbon.", datetime(2026, 5, 3, 9, 0, tzinfo=UTC)),
    Line("u1-reply", "assistant", "You must love the sea.", datetime(2026, 5, 3, 9, 1, tzinfo=UTC)),
    Line("u2", "user", "Is it warm there?", datetime(2026, 5, 3, 9, 2, tzinfo=UTC)),
)
QUESTION = Question("Where does she live?", "found", ("u1",), "nothing", None, None)
NOTHING = Question("What is her shoe size?", "nothing_relevant", (), "nothing", None, None)
SOURCE: dict[str, object] = {"session_id": "s1", "message_ids": ["m1"], "actor": "a", "origin": "user"}
STORED: dict[str, object] = {"event": "stored", "reason": "stated_by_user", "memory": memory(source=SOURCE)}
CONTEXT = '<memory>\n- 2026-05-03, "Alice": "I moved to Lisbon."\n</memory>'


def conversation(*questions: Question) -> Conversation:
    return Conversation(
        "en", "alice", "Alice", "A test.", ("u1-reply",), "u1", (PastSession("s1", "One", LINES),), (), questions
    )


def played(*questions: Question) -> Played:
    told = Played(conversation(*questions), {"u1": "m1", "u1-reply": "m2", "u2": "m3"})
    with StubService(appended(["m1", "m2"], [STORED])) as stub:
        answer = Lethe(stub.url, "lk_a_b").sessions.append("s1", [{"role": "user", "content": "x"}])
    told.results.append((LINES[0], answer.results[0]))
    return told


def recalled(context: str = CONTEXT, outcome: str = "found", *memories: dict[str, object]) -> dict[str, object]:
    return {
        "context": context,
        "memories": list(memories),
        "entities": [],
        "summary": None,
        "messages": [],
        "route": {"tiers": [], "reasons": {}, "summary_due": False},
        "outcome": outcome,
        "degraded": False,
        "tokens": 20,
    }


def appended(ids: list[str], results: list[dict[str, object]]) -> Reply:
    messages = [{"id": name, "sequence": place, "status": "stored"} for place, name in enumerate(ids, 1)]
    body = {"session_id": "s1", "messages": messages, "session": session(), "results": results, "notice": "Noted."}
    return Reply(201, body)


def parsed(answer: dict[str, object]) -> RecallResult:
    body: JsonObject = json.loads(json.dumps(answer))
    return RecallResult.parse(body)


def silent() -> Screen:
    return Screen(Console(file=io.StringIO(), width=96))


def holds(screen: Screen) -> list[bool]:
    return [check.holds for check in screen.checks]


def test_play_sends_each_turn_and_keeps_the_ids_of_the_service() -> None:
    screen = silent()
    with StubService(appended(["m1", "m2"], [STORED]), appended(["m3"], [{"event": "dropped", "reason": "q"}])) as stub:
        told = play(Lethe(stub.url, "lk_a_b"), conversation(), screen)
    assert told.message_ids == {"u1": "m1", "u1-reply": "m2", "u2": "m3"}
    assert (told.stored(), told.notices["u1"]) == (1, "Noted.")
    first = stub.asked[0].body["messages"]
    assert isinstance(first, list)
    assert first[0] == {
        "role": "user",
        "content": "I moved to Lisbon.",
        "created_at": "2026-05-03T09:00:00+00:00",
        "id": "u1",
        "name": "Alice",
    }


@pytest.mark.parametrize(
    ("context", "message_ids", "rank"),
    [
        (CONTEXT, ["m1"], 1),
        (CONTEXT, ["m9"], None),
        ("", ["m1"], None),
        ('- "I moved to Lisbon."', ["m1"], None),
        ("- 2026-05-03: something else", ["m1"], None),
        ("2026-05-03\nI moved to Lisbon.", ["m1"], None),
    ],
)
def test_evidence_counts_only_with_its_text_and_its_date(
    context: str, message_ids: list[str], rank: int | None
) -> None:
    source = {**SOURCE, "message_ids": message_ids}
    answer = parsed(recalled(context, "found", memory(source=source)))
    assert evidence_rank(answer, "m1") == rank


def test_quoted_texts_are_recognised() -> None:
    context = '- 2026-05-03: "She said \\"no\\"."'
    answer = parsed(recalled(context, "found", memory(source=SOURCE, text='She said "no".')))
    assert evidence_rank(answer, "m1") == 1


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        (QUESTION, recalled(CONTEXT, "found", memory(source=SOURCE)), True),
        (QUESTION, recalled("", "nothing_relevant"), False),
        (QUESTION, recalled("<memory></memory>", "found", memory(source=SOURCE)), False),
        (NOTHING, recalled("", "nothing_relevant"), True),
        (NOTHING, recalled("", "nothing_stored"), False),
        (NOTHING, recalled(CONTEXT, "found", memory(source=SOURCE)), False),
    ],
)
def test_a_question_passes_only_with_what_it_expects(
    question: Question, answer: dict[str, object], expected: bool
) -> None:
    screen = silent()
    with StubService(Reply(200, answer), appended(["q1"], [])) as stub:
        ask_all(Lethe(stub.url, "lk_a_b"), played(question), "new", screen)
    assert holds(screen) == [expected]


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([memory(source=SOURCE)], [True, True, True]),
        ([], [False, True, True]),
        ([memory(source=SOURCE), memory("mem_2", source={**SOURCE, "message_ids": ["m2"]})], [False, False, True]),
        ([memory(source=SOURCE, text="Is it warm there?")], [True, True, False]),
    ],
)
def test_what_is_stored_is_compared_with_what_was_acknowledged(
    listed: list[dict[str, object]], expected: list[bool]
) -> None:
    screen = silent()
    with StubService(Reply(200, {"memories": listed, "next_cursor": None})) as stub:
        check_stored(Lethe(stub.url, "lk_a_b"), played(), screen)
    assert holds(screen) == expected


@pytest.mark.parametrize(("content", "expected"), [("I moved to Lisbon.", True), ("I moved to Porto.", False)])
def test_the_source_must_hold_the_words_that_were_said(content: str, expected: bool) -> None:
    screen = silent()
    message = {"id": "m1", "sequence": 1, "role": "user", "content": content}
    replies = [
        Reply(200, memory(source=SOURCE)),
        Reply(200, {"messages": [message], "session": session(), "summary": None, "next_cursor": None}),
    ]
    with StubService(*replies) as stub:
        show_why(Lethe(stub.url, "lk_a_b"), played(), "u1", screen)
    assert holds(screen) == [expected]


NOTHING_FOUND = Reply(200, {"memories": [], "outcome": "nothing_stored", "degraded": False})
SOMETHING_FOUND = Reply(200, {"memories": [memory()], "outcome": "found", "degraded": False})
NOTHING_RECALLED = Reply(200, recalled("", "nothing_stored"))


def walls(other: list[Reply], own: list[Reply]) -> list[bool]:
    screen = silent()
    with StubService(*other) as foreign, StubService(*own) as service, StubService(Reply(401, {})) as revoked:
        client, other_tenant, stranger = (Lethe(stub.url, "lk_a_b") for stub in (service, foreign, revoked))
        try_the_walls(client, other_tenant, stranger, played(QUESTION), screen)
    return holds(screen)


def test_walls_that_stand() -> None:
    missing = Reply(404, problem(404, "not_found"))
    own = [NOTHING_FOUND, NOTHING_RECALLED, missing, Reply(403, problem(403, "forbidden"))]
    assert walls([NOTHING_FOUND, NOTHING_RECALLED, missing], own) == [True] * 6


def test_walls_that_leak_are_seen() -> None:
    other = [SOMETHING_FOUND, NOTHING_RECALLED, Reply(200, memory())]
    own = [NOTHING_FOUND, Reply(200, recalled(CONTEXT, "found", memory())), Reply(200, memory()), SOMETHING_FOUND]
    assert walls(other, own) == [False, False, False, False, False, True]


def test_a_wall_of_the_wrong_kind_is_seen() -> None:
    other = [NOTHING_FOUND, NOTHING_RECALLED, Reply(403, problem(403, "forbidden"))]
    own = [NOTHING_FOUND, NOTHING_RECALLED, Reply(404, problem(404, "not_found")), Reply(404, {})]
    assert walls(other, own) == [True, True, True, False, False, True]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ('{"message": "served"}\n', True),
        ("", False),
        ('{"message": "I moved to Lisbon."}\n', False),
        ('{"query": "Where does she live?"}\n', False),
        ('{"user_id": "alice"}\n', False),
    ],
)
def test_a_log_that_tells_is_seen(log: str, expected: bool) -> None:
    screen = silent()
    check_log(log, [conversation(QUESTION)], screen)
    assert holds(screen) == [expected]


def test_a_log_that_tells_in_escapes_is_seen() -> None:
    screen = silent()
    chinese = load_conversation("zh")
    check_log(json.dumps({"text": chinese.lines[0].content}), [chinese], screen)
    assert holds(screen) == [False]


def test_without_a_terminal_there_is_neither_colour_nor_bar() -> None:
    out = io.StringIO()
    screen = Screen(Console(file=out, width=96))
    with screen.bar(3) as bar:
        bar.advance("one")
    screen.chapter("杭州")
    screen.check("it holds", True)
    screen.table(("a", "b"), [("张医生", "x"), ("Peeters", "y" * 200)])
    text = out.getvalue()
    assert "\x1b" not in text
    assert "张医生   x\n" in text
    assert "Peeters  y" in text
    assert "…" in text
    assert all(len(line) <= 96 for line in text.splitlines())
