"""What a memory looks like to the search: the text indexed for words and the text that is embedded."""

from datetime import date, datetime
from typing import Final

from lethe.domain.immutable import immutable
from lethe.domain.memory import Memory

EMBEDDED_CHARACTERS: Final = 300
"""Room for a memory and its context together in one vector (docs/adr/0003: more dilutes the memory)."""

INDEXED_CHARACTERS: Final = 500
"""Room for a memory and its context together in the word index; a longer memory stands alone."""

_SHORTEST_CONTEXT: Final = 20
_AGENT_NAMES: Final = frozenset(("assistant", "agent", "ai", "bot", "system", "tool", "model"))


@immutable
class Document:
    """One memory as the ranking sees it.

    Attributes:
        text: The statement.
        speaker: Who said it; "" when unknown.
        context: What surrounded it, such as the turn before; "" when there is none.
        occurred_on: The (UTC) day on which it was said; ``None`` when unknown.
        from_agent: Whether an agent or a tool said it, not the person.
    """

    text: str
    speaker: str = ""
    context: str = ""
    occurred_on: date | None = None
    from_agent: bool = False


def is_agent(origin: str, speaker: str) -> bool:
    """Whether a memory with this origin and speaker was said by an agent or a tool."""
    return origin in ("agent", "tool") or speaker.strip().casefold() in _AGENT_NAMES


def memory_document(memory: Memory) -> Document:
    """``memory`` as the ranking sees it."""
    speaker = memory.speaker or ""
    return Document(
        text=memory.text,
        speaker=speaker,
        context=memory.context or "",
        occurred_on=memory.occurred_at.date(),
        from_agent=is_agent(memory.source.origin, speaker),
    )


def context_tail(text: str, context: str, room: int) -> str:
    """End of ``context`` that fits beside ``text`` into ``room`` characters; "" when hardly any would."""
    left = room - len(text)
    return context[-left:] if left > _SHORTEST_CONTEXT else ""


def search_text(document: Document) -> tuple[str, str]:
    """The two parts indexed for words: the memory with its speaker, and the end of its context."""
    own = f"{document.speaker} {document.text}" if document.speaker else document.text
    return own, context_tail(document.text, document.context, INDEXED_CHARACTERS)


def embedding_text(speaker: str, occurred_at: datetime | None, text: str, context: str) -> str:
    """The text that is embedded: speaker and memory, then the end of the context if there is room.

    ``occurred_at`` is taken, and left out on purpose: dates are matched exactly by the ranking, and in
    the vector they only blurred the subject (docs/adr/0003).
    """
    del occurred_at
    own = f"{speaker}: {text}" if speaker else text
    own = own[:EMBEDDED_CHARACTERS]
    tail = context_tail(own, context, EMBEDDED_CHARACTERS)
    return f"{own}\n{tail}" if tail else own
