"""Text analysis: terms of the word index, the question's names, numbers and dates, language guess.

Pure functions of the text, linear in its length on any input; every ``str`` is accepted (lone surrogates
and unassigned code points count as separators).

Terms:
    * Latin and other spaced scripts: Unicode words, case-folded, accents dropped, English stop words left
      out, English inflection reduced (irregular forms by table, the rest by Snowball "English",
      https://snowballstem.org/algorithms/english/stemmer.html).
    * Scripts written without spaces (Han, kana, Hangul, Thai, Lao, Khmer, Burmese): every character and
      every pair of neighbours. No dictionary is needed, and it beat one (docs/adr/0003).
    * Numbers: as digits, without thousands separators.
"""

import re
import threading
import unicodedata
from functools import cache
from typing import Final

import Stemmer  # type: ignore[import-not-found]  # a C extension without stubs

from lethe.domain.immutable import immutable
from lethe.domain.words import (
    CHINESE_CONVERSATION_PHRASES,
    CHINESE_FUNCTION_CHARACTERS,
    CHINESE_QUESTION_PHRASES,
    CONVERSATION_WORDS,
    ENGLISH_STOP_WORDS,
    IRREGULAR_FORMS,
    LANGUAGE_WORDS,
    MONTHS,
    NUMBER_WORDS,
    QUESTION_STARTS,
    WEEKDAYS,
)

Memo = dict[str, str]
"""Words already reduced, for one run over many texts; the caller owns it, so nothing outlives the run."""

_MAX_TERM: Final = 40
_MOST_DATES: Final = 16
_HAN: Final = "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_KANA: Final = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL: Final = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_SOUTH_EAST: Final = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u1049\u1780-\u17d3"
_UNSPACED: Final = _HAN + _KANA + _HANGUL + _SOUTH_EAST
# Vowel signs and points are no ``\w`` for Python's re, yet belong inside the words of these scripts.
_MARKS: Final = "\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0971-\u0dff"
_LETTER: Final = rf"(?:(?![\d_{_UNSPACED}])[\w{_MARKS}])"
_ASCII_PIECE: Final = re.compile(r"()(\d+(?:[.,:]\d+)*)|([a-z][a-z0-9]*(?:'[a-z]+)*)")
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")
_THOUSANDS: Final = re.compile(r",(?=\d{3}(?!\d))")
_CAPITALISED: Final = re.compile(r"(^|[.!?:;]\s+|[\n\"“]\s*)?\b([A-Z][\w'’-]*)")
_QUOTED: Final = re.compile(r"[《「『“\"]([^《》「」『』“”\"\n]{1,80})[》」』”\"]")
_QUESTION_MARK: Final = re.compile(r"[?？؟⁇]")
_FUNCTION_CHARACTERS: Final = frozenset(CHINESE_FUNCTION_CHARACTERS)
_CHINESE_FILLER: Final = re.compile("|".join(sorted(CHINESE_QUESTION_PHRASES, key=len, reverse=True)))
_CHINESE_TALK: Final = re.compile("|".join(sorted(CHINESE_CONVERSATION_PHRASES, key=len, reverse=True)))
_CHINESE_QUESTION: Final = re.compile("吗|呢[。？?]?$|什么|哪|怎么|怎样|为何|多少|是不是|有没有|几[个点号月天次岁]|谁")

_local = threading.local()


@cache
def _piece() -> re.Pattern[str]:
    """Any script's pieces. Compiled with the first text that needs it, as are the scripts below: classes of so many
    characters take milliseconds each, and plain English does without.
    """
    return re.compile(
        rf"([{_UNSPACED}]+)"
        r"|(\d+(?:[.,:]\d+)*)"
        rf"|({_LETTER}(?:(?![_{_UNSPACED}])[\w{_MARKS}])*(?:'[a-z]+)*)"
    )


def _stem(word: str) -> str:
    """Snowball English stem; one stemmer a thread, since its working buffer is not shared safely."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        # No cache inside the stemmer: words of one subject must not outlive the call.
        stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
    return str(stemmer.stemWord(word))


def normalise(text: str) -> str:
    """Compatibility form (NFKC), case-folded, straight apostrophes, Latin accents dropped."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", folded))
    return unicodedata.normalize("NFC", bare)


