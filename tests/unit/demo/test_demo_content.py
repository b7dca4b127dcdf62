"""The data of the demo: long enough, in order, and every question rests on something that was said."""

from datetime import timedelta
from itertools import pairwise

import pytest

from lethe_local.demo.content import Conversation, load_conversation

ENGLISH, CHINESE = load_conversation("en"), load_conversation("zh")
BOTH = pytest.mark.parametrize("conversation", [ENGLISH, CHINESE], ids=["en", "zh"])


@pytest.mark.parametrize(("conversation", "turns", "sessions"), [(ENGLISH, 60, 5), (CHINESE, 40, 3)])
def test_the_conversations_are_long(conversation: Conversation, turns: int, sessions: int) -> None:
    assert conversation.turn_count >= turns
    assert len(conversation.sessions) >= sessions


@BOTH
def test_dates_ascend_within_and_over_sessions(conversation: Conversation) -> None:
    moments = [line.created_at for line in conversation.lines]
    assert all(earlier < later for earlier, later in pairwise(moments))
    assert all(moment.utcoffset() is not None for moment in moments)


@BOTH
def test_sessions_lie_weeks_apart(conversation: Conversation) -> None:
    starts = [session.lines[0].created_at for session in conversation.sessions]
    assert all(later - earlier > timedelta(days=28) for earlier, later in pairwise(starts))
    assert starts[-1] - starts[0] > timedelta(days=180)


@BOTH
def test_ids_are_unique_and_fit_the_contract(conversation: Conversation) -> None:
    ids = [line.id for line in conversation.lines]
    assert len(set(ids)) == len(ids)
    assert len({session.id for session in conversation.sessions}) == len(conversation.sessions)
    allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-")
    assert all(set(name) <= allowed for name in (*ids, *(session.id for session in conversation.sessions)))


@BOTH
def test_every_turn_is_one_user_message_with_a_reply(conversation: Conversation) -> None:
    for session in conversation.sessions:
        assert [[line.role for line in turn] for turn in session.turns] == [["user", "assistant"]] * len(session.turns)
        assert sum(len(turn) for turn in session.turns) == len(session.lines)


@BOTH
def test_evidence_is_something_that_the_user_said(conversation: Conversation) -> None:
    said = {line.id for line in conversation.lines if line.role == "user"}
    for question in conversation.questions:
        assert set(question.evidence) <= said
        assert bool(question.evidence) == (question.expects == "found")
    assert conversation.trace in said


@BOTH
def test_guesses_are_something_that_the_assistant_said(conversation: Conversation) -> None:
    replies = {line.id for line in conversation.lines if line.role == "assistant"}
    assert len(conversation.assistant_guesses) >= 2
    assert set(conversation.assistant_guesses) <= replies


def test_the_questions_cover_what_makes_memory_hard() -> None:
    assert 6 <= len(ENGLISH.questions) <= 8
    assert 4 <= len(CHINESE.questions) <= 5
    assert any(question.expects == "nothing_relevant" for question in ENGLISH.questions)
    assert any(question.query.isascii() for question in CHINESE.questions)
    # A threshold of 0 always finds something: it must not be what makes the other questions pass.
    assert [question.threshold for question in ENGLISH.questions] == [None] * len(ENGLISH.questions)
    assert sum(question.threshold is not None for question in CHINESE.questions) <= 1
    assert {question.show for question in ENGLISH.questions} == {"context", "explain", None}


def test_the_languages_are_what_they_say() -> None:
    assert all(line.content.isascii() for line in ENGLISH.lines)
    assert not any(line.content.isascii() for line in CHINESE.lines)
