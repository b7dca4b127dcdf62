"""Word index, features, order and gate, against values worked out by hand or by a second, plain formula."""

import math
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lethe.domain.relevance import (
    DEFAULT_THRESHOLD,
    Candidates,
    Document,
    LexicalIndex,
    Ranking,
    TermStatistics,
    embedding_text,
    is_agent,
    query_terms,
    rank,
    relevance_model,
    search_text,
)
from lethe.domain.relevance.features import FEATURE_NAMES, Bm25, bm25, cosines, covered_mass
from lethe.domain.relevance.gate import logit_lost, relevance
from lethe.domain.relevance.model import CosineScale
from lethe.domain.relevance.ranking import LegScores, estimate_scale, reciprocal_rank_fusion
from lethe.domain.text import analyse_query, tokenize

LOCAL = "local/minilm-use@1"
TEXTS = (
    "The lighthouse keeper painted the boat",
    "A boat race starts at noon",
    "Nobody painted the old lighthouse door",
    "Soup with leeks and barley",
)


def documents(*texts: str) -> list[Document]:
    return [Document(text) for text in texts]


def without_vectors(items: list[Document]) -> Candidates:
    return Candidates.build(items, np.empty((len(items), 0)))


def ask(question: str, candidates: Candidates, vector: npt.NDArray[np.float32] | None = None) -> Ranking:
    return rank(analyse_query(question), vector, candidates, relevance_model(LOCAL if vector is not None else None))


def reference_bm25(query: list[str], texts: list[list[str]], k1: float, b: float) -> list[float]:
    """BM25 as the book has it, one document and one term at a time."""
    average = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        counts, score = Counter(text), 0.0
        for term in query:
            df = sum(term in other for other in texts)
            idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            score += idf * counts[term] * (k1 + 1) / (counts[term] + k1 * (1 - b + b * len(text) / average))
        scores.append(score)
    return scores


def test_bm25_agrees_with_a_plain_implementation() -> None:
    index = LexicalIndex.build(documents(*TEXTS))
    terms = ["lighthous", "paint", "boat", "absent"]
    found = bm25(index, terms, index.statistics(terms), Bm25(k1=1.2, b=0.75), own=False)
    expected = reference_bm25(terms, [tokenize(text) for text in TEXTS], 1.2, 0.75)
    assert found == pytest.approx(expected, rel=1e-5)


WORDS = st.lists(st.sampled_from("otter kite amber violin ferry maple 茶 7".split()), min_size=1, max_size=12)


@given(st.lists(WORDS, min_size=1, max_size=12), WORDS)
def test_bm25_agrees_for_any_collection(texts: list[list[str]], query: list[str]) -> None:
    index = LexicalIndex.build(documents(*(" ".join(words) for words in texts)))
    terms = list(dict.fromkeys(tokenize(" ".join(query))))
    found = bm25(index, terms, index.statistics(terms), Bm25(), own=True)
    expected = reference_bm25(terms, [tokenize(" ".join(words)) for words in texts], 0.9, 0.4)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_context_counts_only_in_the_wide_field() -> None:
    index = LexicalIndex.build([Document("We sailed north", speaker="Ada", context="Did the kite fly?")])
    kite, ada = index.postings("kite"), index.postings("ada")
    assert (kite.counts.tolist(), kite.own_counts.tolist()) == ([1.0], [0.0])
    assert (ada.counts.tolist(), ada.own_counts.tolist()) == ([1.0], [1.0])
    assert (index.lengths.tolist(), index.own_lengths.tolist()) == ([5.0], [3.0])


def test_postings_of_a_repeated_term() -> None:
    index = LexicalIndex.build(documents("kite kite otter", "otter", "kite"))
    found = index.postings("kite")
    assert found.documents.tolist() == [0, 2]
    assert found.counts.tolist() == [2.0, 1.0]
    assert len(index.postings("amber").documents) == 0
    assert index.statistics(["kite", "amber"]).document_frequency == {"kite": 2, "amber": 0}


def test_covered_mass_is_the_idf_of_the_words_found() -> None:
    index = LexicalIndex.build(documents("kite otter", "kite", "violin"))
    statistics = index.statistics(["kite", "otter", "ferry"])
    covered, mass = covered_mass(index, ["kite", "otter", "ferry"], statistics)
    kite, otter, ferry = (statistics.idf(t) for t in ("kite", "otter", "ferry"))
    assert ferry > otter > kite > 0
    assert covered == pytest.approx([kite + otter, kite, 0.0])
    assert mass == pytest.approx(kite + otter + ferry)


