"""The contract of Sessions, over the fake and both DynamoDBs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lethe.domain.identity import Space
from lethe.domain.json_values import canonical
from lethe.domain.session import Message, Role, SessionSummary
from lethe.errors import NotFound, TooLarge
from lethe.ports import NewMessage
from tests.fakes.time_and_ids import START
from tests.support.makers import JSON_VALUES, TEXTS, said
from tests.support.stores import Stores

HOUR = 3600
# Whole seconds, so that the second of expiry is the same as the moment.
NOON = START.replace(microsecond=0)


def turn(text: str) -> list[NewMessage]:
    return [said(f"{text}?"), said(f"{text}.", Role.ASSISTANT)]


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [message.content for message in messages]


def all_pages(stores: Stores, space: Space, session_id: str, now: datetime = NOON, limit: int = 7) -> list[Message]:
    found: list[Message] = []
    start: str | None = None
    while True:
        page = stores.sessions.page(space, session_id, now, limit, start)
        found += page.items
        if page.next_key is None:
            return found
        start = page.next_key


def test_every_field_comes_back(stores: Stores) -> None:
    space = stores.new_space()
    new = [
        said("hi", Role.SYSTEM, name="Zoë", metadata={"values": list(JSON_VALUES)}, created_at=START),
        said("yo", Role.TOOL, metadata={}),
        *(said(text, name=text or None) for text in TEXTS),
    ]
    result = stores.sessions.append(space, "ses:1.a_b-c", new, NOON, HOUR)
    expected = [
        replace(given.message, session_id="ses:1.a_b-c", sequence=n, turn=max(n - 2, 0))
        for n, given in enumerate(new, start=1)
    ]
    assert result.messages == tuple((message, False) for message in expected)
    stored = all_pages(stores, space, "ses:1.a_b-c")
    assert [replace(message, metadata=None) for message in stored] == [replace(m, metadata=None) for m in expected]
    assert [canonical(m.metadata) for m in stored] == [canonical(m.metadata) for m in expected]


def test_the_head_counts_messages_and_turns(stores: Stores) -> None:
    space = stores.new_space()
    stores.sessions.append(space, "s", [said("hello", Role.ASSISTANT), *turn("one")], NOON, HOUR)
    later = NOON + timedelta(minutes=5)
    result = stores.sessions.append(space, "s", [*turn("two"), said("tool", Role.TOOL), said("three?")], later, HOUR)
    session = stores.sessions.get(space, "s", later)
    assert session == result.session
    assert session is not None
    assert (session.messages, session.turns) == (7, 3)
    assert (session.created_at, session.updated_at) == (NOON, later)
    assert session.expires_at == later + timedelta(seconds=HOUR)
    assert session.ttl_seconds == HOUR
    assert (session.ended_at, session.summarised_turns, session.summarised_at) == (None, 0, None)
    assert [m.turn for m in all_pages(stores, space, "s")] == [0, 1, 1, 2, 2, 2, 3]


def test_no_session(stores: Stores) -> None:
    space = stores.new_space()
    assert stores.sessions.get(space, "s", NOON) is None
    assert stores.sessions.list(space, NOON, 10, None).items == ()
    assert stores.sessions.newest(space, "s", NOON, 10) == ()
    assert stores.sessions.page(space, "s", NOON, 10, None).items == ()
    assert stores.sessions.summary(space, "s", NOON) is None
    assert stores.sessions.delete(space, "s") == 0
    with pytest.raises(NotFound):
        stores.sessions.end(space, "s", NOON)


@pytest.mark.parametrize("count", [1, 45, 46, 90, 100])
@pytest.mark.parametrize("named", [True, False])
def test_long_appends_keep_their_order(stores: Stores, count: int, named: bool) -> None:
    space = stores.new_space()
    new = [said(str(n), client_id=f"c{n}" if named else None) for n in range(count)]
    result = stores.sessions.append(space, "s", new, NOON, HOUR)
    assert [m.sequence for m, _ in result.messages] == list(range(1, count + 1))
    assert result.session.messages == count
    assert texts(tuple(all_pages(stores, space, "s", limit=200))) == [str(n) for n in range(count)]


def test_a_client_id_is_appended_once(stores: Stores) -> None:
    space = stores.new_space()
    first = stores.sessions.append(space, "s", [said("a", client_id="1"), said("b", client_id="2")], NOON, HOUR)
    again = [
        said("other", client_id="2"),
        said("c", client_id="3"),
        said("twin", client_id="3"),
        said("a", client_id="1"),
    ]
    result = stores.sessions.append(space, "s", again, NOON + timedelta(minutes=1), HOUR)
    assert [(m.content, m.sequence, old) for m, old in result.messages] == [
        ("b", 2, True),
        ("c", 3, False),
        ("c", 3, True),
        ("a", 1, True),
    ]
    assert result.messages[0][0] == first.messages[1][0]
    assert result.session.messages == 3
    assert texts(tuple(all_pages(stores, space, "s"))) == ["a", "b", "c"]


def test_a_repeated_append_changes_nothing(stores: Stores) -> None:
    space = stores.new_space()
    new = [said("a", client_id="1"), said("b", Role.ASSISTANT, client_id="2")]
    first = stores.sessions.append(space, "s", new, NOON, HOUR)
    again = stores.sessions.append(space, "s", new, NOON + timedelta(minutes=1), HOUR)
    assert again.messages == tuple((message, True) for message, _ in first.messages)
    assert again.session == first.session == stores.sessions.get(space, "s", NOON)


def test_client_ids_belong_to_their_session(stores: Stores) -> None:
    space = stores.new_space()
    for session_id in ("s", "s2"):
        ((_, old),) = stores.sessions.append(space, session_id, [said("a", client_id="1")], NOON, HOUR).messages
        assert not old


def test_any_text_may_be_a_client_id(stores: Stores) -> None:
    space = stores.new_space()
    ids = ["", "#", "a#b", "你好 🎸", "x" * 5_000, "MSG#0000000001", "\x00"]
    new = [said(str(n), client_id=client_id) for n, client_id in enumerate(ids)]
    stores.sessions.append(space, "s", new, NOON, HOUR)
    again = stores.sessions.append(space, "s", new, NOON, HOUR)
    assert [old for _, old in again.messages] == [True] * len(ids)


@pytest.mark.parametrize(("turns", "expected"), [(1, 3), (2, 5), (3, 7), (4, 9), (50, 9), (0, 0)])
def test_the_newest_turns(stores: Stores, turns: int, expected: int) -> None:
    space = stores.new_space()
    new = [said("greeting", Role.ASSISTANT), said("rules", Role.SYSTEM), *turn("1"), *turn("2"), *turn("3")]
    stores.sessions.append(space, "s", [*new, said("more", Role.TOOL)], NOON, HOUR)
    newest = stores.sessions.newest(space, "s", NOON, turns)
    assert texts(newest) == [*texts(tuple(m.message for m in new)), "more"][len(new) + 1 - expected :]


@pytest.mark.parametrize(
    ("before", "turns", "expected"),
    [
        (8, 1, [5, 6, 7]),
        (7, 1, [5, 6]),
        (5, 1, [3, 4]),
        (5, 9, [1, 2, 3, 4]),
        (2, 1, [1]),
        (1, 1, []),
        (99, 1, [5, 6, 7]),
    ],
)
def test_the_newest_turns_ahead_of_a_message(stores: Stores, before: int, turns: int, expected: list[int]) -> None:
    space = stores.new_space()
    new = [*turn("1"), *turn("2"), *turn("3"), said("more", Role.TOOL)]
    stores.sessions.append(space, "s", new, NOON, HOUR)
    newest = stores.sessions.newest(space, "s", NOON, turns, before)
    assert [message.sequence for message in newest] == expected


def test_a_turn_of_many_messages_comes_whole(stores: Stores) -> None:
    space = stores.new_space()
    steps = [said(str(n), Role.TOOL) for n in range(40)]
    stores.sessions.append(space, "s", [*turn("1"), said("2?"), *steps], NOON, HOUR)
    assert len(stores.sessions.newest(space, "s", NOON, 1)) == 41
    assert len(stores.sessions.newest(space, "s", NOON, 2)) == 43


def test_sessions_are_listed_by_id_in_pages(stores: Stores) -> None:
    space = stores.new_space()
    ids = ["B", "a", "a-b", "a.b", "a:b", "a_b", "b", "c1", "c10", "c2"]
    for session_id in reversed(ids):
        stores.sessions.append(space, session_id, turn(session_id), NOON, HOUR)
    found: list[str] = []
    start: str | None = None
    for size in (3, 3, 3, 1):
        page = stores.sessions.list(space, NOON, 3, start)
        assert len(page.items) == size
        found += [session.id for session in page.items]
        start = page.next_key
    assert start is None
    assert found == sorted(ids)


def test_sessions_do_not_mix(stores: Stores) -> None:
    """Ids that begin with each other, and ids that look like parts of keys."""
    space = stores.new_space()
    ids = ["a", "a.", "a:MSG", "ab", "MSG", "HEAD", "SESSION"]
    for session_id in ids:
        stores.sessions.append(space, session_id, turn(session_id), NOON, HOUR)
    for session_id in ids:
        assert texts(tuple(all_pages(stores, space, session_id))) == [f"{session_id}?", f"{session_id}."]
    assert stores.sessions.delete(space, "a") == 3
    assert [s.id for s in stores.sessions.list(space, NOON, 50, None).items] == sorted(ids[1:])
    assert texts(stores.sessions.newest(space, "ab", NOON, 5)) == ["ab?", "ab."]


def test_an_end_stays_until_the_session_goes_on(stores: Stores) -> None:
    space = stores.new_space()
    stores.sessions.append(space, "s", turn("1"), NOON, HOUR)
    later = NOON + timedelta(minutes=1)
    assert stores.sessions.end(space, "s", later).ended_at == later
    assert stores.sessions.end(space, "s", later + timedelta(minutes=1)).ended_at == later
    ended = stores.sessions.get(space, "s", later)
    assert ended is not None
    assert ended.ended_at == later
    result = stores.sessions.append(space, "s", turn("2"), later, HOUR)
    assert result.session.ended_at is None
    assert result.session.messages == 4


def test_the_newest_summary(stores: Stores) -> None:
    space = stores.new_space()
    stores.sessions.append(space, "s", turn("1"), NOON, HOUR)
    for n in (2, 9, 10):
        stores.put_summary(space, SessionSummary("s", f"summary {n} 你好", n, START))
    assert stores.sessions.summary(space, "s", NOON) == SessionSummary("s", "summary 10 你好", 10, START)
    assert stores.sessions.summary(space, "s", NOON + timedelta(seconds=HOUR)) is None
    assert stores.sessions.summary(space, "other", NOON) is None


def test_delete_takes_everything_along(stores: Stores) -> None:
    space = stores.new_space()
    stores.sessions.append(space, "s", [said(str(n), client_id=str(n)) for n in range(60)], NOON, HOUR)
    stores.put_summary(space, SessionSummary("s", "summary", 1, NOON))
    assert stores.sessions.delete(space, "s") == 1 + 60 + 60 + 1
    assert stores.sessions.get(space, "s", NOON) is None
    assert all_pages(stores, space, "s") == []
    assert stores.sessions.summary(space, "s", NOON) is None
    assert stores.sessions.delete(space, "s") == 0
    ((message, old),) = stores.sessions.append(space, "s", [said("anew", client_id="1")], NOON, HOUR).messages
    assert (message.sequence, old) == (1, False)


@pytest.mark.parametrize(("seconds", "alive"), [(-1, True), (-0.001, True), (0, False), (1, False)])
def test_a_session_expires_to_the_second(stores: Stores, seconds: float, alive: bool) -> None:
    space = stores.new_space()
    stores.sessions.append(space, "s", [said("hi", client_id="1")], NOON, HOUR)
    then = NOON + timedelta(seconds=HOUR + seconds)
    assert (stores.sessions.get(space, "s", then) is not None) is alive
    assert len(stores.sessions.list(space, then, 10, None).items) == alive
    assert len(stores.sessions.newest(space, "s", then, 5)) == alive
    assert len(stores.sessions.page(space, "s", then, 5, None).items) == alive
    if alive:
        assert stores.sessions.end(space, "s", then).ended_at == then
    else:
        with pytest.raises(NotFound):
            stores.sessions.end(space, "s", then)
    ((message, old),) = stores.sessions.append(space, "s", [said("again", client_id="1")], then, HOUR).messages
    assert (message.content, message.sequence, old) == (("hi", 1, True) if alive else ("again", 1, False))


def test_a_session_that_expired_begins_anew(stores: Stores) -> None:
    space = stores.new_space()
    stores.sessions.append(space, "s", [*turn("1"), *turn("2")], NOON, HOUR)
    then = NOON + timedelta(days=1)
    result = stores.sessions.append(space, "s", [said("new")], then, HOUR)
    assert (result.session.created_at, result.session.messages, result.session.turns) == (then, 1, 1)
    assert texts(tuple(all_pages(stores, space, "s", then))) == ["new"]
    result = stores.sessions.append(space, "s", turn("3"), then, HOUR)
    assert texts(tuple(all_pages(stores, space, "s", then))) == ["new", "3?", "3."]


def test_each_message_expires_by_itself_and_the_head_with_the_last(stores: Stores) -> None:
    space = stores.new_space()
    stores.sessions.append(space, "s", [said("short", client_id="1")], NOON, HOUR)
    stores.sessions.append(space, "s", [said("long")], NOON, 3 * HOUR)
    result = stores.sessions.append(space, "s", [said("short too")], NOON, HOUR)
    assert result.session.expires_at == NOON + timedelta(seconds=3 * HOUR)
    then = NOON + timedelta(seconds=HOUR)
    assert texts(tuple(all_pages(stores, space, "s", then))) == ["long"]
    assert texts(stores.sessions.newest(space, "s", then, 10)) == ["long"]
    ((message, old),) = stores.sessions.append(space, "s", [said("next", client_id="1")], then, HOUR).messages
    assert (message.sequence, old) == (4, False)
    assert stores.sessions.get(space, "s", NOON + timedelta(seconds=3 * HOUR)) is None


def test_pages_skip_over_what_has_expired(stores: Stores) -> None:
    space = stores.new_space()
    stores.sessions.append(space, "s", [said(str(n)) for n in range(30)], NOON, HOUR)
    stores.sessions.append(space, "s", [said(str(n)) for n in range(30, 35)], NOON, 2 * HOUR)
    then = NOON + timedelta(seconds=HOUR)
    page = stores.sessions.page(space, "s", then, 3, None)
    assert texts(page.items) == ["30", "31", "32"]
    assert texts(stores.sessions.page(space, "s", then, 3, page.next_key).items) == ["33", "34"]
    for n in range(12):
        stores.sessions.append(space, f"s{n:02}", turn("x"), NOON, HOUR if n < 10 else 2 * HOUR)
    listed = stores.sessions.list(space, then, 2, None)
    assert [session.id for session in listed.items] == ["s", "s10"]
    assert [session.id for session in stores.sessions.list(space, then, 2, listed.next_key).items] == ["s11"]


def test_others_see_nothing(stores: Stores) -> None:
    space = stores.new_space()
    stores.sessions.append(space, "s", [said("mine", client_id="1")], NOON, HOUR)
    foreign = [
        stores.new_space(space.tenant),
        Space(stores.new_space().tenant, space.subject, 1),
        replace(space, epoch=2),
    ]
    for other in foreign:
        assert stores.sessions.get(other, "s", NOON) is None
        assert stores.sessions.list(other, NOON, 10, None).items == ()
        assert stores.sessions.newest(other, "s", NOON, 10) == ()
        assert stores.sessions.page(other, "s", NOON, 10, None).items == ()
        assert stores.sessions.delete(other, "s") == 0
        ((message, old),) = stores.sessions.append(other, "s", [said("theirs", client_id="1")], NOON, HOUR).messages
        assert (message.sequence, old) == (1, False)
    assert texts(stores.sessions.newest(space, "s", NOON, 10)) == ["mine"]


def test_more_than_a_megabyte_of_messages(big_stores: Stores) -> None:
    space = big_stores.new_space()
    for start in (0, 50):
        new = [said(f"{n} " + "字" * 10_000, client_id=str(n)) for n in range(start, start + 50)]
        big_stores.sessions.append(space, "s", new, NOON, HOUR)
    assert [m.sequence for m in all_pages(big_stores, space, "s", limit=60)] == list(range(1, 101))
    assert [m.sequence for m in big_stores.sessions.newest(space, "s", NOON, 50)] == list(range(51, 101))
    assert len(big_stores.sessions.newest(space, "s", NOON, 100)) == 100
    assert big_stores.sessions.delete(space, "s") == 201


def test_a_message_too_large_names_the_field(strict_stores: Stores) -> None:
    space = strict_stores.new_space()
    with pytest.raises(TooLarge, match="content"):
        strict_stores.sessions.append(space, "s", [said("small"), said("x" * 390_000)], NOON, HOUR)
    assert all_pages(strict_stores, space, "s") == []
