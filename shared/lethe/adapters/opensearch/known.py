"""Subjects that a container answers from memories of its own, since that costs no more than to ask the index.

What the index proposes is read from the table again, ``SEARCH_READS`` memories a search. To read a subject whole costs
as much as it has memories, once; after that the scan engine answers from its view, exactly and without any read, for
as long as the view holds. Whether more searches of the subject will come nobody knows, so the rule is that of renting
or buying: the subject is read whole once the searches that the index answered, with the one at hand, have read as much
as that would. It never costs more than twice what the better of the two had cost (Karlin, Manasse, Rudolph and Sleator,
"Competitive snoopy caching", 1988). A subject of a hundred memories is so read at its second search.

Its size is known from the last answer. Each write since may have added up to a thousand memories, so after more than
``FEW_WRITES`` the index is asked again: no import that happened meanwhile is ever read whole by surprise.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from lethe.adapters.scan_index import ScanIndex
from lethe.domain.identity import Space

MOST_MEMORIES: Final = 1_000
"""Of a subject that is kept: read in a third of a second, five megabytes, and extended by a write in 15 ms."""

SEARCH_READS: Final = 100
FEW_WRITES: Final = 3
_MOST_SUBJECTS: Final = 10_000


@dataclass(slots=True)
class _Known:
    """``size`` at ``revision``; how many memories the index's answers made us read since it was last read whole."""

    size: int
    revision: int
    read: int


class KnownSubjects:
    """Decides which searches ``scan`` answers. Holds numbers by Space, so a new epoch is a new subject."""

    def __init__(self, scan: ScanIndex, most_memories: int = MOST_MEMORIES) -> None:
        self._scan = scan
        self._most = most_memories
        self._known: OrderedDict[Space, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def whole(self, space: Space, label: str | None) -> bool:
        """Whether to answer from the subject's own memories; ``label`` names the model of the question's vector."""
        with self._lock:
            known = self._known.get(space)
            if known is None or known.size > self._most or space.revision - known.revision > FEW_WRITES:
                return False
            due = known.read + SEARCH_READS >= known.size
        # A question without its vector comes when the embedder is away: a view without vectors would serve no other.
        return self._scan.holds(space, label) or (due and label is not None)

    def asked_index(self, space: Space, stored: int) -> None:
        """The index answered, over ``stored`` memories."""
        self._note(space, stored, SEARCH_READS)

    def read_whole(self, space: Space, stored: int) -> None:
        """The scan answered, over ``stored`` memories."""
        self._note(space, stored, None)

    def _note(self, space: Space, stored: int, read: int | None) -> None:
        with self._lock:
            before = self._known.pop(space, None)
            spent = 0 if read is None else read + (before.read if before is not None else 0)
            self._known[space] = _Known(stored, space.revision, spent)
            while len(self._known) > _MOST_SUBJECTS:
                self._known.popitem(last=False)
