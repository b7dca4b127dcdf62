"""Filler that is worth nothing as a memory: greetings, thanks, agreement, laughter (requirement C3)."""

from __future__ import annotations

import re
from typing import Final

from lethe.domain.blank import is_blank

_PHRASES: Final = frozenset(
    """
    ok okay k kk sure fine good great nice cool awesome perfect right yes yeah yep yup no nope nah maybe hm hmm mhm
    uh um oh ah wow haha hahaha lol hi hello hey bye goodbye thanks thank thx cheers please sorry welcome indeed
    absolutely exactly definitely alright understood agreed done amazing lovely wonderful fantastic interesting
    the a an you so very much to it that is sounds again all there morning evening afternoon night
    a lot lots for your help no worries problem got see later talk soon take care have day one well and me too
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
# Greetings, thanks and agreement of other languages, whole: their words could be content elsewhere.
_OTHER: Final = frozenset(
    """
    hola|gracias|muchas gracias|vale|buenos días|buenas tardes|buenas noches|adiós|hasta luego|de nada|sí|claro
    hallo|danke|danke schön|vielen dank|bitte|guten morgen|guten tag|guten abend|gute nacht|tschüss|ja|nein|genau|gut
    bonjour|bonsoir|salut|merci|merci beaucoup|de rien|oui|non|d'accord|au revoir|bonne nuit|bien sûr|super
    olá|oi|obrigado|obrigada|muito obrigado|bom dia|boa tarde|boa noite|tchau|sim|não|tá bom
    ciao|grazie|grazie mille|buongiorno|buonasera|buonanotte|prego|sì|va bene|arrivederci
    привет|спасибо|большое спасибо|здравствуйте|доброе утро|добрый день|добрый вечер|пока|да|нет|хорошо|пожалуйста
    こんにちは|こんばんは|おはよう|おはようございます|ありがとう|ありがとうございます|はい|いいえ|うん|なるほど|了解|了解です|おやすみ
    안녕|안녕하세요|감사합니다|고마워|고마워요|네|예|아니요|알겠습니다|좋아요|잘 자
    """.replace("\n", "|").split("|")
)
_REQUEST: Final = re.compile(
    r"(?:(?:please|pls|now|then|and|so|ok|okay|hey|can you|could you|would you|will you)[\s,]+)*"
    r"(?:tell|show|give|write|draft|make me|create|generate|recommend|suggest|explain|describe|summari[sz]e|translate|"
    r"rewrite|list|find|search|look up|calculate|compute|compare|help me|stop|continue|go on|repeat|try again)\b",
    re.IGNORECASE,
)
_CHINESE_REQUEST: Final = re.compile(
    r"(?:请|麻烦)?你?(?:帮我|给我|替我|告诉我|讲个|讲一|写一|写个|推荐|翻译|解释|总结|继续|停|再说一遍)"
)
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_LONGEST_FILLER_WORDS: Final = 8
_KNOWN: Final = frozenset(" ".join(_WORD.findall(phrase.casefold())) for phrase in _OTHER if phrase.strip())


def is_small_talk(sentence: str) -> bool:
    """Whether ``sentence`` is filler alone: a few filler words, or no words at all (emoji, punctuation)."""
    words = _WORD.findall(sentence.casefold().replace("’", "'"))
    if not words or is_blank(sentence):
        return True
    if _CHINESE.fullmatch("".join(words)) or " ".join(words) in _KNOWN:
        return True
    return (
        len(words) <= _LONGEST_FILLER_WORDS
        and all(word.removesuffix("'s") in _PHRASES for word in words)
        and any(word in _STRONG for word in words)
    )


def is_request(sentence: str) -> bool:
    """Whether ``sentence`` tells the agent to do something now, which says nothing lasting about the user."""
    stripped = sentence.strip()
    return bool(_REQUEST.match(stripped) or _CHINESE_REQUEST.match(stripped))
