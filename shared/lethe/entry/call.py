"""One authenticated, validated request on its way to an operation, and the operation's answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import inf
from typing import TypeVar

from pydantic import BaseModel

from lethe.domain.identity import Caller
from lethe.domain.immutable import immutable
from lethe.ports import About, TellErasure, TimeLeft, untold

Model = TypeVar("Model", bound=BaseModel)


@immutable
class Call:
    """What an operation is given. ``path`` holds the values of the route's placeholders, already checked."""

    caller: Caller
    path: Mapping[str, str]
    query: BaseModel | None
    body: BaseModel | None
    if_match: int | None = None
    time_left: TimeLeft = lambda: inf
    """Seconds that the function may still run."""
    about: About = untold
    """Told whose it is, when the call names a thing and no user."""
    erasing: TellErasure = untold
    """Told which erasure it comes to, when it may come to one."""

    def body_as(self, model: type[Model]) -> Model:
        """The body, as the model that the route names."""
        assert isinstance(self.body, model)
        return self.body

    def query_as(self, model: type[Model]) -> Model:
        """The query, as the model that the route names."""
        assert isinstance(self.query, model)
        return self.query

    @property
    def user_id(self) -> str | None:
        """The user that the request names: in the path, the body or the query, as the route has it."""
        if "user_id" in self.path:
            return self.path["user_id"]
        named = getattr(self.body if self.body is not None else self.query, "user_id", None)
        return named if isinstance(named, str) else None


@immutable
class Answer:
    """Status, body and headers of a success. A body of None is no body at all."""

    status: int
    body: BaseModel | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    about: frozenset[str] = frozenset()
    """What it speaks of beside what its body shows (``StoredAnswer.about``)."""
    whole: bool = True
    """Whether all that was asked for is done. If not, a repetition with the same idempotency key runs again."""
