"""The stages of recall, each by itself: what is kept, what is dropped, and the reason that is written down."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from lethe.domain.memory import MemoryKind
from lethe.domain.policy import DEFAULT_POLICY
from lethe.domain.recall import stages
from lethe.domain.recall.route import Tier, route
from lethe.domain.search import Candidate
from tests.unit.domain.builders import NOON, candidate


def reasons(candidates: list[Candidate]) -> list[str]:
    return [one.decisions[-1].reason if one.decisions else "" for one in candidates]


def test_the_gate_keeps_what_is_at_the_threshold() -> None:
    gated = stages.gate([candidate(0.9), candidate(0.55), candidate(0.549)], 0.55)

    assert [one.kept for one in gated] == [True, True, False]
    assert reasons(gated) == ["relevant", "relevant", "below_threshold"]


def test_a_threshold_of_0_lets_everything_through() -> None:
    assert [one.kept for one in stages.gate([candidate(0.0), candidate(1.0)], 0.0)] == [True, True]


def test_doubtful_memories_are_dropped() -> None:
    sure = stages.confidence([candidate(confidence=0.7), candidate(confidence=0.69)], 0.7)

    assert [one.kept for one in sure] == [True, False]
    assert reasons(sure) == ["confident", "low_confidence"]


def test_what_is_dropped_keeps_its_first_reason() -> None:
    dropped = stages.gate([candidate(0.1, confidence=0.1)], 0.5)
    for stage in (
        lambda c: stages.confidence(c, 0.7),
        lambda c: stages.rerank(c, DEFAULT_POLICY, NOON),
        stages.deduplicate,
        lambda c: stages.cut(c, 5),
    ):
        dropped = stage(dropped)

    assert [decision.reason for decision in dropped[0].decisions] == ["below_threshold"]


@pytest.mark.parametrize(
    "better",
    [
        {"occurred_at": NOON},
        {"kind": MemoryKind.PROFILE},
        {"confidence": 1.0},
        {"heat": 5.0},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_of_two_equally_relevant_the_better_one_is_first(better: dict[str, object]) -> None:
    plain = {"occurred_at": NOON - timedelta(days=100), "kind": MemoryKind.EPISODE, "confidence": 0.8, "heat": 1.0}
    ranked = stages.rerank(
        [candidate(0.8, **plain, id="a"), candidate(0.8, **(plain | better), id="b")], DEFAULT_POLICY, NOON
    )

    assert [one.memory.id for one in ranked] == ["b", "a"]


def test_scores_stay_between_relevance_and_1() -> None:
    rng = random.Random(1)
    for _ in range(500):
        one = candidate(
            rng.choice([0.0, 1.0, rng.random()]),
            confidence=rng.random(),
            heat=rng.random() * 100,
            occurred_at=NOON + timedelta(days=rng.randrange(-9_000, 9_000)),
        )
        (ranked,) = stages.rerank([one], DEFAULT_POLICY, NOON)
        assert one.relevance <= ranked.score <= 1.0


def test_what_is_clearly_more_relevant_is_never_overtaken() -> None:
    """The bonus is at most 0.052 in log-odds: .5 against .514 is 0.056."""
    best = {"occurred_at": NOON, "kind": MemoryKind.PROFILE, "confidence": 1.0, "heat": 1e9}
    worst = {"occurred_at": NOON - timedelta(days=9_999), "kind": MemoryKind.EPISODE, "confidence": 0.7}
    ranked = stages.rerank([candidate(0.5, **best, id="a"), candidate(0.514, **worst, id="b")], DEFAULT_POLICY, NOON)

    assert [one.memory.id for one in ranked] == ["b", "a"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("I like rain", "I like rain!", True),
        ("I like RAIN a lot", "i like rain, a lot", True),
        ("我喜欢下雨", "我喜欢下雨。", True),
        ("I live in flat 12", "I live in flat 13", False),
        ("I like fish", "I do not like fish", False),
        ("I don't like fish", "I like fish", False),
        ("我喜欢鱼", "我不喜欢鱼", False),
        ("My cat is called Miso", "My dog is called Biscuit", False),
        ("", "", False),
    ],
)
def test_near_duplicates(one: str, other: str, same: bool) -> None:
    judged = stages.deduplicate([candidate(0.9, text=one), candidate(0.8, text=other)])

    assert judged[0].kept
    assert judged[1].kept is not same
    assert reasons(judged)[1] == ("near_duplicate" if same else "distinct")


def test_what_comes_after_enough_distinct_ones_is_left_to_the_cut() -> None:
    texts = ["I like rain", "I like rain!", "I like snow", "I like snow!"]
    many = [candidate(0.9 - n / 10, text=text) for n, text in enumerate(texts)]

    answered = stages.cut(stages.deduplicate(many, 2), 2)

    assert reasons(answered) == ["among_best", "near_duplicate", "among_best", "beyond_top_k"]
    assert [one.kept for one in answered] == [one.kept for one in stages.cut(stages.deduplicate(many), 2)]


def test_every_script_writes_numbers_that_tell() -> None:
    judged = stages.deduplicate([candidate(text="room ٣"), candidate(text="room ٤"), candidate(text="x² metres")])

    assert [one.kept for one in judged] == [True, True, True]


def test_a_dropped_candidate_makes_no_other_a_duplicate() -> None:
    first = candidate(0.9, text="I like rain").judged("gate", False, "below_threshold")

    assert stages.deduplicate([first, candidate(0.8, text="I like rain")])[1].kept


def test_the_cut_counts_what_is_kept() -> None:
    dropped = candidate().judged("gate", False, "below_threshold")
    judged = stages.cut([candidate(), dropped, candidate(), candidate()], 2)

    assert [one.kept for one in judged] == [True, False, True, False]
    assert reasons(judged) == ["among_best", "below_threshold", "among_best", "beyond_top_k"]


def test_every_stage_gives_all_candidates_back() -> None:
    many = [candidate(n / 50, id=str(n), text=f"text {n}") for n in range(50)]
    for result in (
        stages.gate(many, 0.5),
        stages.confidence(many, 0.7),
        stages.rerank(many, DEFAULT_POLICY, NOON),
        stages.deduplicate(many),
        stages.cut(many, 5),
    ):
        assert sorted(one.memory.id for one in result) == sorted(one.memory.id for one in many)


def test_the_router_reads_what_the_request_can_use() -> None:
    assert route("Where do I live?", None, "s", 0.55).tiers == (Tier.SESSION, Tier.ENTITIES, Tier.MEMORIES)
    assert route("Where do I live?", None, None, 0.55).tiers == (Tier.ENTITIES, Tier.MEMORIES)
    assert route("ok, thanks", None, None, 0.01).tiers == (Tier.ENTITIES,)
    assert route("ok, thanks", None, None, 0).tiers == (Tier.ENTITIES, Tier.MEMORIES)
    assert route("ok, thanks", [Tier.MEMORIES], None, 0.55).tiers == (Tier.MEMORIES,)
    assert route("ok, thanks", [Tier.ENTITIES], None, 0).tiers == (Tier.ENTITIES,)
    assert route("x", [Tier.SESSION], None, 0.55).tiers == ()
    for chosen in (route("x", None, None, 0.55), route("x", [Tier.SESSION], "s", 0.55)):
        assert chosen.reasons.keys() == set(Tier)
        assert all(chosen.reads(tier) == (tier in chosen.tiers) for tier in Tier)
