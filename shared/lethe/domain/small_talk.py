"""Filler that is worth nothing as a memory: greetings, thanks, agreement, laughter (requirement C3)."""

from __future__ import annotations

import re
from typing import Final

_PHRASES: Final = frozenset(
    """
    ok okay k kk sure fine good great nice cool awesome perfect right yes yeah yep yup no nope nah maybe hm hmm mhm
    uh um oh ah wow haha hahaha lol hi hello hey bye goodbye thanks thank thx cheers please sorry welcome indeed
    absolutely exactly definitely alright understood agreed done amazing lovely wonderful fantastic interesting
    the a an you so very much to it that is sounds again all there morning evening afternoon night
    for your help no worries problem got see later talk soon take care have day one well and me too
    """.split()
)
_STRONG: Final = frozenset(
    """
    ok okay k kk sure fine good great nice cool awesome perfect right yes yeah yep yup no nope nah maybe hm hmm mhm uh
    um oh ah wow haha hahaha lol hi hello hey bye goodbye thanks thank thx cheers sorry welcome indeed absolutely
    exactly definitely alright understood agreed done amazing lovely wonderful fantastic interesting got see take sounds
    """.split()
)
_CHINESE: Final = re.compile(
    r"(?:嗯+|哦+|噢+|啊+|哈+|呵+|嘿+|唉+|好+的?|好吧|行|可以|是的?|对的?|对啊|没错|不是|谢谢你?|多谢|感谢|辛苦了?|"
    r"你好呀?|您好|早上好|早安|晚上好|晚安|下午好|再见|拜拜|明白了?|知道了|了解了?|收到|没事|没关系|"
    r"不客气|不用谢|太好了|太棒了|真棒|不错|棒|赞|呀|呢|吧|了|啦|哟|嘛)+"
)
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_LONGEST_FILLER_WORDS: Final = 8


def is_small_talk(sentence: str) -> bool:
    """Whether ``sentence`` is filler alone: a few filler words, or no words at all (emoji, punctuation)."""
    words = _WORD.findall(sentence.casefold().replace("’", "'"))
    if not words:
        return True
    if _CHINESE.fullmatch("".join(words)):
        return True
    return (
        len(words) <= _LONGEST_FILLER_WORDS
        and all(word.removesuffix("'s") in _PHRASES for word in words)
        and any(word in _STRONG for word in words)
    )