def test_search_text_keeps_the_end_of_the_context() -> None:
    own, context = search_text(Document("x" * 450, speaker="Ada", context="start " + "y" * 44 + " end"))
    assert own == "Ada " + "x" * 450
    assert len(context) == 50
    assert context.endswith(" end")
    assert search_text(Document("x" * 490, context="left out")) == ("x" * 490, "")


def test_embedding_text_is_speaker_memory_and_short_context() -> None:
    moment = datetime(2024, 5, 2, tzinfo=UTC)
    assert embedding_text("Ada", moment, "We sailed", "Did you sail?") == "Ada: We sailed\nDid you sail?"
    assert embedding_text("", None, "We sailed", "") == "We sailed"
    assert len(embedding_text("Ada", None, "x" * 5_000, "y" * 5_000)) == 300


@pytest.mark.parametrize(
    ("origin", "speaker", "agent"),
    [("agent", "Ada", True), ("tool", "", True), ("user", "Assistant", True), ("user", "Ada", False)],
)
def test_who_counts_as_an_agent(origin: str, speaker: str, agent: bool) -> None:
    assert is_agent(origin, speaker) is agent


def test_nothing_to_rank() -> None:
    ranking = ask("Where is the ferry?", without_vectors([]))
    assert len(ranking.order) == len(ranking.relevance) == len(ranking.words.ranks) == 0
    assert ranking.facts is None


@pytest.mark.parametrize("question", ["", "   ", "???", "\ud800", "the of and"])
def test_a_question_without_words_ranks_and_opens_no_gate(question: str) -> None:
    ranking = ask(question, without_vectors(documents(*TEXTS)))
    assert sorted(ranking.order.tolist()) == [0, 1, 2, 3]
    assert np.isfinite(ranking.scores).all()
    assert ranking.relevance.max() < DEFAULT_THRESHOLD


def test_words_alone_find_the_memory_that_says_it() -> None:
    ranking = ask("Who painted the lighthouse door?", without_vectors(documents(*TEXTS)))
    assert ranking.order[0] == 2
    assert ranking.words.ranks.tolist() == [2, 3, 1, 3] or ranking.words.ranks[2] == 1
    assert ranking.relevance[2] == ranking.relevance.max()


def test_meaning_finds_what_words_do_not() -> None:
    vectors = np.eye(4, dtype=np.float32)
    query = np.array([0.1, 0.0, 0.2, 0.97], np.float32)
    ranking = ask("What did I eat?", Candidates.build(documents(*TEXTS), vectors), query)
    assert ranking.order[0] == 3
    assert ranking.vectors.ranks[3] == 1
    assert ranking.vectors.scores == pytest.approx(query)


def test_the_named_day_and_speaker_decide_between_equal_texts() -> None:
    items = [
        Document("I repaired the kite", speaker="Ada", occurred_on=date(2023, 5, 1)),
        Document("I repaired the kite", speaker="Ada", occurred_on=date(2023, 5, 2)),
        Document("I repaired the kite", speaker="Bea", occurred_on=date(2022, 5, 2)),
    ]
    candidates = without_vectors(items)
    assert ask("What did Ada repair on May 2nd, 2023?", candidates).order[0] == 1
    assert ask("What did Bea repair?", candidates).order[0] == 2
    features = ask("What was repaired in May 2023?", candidates).features
    assert features.month.tolist() == [1.0, 1.0, 0.0]
    assert features.day.tolist() == [0.0, 0.0, 0.0]


def test_features_do_not_depend_on_who_else_is_a_candidate() -> None:
    items = documents(*TEXTS)
    query = analyse_query("Who painted the boat?")
    model = relevance_model(None)
    whole = rank(query, None, without_vectors(items), model)
    statistics = without_vectors(items).lexical.statistics(query_terms(query))
    few = rank(query, None, without_vectors([items[2], items[0]]), model, statistics)
    assert few.scores == pytest.approx(whole.scores[[2, 0]], rel=1e-5)
    assert few.features.matrix().shape == (2, len(FEATURE_NAMES))


@st.composite
def collections(draw: st.DrawFn) -> tuple[list[Document], npt.NDArray[np.float32]]:
    texts = draw(st.lists(st.text(max_size=60), min_size=1, max_size=15))
    seed = draw(st.integers(0, 2**16))
    vectors = np.random.default_rng(seed).normal(size=(len(texts), 6)).astype(np.float32)
    return documents(*texts), vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@given(collections(), st.text(max_size=80), st.randoms())
