"""What every port may need: pages of a list, the time, ids, vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from lethe.domain.embedding import EmbeddingModel
from lethe.domain.immutable import immutable

if TYPE_CHECKING:  # a function that sees no vector does without numpy
    import numpy as np
    from numpy.typing import NDArray

Item = TypeVar("Item")

TimeLeft = Callable[[], float]
"""How many seconds the caller still has."""
About = Callable[[str], None]
"""Told whose a thing is, before anything is done with it: a subject, or EVERY_USER for what is of a whole tenant."""
TellErasure = Callable[[str], None]
"""Told the id of the erasure that a request comes to, also of one that runs already, before anything is deleted."""


def untold(what: str) -> None:
    """``About`` and ``TellErasure`` for those who need not know."""


@immutable
class Page(Generic[Item]):
    """A stretch of a list. ``next_key`` is opaque text for the next call, None at the end."""

    items: tuple[Item, ...]
    next_key: str | None = None


class Clock(Protocol):
    """The only source of the time."""

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""
        ...


class Ids(Protocol):
    """The only source of new ids."""

    def new(self, prefix: str) -> str:
        """``prefix`` and a fresh ULID, greater than every one that this object gave before."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def model(self) -> EmbeddingModel:
        """Name, version and dimensions; constant."""
        ...

    def embed(self, texts: Sequence[str], purpose: Literal["memory", "query"]) -> NDArray[np.float32]:
        """One unit vector a text, shape (n, dimensions). Raises Unavailable when the model does not answer."""
        ...
