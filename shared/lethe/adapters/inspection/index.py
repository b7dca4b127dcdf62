"""Counting what the search index still shows of a subject, by plain searches over all of Lethe's indexes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

from lethe.adapters.inspection.judgement import INDEX, Facts
from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonValue
from lethe.errors import Throttled, Unavailable

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

Json = dict[str, JsonValue]

_PAGE: Final = 1_000
_SECONDS: Final = 30
_1970: Final = datetime(1970, 1, 1, tzinfo=UTC)
_COLUMNS: Final = ("memory_id", "kind", "created_at", "session")


@immutable
class Group:
    """How many entries there are of a subject in an epoch, marks too; None where an entry names none."""

    subject: str
    epoch: int | None
    entries: int


class Entries:
    """Entries of all indexes whose names begin with ``prefix``, whatever model and schema they are of.

    ``settles`` is how long a change takes to show where the engine cannot be asked to refresh, in seconds; None where
    it can. An index that is closed cannot be looked into and is no proof of anything: then Unavailable is raised.
    """

    def __init__(
        self, client: OpenSearch, prefix: str, settles: float | None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._client = client
        self._pattern = prefix + "*"
        self._settles = settles
        self._sleep = sleep
        self._closed_too = {"expand_wildcards": "open,closed"} if settles is None else {}

    def settle(self) -> None:
        """Return when everything that was written before shows. Raises Unavailable or Throttled."""
        if self._settles is not None:
            self._sleep(self._settles)
            return
        params = {"request_timeout": _SECONDS}
        answer = self._ask(lambda: self._client.indices.refresh(index=self._pattern, params=params))
        if cast(Json, answer["_shards"])["failed"]:
            raise Unavailable("a part of the search index does not refresh")

    def groups(self, tenant: str, subject: str | None) -> Iterator[Group]:
        """All entries of a tenant, or of one subject in it, counted by subject and epoch."""
        sources: list[JsonValue] = [
            {"subject": {"terms": {"field": "subject", "missing_bucket": True}}},
            {"epoch": {"terms": {"field": "epoch", "missing_bucket": True}}},
        ]
        composite: Json = {"size": _PAGE, "sources": sources}
        while True:
            body: Json = {
                "size": 0,
                "query": _inside(tenant, subject),
                "aggs": {"spaces": {"composite": composite}},
            }
            found = cast(Json, cast(Json, self._search(body)["aggregations"])["spaces"])
            buckets = cast("list[Json]", found["buckets"])
            for bucket in buckets:
                key = cast("Mapping[str, str | int | None]", bucket["key"])
                epoch = key["epoch"]
                yield Group(str(key["subject"]), None if epoch is None else int(epoch), cast(int, bucket["doc_count"]))
            if not buckets or "after_key" not in found:
                return
            composite = {**composite, "after": found["after_key"]}

    def memories(self, tenant: str, subject: str, epoch: int) -> Iterator[Facts]:
        """Every memory's entry in one epoch of a subject."""
        query = _inside(tenant, subject, {"term": {"epoch": epoch}}, {"term": {"entry": "memory"}})
        after: list[JsonValue] = []
        while True:
            body: Json = {
                "size": _PAGE,
                "query": query,
                "sort": [{"memory_id": "asc"}],
                "_source": False,
                "stored_fields": "_none_",
                "docvalue_fields": list(_COLUMNS),
                **({"search_after": after} if after else {}),
            }
            hits = cast("list[Json]", cast(Json, self._search(body)["hits"])["hits"])
            whole = _whole(hits)
            yield from (_facts(subject, epoch, cast("dict[str, list[JsonValue]]", hit["fields"])) for hit in whole)
            if len(hits) < _PAGE:
                return
            after = cast("list[JsonValue]", whole[-1]["sort"])

    def _search(self, body: Json) -> Json:
        params = {"request_timeout": _SECONDS, **self._closed_too}
        answer = self._ask(lambda: self._client.search(index=self._pattern, body=body, params=params))
        if cast(Json, answer["_shards"])["failed"] or answer["timed_out"]:
            raise Unavailable("a part of the search index does not answer")
        return answer

    def _ask(self, send: Callable[[], object]) -> Json:
        from opensearchpy import exceptions

        try:
            return cast(Json, send())
        except exceptions.TransportError as error:
            if error.status_code == 429:
                raise Throttled("the search index takes no more requests now") from None
            raise Unavailable("the search index does not answer") from None
        except exceptions.OpenSearchException:
            raise Unavailable("the search index does not answer") from None


def _inside(tenant: str, subject: str | None, *others: JsonValue) -> Json:
    wanted: list[JsonValue] = [{"term": {"tenant": tenant}}]
    if subject is not None:
        wanted.append({"term": {"subject": subject}})
    return {"bool": {"filter": [*wanted, *others]}}


def _whole(hits: list[Json]) -> list[Json]:
    """A full page without the entries of its last memory: each index has one of it, and the page may end between."""
    if len(hits) < _PAGE:
        return hits
    return [hit for hit in hits if hit["sort"] != hits[-1]["sort"]]


def _facts(subject: str, epoch: int, columns: Mapping[str, list[JsonValue]]) -> Facts:
    """An entry as its columns show it: a list a field. The session stands there by its own id."""
    first = {name: columns[name][0] for name in _COLUMNS if columns.get(name)}
    created = first.get("created_at")
    return Facts(
        INDEX,
        subject,
        epoch,
        "",
        cast("str | None", first.get("memory_id")),
        cast("str | None", first.get("kind")),
        None if created is None else _1970 + timedelta(microseconds=int(cast(int, created))),
        cast("str | None", first.get("session")),
    )