def test_order_is_by_relevance_and_independent_of_input_order(
    collection: tuple[list[Document], npt.NDArray[np.float32]], question: str, random: "object"
) -> None:
    items, vectors = collection
    ranking = ask(question, Candidates.build(items, vectors), vectors[0])
    assert ((ranking.relevance >= 0) & (ranking.relevance <= 1)).all()
    assert (np.diff(ranking.relevance[ranking.order]) <= 0).all()
    shuffled = np.random.default_rng(len(question)).permutation(len(items))
    again = ask(question, Candidates.build([items[i] for i in shuffled], vectors[shuffled]), vectors[0])
    assert again.scores == pytest.approx(ranking.scores[shuffled], rel=1e-3, abs=1e-3)
    assert again.relevance.max() == pytest.approx(ranking.relevance.max(), abs=1e-3)


def test_the_best_candidate_alone_carries_the_gate() -> None:
    ranking = ask("Who painted the lighthouse door?", without_vectors(documents(*TEXTS)))
    model = relevance_model(None)
    assert ranking.facts is not None
    logit = ranking.facts.logit(model.gate)
    assert ranking.relevance.max() == pytest.approx(1 / (1 + math.exp(-logit)), rel=1e-5)
    second = ranking.order[1]
    behind = float(ranking.scores.max() - ranking.scores[second])
    lost = model.gate.below_best * behind + model.gate.far_below_best * max(0.0, behind - model.gate.close) ** 2
    expected = 1 / (1 + math.exp(lost - logit))
    assert ranking.relevance[second] == pytest.approx(expected, rel=1e-5)


@given(st.lists(st.floats(0, 200, width=32), min_size=2, max_size=20))
def test_what_is_lost_behind_the_best_grows_with_the_distance_and_ever_faster(distances: list[float]) -> None:
    gate = relevance_model(LOCAL).gate
    behind = np.sort(np.array([0.0, *distances], np.float32))
    lost = logit_lost(behind, gate)
    assert lost[0] == 0
    assert (lost >= np.float32(gate.below_best) * behind).all()
    assert (np.diff(lost) >= 0).all()
    assert logit_lost(np.array([9.0], np.float32), gate) > 3 * logit_lost(np.array([3.0], np.float32), gate)


@pytest.mark.filterwarnings("error")
def test_what_is_far_behind_a_certain_answer_is_not_relevant() -> None:
    items = documents("Ada's birthday is on the fourth of July", "Ada's locker has the number twelve", "Soup and leeks")
    vectors = np.array([[0.6, 0.8, 0.0], [-0.2, 0.0, 0.98], [-0.3, 0.0, 0.954]], np.float32)
    ranking = ask("When is Ada's birthday?", Candidates.build(items, vectors), np.array([1.0, 0.0, 0.0], np.float32))
    assert ranking.order.tolist() == [0, 1, 2]
    assert ranking.relevance[0] > 0.9
    assert ranking.relevance[1] < DEFAULT_THRESHOLD
    far = replace(ranking.features, cosine=np.array([0.9, -1.0, -1.0], np.float32))
    assert relevance(far, np.array([1e3, 0.0, -1e3], np.float32), 5.0, relevance_model(LOCAL).gate)[1:].max() < 1e-9


@pytest.mark.parametrize(("others", "lead"), [((), 0.0), ((0.2, 0.5), 0.7), ((0.1,) * 8 + (0.4, 0.6), 0.8)])
def test_the_lead_of_the_best_cosine_is_over_the_tenth_or_the_last(others: tuple[float, ...], lead: float) -> None:
    cosine = np.array([*others, 0.9], np.float32)
    vectors = np.stack([cosine, np.sqrt(1 - cosine**2)], axis=1)
    candidates = Candidates.build(documents(*["kite"] * len(cosine)), vectors)
    facts = ask("ferry", candidates, np.array([1.0, 0.0], np.float32)).facts
    assert facts is not None
    assert facts.cosine_lead == pytest.approx(lead, abs=1e-6)


def test_unknown_names_close_the_gate() -> None:
    candidates = without_vectors(documents("Ada repaired the kite", *TEXTS))
    known = ask("What did Ada repair?", candidates)
    unknown = ask("What did Zoltan repair?", candidates)
    assert known.facts is not None
    assert unknown.facts is not None
    assert (known.facts.unknown_names, unknown.facts.unknown_names) == (0.0, 1.0)
    assert unknown.relevance.max() < known.relevance.max()