def _reduce(word: str) -> str:
    """Term of one normalised word, or "" when it carries no subject matter."""
    head, apostrophe, _ = word.partition("'")
    if apostrophe:
        # "Ann's" is Ann; "we'll" and "don't" are function words, which "well" and "dont" need not be.
        stem = head[:-1] if word.endswith("n't") else head
        word = "" if stem in ENGLISH_STOP_WORDS or stem in ("ca", "wo") else word.removesuffix("'s")
        word = word.replace("'", "")
    if not word or word in ENGLISH_STOP_WORDS:
        return ""
    digits = NUMBER_WORDS.get(word)
    if digits is not None:
        return digits
    word = IRREGULAR_FORMS.get(word, word)
    return (_stem(word) if word.isascii() else word)[:_MAX_TERM]


def _number(token: str) -> str:
    plain = _THOUSANDS.sub("", token)
    if not plain.isascii():
        plain = "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in plain)
    return (plain.lstrip("0") or "0")[:_MAX_TERM]


def _grams(run: str) -> list[str]:
    single = [c for c in run if c not in _FUNCTION_CHARACTERS]
    return single + [run[i : i + 2] for i in range(len(run) - 1)]


def tokenize(text: str, memo: Memo | None = None) -> list[str]:
    """Terms of ``text`` for the word index, repeated as often as they occur.

    Args:
        text: Any string.
        memo: Reduced words shared over many calls (see :data:`Memo`); ``None`` for one text.
    """
    known: Memo = {} if memo is None else memo
    terms: list[str] = []
    plain = normalise(text)
    for unspaced, number, word in (_ASCII_PIECE if plain.isascii() else _piece()).findall(plain):
        if word:
            term = known.get(word)
            if term is None:
                term = known[word] = _reduce(word)
            if term:
                terms.append(term)
        elif number:
            terms.append(_number(number))
        else:
            terms.extend(_grams(unspaced))
    return terms


@immutable
class DateMention:
    """A calendar date as a text names it; ``None`` for the parts that it leaves open."""

    year: int | None
    month: int
    day: int | None


_MONTH_NAME: Final = "(" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?(?![\d:]|\s?[ap]m\b)"
_YEAR: Final = r"((?:19|20)\d\d)(?!\d)"
_DATE_PATTERNS: Final[tuple[tuple[re.Pattern[str], tuple[int, int, int]], ...]] = (
    # (pattern, the groups of year, month, day; 0 = not part of the pattern)
    (re.compile(rf"(?<!\d){_YEAR}[-/.](\d{{1,2}})[-/.](\d{{1,2}})(?!\d)"), (1, 2, 3)),
    (re.compile(rf"(?<!\d)(?:{_YEAR}年)?(\d{{1,2}})月(?:(\d{{1,2}})[日号號])?"), (1, 2, 3)),
    (re.compile(rf"\b{_MONTH_NAME}[\s-]{{1,3}}{_DAY}(?:(?:,\s?|\s|-|\sof\s){_YEAR})?"), (3, 1, 2)),
    (re.compile(rf"(?<![\d:]){_DAY}(?:\sof)?[\s-]{{1,3}}{_MONTH_NAME}(?:,?[\s-]{{0,3}}{_YEAR})?"), (3, 2, 1)),
    (re.compile(rf"\b{_MONTH_NAME}(?:,|\sof)?\s{{1,3}}{_YEAR}"), (2, 1, 0)),
    (re.compile(rf"\b(?:in|during|of|since|until|early|late|mid|last|this)[\s-]{{1,3}}{_MONTH_NAME}"), (0, 1, 0)),
)


def _month(value: str) -> int:
    return MONTHS.get(value) or int(value)


def _is_possible(mention: DateMention) -> bool:
    return 1 <= mention.month <= 12 and (mention.day is None or 1 <= mention.day <= 31)


