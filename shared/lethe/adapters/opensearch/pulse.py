"""Whether the index answers, for whoever asks about the service's health, as often as anybody likes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from lethe.adapters.opensearch import questions
from lethe.adapters.opensearch.breaker import Breaker
from lethe.adapters.opensearch.connection import Cluster
from lethe.domain import keys
from lethe.errors import Throttled, Unavailable

LOOK_SECONDS: Final = 1.0
KNOWN_SECONDS: Final = 5.0

_NOBODY: Final = keys.parse_space_partition(keys.join("@health", "@health", "1"))


class Pulse:
    """Knows what the searches of the last five seconds met; where there were none, one short search looks, and what it
    met holds for five seconds. So neither does health become slow, nor do those who ask, without a key, become a load.

    A look never touches the breaker: an index that needs longer than a look may still be good enough for a recall. One
    that sleeps while nobody searches is never looked at: health is open to strangers and would keep it awake, at the
    owner's cost. There no news is good news.
    """

    def __init__(
        self, cluster: Cluster, alias: str, breaker: Breaker, seconds: Callable[[], float] = monotonic
    ) -> None:
        self._cluster = cluster
        self._alias = alias
        self._breaker = breaker
        self._seconds = seconds
        self._lock = threading.Lock()
        self._looked: float | None = None
        self._answered = False

    def beats(self) -> bool:
        """Whether the index answers; within ``LOOK_SECONDS`` and a little."""
        met = self._breaker.lately(KNOWN_SECONDS)
        if met is not None:
            return met
        if self._cluster.abilities.sleeps:
            return True
        with self._lock:
            if self._looked is None or self._seconds() - self._looked >= KNOWN_SECONDS:
                self._answered = self._look()
                self._looked = self._seconds()
            return self._answered

    def _look(self) -> bool:
        """A search for the mark of a space that there cannot be: subjects are hexadecimal."""
        try:
            mark = questions.mark_search(_NOBODY)
            (answer,) = self._cluster.multi_search(self._alias, [mark], LOOK_SECONDS, _NOBODY.subject)
        except (Throttled, Unavailable):
            return False
        return questions.whole(answer)
