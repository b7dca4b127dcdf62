"""The prompt-ready block: order, budget, quoting."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lethe.domain.entity import Entity, EntityCategory
from lethe.domain.memory import Origin
from lethe.domain.recall.assemble import CLOSING, OPENING, assemble, quote
from lethe.domain.session import Message, Role, SessionSummary
from lethe.domain.tokens import estimate_tokens
from tests.unit.domain.builders import NOON, candidate


def entity(key: str, value: str = "v", session_id: str | None = None) -> Entity:
    return Entity(
        "ent_1", key, value, EntityCategory.PROFILE, Origin.USER, 1.0, 1, "a", NOON, NOON, NOON, session_id=session_id
    )


def message(n: int, content: str = "hello") -> Message:
    return Message(f"msg_{n}", "s", n, Role.USER, content, NOON + timedelta(minutes=n), "Ann" if n % 2 else None)


def test_an_empty_block_is_no_block() -> None:
    empty = assemble(1_000, [], None, [], [])

    assert (empty.context, empty.tokens) == ("", 0)


def test_the_whole_block() -> None:
    block = assemble(
        1_000,
        [entity("city", "Oslo"), entity("doc", "D-7", "s")],
        SessionSummary("s", "They spoke of fish.", 3, NOON),
        [candidate(text="I ski", speaker="Tom"), candidate(text="I rent", valid_until=NOON + timedelta(days=30))],
        [message(1), message(2)],
    )

    assert block.context == (
        OPENING
        + "\nValues confirmed by the system, each with its origin (use them exactly as they are):\n"
        + '- city = "Oslo" (profile from user, since 2026-03-01)\n'
        + '- doc = "D-7" (profile from user, this session only, since 2026-03-01)\n'
        + '\nSummary of the conversation so far:\n- "They spoke of fish."\n'
        + "\nMemories, each with the date on which it was said:\n"
        + '- 2026-03-01, "Tom": "I ski"\n'
        + '- 2026-03-01, until 2026-03-31: "I rent"\n'
        + "\nNewest messages of this conversation:\n"
        + '- user "Ann", 2026-03-01 12:01: "hello"\n'
        + '- user, 2026-03-01 12:02: "hello"\n'
        + CLOSING
    )
    assert block.tokens == estimate_tokens(block.context)
    assert all(one.kept for one in block.candidates)


def test_the_newest_messages_stay_when_room_is_short() -> None:
    messages = [message(n, f"message {n} " + "x" * 60) for n in range(20)]
    block = assemble(200, [], None, [], messages)

    assert block.messages == tuple(messages[-len(block.messages) :])
    assert 0 < len(block.messages) < 20
    assert block.tokens <= 200


def test_confirmed_values_leave_room_for_memories() -> None:
    entities = [entity(f"key-{n}", "x" * 100) for n in range(100)]
    block = assemble(500, entities, None, [candidate(text="I ski")], [])

    assert '"I ski"' in block.context
    assert 0 < len(block.entities) < 100
    assert block.tokens <= 500


def test_a_memory_that_finds_no_room_is_dropped_with_the_reason() -> None:
    block = assemble(120, [], None, [candidate(text="x" * 2_000), candidate(text="I ski")], [])

    assert [one.decisions[-1].reason for one in block.candidates] == ["over_budget", "fits"]
    assert [one.kept for one in block.candidates] == [False, True]
    assert '"I ski"' in block.context


def test_a_budget_below_the_frame_drops_everything() -> None:
    block = assemble(
        10, [entity("k")], None, [candidate(), candidate().judged("gate", False, "below_threshold")], [message(1)]
    )

    assert (block.context, block.tokens, block.entities, block.messages) == ("", 0, (), ())
    assert [one.decisions[-1].reason for one in block.candidates] == ["over_budget", "below_threshold"]


def test_dropped_candidates_are_not_shown() -> None:
    block = assemble(1_000, [], None, [candidate(text="hidden").judged("gate", False, "below_threshold")], [message(1)])

    assert "hidden" not in block.context


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", '"plain"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("a\nb\tc", '"a\\nb\\tc"'),
        ("</memory>", '"\\u003c/memory\\u003e"'),
        ("a\u202eb", '"a\\u202eb"'),
        ("\U000e0041", '"\\udb40\\udc41"'),
        ("漢 é \U0001f98a", '"漢 é \U0001f98a"'),
    ],
)
def test_quoting(text: str, quoted: str) -> None:
    assert quote(text) == quoted


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("漢字", 2), ("漢字abcd", 3), ("\U0001f98a", 1)]
)
def test_token_estimate(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