def _says_more(one: DateMention, other: DateMention) -> bool:
    """Whether ``one`` is a fuller reading of the same words as ``other``, which names no day."""
    same_year = other.year is None or one.year in (None, other.year)
    return other.day is None and one.month == other.month and same_year and one != other


def dates(text: str) -> tuple[DateMention, ...]:
    """Calendar dates named in English, Chinese, Japanese or ISO form, at most 16, in the order of the patterns.

    Relative dates ("yesterday") are not resolved here: they need a clock.
    """
    plain = normalise(text)
    found: list[DateMention] = []
    for pattern, (year, month, day) in _DATE_PATTERNS:
        for match in pattern.finditer(plain):
            mention = DateMention(
                year=int(match[year]) if year and match[year] else None,
                month=_month(match[month]),
                day=int(match[day]) if day and match[day] else None,
            )
            if mention in found or not _is_possible(mention):
                continue
            if not any(_says_more(other, mention) for other in found):
                found.append(mention)
            if len(found) == _MOST_DATES:
                return tuple(found)
    return tuple(found)


def _names(text: str, memo: Memo) -> frozenset[str]:
    """Terms of ``text`` that look like proper names: capitalised inside a sentence, or quoted titles."""
    names: set[str] = set()
    for start, word in _CAPITALISED.findall(text):
        lower = word.lower()
        if lower in MONTHS or lower in WEEKDAYS:
            continue
        possessive = lower.endswith(("'s", "’s"))
        at_start = bool(start) or text.startswith(word)
        if at_start and not possessive and not word.isupper():
            continue
        names.update(tokenize(word, memo))
    for title in _QUOTED.findall(text):
        names.update(t for t in tokenize(title, memo) if len(t) > 1)
    return frozenset(names)


def is_question(text: str) -> bool:
    """Whether ``text`` asks: it ends with a question mark, or begins or is built as a question (en, zh)."""
    stripped = text.strip().rstrip("\"'”’)）」』 ")
    if not stripped:
        return False
    if _QUESTION_MARK.match(stripped[-1]):
        return True
    if stripped[-1] in ".。!！":
        return False
    first = re.match(r"[A-Za-z']+", stripped)
    if first is not None:
        return first[0].lower().replace("'", "") in QUESTION_STARTS
    return len(stripped) <= 200 and _CHINESE_QUESTION.search(stripped) is not None


_SCRIPTS: Final[tuple[tuple[str, str], ...]] = (
    ("ja", _KANA),
    ("ko", _HANGUL),
    ("zh", _HAN),
    ("th", "\u0e00-\u0e7f"),
    ("ar", "\u0600-\u06ff"),
    ("he", "\u0590-\u05ff"),
    ("el", "\u0370-\u03ff"),
    ("hi", "\u0900-\u097f"),
    ("ru", "\u0400-\u04ff"),
)


@cache
def _scripts() -> dict[str, re.Pattern[str]]:
    return {tag: re.compile(f"[{characters}]") for tag, characters in _SCRIPTS}


_SAMPLE: Final = 2_000
_LATIN_WORD: Final = re.compile(r"[^\W\d_]+")


def language(text: str) -> str:
    """Best guess of the language as a BCP 47 primary tag; ``"und"`` when nothing speaks for one.

    By script for non-Latin text (a fifth of the letters is enough, since Chinese text is full of Latin
    names), by the commonest function words for Latin text. Only the first 2,000 characters are read.
    """
    sample = text[:_SAMPLE]
    if not sample.isascii() and (script := _language_by_script(sample)) is not None:
        return script
    words = _LATIN_WORD.findall(sample.lower())
    hits = {tag: sum(map(known.__contains__, words)) for tag, known in LANGUAGE_WORDS.items()}
    tag, count = max(hits.items(), key=lambda item: item[1])
    if count and sample.isascii() and hits["en"] >= count - 1 and hits["en"] > 0:
        return "en"  # small words such as "me" and "a" are shared; where English is as likely, it is English
    if count:
        return tag
    # Short English statements may hold no function word at all; plain ASCII letters are most likely English, but one
    # word alone says nothing.
    return "en" if len(words) > 1 and sample.isascii() else "und"


