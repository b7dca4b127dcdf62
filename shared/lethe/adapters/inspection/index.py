"""Counting what the search index still shows of a subject, by plain searches over all of Lethe's indexes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from lethe.adapters.inspection.judgement import INDEX, Facts
from lethe.errors import Unavailable

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

_PAGE: Final = 1_000
_1970: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS: Final = ("memory_id", "kind", "created_at", "epoch", "subject", "session")


class Entries:
    """Entries of all indexes whose names begin with ``prefix``. ``settles`` is how long a change takes to show where
    the engine cannot be asked to refresh, in seconds; None where it can.
    """

    def __init__(self, client: OpenSearch, prefix: str, settles: float | None) -> None:
        self._client = client
        self._pattern = f"{prefix}-*"
        self._settles = settles

    def settle(self) -> None:
        """Return when everything that was written before shows."""
        if self._settles is not None:
            time.sleep(self._settles)
            return
        self._ask(lambda: self._client.indices.refresh(index=self._pattern, params={"request_timeout": 30}))

    def of(self, tenant: str, subject: str | None) -> Iterator[Facts]:
        """Every entry of a tenant, or of one subject in it, its marks too."""
        wanted: list[dict[str, Any]] = [{"term": {"tenant": tenant}}]
        if subject is not None:
            wanted.append({"term": {"subject": subject}})
        body: dict[str, Any] = {
            "size": _PAGE,
            "query": {"bool": {"filter": wanted}},
            "sort": [
                {"subject": "asc"},
                {"epoch": "asc"},
                {"memory_id": {"order": "asc", "missing": "_first"}},
                {"_index": "asc"},
            ],
            "_source": False,
            "docvalue_fields": list(_FIELDS),
        }
        while True:
            answer = self._ask(
                lambda: self._client.search(index=self._pattern, body=body, params={"request_timeout": 30})
            )
            if answer["_shards"]["failed"]:
                raise Unavailable("a part of the search index does not answer")
            hits = answer["hits"]["hits"]
            yield from (_facts(hit["fields"]) for hit in hits)
            if len(hits) < _PAGE:
                return
            body["search_after"] = hits[-1]["sort"]

    def _ask(self, send: Any) -> dict[str, Any]:  # noqa: ANN401  # the client has no types
        from opensearchpy import exceptions

        try:
            return cast("dict[str, Any]", send())
        except exceptions.OpenSearchException:
            raise Unavailable("the search index does not answer") from None


def _facts(fields: dict[str, list[Any]]) -> Facts:
    """An entry as docvalues show it: a list a field."""

    def first(name: str) -> Any:  # noqa: ANN401  # whatever the field holds
        return fields[name][0] if name in fields else None

    created = first("created_at")
    return Facts(
        INDEX,
        str(first("subject")),
        int(first("epoch")),
        first("memory_id"),
        first("kind"),
        None if created is None else _1970 + timedelta(microseconds=int(created)),
        first("session"),
    )
