"""The conversations, confirmed facts and questions of the demo, read from the data files beside this module."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Literal, TypeVar, cast

from lethe_client import Category, JsonObject, JsonValue, Role

T = TypeVar("T")
Expectation = Literal["found", "nothing_relevant"]
Show = Literal["context", "explain"]


@dataclass(frozen=True, slots=True)
class Line:
    """One message as it was said. `id` is its name in the data files, and its client id when it is sent."""

    id: str
    role: Role
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PastSession:
    """One conversation on one day."""

    id: str
    title: str
    lines: tuple[Line, ...]

    @property
    def turns(self) -> tuple[tuple[Line, ...], ...]:
        """Each user message with the replies up to the next one."""
        starts = [index for index, line in enumerate(self.lines) if line.role == "user"]
        ends = [*starts[1:], len(self.lines)]
        return tuple(self.lines[start:end] for start, end in zip(starts, ends, strict=True))


@dataclass(frozen=True, slots=True)
class Fact:
    """A confirmed fact: an entity to put."""

    key: str
    category: Category
    value: JsonValue


@dataclass(frozen=True, slots=True)
class Question:
    """A question for a new session.

    Attributes:
        query: what is asked.
        expects: the outcome that is right.
        evidence: ids of the user messages whose memories must be in the context; all of them.
        hard: what makes it hard, for the reader of the demo.
        threshold: the least relevance that the caller asks for; None for the service's default.
        show: what else is shown for it: the whole context, or the explanation of its candidates.
    """

    query: str
    expects: Expectation
    evidence: tuple[str, ...]
    hard: str
    threshold: float | None
    show: Show | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that one person says in the demo.

    `assistant_guesses` are ids of replies in which the assistant supposes a liking; none may be remembered.
    `trace` is the id of the message whose memory is led back to its source.
    """

    language: str
    user_id: str
    name: str
    about: str
    assistant_guesses: tuple[str, ...]
    trace: str
    sessions: tuple[PastSession, ...]
    facts: tuple[Fact, ...]
    questions: tuple[Question, ...]

    @property
    def lines(self) -> tuple[Line, ...]:
        """Every message of every session, in order."""
        return tuple(line for session in self.sessions for line in session.lines)

    def texts(self, least: int) -> set[str]:
        """Everything that was said or asked in it, by either side, of ``least`` characters or more."""
        said = (*(line.content for line in self.lines), *(question.query for question in self.questions))
        return {text for text in said if len(text) >= least}

    @property
    def turn_count(self) -> int:
        """User messages, each of which opens a turn."""
        return sum(line.role == "user" for line in self.lines)


def load_conversation(language: Literal["en", "zh"]) -> Conversation:
    """Read the conversation in that language.

    Raises:
        ValueError: the data file is not what it should be; the message names the member.
    """
    text = files(__package__).joinpath(f"conversation_{language}.json").read_text(encoding="utf-8")
    data = _object(json.loads(text), "conversation")
    return Conversation(
        language=_text(data, "language"),
        user_id=_text(data, "user_id"),
        name=_text(data, "name"),
        about=_text(data, "about"),
        assistant_guesses=_texts(data, "assistant_guesses"),
        trace=_text(data, "trace"),
        sessions=_list(data, "sessions", _session),
        facts=_list(data, "entities", _fact),
        questions=_list(data, "questions", _question),
    )


def _session(data: JsonObject) -> PastSession:
    return PastSession(_text(data, "id"), _text(data, "title"), _list(data, "messages", _line))


def _line(data: JsonObject) -> Line:
    role = _one_of(data, "role", ("user", "assistant"))
    moment = datetime.fromisoformat(_text(data, "created_at"))
    return Line(_text(data, "id"), cast("Role", role), _text(data, "content"), moment)


def _fact(data: JsonObject) -> Fact:
    category = _one_of(data, "category", ("preference", "commitment", "profile", "parameter"))
    return Fact(_text(data, "key"), cast("Category", category), data["value"])


def _question(data: JsonObject) -> Question:
    return Question(
        query=_text(data, "query"),
        expects=cast("Expectation", _one_of(data, "expects", ("found", "nothing_relevant"))),
        evidence=_texts(data, "evidence"),
        hard=_text(data, "hard"),
        threshold=_optional_number(data, "threshold"),
        show=cast("Show", _one_of(data, "show", ("context", "explain"))) if "show" in data else None,
    )


def _object(value: JsonValue, name: str) -> JsonObject:
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be an object")
    return value


def _text(data: JsonObject, name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be a text")
    return value


def _optional_number(data: JsonObject, name: str) -> float | None:
    value = data.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number")
    return float(value)


def _one_of(data: JsonObject, name: str, allowed: tuple[str, ...]) -> str:
    value = _text(data, name)
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}")
    return value


def _items(data: JsonObject, name: str) -> list[JsonValue]:
    value = data.get(name)
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list")
    return value


def _texts(data: JsonObject, name: str) -> tuple[str, ...]:
    return tuple(_text({name: item}, name) for item in _items(data, name))


def _list(data: JsonObject, name: str, make: Callable[[JsonObject], T]) -> tuple[T, ...]:
    return tuple(make(_object(item, name)) for item in _items(data, name))
