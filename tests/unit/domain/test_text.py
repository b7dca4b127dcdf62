"""Text analysis: terms, names, dates, question form, language."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lethe.domain.text import DateMention, analyse_query, dates, is_question, is_unspaced, language, tokenize


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The gardeners were planting roses", ["garden", "plant", "rose"]),
        ("She bought three maps and paid $1,250.50", ["buy", "3", "map", "pay", "1250.50"]),
        ("Don't you know Ann's café?", ["know", "ann", "cafe"]),
        ("It's 5km to the B52 hangar on the 21st", ["5", "km", "b52", "hangar", "21", "st"]),
        ("user_id=007", ["user", "id", "7"]),
        ("ＦＵＬＬ　ｗｉｄｔｈ", ["full", "width"]),
        ("Straße", ["strass"]),
        ("We'll say I'm ill, won't we? They'd wed", ["say", "ill", "wed"]),
        ("", []),
        ("?! ...", []),
    ],
)
def test_words_are_reduced_to_terms(text: str, terms: list[str]) -> None:
    assert tokenize(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("喝绿茶", ["喝", "绿", "茶", "喝绿", "绿茶"]),
        ("我的茶", ["茶", "我的", "的茶"]),
        ("ネコ", ["ネ", "コ", "ネコ"]),
        ("고양이", ["고", "양", "이", "고양", "양이"]),
        ("用Python写", ["用", "python", "写"]),
        ("แมว", ["แ", "ม", "ว", "แม", "มว"]),
    ],
)
def test_unspaced_scripts_become_characters_and_pairs(text: str, terms: list[str]) -> None:
    assert tokenize(text) == terms


def test_vowel_signs_stay_inside_indic_and_arabic_words() -> None:
    assert tokenize("किताब पढ़ो") == ["किताब", "पढ़ो"]
    assert len(tokenize("كِتَاب")) == 1


def test_irregular_and_regular_forms_of_a_verb_meet() -> None:
    assert tokenize("went") == tokenize("goes") == tokenize("going") == tokenize("gone")


def test_a_memo_changes_no_term() -> None:
    memo: dict[str, str] = {}
    texts = ["Two brothers sailed", "the brothers sail again", "Brother sailing"]
    assert [tokenize(text, memo) for text in texts] == [tokenize(text) for text in texts]
    assert memo["brothers"] == "brother"


def test_terms_are_the_same_in_every_thread() -> None:
    text = "relational databases generalisation happily running " * 50
    expected, results = tokenize(text), []
    threads = [threading.Thread(target=lambda: results.append(tokenize(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=300))
def test_any_string_is_accepted(text: str) -> None:
    for term in tokenize(text):
        assert 0 < len(term) <= 40
        assert not term.isspace()
    query = analyse_query(text)
    assert query.names <= set(query.terms)
    assert query.numbers <= set(query.terms)
    assert len(set(query.terms)) == len(query.terms)
    assert isinstance(is_question(text), bool)
    assert 2 <= len(language(text)) <= 3


@pytest.mark.parametrize(
    "piece", ["a", "1,", "A ", '"', "'s", "may ", "1 of ", "中", "\ud800", "《", "20", "é", "1 may ", "why? "]
)
def test_long_repetitive_text_is_read_to_the_end(piece: str) -> None:
    # 100 KB of what makes a careless pattern backtrack; the suite's time-out is the judge of quadratic work.
    analyse_query(piece * (100_000 // len(piece)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2024-02-29", [(2024, 2, 29)]),
        ("What happened on March 3rd, 2021?", [(2021, 3, 3)]),
        ("the 3rd of March 2021", [(2021, 3, 3)]),
        ("7 Sept 2022", [(2022, 9, 7)]),
        ("Jan. 5", [(None, 1, 5)]),
        ("during October 2020", [(2020, 10, None)]),
        ("in December", [(None, 12, None)]),
        ("2021年3月3日我们见面", [(2021, 3, 3)]),
        ("6月18号去了哪里", [(None, 6, 18)]),
        ("9月的天气", [(None, 9, None)]),
        ("between June 4 and June 9 2020", [(None, 6, 4), (2020, 6, 9)]),
    ],
)
def test_dates_are_found(text: str, found: list[tuple[int | None, int, int | None]]) -> None:
    assert dates(text) == tuple(DateMention(*parts) for parts in found)


@pytest.mark.parametrize(
    "text", ["May I come in?", "we march at 5", "40 may", "13/2020", "99月99日", "3 pm", "version 2.4.1"]
)
def test_what_is_no_date(text: str) -> None:
    assert dates(text) == ()


def test_a_question_is_taken_apart() -> None:
    query = analyse_query("Did Ann mention on May 2nd that Bob's aunt bought 12 goats in Lima?")
    assert {"ann", "bob", "lima"} <= query.names
    assert query.numbers == {"12"}
    assert query.dates == (DateMention(None, 5, 2),)
    assert "may" not in query.terms
    assert {"mention"} == set(query.terms) - set(query.subject_terms)
    assert query.language == "en"


def test_a_question_about_the_conversation_alone_has_no_subject() -> None:
    query = analyse_query("What did we talk about on May 2nd?")
    assert query.subject_terms == ()
    assert query.terms == ("talk",)


def test_chinese_question_words_are_no_terms() -> None:
    query = analyse_query("你还记得我喜欢什么水果吗？")
    assert "什么" not in query.terms
    assert "记得" not in query.terms
    assert {"水果", "喜欢"} <= set(query.terms)


def test_quoted_titles_count_as_names() -> None:
    assert {"blue", "heron"} <= analyse_query('Who wrote "Blue Heron"?').names
    assert "蓝鹭" in analyse_query("谁写了《蓝鹭》？").names


@pytest.mark.parametrize(
    ("text", "asked"),
    [("What did you suggest for dinner?", True), ("你给我推荐了哪家店？", True), ("When did I move?", False)],
)
def test_whether_the_agent_is_asked_for_its_words(text: str, asked: bool) -> None:
    assert analyse_query(text).addresses_agent is asked


@pytest.mark.parametrize(
    "text",
    ["Do you like tea?", "do you like tea", "Tea?", "你喜欢茶吗", "你喜欢什么茶？", "お茶は好き？", 'She said: "why?"'],
)
def test_questions(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", ["I like tea.", "我喜欢茶。", "", "   ", "What a day!", "Tea? No, coffee."])
def test_statements(text: str) -> None:
    assert not is_question(text)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("I moved to the coast in spring", "en"),
        ("allergic peanuts", "en"),
        ("我搬到了海边", "zh"),
        ("我用 Python 和 FastAPI 写服务", "zh"),
        ("海辺に引っ越した", "ja"),
        ("바닷가로 이사했다", "ko"),
        ("ฉันย้ายไปทะเล", "th"),
        ("Я переехал к морю", "ru"),
        ("Ich bin ans Meer gezogen und es ist schön", "de"),
        ("Je ne suis pas dans la maison", "fr"),
        ("12345 !!", "und"),
        ("", "und"),
        ("\ud800", "und"),
    ],
)
def test_language_is_guessed(text: str, tag: str) -> None:
    assert language(text) == tag


def test_unspaced_goes_by_the_majority_of_letters() -> None:
    assert is_unspaced("茶很好")
    assert is_unspaced("我用 AI")
    assert not is_unspaced("I like the word 茶")
    assert not is_unspaced("123")
