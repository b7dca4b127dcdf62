"""Records every search body that goes to a real node, and lets none go that is not kept inside one space."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Final

from opensearchpy import RequestsHttpConnection

from tests.fakes.opensearch.failures import Json
from tests.fakes.opensearch.scope import scope_of

RECORDED: Final[list[Json]] = []
"""Search bodies sent to a real node in this run of tests."""


class RecordingConnection(RequestsHttpConnection):
    """Sends what ``scope_of`` finds no fault with; its NotInTheContract fails the test."""

    def perform_request(  # type: ignore[override]  # RequestsHttpConnection has one parameter more than its base
        self,
        method: str,
        url: str,
        params: Mapping[str, object] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
        allow_redirects: bool | None = True,
        ignore: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> object:
        for each in searches_in(url, body or b""):
            scope_of(each)
            RECORDED.append(each)
        return super().perform_request(method, url, params, body, timeout, allow_redirects, ignore, headers)


def searches_in(url: str, body: bytes) -> list[Json]:
    """The search bodies of a request; none for any other request."""
    if url.endswith("/_msearch"):
        return [json.loads(line) for line in body.decode().split("\n")[1::2]]
    return [json.loads(body)] if url.endswith(("/_search", "/_count")) else []
