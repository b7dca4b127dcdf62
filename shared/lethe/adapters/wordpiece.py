"""The tokenizer of uncased BERT models in plain Python, for the local MiniLM.

Greedy longest-match WordPiece as in Devlin et al., "BERT" (2018), and Wu et al. (2016). Written out here
since the usual library weighs 12 MB and brings a downloader with it, while a memory is a sentence or two.
"""

import gzip
import unicodedata
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Final

_LONGEST_WORD: Final = 100
_CJK: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def load_vocabulary() -> dict[str, int]:
    """Pieces of the uncased English vocabulary to their ids."""
    packed = files("lethe.adapters.models").joinpath("uncased-vocabulary.txt.gz").read_bytes()
    return {piece: number for number, piece in enumerate(gzip.decompress(packed).decode().split("\n")[:-1])}


class WordPiece:
    """Turns a text into the ids of an uncased BERT vocabulary; immutable, so safe in any thread."""

    def __init__(self, vocabulary: Mapping[str, int], most: int) -> None:
        """Use ``vocabulary``; ``most`` ids are kept, the two frame pieces included."""
        self._vocabulary = vocabulary
        self._most = most
        self._first, self._last, self._unknown = (vocabulary[p] for p in ("[CLS]", "[SEP]", "[UNK]"))

    def encode(self, text: str) -> list[int]:
        """Ids of ``text`` between ``[CLS]`` and ``[SEP]``, cut at the limit."""
        ids = [self._first]
        for word in _words(text):
            self._append(word, ids)
            if len(ids) >= self._most:
                break
        return [*ids[: self._most - 1], self._last]

    def _append(self, word: str, ids: list[int]) -> None:
        whole = self._vocabulary.get(word)
        if whole is not None:
            ids.append(whole)
            return
        pieces: list[int] = []
        start = 0
        while start < len(word) and len(word) <= _LONGEST_WORD:
            end = len(word)
            while end > start:
                piece = word[start:end] if start == 0 else "##" + word[start:end]
                number = self._vocabulary.get(piece)
                if number is not None:
                    break
                end -= 1
            else:
                pieces.clear()
                break
            pieces.append(number)
            start = end
        ids.extend(pieces or [self._unknown])


def _is_separator(character: str) -> bool:
    """Punctuation or symbol that stands alone: ASCII symbols count, as in BERT."""
    if character.isascii():
        return not character.isalnum()
    category = unicodedata.category(character)
    return category[0] == "P" or any(low <= ord(character) <= high for low, high in _CJK)


def _words(text: str) -> Iterator[str]:
    """Words of ``text`` lower-cased and without accents; each mark of punctuation and ideograph by itself."""
    plain = unicodedata.normalize("NFD", text).lower() if not text.isascii() else text.lower()
    for chunk in plain.split():
        if chunk.isalnum() and chunk.isascii():
            yield chunk
            continue
        word: list[str] = []
        for character in chunk:
            category = unicodedata.category(character)
            if category == "Mn" or category in ("Cc", "Cf", "Cs", "Co", "Cn") or character == "\ufffd":
                continue
            if not _is_separator(character):
                word.append(character)
                continue
            if word:
                yield "".join(word)
                word.clear()
            yield character
        if word:
            yield "".join(word)
