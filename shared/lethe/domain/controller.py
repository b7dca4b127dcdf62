"""What of a conversation is proposed as memory.

The plain controller: each user message gives one candidate made of its statements; questions, requests and small
talk are left out, and each message's fate has a reason code. Nothing is judged by a language model here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from lethe.domain.immutable import immutable
from lethe.domain.session import Message, Role
from lethe.domain.small_talk import is_request, is_small_talk
from lethe.domain.text import is_question

MEMORY_CHARACTERS: Final = 2_000
CONTEXT_CHARACTERS: Final = 2_000
PIECES: Final = 5
"""Memories taken from one message at most: what says more is a pasted document, not a statement."""
STATED_CONFIDENCE: Final = 0.95
"""Requirement C2: the user states it."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？\n])")


@immutable
class Proposal:
    """A statement worth keeping, taken from one message. ``context`` is what was said just before, and ``context_from``
    the message that said it.
    """

    message: Message
    text: str
    context: str | None
    confidence: float = STATED_CONFIDENCE
    reason: str = "stated_by_user"
    context_from: str | None = None


@immutable
class Dropped:
    """A message that holds nothing worth keeping, and why."""

    message: Message
    reason: str


def sentences(text: str) -> list[str]:
    """``text`` cut after sentence ends and line breaks; joined they give the words of the text again."""
    return [piece.strip() for piece in _SENTENCE_END.split(text) if piece and piece.strip()]


def propose(messages: Sequence[Message], before: Message | None) -> list[Proposal | Dropped]:
    """The fate of each user message, in order; ``before`` is the message that preceded the first of them."""
    fates: list[Proposal | Dropped] = []
    previous = before
    for message in messages:
        if message.role is Role.USER:
            fates.extend(_fates(message, previous))
        previous = message
    return fates


def _fates(message: Message, previous: Message | None) -> list[Proposal | Dropped]:
    statements, reason = [], "small_talk"
    for sentence in sentences(message.content):
        if is_question(sentence):
            reason = "question"
        elif is_request(sentence):
            reason = "request"
        elif not is_small_talk(sentence):
            statements.append(sentence)
    if not statements:
        return [Dropped(message, reason)]
    context = previous.content[-CONTEXT_CHARACTERS:] if previous is not None else None
    pieces = _pieces(statements)
    said_by = previous.id if previous is not None else None
    proposals = [Proposal(message, text, context, context_from=said_by) for text in pieces[:PIECES]]
    return [*proposals, Dropped(message, "too_long")] if len(pieces) > PIECES else [*proposals]


def _pieces(statements: Sequence[str]) -> list[str]:
    """The statements joined into as few texts as the limit of a memory allows; an over-long one is cut."""
    pieces: list[str] = []
    for statement in statements:
        for start in range(0, len(statement), MEMORY_CHARACTERS):
            part = statement[start : start + MEMORY_CHARACTERS].strip()
            if not part:
                continue
            if pieces and len(pieces[-1]) + 1 + len(part) <= MEMORY_CHARACTERS:
                # Scripts without spaces have none between sentences either.
                pieces[-1] += part if pieces[-1][-1] in "。！？" else f" {part}"
            else:
                pieces.append(part)
    return pieces
