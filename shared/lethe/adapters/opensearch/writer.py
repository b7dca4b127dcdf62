"""Entries in and out of the index, in bulk, with a result for each.

Where the cluster knows external versions a write carries one: twice the memory's version, and one more when it brings
the vector, which a memory may get without a new version. An older one is refused with 409, which here means
"superseded". A removal leaves a tombstone that refuses older versions for ``index.gc_deletes`` (60 s); an
entry that must come back within that time is told to try again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

from lethe.adapters.opensearch.connection import Cluster, IndexMissing, Json, ndjson
from lethe.adapters.opensearch.documents import MARK, MEMORY, entry, entry_id, mark_entry, mark_id
from lethe.adapters.opensearch.filters import inside
from lethe.domain import keys
from lethe.domain.identity import Space
from lethe.domain.indexing import Change, Indexed, Mark, Outcome, Put, Remove
from lethe.errors import Unavailable
from lethe.ports import Clock, Page

MOST_BYTES: Final = 5_000_000
"""Of one request; small managed instance types take twice as much."""
MOST_CHANGES: Final = 500
_LISTED: Final = 5_000
_UPKEEP_SECONDS: Final = 30.0
"""Of a request, its repetitions included, that no stream's batch waits for."""
_CLEARINGS: Final = 40
"""Rounds of 5,000 entries: ten times as many as the largest subject that is planned for."""
_REMOVED_FOR_GOOD: Final = 2**62
"""Version of a removal whose memory's version is unknown: ids are never used again."""


