"""What of a conversation is proposed as memory, what is small talk, and what the user is told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lethe.domain.controller import MEMORY_CHARACTERS, PIECES, Dropped, Proposal, propose, sentences
from lethe.domain.notice import notice
from lethe.domain.session import Message, Role
from lethe.domain.small_talk import is_small_talk

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def message(content: str, role: Role = Role.USER, n: int = 1) -> Message:
    return Message(f"msg_{n}", "s", n, role, content, NOON)


def fate(content: str) -> Proposal | Dropped:
    (only,) = propose([message(content)], None)
    return only


@pytest.mark.parametrize(
    "text",
    [
        "ok", "OK!", "Okay, thanks", "thank you so much!", "hi", "Hello there", "good morning", "haha", "lol",
        "great", "yes",
        "no problem", "got it", "see you later", "sounds good", "that's great", "嗯", "好的", "谢谢", "谢谢你！",
        "明白了", "哈哈哈",
        "早上好", "没事", "再见", "👍", "...", "!!!", "", "   ", "\U0001f98a\U0001f98a",
    ],
)  # fmt: skip
def test_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "I am good at chess", "Thanks to my sister I can swim", "No nuts for me", "ok, the code is 4711",
        "My name is Hi",
        "Night shifts suit me", "I sing", "42", "我喜欢下雨", "好的，我住在上海", "嗯，我明天去北京", "the", "Paris",
        "good morning good morning good morning good morning good",
    ],
)  # fmt: skip
def test_no_small_talk(text: str) -> None:
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("I ski. I swim! Do I fly? no", ["I ski.", "I swim!", "Do I fly?", "no"]),
        ("我滑雪。我游泳！我会飞吗？不", ["我滑雪。", "我游泳！", "我会飞吗？", "不"]),
        ("one\ntwo\n\nthree", ["one", "two", "three"]),
        ("It costs 3.50 at example.org", ["It costs 3.50 at example.org"]),
        ("", []),
        ("  \n ", []),
    ],
)
def test_sentences(text: str, pieces: list[str]) -> None:
    assert sentences(text) == pieces


def test_a_statement_is_proposed_with_the_confidence_of_the_user_stating_it() -> None:
    proposal = fate("I moved to Oslo in March.")

    assert isinstance(proposal, Proposal)
    assert (proposal.text, proposal.confidence, proposal.reason) == (
        "I moved to Oslo in March.",
        0.95,
        "stated_by_user",
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("Where do I live?", "question"),
        ("我住在哪里？", "question"),
        ("ok, thanks!", "small_talk"),
        ("嗯嗯", "small_talk"),
        ("Hi! How are you?", "question"),
    ],
)
def test_what_holds_nothing_is_dropped_with_its_reason(content: str, reason: str) -> None:
    dropped = fate(content)

    assert isinstance(dropped, Dropped)
    assert dropped.reason == reason


def test_questions_and_small_talk_are_left_out_of_a_message() -> None:
    proposal = fate("Hi! My dog is called Biscuit. What should he eat? He is four. Thanks!")

    assert isinstance(proposal, Proposal)
    assert proposal.text == "My dog is called Biscuit. He is four."


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.SYSTEM, Role.TOOL])
def test_only_users_are_listened_to(role: Role) -> None:
    assert propose([message("I moved to Oslo.", role)], None) == []


def test_the_message_before_is_the_context() -> None:
    before = message("Do you eat fish?", Role.ASSISTANT, 1)
    fates = propose([message("I never eat it.", n=2), message("Nor meat.", n=3)], before)

    assert [fate.context for fate in fates if isinstance(fate, Proposal)] == ["Do you eat fish?", "I never eat it."]


def test_a_long_context_is_cut_to_its_end() -> None:
    before = message("x" * 5_000 + " the end", Role.ASSISTANT)
    (proposal,) = propose([message("I agree to that plan.")], before)

    assert isinstance(proposal, Proposal)
    assert proposal.context is not None
    assert len(proposal.context) == 2_000
    assert proposal.context.endswith("the end")


@pytest.mark.parametrize("content", ["x" * 10_000, "A sentence of mine. " * 450, "漢" * 9_000, "我住在上海。" * 1_500])
def test_a_long_message_becomes_several_texts_that_lose_nothing(content: str) -> None:
    fates = propose([message(content)], None)

    texts = [fate.text for fate in fates if isinstance(fate, Proposal)]
    assert len(texts) == len(fates) > 1
    assert all(0 < len(text) <= MEMORY_CHARACTERS for text in texts)
    assert "".join("".join(texts).split()) == "".join(content.split())


@pytest.mark.parametrize("content", ["x" * 10_001, "A sentence of mine. " * 1_600, "漢" * 10_922])
def test_only_the_beginning_of_a_pasted_document_is_taken(content: str) -> None:
    *taken, last = propose([message(content)], None)

    assert [type(fate) for fate in taken] == [Proposal] * PIECES
    assert isinstance(last, Dropped)
    assert last.reason == "too_long"
    texts = [fate.text for fate in taken if isinstance(fate, Proposal)]
    assert "".join(content.split()).startswith("".join("".join(texts).split()))


def test_every_user_message_has_a_fate_in_order() -> None:
    contents = ["I ski.", "Do I?", "ok", "I swim."]
    fates = propose([message(content, n=n) for n, content in enumerate(contents)], None)

    assert [fate.message.content for fate in fates] == contents


def test_the_notice_speaks_the_users_language_on_one_line() -> None:
    assert notice(["I ski"], "en") == "Remembered: “I ski”."
    assert notice(["我滑雪"], "zh") == "已记住：“我滑雪”。"
    assert notice([], "en") != notice([], "zh")
    assert notice(["a", "b", "c", "d", "e"], "en") == "Remembered: “a”; “b”; “c”; and 2 more."
    assert "另有2条" in notice(["a", "b", "c", "d", "e"], "zh")
    long = notice(["word " * 100 + "\n" + "x" * 100], "de")
    assert "\n" not in long
    assert len(long) < 110