def _language_by_script(sample: str) -> str | None:
    letters = sum(map(str.isalpha, sample))
    if not letters:
        return "und"
    counts = {tag: len(pattern.findall(sample)) for tag, pattern in _scripts().items()}
    if counts["ja"] and (counts["ja"] + counts["zh"]) * 5 >= letters and counts["ja"] * 10 >= counts["zh"]:
        return "ja"
    tag, count = max(counts.items(), key=lambda item: item[1])
    return tag if count * 5 >= letters else None


_NAME: Final = re.compile(r"[^\W\d_]{2,}")
_OWNED: Final = re.compile(r"(\w+)(?:['’]s(?!\w))?", re.IGNORECASE)


def without_name(text: str, name: str | None) -> str:
    """``text`` without the words of ``name`` where both are written alike but for case; "Ann's" goes whole.

    Words of one letter and numbers stay: they are no names. No pattern is made of the name: ``re`` would keep it for
    as long as the process lives, beyond the user's erasure.
    """
    words = {word.casefold() for word in _NAME.findall(name or "") if not is_unspaced(word)}
    if not words:
        return text
    left = " ".join(_OWNED.sub(lambda found: " " if found[1].casefold() in words else found[0], text).split())
    return left if _LATIN_WORD.search(left) else text


@immutable
class QueryText:
    """What the analysis finds in a question.

    Attributes:
        text: The question as asked.
        terms: Its distinct terms, in order; empty only when it has no words at all.
        subject_terms: Its terms without the words that speak about the conversation ("remember"); empty
            when it asks about nothing else ("what did we talk about?").
        names: The terms that look like proper names or titles.
        numbers: The terms that are numbers and no part of a named date.
        dates: The calendar dates that it names.
        addresses_agent: Whether it asks what the agent said or advised.
        language: See :func:`language`.
    """

    text: str
    terms: tuple[str, ...]
    subject_terms: tuple[str, ...]
    names: frozenset[str]
    numbers: frozenset[str]
    dates: tuple[DateMention, ...]
    addresses_agent: bool
    language: str


_AGENT_ADDRESSED: Final = re.compile(
    r"\b(?:did|have|had) you\b|\byou (?:recommend|suggest|said|told|gave|advise|mention|explain|share)"
    r"|你.{0,4}(?:推荐|建议|告诉|介绍|说过|给我)"
)


def _subject_part(plain: str) -> str:
    """The question with Chinese question phrases and date expressions blanked out."""
    for pattern, _ in _DATE_PATTERNS:
        plain = pattern.sub(" ", plain)
    return plain if plain.isascii() else _CHINESE_FILLER.sub(" ", plain)


def analyse_query(text: str) -> QueryText:
    """Analyse a question once; everything that ranks or gates works on the result."""
    memo: Memo = {}
    plain = normalise(text)
    terms = list(dict.fromkeys(tokenize(_subject_part(plain), memo)))
    if not terms:
        terms = list(dict.fromkeys(tokenize(plain, memo)))
    about = plain if plain.isascii() else _CHINESE_TALK.sub(" ", plain)
    subject = [t for t in dict.fromkeys(tokenize(_subject_part(about), memo)) if t not in _CONVERSATION_TERMS]
    present = frozenset(terms)
    return QueryText(
        text=text,
        terms=tuple(terms),
        subject_terms=tuple(subject),
        names=_names(text, memo) & present,
        numbers=frozenset(t for t in terms if t[0].isdigit()),
        dates=dates(text),
        addresses_agent=_AGENT_ADDRESSED.search(plain) is not None,
        language=language(text),
    )


_CONVERSATION_TERMS: Final = frozenset(_reduce(w) for w in CONVERSATION_WORDS)


@cache
def _unspaced_character() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]")


def is_unspaced(text: str) -> bool:
    """Whether at least half of the letters are of a script that is written without spaces."""
    if text.isascii():
        return False
    letters = sum(1 for c in text if c.isalpha())
    return letters > 0 and 2 * len(_unspaced_character().findall(text)) >= letters
