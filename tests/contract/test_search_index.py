"""The contract of ``SearchIndex``: the same answers from the scan, OpenSearch as each flavour, and a real node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lethe.domain.identity import Space
from lethe.domain.indexing import Outcome
from lethe.domain.json_values import JsonValue
from lethe.domain.memory import MemoryFilter, MemoryKind, MemoryStatus, Origin, Source
from lethe.domain.search import SearchQuery
from tests.fakes.opensearch.failures import Refusal
from tests.fakes.time_and_ids import START
from tests.support.search_worlds import World, embedded, query, texts

_DAY = timedelta(days=1)
_TICK = timedelta(microseconds=1)
_QUESTION = "What does Ana play?"


def _different(now: datetime) -> Mapping[str, Mapping[str, object]]:
    """One memory for each way in which a filter can tell memories apart, searched at ``now``; by its text."""
    return {
        "plain": {},
        "preference": {"kind": MemoryKind.PREFERENCE},
        "pending": {"status": MemoryStatus.PENDING},
        "obsolete": {"status": MemoryStatus.OBSOLETE},
        "archived": {"status": MemoryStatus.ARCHIVED},
        "ended": {"valid_until": now - _TICK},
        "ends now": {"valid_until": now},
        "ends next": {"valid_until": now + _TICK},
        "pending and ended": {"status": MemoryStatus.PENDING, "valid_until": now - _DAY},
        "begins later": {"valid_from": now + _DAY},
        "by a tool": {"source": Source("key_1", Origin.TOOL)},
        "in a session": {"source": Source("key_1", Origin.USER, "session-1")},
        "in another": {"source": Source("key_1", Origin.USER, "session-10")},
        "earlier": {"created_at": now - _TICK},
        "later": {"created_at": now + _TICK},
        "before 1970": {"created_at": datetime(1, 1, 1, 0, 0, 0, 1, tzinfo=now.tzinfo)},
        "one": {"metadata": {"room": 1}},
        "one point nought": {"metadata": {"room": 1.0, "floor": "ground"}},
        "true": {"metadata": {"room": True}},
        "text": {"metadata": {"room": "1"}},
        "null": {"metadata": {"room": None}},
        "nested": {"metadata": {"room": {"a": [1, {"b": 2.0}], "c": None}}},
        "list": {"metadata": {"room": [1, 2]}},
        "other key": {"metadata": {"Room": 1, "": "x"}},
    }


_NOT_CURRENT = frozenset({"pending", "obsolete", "archived", "ended", "ends now", "pending and ended"})
_ALL = frozenset(_different(START))
_CURRENT = _ALL - _NOT_CURRENT


def _by_metadata(value: JsonValue) -> MemoryFilter:
    return MemoryFilter(metadata={"room": value})


def _statuses(*statuses: MemoryStatus, **others: datetime) -> MemoryFilter:
    return MemoryFilter(statuses=statuses, **others)  # type: ignore[arg-type]  # fields by name


def _filters(now: datetime) -> list[tuple[MemoryFilter, frozenset[str]]]:
    """Filters, with the memories that each accepts at ``now``."""
    return [
        (MemoryFilter(), _CURRENT),
        (_statuses(), _ALL),
        (MemoryFilter(kinds=(MemoryKind.PREFERENCE,)), frozenset({"preference"})),
        (MemoryFilter(kinds=(MemoryKind.PREFERENCE, MemoryKind.FACT)), _CURRENT),
        (MemoryFilter(kinds=(MemoryKind.EPISODE,)), frozenset()),
        (_statuses(MemoryStatus.PENDING), frozenset({"pending", "pending and ended"})),
        (_statuses(MemoryStatus.OBSOLETE), frozenset({"obsolete"})),
        (_statuses(MemoryStatus.ARCHIVED), frozenset({"archived", "ended", "ends now"})),
        (_statuses(MemoryStatus.CURRENT, MemoryStatus.ARCHIVED), _CURRENT | {"archived", "ended", "ends now"}),
        (MemoryFilter(origins=(Origin.TOOL,)), frozenset({"by a tool"})),
        (MemoryFilter(origins=(Origin.TOOL, Origin.USER)), _CURRENT),
        (MemoryFilter(session_id="session-1"), frozenset({"in a session"})),
        (MemoryFilter(session_id="session-"), frozenset()),
        (MemoryFilter(created_after=now), frozenset({"later"})),
        (MemoryFilter(created_after=now - _TICK), _CURRENT - {"earlier", "before 1970"}),
        (MemoryFilter(created_before=now), frozenset({"earlier", "before 1970"})),
        (MemoryFilter(created_before=now - _TICK), frozenset({"before 1970"})),
        (MemoryFilter(created_after=now - 2 * _TICK, created_before=now), frozenset({"earlier"})),
        (MemoryFilter(valid_at=now), _CURRENT - {"begins later"}),
        (MemoryFilter(valid_at=now - _TICK), frozenset()),
        (MemoryFilter(valid_at=now + _TICK), _CURRENT - {"begins later", "ends next"}),
        (MemoryFilter(valid_at=now + _DAY), _CURRENT - {"ends next"}),
        (_statuses(MemoryStatus.ARCHIVED, valid_at=now), frozenset({"archived"})),
        (_statuses(MemoryStatus.PENDING, valid_at=now), frozenset({"pending"})),
        (_statuses(valid_at=now), _ALL - {"ended", "ends now", "pending and ended", "begins later"}),
        (_by_metadata(1), frozenset({"one", "one point nought"})),
        (_by_metadata(1.0), frozenset({"one", "one point nought"})),
        (_by_metadata(True), frozenset({"true"})),
        (_by_metadata("1"), frozenset({"text"})),
        (_by_metadata(None), frozenset({"null"})),
        (_by_metadata(False), frozenset()),
        (_by_metadata({"c": None, "a": [1.0, {"b": 2}]}), frozenset({"nested"})),
        (_by_metadata([1, 2]), frozenset({"list"})),
        (_by_metadata([2, 1]), frozenset()),
        (MemoryFilter(metadata={"room": 1, "floor": "ground"}), frozenset({"one point nought"})),
        (MemoryFilter(metadata={"": "x"}), frozenset({"other key"})),
    ]


def _add_different(world: World, space: Space, now: datetime) -> None:
    usual = {"created_at": now, "valid_from": now}
    world.add(space, *(world.memory(name, **{**usual, **fields}) for name, fields in _different(now).items()))


def test_each_filter_lets_the_same_memories_through(world: World) -> None:
    space, now = world.subject(), world.clock.now() + world.shows_after
    _add_different(world, space, now)
    world.catch_up()
    assert world.clock.now() == now
    for filters, expected in _filters(now):
        for vector in (True, False):
            found = world.search(space, query(_QUESTION, vector=vector), filters)
            assert set(texts(found)) == expected, filters
            assert (len(found.candidates), found.considered, found.stored) == (len(expected), len(expected), len(_ALL))
            assert not found.degraded


def test_scores_and_order_are_those_of_the_scan(world: World) -> None:
    space, now = world.subject(), world.clock.now() + world.shows_after
    _add_different(world, space, now)
    world.catch_up()
    for asked in map(query, ("one of the lists", "Who is in a session, and who in another?", "nothing alike", "")):
        found, expected = world.search(space, asked), world.scanned(space, asked, MemoryFilter())
        assert texts(found) == texts(expected)
        assert [c.relevance for c in found.candidates] == pytest.approx([c.relevance for c in expected.candidates])
        assert [c.legs for c in found.candidates] == [c.legs for c in expected.candidates]


def test_a_subject_that_was_never_written_has_nothing(world: World) -> None:
    found = world.search(world.subject(), _QUESTION)
    assert (found.candidates, found.considered, found.stored, found.degraded) == ((), 0, 0, False)


def test_nothing_of_another_tenant_subject_or_epoch_is_found(world: World) -> None:
    own = world.subject()
    others = [world.subject(), world.subject("other"), replace(own, tenant="other"), world.subject(epoch=2)]
    world.heads.create("other", own.subject)
    world.say(own, "Ana plays the guitar.")
    for number, space in enumerate(others):
        world.say(space, f"Ana plays the harp number {number}.")
    world.catch_up()
    found = world.search(own, _QUESTION)
    assert (texts(found), found.considered, found.stored) == (["Ana plays the guitar."], 1, 1)
    for number, space in enumerate(others):
        assert texts(world.search(space, _QUESTION)) == [f"Ana plays the harp number {number}."]


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("What is Ana running from?", "Ana runs from the geese of the park."),
        ("What did BEN’S dogs eat?", "Ben's dog ate the sofa."),
        ("红茶", "小花最喜欢喝红茶。"),
        ("茶", "小花最喜欢喝红茶。"),
        ("她住在哪里?", "她住在杭州西湖边。"),
        ("Ｓｉｅｎａ", "The flat in Siena has 3 rooms."),
        ("1,200 euros", "The rent is 1200 euros a month."),
        ("カフェ", "土曜日にカフェで会う。"),
        ("café zoë", "Zoe's cafe opens at nine."),
    ],
)
def test_words_alone_find_what_they_name(world: World, question: str, best: str) -> None:
    space = world.subject()
    world.say(space, *_NAMED)
    world.catch_up()
    assert texts(world.search(space, query(question, vector=False), limit=3))[0] == best


_NAMED = (
    "Ana runs from the geese of the park.",
    "Ben's dog ate the sofa.",
    "小花最喜欢喝红茶。",
    "她住在杭州西湖边。",
    "The flat in Siena has 3 rooms.",
    "The rent is 1200 euros a month.",
    "土曜日にカフェで会う。",
    "Zoe's cafe opens at nine.",
    "The choir meets on Tuesdays.",
    "他们下周去爬山。",
)


def test_memories_without_a_vector_of_this_model_are_found(world: World) -> None:
    space = world.subject()
    world.add(
        space,
        world.memory("Ana plays the guitar.", embedding=None),
        world.memory("Ana plays the harp.", embedding=embedded("Ana plays the harp.", "other/model@1")),
        world.memory("Ana plays the flute."),
        world.memory("She studied something else entirely.", embedding=None),
    )
    world.catch_up()
    for asked in (query("guitar, harp or flute?"), query("guitar, harp or flute?", vector=False)):
        found = world.search(space, asked)
        assert texts(found) == texts(world.scanned(space, asked, MemoryFilter()))
        assert len(found.candidates) == 4
        assert not found.degraded


def test_a_leg_names_those_alone_that_it_found(world: World) -> None:
    space = world.subject()
    texts_of = ("Ana plays the harp.", "The ferry leaves at nine.", "A harp was sold at noon.")
    world.add(space, *(world.memory(text) for text in texts_of), world.memory("The harp is old.", embedding=None))
    world.catch_up()
    for vector in (True, False):
        found = world.search(space, query("Who has a harp?", vector=vector))
        legs = {c.memory.text: {leg.name: leg.rank for leg in c.legs} for c in found.candidates}
        by_words = {text for text, seen in legs.items() if "words" in seen}
        by_vector = {text for text, seen in legs.items() if "vector" in seen}
        assert by_words == {texts_of[0], texts_of[2], "The harp is old."}
        assert by_vector == (set(texts_of) if vector else set())
        assert sorted(legs[text]["words"] for text in by_words) == [1, 2, 3]
        assert sorted(legs[text]["vector"] for text in by_vector) == [1, 2, 3][: len(by_vector)]


def test_a_question_in_the_subjects_own_name_is_asked_without_it(world: World) -> None:
    space = world.subject()
    world.say(space, "Rosalind rises at six.", "The harp stands in the hall.")
    world.catch_up()
    found = world.search(space, query("Where is Rosalind's harp?", vector=False, name="Rosalind"), limit=1)
    assert texts(found) == ["The harp stands in the hall."]


def test_additions_are_found_before_the_index_hears_of_them(world: World) -> None:
    space = world.subject()
    world.say(space, *(f"The choir sings piece {number}." for number in range(30)))
    world.catch_up()
    world.clock.move(_DAY)
    world.say(space, "Ana plays the guitar.", "Ana plays the harp.")
    found = world.search(space, query("What does Ana play?", vector=False))
    assert set(texts(found)[:2]) == {"Ana plays the guitar.", "Ana plays the harp."}
    assert (found.considered, found.stored, found.degraded) == (32, 32, False)


def test_what_was_applied_is_found_before_searches_show_it(world: World) -> None:
    space = world.subject()
    world.say(space, *(f"The choir sings piece {number}." for number in range(30)))
    world.catch_up()
    world.clock.move(_DAY)
    world.say(space, "Ana plays the guitar.")
    world.catch_up(show=False)
    found = world.search(space, query("What does Ana play?", vector=False))
    assert texts(found)[0] == "Ana plays the guitar."
    assert len(found.candidates) == len(set(texts(found))) == 31
    assert not found.degraded


def test_a_change_is_found_as_it_is_now_before_the_index_hears_of_it(world: World) -> None:
    space = world.subject()
    world.say(space, *(f"The choir sings piece {number}." for number in range(150)))
    (old,) = world.say(space, "Ana plays the guitar.")
    (kept,) = world.say(space, "Ben paints.")
    world.catch_up()
    world.clock.move(_DAY)
    world.change(space, old, text="Ana plays the harp.")
    world.change(space, kept, status=MemoryStatus.OBSOLETE)
    asked = query("Who plays the harp, and who paints?", vector=False)
    found = world.search(space, asked, limit=5)
    assert texts(found)[0] == "Ana plays the harp."
    assert not {"Ana plays the guitar.", "Ben paints."} & set(texts(found))
    obsolete = world.search(space, asked, MemoryFilter(statuses=(MemoryStatus.OBSOLETE,)), limit=5)
    assert texts(obsolete) == ["Ben paints."]


def test_a_deleted_memory_is_never_answered(world: World) -> None:
    space = world.subject()
    kept, gone = world.say(space, "Ana plays the guitar.", "Ana plays the harp.")
    world.catch_up()
    world.delete(space, gone)
    assert texts(world.search(space, _QUESTION)) == [kept.text]
    world.catch_up(show=False)
    assert texts(world.search(space, _QUESTION)) == [kept.text]
    if world.on is not None:
        world.show()
    found = world.search(space, _QUESTION)
    assert (texts(found), found.considered, found.stored) == ([kept.text], 1, 1)


@pytest.mark.parametrize("deleted", [5, 40, 150])
@pytest.mark.parametrize("vector", [True, False])
def test_deleted_memories_that_the_index_still_shows_take_no_places(world: World, deleted: int, vector: bool) -> None:
    space = world.subject()
    gone = world.say(space, *(f"Ana plays the guitar, said {number} times." for number in range(deleted)))
    world.say(space, *(f"Ana sings song {number}." for number in range(30)))
    world.say(space, *(f"The choir meets in room {number}." for number in range(120)))
    world.catch_up()
    world.delete(space, *gone)
    found = world.search(space, query("What guitar does Ana play or sing?", vector=vector), limit=10)
    assert len(found.candidates) == 10
    assert not {memory.text for memory in gone} & set(texts(found))
    assert texts(found)[0].startswith("Ana sings")


def test_an_update_counts_once(world: World) -> None:
    space = world.subject()
    first, _ = world.say(space, "Ana plays the guitar.", "Ben paints.")
    world.catch_up()
    world.clock.move(_DAY)
    world.change(space, first, text="Ana plays the harp.")
    world.catch_up()
    found = world.search(space, query("What instrument?"))
    assert sorted(texts(found)) == ["Ana plays the harp.", "Ben paints."]
    assert (found.considered, found.stored, found.degraded) == (2, 2, False)


def test_a_few_memories_are_found_though_the_index_was_told_nothing(world: World) -> None:
    space = world.subject()
    world.say(space, *(f"Ana sings song {number}." for number in range(60)))
    asked = query("Which song does Ana sing?")
    found = world.search(space, asked)
    assert texts(found) == texts(world.scanned(space, asked, MemoryFilter()))
    assert (found.considered, found.stored, found.degraded) == (60, 60, False)


def test_many_memories_are_found_though_the_index_was_told_nothing(world: World) -> None:
    space = world.subject()
    world.say(space, *(f"Ana sings song {number}." for number in range(140)))
    asked = query("Which song does Ana sing?")
    found = world.search(space, asked, limit=10)
    assert texts(found) == texts(world.scanned(space, asked, MemoryFilter(), limit=10))
    assert (found.considered, found.stored) == (140, 140)
    assert found.degraded == (world.on is not None)


def test_the_past_is_asked_of_the_table(world: World) -> None:
    space = world.subject()
    (first,) = world.say(space, "Ana plays the guitar.")
    world.catch_up()
    before = world.clock.now()
    world.clock.move(_DAY)
    world.change(space, first, text="Ana plays the harp.")
    world.catch_up()
    assert texts(world.search(space, _QUESTION, as_of=before)) == ["Ana plays the guitar."]
    assert texts(world.search(space, _QUESTION)) == ["Ana plays the harp."]


def test_a_memory_that_ends_leaves_at_that_moment(world: World) -> None:
    space = world.subject()
    world.add(space, world.memory("Ana plays the harp.", valid_until=world.clock.now() + _DAY))
    world.catch_up()
    assert texts(world.search(space, _QUESTION)) == ["Ana plays the harp."]
    world.clock.move(_DAY)
    assert texts(world.search(space, _QUESTION)) == []


_ODD = (
    "",
    " ",
    "?!",
    "\x00\x1f",
    "\uffff\U0010ffff",
    "a" * 20_000,
    "word " * 4_000,
    " ".join(f"w{number}" for number in range(2_000)),
    "".join(map(chr, range(0x4E00, 0x5000))),
    "".join(map(chr, range(0x1F300, 0x1F500))),
    " ".join(map(chr, range(0x400, 0x500))),
    "".join(f"a{chr(0x4E00 + number)}" for number in range(400)),
    "-".join("abcdefghijklmnopqrstuvwxyz0123456789" * 10),
    "的" * 3_000,
)


@pytest.mark.parametrize("text", _ODD, ids=range(len(_ODD)))
def test_any_question_and_any_memory_is_taken(world: World, text: str) -> None:
    space = world.subject()
    world.say(space, text, "Ana plays the guitar.")
    assert set(world.catch_up()) <= {Outcome.APPLIED}
    for vector in (True, False):
        found = world.search(space, query(text, vector=vector))
        assert sorted(texts(found)) == sorted([text, "Ana plays the guitar."])
        assert not found.degraded


def test_a_question_that_utf_8_has_no_place_for_is_taken(world: World) -> None:
    space = world.subject()
    world.say(space, "Ana plays the guitar.")
    world.catch_up()
    found = world.search(space, SearchQuery("guitar \ud800 \udfff", None))
    assert (texts(found), found.degraded) == (["Ana plays the guitar."], False)


def test_the_log_tells_why_the_index_was_not_used_and_nothing_of_the_question(
    faked: World, caplog: pytest.LogCaptureFixture
) -> None:
    space = faked.subject()
    faked.say(space, "Ana plays the CANARY guitar.")
    faked.catch_up()
    assert faked.on is not None
    assert faked.on.fake is not None
    faked.on.fake.failures.append(Refusal(503, "unavailable", "no CANARY here"))
    with caplog.at_level("DEBUG"):
        found = faked.search(space, "Who plays the CANARY guitar?")
    assert (texts(found), found.degraded) == (["Ana plays the CANARY guitar."], True)
    assert "the search index: Unavailable OpenSearch: 503" in caplog.text
    assert "CANARY" not in caplog.text
