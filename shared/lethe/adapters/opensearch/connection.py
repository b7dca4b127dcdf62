"""The one way to the cluster: a client that signs, a deadline for every call, failures in Lethe's own words."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from lethe.adapters.opensearch.flavours import ABILITIES, Flavour
from lethe.domain.json_values import JsonValue
from lethe.errors import Throttled, Unavailable

if TYPE_CHECKING:
    from opensearchpy import Connection, OpenSearch

Json: TypeAlias = "dict[str, JsonValue]"

_FIRST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 2.0
_LEAST_SECONDS: Final = 0.05
_LOOK_SECONDS: Final = 10.0
_CONNECTIONS: Final = 16


class IndexMissing(Unavailable):
    """The index or its alias is not there: nothing was built yet, or somebody dropped it."""


class Refused(Unavailable):
    """The cluster refuses the request as such; trying again does not help."""


def make_client(
    endpoint: str, flavour: Flavour, region: str, connection_class: type[Connection] | None = None
) -> OpenSearch:
    """A client of ``endpoint`` (an address with scheme); safe for use by many threads.

    It never tries again by itself, since its own retries have no pause, and does not log, since its log quotes bodies.
    """
    from opensearchpy import OpenSearch, RequestsHttpConnection

    for name in ("opensearch", "opensearchpy.trace"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return OpenSearch(
        hosts=[endpoint],
        connection_class=connection_class or RequestsHttpConnection,
        http_auth=_signature(flavour, region),
        http_compress=False,  # compressed bodies break signatures in several stacks
        verify_certs=True,
        max_retries=0,
        retry_on_status=(),
        pool_maxsize=_CONNECTIONS,
    )


def _signature(flavour: Flavour, region: str) -> object | None:
    """SigV4 with credentials that refresh: a snapshot would fail when a warm container outlives them."""
    service = ABILITIES[flavour].signing_name
    if service is None:
        return None
    from requests_aws4auth import AWS4Auth  # type: ignore[import-untyped]  # has no types

    from lethe.adapters.aws_session import aws_session

    credentials = aws_session().get_credentials()
    if credentials is None:
        raise ValueError("there are no AWS credentials to sign requests to OpenSearch with")
    signature: object = AWS4Auth(refreshable_credentials=credentials, region=region, service=service)
    return signature


class Cluster:
    """Calls with a deadline. Every method raises Throttled, IndexMissing, Refused or Unavailable and nothing else.

    No text of the cluster is passed on, since it may quote what was asked; the kind of failure stands in the note.
    """

    def __init__(self, client: OpenSearch, flavour: Flavour) -> None:
        self._client = client
        self.flavour = flavour
        self.abilities = ABILITIES[flavour]

    def multi_search(
        self, index: str, searches: Sequence[Mapping[str, JsonValue]], within: float, routing: str
    ) -> list[Json]:
        """The answers of ``searches``, in order; one that failed has an ``error``. One attempt: the caller waits."""
        header: Json = {"routing": routing} if self.abilities.routing else {}
        lines = [part for search in searches for part in (header, search)]
        answer = self._once(
            lambda: self._client.msearch(
                index=index, body=ndjson(lines), params={"request_timeout": max(within, _LEAST_SECONDS)}
            )
        )
        return cast("list[Json]", answer["responses"])

    def bulk(self, index: str, lines: str, within: float) -> list[Json]:
        """The results of a bulk body, in order. The index stands in the path, where a policy can confine it.

        It is never made by a write, which would guess the mapping: it must be an alias where that can be demanded.
        """
        demand = {"require_alias": "true"} if self.abilities.demands_alias else {}
        answer = self._until(
            within, lambda left: self._client.bulk(index=index, body=lines, params={"request_timeout": left, **demand})
        )
        return [next(iter(cast("dict[str, Json]", item).values())) for item in cast("list[Json]", answer["items"])]

    def search(self, index: str, body: Mapping[str, JsonValue], within: float) -> Json:
        """One search."""
        return self._until(
            within, lambda left: self._client.search(index=index, body=body, params={"request_timeout": left})
        )

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, JsonValue] | None = None,
        within: float = 30.0,
        params: Mapping[str, str] | None = None,
    ) -> Json:
        """Any other request, with its JSON answer; an empty one for an answer without a body."""
        answer = self._until(
            within,
            lambda left: self._client.transport.perform_request(
                method, path, params={"request_timeout": left, **(params or {})}, body=body
            ),
        )
        return answer if isinstance(answer, dict) else {}

    def exists(self, name: str) -> bool:
        """Whether there is an index or alias of this name."""
        found = self._until(
            _LOOK_SECONDS,
            lambda left: {"found": self._client.indices.exists(index=name, params={"request_timeout": left})},
        )
        return bool(found["found"])

    def _once(self, send: Callable[[], object]) -> Json:
        with translated():
            return cast(Json, send())

    def _until(self, within: float, send: Callable[[float], object]) -> Json:
        """``send``, with pauses (full jitter, as in ``dynamodb.failures.wait``) while time is left."""
        ends = time.monotonic() + within
        attempt = 0
        while True:
            left = max(ends - time.monotonic(), _LEAST_SECONDS)
            try:
                return self._once(lambda: send(left))  # noqa: B023  # called before the loop goes on
            except (IndexMissing, Refused):
                raise
            except (Throttled, Unavailable):
                pause = random.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt))
                attempt += 1
                if time.monotonic() + pause >= ends:
                    raise
                time.sleep(pause)


@contextmanager
def translated() -> Iterator[None]:
    """Lethe's exceptions in place of the client's."""
    from opensearchpy import exceptions

    try:
        yield
    except exceptions.ConnectionError as error:
        raise _noted(Unavailable("the search index does not answer"), type(error).__name__) from None
    except exceptions.TransportError as error:
        raise _noted(_of_status(error.status_code), str(error.status_code)) from None
    except exceptions.OpenSearchException as error:
        raise _noted(Refused("the search index gives no answer that can be read"), type(error).__name__) from None


def _of_status(status: object) -> Throttled | Unavailable:
    if status == 429:
        return Throttled("the search index takes no more requests now")
    if status == 404:
        return IndexMissing("the search index is not there")
    if isinstance(status, int) and 400 <= status < 500:
        return Refused("the search index refuses the request")
    return Unavailable("the search index cannot be used")


def _noted(error: Throttled | Unavailable, kind: str) -> Throttled | Unavailable:
    error.add_note(f"OpenSearch: {kind}")
    return error


def ndjson(lines: Sequence[Mapping[str, JsonValue]]) -> str:
    """One JSON object a line, with the line end that bulk and msearch demand after the last."""
    return "".join(
        json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n" for line in lines
    )
