"""One HTTP exchange with the service, retried where that is safe."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from lethe_client.errors import (
    LetheConnectionError,
    LetheError,
    LetheProtocolError,
    error_from_problem,
)
from lethe_client.json_types import JsonObject
from lethe_client.retries import RETRIED_STATUSES, RetryPolicy, Waits, parse_retry_after, pause_before_retry

QueryValue = str | int | float | bool | None

# Said instead of the original exception, which carries the whole text and must not reach a log.
_LONE_SURROGATE = "a text holds a lone surrogate and cannot be sent"


@dataclass(frozen=True, slots=True)
class Call:
    """One request of the contract.

    Attributes:
        method: HTTP method.
        path: already quoted, from the service's root, such as `/v1/memories`.
        query: parameters; those that are None are left out.
        body: the JSON body, or None for none; members that are None are left out.
        always: further members of the body, sent as null too.
        changes: whether it changes something. Such a POST, PUT or PATCH carries an Idempotency-Key, which
            is what makes sending it again safe.
        idempotency_key: the caller's own key, instead of a new one.
    """

    method: str
    path: str
    query: Mapping[str, QueryValue] | None = None
    body: Mapping[str, object] | None = None
    always: Mapping[str, object] | None = None
    changes: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: its status, its JSON object ({} for 204), whether it is a replay, and its Location."""

    status: int
    body: JsonObject
    replayed: bool
    location: str | None = None


def path_of(*parts: str) -> str:
    """Join the parts of a path, each quoted.

    A part of dots only is quoted too: `..` would otherwise climb out of its collection.
    """
    try:
        quoted = [quote(part, safe=":") for part in parts]
    except UnicodeEncodeError:
        raise ValueError(_LONE_SURROGATE) from None
    return "/" + "/".join(part.replace(".", "%2E") if part.strip(".") == "" else part for part in quoted)


class Transport:
    """Sends calls to one service with one key. Safe to share between threads."""

    def __init__(self, url: str, api_key: str, timeout: float, retry: RetryPolicy, waits: Waits | None = None) -> None:
        """Prepare the connection pool; nothing is sent yet.

        Raises:
            ValueError: the url is not http(s)://host, or the key could not stand in a header.
        """
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("url must be http://host or https://host, without query or fragment")
        if not isinstance(api_key, str) or not api_key.isascii() or not api_key.isprintable():
            raise ValueError("api_key holds characters that cannot stand in a header")
        self.url = url.rstrip("/")
        # Without what may stand before the @ of an address, since errors name it.
        self._place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._headers = {"Accept": "application/json", "User-Agent": "lethe-client"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._retry = retry
        self.waits = waits or Waits()
        self._pool = urllib3.PoolManager(
            maxsize=10, timeout=urllib3.Timeout(connect=min(timeout, 5.0), read=timeout), retries=False
        )

    def close(self) -> None:
        """Close the idle connections."""
        self._pool.clear()

    def send(self, call: Call) -> Answer:
        """Send the call, again if need be, and give the answer.

        Raises:
            LetheApiError: the service said no; the subclass tells the kind.
            LetheConnectionError: no answer within the timeout, on the last attempt.
            LetheProtocolError: the answer is not what the contract promises.
            ValueError: the body is not JSON (NaN, infinity, a lone surrogate).
        """
        url = self.url + call.path + _query_string(call.query)
        headers, body = self._encoded(call)
        started = self.waits.now()
        attempt = 0
        while True:
            attempt += 1
            outcome = self._attempt(call, url, headers, body)
            if isinstance(outcome, Answer):
                return outcome
            retryable = outcome.retryable or (outcome.in_progress and attempt > 1)
            if not retryable or attempt >= self._retry.attempts:
                raise outcome.error from outcome.error.__cause__
            pause = pause_before_retry(self._retry, attempt, outcome.retry_after, self.waits)
            if self.waits.now() - started + pause > self._retry.deadline:
                raise outcome.error from outcome.error.__cause__
            self.waits.sleep(pause)

    def _encoded(self, call: Call) -> tuple[dict[str, str], bytes | None]:
        headers = dict(self._headers)
        if call.changes and call.method in {"POST", "PUT", "PATCH"}:
            headers["Idempotency-Key"] = call.idempotency_key or secrets.token_hex(16)
        if call.body is None:
            return headers, None
        headers["Content-Type"] = "application/json"
        sent = {name: value for name, value in call.body.items() if value is not None}
        sent |= call.always or {}
        try:
            return headers, json.dumps(sent, ensure_ascii=False, allow_nan=False).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(_LONE_SURROGATE) from None

    def _attempt(self, call: Call, url: str, headers: dict[str, str], body: bytes | None) -> "Answer | _Failure":
        try:
            response = self._pool.request(call.method, url, body=body, headers=headers, redirect=False)
        except HTTPError as error:
            # urllib3's own message holds the query, and so the user id.
            failure = LetheConnectionError(f"no answer from {self._place} ({type(error).__name__})")
            return _Failure(failure, retryable=True)
        request_id = response.headers.get("x-request-id") or response.headers.get("apigw-requestid") or ""
        if 200 <= response.status < 300:
            replayed = response.headers.get("Idempotency-Replayed", "").lower() == "true"
            return Answer(response.status, _json_object(response.data), replayed, response.headers.get("Location"))
        if response.status < 400:
            return _Failure(LetheProtocolError(f"unexpected redirect ({response.status})"), retryable=False)
        problem = error_from_problem(response.status, _problem(response.data), request_id)
        return _Failure(
            problem,
            retryable=response.status in RETRIED_STATUSES,
            in_progress=problem.code == "in_progress",
            retry_after=parse_retry_after(response.headers.get("Retry-After")),
        )


@dataclass(frozen=True, slots=True)
class _Failure:
    """One attempt that gave no answer, and what it says about another one.

    `in_progress` counts after an attempt of our own only: then it is that attempt which still runs, and
    its answer will be replayed.
    """

    error: LetheError
    retryable: bool
    in_progress: bool = False
    retry_after: float | None = None


def _query_string(query: Mapping[str, QueryValue] | None) -> str:
    named = {name: _query_text(value) for name, value in (query or {}).items() if value is not None}
    try:
        return "?" + urlencode(named, quote_via=quote) if named else ""
    except UnicodeEncodeError:
        raise ValueError(_LONE_SURROGATE) from None


def _query_text(value: QueryValue) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _json_object(data: bytes) -> JsonObject:
    if not data:
        return {}
    try:
        value = json.loads(data)
    except ValueError:
        raise LetheProtocolError("the answer is not JSON") from None
    if not isinstance(value, dict):
        raise LetheProtocolError("the answer is not a JSON object")
    return value


def _problem(data: bytes) -> JsonObject:
    """The problem document; {} for any other body, whose status alone then speaks."""
    try:
        return _json_object(data)
    except LetheProtocolError:
        return {}