class OpenSearchWriter:
    """``IndexWriter`` on the index ``name``, for vectors of the model ``label``."""

    def __init__(
        self, cluster: Cluster, name: str, label: str, clock: Clock, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._sleep = sleep
        self._clock = clock
        self._cluster = cluster
        self._name = name
        self._label = label

    def apply(self, changes: Sequence[Change], within: float) -> tuple[Outcome, ...]:
        """One outcome a change, in order. Raises Unavailable, as IndexMissing too, or Throttled when the cluster took
        none of a request.
        """
        outcomes: list[Outcome] = []
        for body in _bodies([self._lines(change) for change in changes]):
            results = self._cluster.bulk(self._name, body, within)
            if all(map(_without_index, results)):
                raise IndexMissing("the search index is not there")
            outcomes.extend(_outcome(result) for result in results)
        return tuple(self._settled(changes, outcomes, within))

    def clear(self, space: Space) -> int:
        """Remove every entry of ``space``, its mark too; how many went.

        What was applied a moment ago is shown first: a removal by query passes over it, and counts what was removed
        and is not shown yet as a conflict, without an error. So entries are listed and removed one by one until none
        is seen. Raises Unavailable when some stay.
        """
        removed = 0
        for _ in range(_CLEARINGS):
            self.refresh()
            listed = [found for kind in (MEMORY, MARK) for found in self._listed(space, kind)]
            if not listed:
                return removed
            for start in range(0, len(listed), MOST_CHANGES):
                lines = [
                    {"delete": self._place(space) | {"_id": found}} for found in listed[start : start + MOST_CHANGES]
                ]
                results = self._cluster.bulk(self._name, ndjson(lines), _UPKEEP_SECONDS)
                removed += sum(_outcome(result) is Outcome.APPLIED for result in results)
        raise Unavailable("some entries of the space could not be removed")

    def _listed(self, space: Space, kind: str) -> list[str]:
        """The ``_id`` of the entries of a space that searches see, at most one page: it is asked for again."""
        body: Json = {
            "size": _LISTED,
            "_source": ["memory_id"] if kind == MEMORY else ["written"],
            "query": {"bool": {"filter": cast("list[Json]", inside(space, kind))}},
        }
        answer = self._cluster.search(self._name, body, _UPKEEP_SECONDS)
        return [str(hit["_id"]) for hit in cast("list[Json]", cast(Json, answer["hits"])["hits"])]

    def _place(self, space: Space) -> Json:
        return {"routing": space.subject} if self._cluster.abilities.routing else {}

    def refresh(self) -> None:
        """Asked for where it can be; else waited for, with as much again for shards that are late."""
        if self._cluster.abilities.refreshes:
            self._cluster.call("POST", f"/{self._name}/_refresh", within=_UPKEEP_SECONDS)
        else:
            self._sleep(2.0 * self._cluster.abilities.refresh_seconds)

    def page(self, limit: int, start: str | None) -> Page[Indexed]:
        """All entries of all spaces, for the reconciler; by subject, epoch and memory, at most ``limit``."""
        body: Json = {
            "size": limit,
            "_source": ["tenant", "subject", "epoch", "memory_id", "version"],
            "query": {"bool": {"filter": [{"term": {"entry": MEMORY}}]}},
            "sort": [{"subject": "asc"}, {"epoch": "asc"}, {"memory_id": "asc"}],
        }
        if start is not None:
            subject, epoch, memory_id = start.split(" ")
            body["search_after"] = [subject, int(epoch), memory_id]
        answer = self._cluster.search(self._name, body, _UPKEEP_SECONDS)
        found = [_indexed(cast(Json, hit["_source"])) for hit in cast("list[Json]", cast(Json, answer["hits"])["hits"])]
        return Page(tuple(found), _after(found[-1]) if len(found) == limit else None)

    def versions(self, space: Space, memory_ids: Sequence[str]) -> dict[str, int]:
        """One read by ids, which does not wait for a refresh."""
        docs = [self._named(space, memory_id) | {"_source": ["version"]} for memory_id in memory_ids]
        found = self._found(docs, _UPKEEP_SECONDS)
        return {
            memory_id: cast(int, cast(Json, found[entry_id(space, memory_id)]["_source"])["version"])
            for memory_id in memory_ids
            if entry_id(space, memory_id) in found
        }

    def _named(self, space: Space, memory_id: str) -> Json:
        return self._place(space) | {"_id": entry_id(space, memory_id)}

    def _found(self, docs: Sequence[Json], within: float) -> dict[str, Json]:
        """Those of ``docs`` that there are, by ``_id``."""
        if not docs:
            return {}
        answer = self._cluster.call("POST", f"/{self._name}/_mget", {"docs": docs}, within)
        return {str(doc["_id"]): doc for doc in cast("list[Json]", answer["docs"]) if doc.get("found")}

    def _lines(self, change: Change) -> list[Json]:
        if isinstance(change, Mark):
            return [
                {"index": self._place(change.space) | {"_id": mark_id(change.space)}},
                mark_entry(change, self._clock.now()),
            ]
        action = self._named(change.space, change.memory_id)
        body = entry(change.space, change.memory, self._label) if isinstance(change, Put) else None
        if self._cluster.abilities.external_versions:
            action |= {"version": _version(change, body), "version_type": "external"}
        return [{"delete": action}] if body is None else [{"index": action}, body]

    def _settled(self, changes: Sequence[Change], outcomes: Sequence[Outcome], within: float) -> Iterator[Outcome]:
        """A put that was superseded although no entry stands met a tombstone: it must be tried again."""
        doubtful = [
            change
            for change, outcome in zip(changes, outcomes, strict=True)
            if outcome is Outcome.SUPERSEDED and isinstance(change, Put)
        ]
        docs = [self._named(put.space, put.memory_id) | {"_source": False} for put in doubtful]
        standing = self._found(docs, within)
        for change, outcome in zip(changes, outcomes, strict=True):
            met_tombstone = (
                outcome is Outcome.SUPERSEDED
                and isinstance(change, Put)
                and entry_id(change.space, change.memory_id) not in standing
            )
            yield Outcome.RETRY if met_tombstone else outcome


def _bodies(changes: Sequence[list[Json]]) -> Iterator[str]:
    """The lines of the changes in bodies of at most ``MOST_BYTES``, a larger single one alone."""
    parts: list[str] = []
    size = 0
    for lines in changes:
        text = ndjson(lines)
        weight = len(text.encode())
        if parts and (size + weight > MOST_BYTES or len(parts) == MOST_CHANGES):
            yield "".join(parts)
            parts, size = [], 0
        parts.append(text)
        size += weight
    if parts:
        yield "".join(parts)


def _version(change: Put | Remove, body: Json | None) -> int:
    if isinstance(change, Put):
        return 2 * change.memory.version + (body is not None and "embedding" in body)
    return 2 * (change.version + 1) if change.version is not None else _REMOVED_FOR_GOOD


def _without_index(result: Json) -> bool:
    """Whether an item was not written because nothing of the name stands that may be written to."""
    return cast("dict[str, object]", result.get("error") or {}).get("type") == "index_not_found_exception"


def _outcome(result: Json) -> Outcome:
    """Classify one item of a bulk answer. A removal of what is not there is done."""
    status = cast(int, result["status"])
    if status < 300 or (status == 404 and "error" not in result):
        return Outcome.APPLIED
    if status == 409:
        return Outcome.SUPERSEDED
    return Outcome.RETRY if status in (404, 429) or status >= 500 else Outcome.REFUSED


def _indexed(source: Json) -> Indexed:
    partition = keys.join(str(source["tenant"]), str(source["subject"]), str(source["epoch"]))
    return Indexed(keys.parse_space_partition(partition), str(source["memory_id"]), cast(int, source["version"]))


def _after(last: Indexed) -> str:
    return f"{last.space.subject} {last.space.epoch} {last.memory_id}"
