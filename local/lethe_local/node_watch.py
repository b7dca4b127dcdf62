"""Keeps a stack's own OpenSearch up: one that ends by itself is started again, and somebody is told."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

MOST_STARTS: Final = 3
WITHIN_SECONDS: Final = 600.0
"""So often is a node started again in so long; one that ends more often needs somebody to look."""
_LOOK_SECONDS: Final = 0.25


class Node(Protocol):
    """A process that can be started again where it was."""

    @property
    def runs(self) -> bool:
        """Whether the process is there."""
        ...

    def restart(self, cancelled: Callable[[], bool]) -> None:
        """Start it again, on the same port and data. Raises RuntimeError, in words, or OSError when it does not come
        up; RuntimeError also when it was ``cancelled`` meanwhile.
        """
        ...


class NodeWatch:
    """Watches one node until ``stop``."""

    def __init__(
        self,
        node: Node,
        say: Callable[[str], None],
        look_seconds: float = _LOOK_SECONDS,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node
        self._say = say
        self._look_seconds = look_seconds
        self._seconds = seconds
        self._starts: deque[float] = deque()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="opensearch-watch", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Leave the node as it is from now on; returns when nobody starts it any more."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(self._look_seconds):
            if self._node.runs:
                continue
            if not self._may_start():
                self._say(
                    f"OpenSearch ended {MOST_STARTS + 1} times in {WITHIN_SECONDS / 60:g} minutes and is not started "
                    "again; recall answers from the table (degraded), and logs/node.log of its folder may say why"
                )
                return
            self._start_again()

    def _may_start(self) -> bool:
        now = self._seconds()
        while self._starts and now - self._starts[0] > WITHIN_SECONDS:
            self._starts.popleft()
        if len(self._starts) == MOST_STARTS:
            return False
        self._starts.append(now)
        return True

    def _start_again(self) -> None:
        self._say("OpenSearch ended by itself: starting it again; until then recall answers from the table (degraded)")
        try:
            self._node.restart(self._stop.is_set)
        except (RuntimeError, OSError) as error:
            if not self._stop.is_set():
                self._say(f"OpenSearch did not come up: {error}")
            return
        self._say("OpenSearch answers again")
