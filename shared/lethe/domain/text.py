"""Text analysis: terms for the word index, names, numbers and dates of a question, language guess.

Everything here is a pure function of the text, runs in linear time on any input, and accepts any
``str`` (lone surrogates and unassigned code points are separators).

Terms
    * Latin and other spaced scripts: Unicode words, case-folded, accents dropped, English stop words
      left out, English suffixes and irregular forms reduced (Snowball "Porter2",
      https://snowballstem.org/algorithms/english/stemmer.html).
    * Scripts written without spaces (Han, kana, Hangul, Thai, Lao, Khmer, Burmese): each character
      and each pair of neighbours, which needs no dictionary.
    * Numbers: digits as they stand, thousands separators dropped.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import Stemmer

from lethe.domain.words import ENGLISH_STOP_WORDS, IRREGULAR_FORMS, QUESTION_PHRASES

_UNSPACED: Final = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1780-\u17d3"
)
# Vowel signs of the Indic scripts, Hebrew and Arabic points are not ``\w`` in Python's sense, yet are
# parts of words.
_MARKS: Final = "\u0300-\u036f\u0591-\u05bd\u05bf\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0970-\u0dff"
_NUMBER: Final = r"\d+(?:[.,:]\d+)*"
_TOKEN: Final = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<number>{_NUMBER}(?![^\W_]))"
    rf"|(?P<word>(?:(?![{_UNSPACED}])(?:[^\W_]|[{_MARKS}]))+(?:['’](?=[a-z])[a-z]+)?)"
)
