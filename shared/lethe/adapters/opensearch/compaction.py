"""Takes deleted entries out of the files of the index: a deletion alone leaves them in their segments.

A merge keeps what was deleted as long as a copy of the shard may still ask for it. What it may ask for ends at the last
flush, of which the other copies hear within a minute, and every merge flushes: so an entry that was deleted before one
compaction began is gone after the next.
"""

from __future__ import annotations

from typing import Final

from lethe.adapters.opensearch.connection import Cluster

_ONLY_WHERE_DELETED: Final = {"only_expunge_deletes": "true", "wait_for_completion": "false"}


class Compaction:
    """Of all of Lethe's indexes, whatever model and schema they are of."""

    def __init__(self, cluster: Cluster, alias: str) -> None:
        self._cluster = cluster
        self._path = f"/{alias}-v*/_forcemerge"

    def begin(self) -> int:
        """Have every segment with deleted entries written anew; how many merges were begun: none where the service
        has no such call. The cluster goes on by itself, for hours in a large index. Raises Unavailable or Throttled.
        """
        if not self._cluster.abilities.merges:
            return 0
        self._cluster.call("POST", self._path, params=_ONLY_WHERE_DELETED)
        return 1
