"""The uncased WordPiece tokenizer, on a vocabulary small enough to follow by hand."""

import pytest

from lethe.adapters.wordpiece import WordPiece, load_vocabulary

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "kite", "##s", "fly", "##ing", "un", "##un", "!", "茶", "cafe", "-"]
SMALL = WordPiece({piece: number for number, piece in enumerate(PIECES)}, 8)


def pieces(text: str) -> list[str]:
    return [PIECES[number] for number in SMALL.encode(text)]


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("kite", ["kite"]),
        ("Kites FLYING", ["kite", "##s", "fly", "##ing"]),
        ("unun", ["un", "##un"]),
        ("unseen", ["[UNK]"]),
        ("Café!", ["cafe", "!"]),
        ("kite-fly", ["kite", "-", "fly"]),
        ("茶茶", ["茶", "茶"]),
        ("ki\u0000te \u200bkite\ufffd", ["kite", "kite"]),
        ("", []),
        (" \t\n", []),
        ("k" * 101, ["[UNK]"]),
    ],
)
def test_text_becomes_longest_known_pieces(text: str, inside: list[str]) -> None:
    assert pieces(text) == ["[CLS]", *inside, "[SEP]"]


def test_the_limit_keeps_both_frame_pieces() -> None:
    assert pieces("kite " * 50) == ["[CLS]", *["kite"] * 6, "[SEP]"]


def test_the_vocabulary_is_that_of_uncased_bert() -> None:
    vocabulary = load_vocabulary()
    assert len(vocabulary) == 30_522
    assert [vocabulary[p] for p in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "##s")] == [0, 100, 101, 102, 1996, 2015]
