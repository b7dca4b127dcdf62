"""The strict OpenSearch behind an opensearch-py client: a connection class that sends nothing."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from opensearchpy import Connection

from tests.fakes.opensearch.cluster import FakeOpenSearch


def connected_to(cluster: FakeOpenSearch) -> type[Connection]:
    """A connection class whose requests ``cluster`` answers; for ``make_client``."""

    class InMemory(Connection):
        def perform_request(
            self,
            method: str,
            url: str,
            params: Mapping[str, object] | None = None,
            body: bytes | None = None,
            timeout: float | None = None,
            ignore: Collection[int] = (),
            headers: Mapping[str, str] | None = None,
        ) -> tuple[int, dict[str, str], str]:
            status, answer = cluster.handle(method, url, params or {}, body or b"")
            raw = "" if answer is None else json.dumps(answer)
            if not 200 <= status < 300 and status not in ignore:
                self._raise_error(status, raw, "application/json")
            return status, {"content-type": "application/json"}, raw

    return InMemory
