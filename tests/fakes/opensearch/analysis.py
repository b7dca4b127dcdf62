"""The three analyzers of the mapping, near enough to Lucene's to find the same memories.

The tokenizer follows Unicode's word boundaries (UAX 29) by a pattern: words with inner apostrophes, points and
underscores, numbers with inner points and commas, Han and hiragana as single characters, katakana and Hangul as runs.
What it leaves out: Thai and its neighbours by dictionary, emoji with modifiers, a token's greatest length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

import Stemmer  # type: ignore[import-not-found]  # a C extension without stubs

_HAN: Final = "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_HIRAGANA: Final = "\u3041-\u3096\u309d-\u309f"
_KATAKANA: Final = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL: Final = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_CJK: Final = _HAN + _HIRAGANA + _KATAKANA + _HANGUL
_WORD: Final = rf"(?:(?![{_CJK}])\w)"
_TOKENS: Final = re.compile(
    rf"[{_HAN}{_HIRAGANA}]|[{_KATAKANA}]+|[{_HANGUL}]+"
    rf"|{_WORD}+(?:(?:['’.:](?=[^\W\d_])|[.,'](?=\d)){_WORD}+)*"
    r"|[\u2190-\u2bff\U0001f300-\U0001faff]"
)
_RUN: Final = re.compile(rf"[{_CJK}]+")
# Lucene's EnglishAnalyzer.
_STOP_WORDS: Final = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
    to was will with""".split()
)
_stemmer: Final = Stemmer.Stemmer("porter", 0)


def standard(text: str) -> list[str]:
    """``standard``: tokens in lower case."""
    return [token.lower() for token in _TOKENS.findall(text) if token.strip("_")]


def english(text: str) -> list[str]:
    """``english``: without possessives and stop words, stemmed by Porter."""
    bare = (re.sub(r"['’]s$", "", token) for token in standard(text))
    return [str(_stemmer.stemWord(token)) for token in bare if token not in _STOP_WORDS]


def characters_and_pairs(text: str) -> list[str]:
    """``cjk_width``, ``lowercase``, and of each run of CJK its characters and its pairs."""
    return list(_grams(_narrow(text)))


def _narrow(text: str) -> str:
    """Full-width ASCII to plain, half-width katakana to full; nothing else, unlike NFKC."""
    return "".join(unicodedata.normalize("NFKC", c) if "\uff01" <= c <= "\uff9f" else c for c in text)


def _grams(text: str) -> Iterator[str]:
    end = 0
    for run in _RUN.finditer(text):
        yield from standard(text[end : run.start()])
        end = run.end()
        characters = run.group()
        for place, character in enumerate(characters):
            yield character
            if place + 1 < len(characters):
                yield characters[place : place + 2]
    yield from standard(text[end:])


def is_pair(token: str) -> bool:
    """Whether ``characters_and_pairs`` made it of two characters."""
    return len(token) == 2 and _RUN.fullmatch(token) is not None


ANALYZERS: Final[dict[str, Callable[[str], list[str]]]] = {
    "standard": standard,
    "english": english,
    "characters_and_pairs": characters_and_pairs,
}