def test_a_memory_without_a_vector_gets_the_mean_cosine() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 0.0], [0.6, 0.8]], np.float32)
    assert cosines(np.array([1.0, 0.0], np.float32), vectors) == pytest.approx([1.0, 0.8, 0.6])
    assert cosines(np.array([1.0, 0.0], np.float32), np.zeros((2, 2), np.float32)).tolist() == [0.0, 0.0]
    assert cosines(None, vectors).tolist() == [0.0, 0.0, 0.0]


def test_vectors_must_match_the_documents() -> None:
    with pytest.raises(ValueError, match="one row"):
        Candidates.build(documents("kite"), np.zeros((2, 3)))


def test_half_precision_vectors_are_accepted() -> None:
    candidates = Candidates.build(documents("kite"), np.array([[0.6, 0.8]], np.float16))
    assert candidates.vectors.dtype == np.float32
    assert candidates.nbytes > 0


def test_an_unknown_embedder_is_read_by_its_own_spread() -> None:
    rng = np.random.default_rng(5)
    # All texts of this embedder lie close together: cosines of unrelated pairs are about 0.8.
    vectors = rng.normal(size=(60, 16)) * 0.5 + 1.0
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    scale = estimate_scale(vectors, CosineScale(0.1, 0.1))
    pairs = (vectors @ vectors.T)[np.triu_indices(60, 1)]
    trust = 60 / 68
    assert scale.background == pytest.approx(trust * float(pairs.mean()) + (1 - trust) * 0.1, abs=1e-4)
    assert scale.spread == pytest.approx(trust * float(pairs.std()) + (1 - trust) * 0.1, abs=1e-4)
    model = replace(relevance_model("somebody/else@3"), scale=None)
    ranking = rank(analyse_query("kite"), vectors[7], Candidates.build(documents(*["amber"] * 60), vectors), model)
    assert ranking.order[0] == 7
    assert abs(float(np.median(ranking.features.cosine)) - model.reference.background) < 0.15


def test_estimate_needs_two_vectors() -> None:
    prior = CosineScale(0.2, 0.1)
    assert estimate_scale(np.ones((1, 3), np.float32), prior) == prior
    assert estimate_scale(np.zeros((5, 3), np.float32), prior) == prior
    assert estimate_scale(np.empty((5, 0), np.float32), prior) == prior


def test_fitted_weights_have_the_signs_that_their_meaning_demands() -> None:
    for label in (LOCAL, None):
        model = relevance_model(label)
        assert model.version
        assert min(model.rank.bm25, model.rank.coverage, model.rank.day, model.gate.below_best) > 0
        assert min(model.gate.close, model.gate.far_below_best) > 0
        assert model.rank.agent < 0
        assert model.gate.unknown_names < 0
    assert relevance_model(LOCAL).rank.cosine > 0
    assert relevance_model(None).rank.cosine == 0
    assert relevance_model("no/such-model@9").scale is None


def test_statistics_give_the_rarest_weight_to_what_was_never_said() -> None:
    statistics = TermStatistics(100, 10.0, 8.0, {"kite": 50, "otter": 1})
    assert statistics.idf("kite") < statistics.idf("otter") < statistics.idf("ferry")


def test_reciprocal_rank_fusion() -> None:
    legs = [LegScores(np.array([3.0, 1.0], np.float32))] * 2
    assert reciprocal_rank_fusion(legs) == pytest.approx([2 / 61, 2 / 62])


def test_equal_scores_rank_in_the_order_given() -> None:
    assert LegScores(np.array([0.0, 2.0, 0.0, 2.0], np.float32)).ranks.tolist() == [3, 1, 4, 2]


def test_the_ranks_of_a_few_are_those_among_all() -> None:
    rng = np.random.default_rng(3)
    for size in (1, 2, 50):
        # With many ties, as words that nobody said make them.
        leg = LegScores(rng.integers(0, 8, size).astype(np.float32))
        places = rng.permutation(size)[: max(size // 2, 1)].astype(np.int32)

        assert leg.ranks_of(places).tolist() == leg.ranks[places].tolist()


def test_what_a_leg_did_not_find_is_behind_what_it_found() -> None:
    leg = LegScores(np.array([0.1, -0.4, 0.3], np.float32), np.array([False, True, True]))
    assert leg.ranks_of(np.arange(3, dtype=np.int32)).tolist() == [3, 2, 1]
