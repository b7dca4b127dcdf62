"""A text that shows nothing is blank, whatever it is made of."""

import pytest

from lethe.domain.blank import is_blank
from lethe.domain.small_talk import is_small_talk


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\t\n", "\0",
        "\x1f", "\x7f", "\u00a0", "\u00ad", "\u200b", "\u200e\u200f", "\u2028", "\u2060",
        "\ufeff", "\u3000", "\u3164", "\u115f", "\uffa0", "\u2800", "\ufe0f",
        "\U000e0100", "\U000e0041", "\u180b\u034f",
        " \u200b\0\u3164 ",
    ],
)  # fmt: skip
def test_blank(text: str) -> None:
    assert is_blank(text)
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text", ["a", "\u200ba", ".", "…", "é", "e\u0301", "嗯", "🦜", "👩\u200d🚀", "\ufffd", "١", "_"]
)
def test_not_blank(text: str) -> None:
    assert not is_blank(text)
