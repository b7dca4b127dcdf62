"""Routes, the authorizer's turn, answers, limits and errors of the local gateway."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol, cast

import pytest
import urllib3

from lethe_local.stack import LocalStack, StackOptions
from tests.component.local.conftest import HOUSE

KEY = {"Authorization": "Bearer open"}


def _problem(answer: urllib3.BaseHTTPResponse) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == answer.status
    assert document["request_id"] == answer.headers["x-request-id"]
    return answer.status, document["code"]


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("GET", "/items/special", "GET /items/special"),
        ("GET", "/items/other", "GET /items/{item_id}"),
        ("GET", "/items/", "$default"),
        ("GET", "/items/other/", "$default"),
        ("POST", "/items/other", "$default"),
        ("GET", "/files/a/b/c", "GET /files/{path+}"),
        ("GET", "/nothing", "$default"),
        ("OPTIONS", "/open", "ANY /open"),
        ("DELETE", "/open", "ANY /open"),
        ("GET", "//open", "$default"),
    ],
)
def test_the_most_specific_route_answers(
    house: LocalStack, http: urllib3.PoolManager, method: str, path: str, route: str
) -> None:
    answer = http.request(method, house.url + path, headers=KEY)
    assert answer.json()["event"]["routeKey"] == route


def test_the_authorizer_goes_first(house: LocalStack, http: urllib3.PoolManager) -> None:
    served = f"{house.url}/items/1"
    assert _problem(http.request("GET", served)) == (401, "unauthenticated")
    assert _problem(http.request("GET", served, headers={"Authorization": "Bearer shut"})) == (403, "forbidden")
    assert _problem(http.request("GET", served, headers={"Authorization": "Bearer broken"})) == (500, "internal")
    assert _problem(http.request("GET", f"{house.url}/nowhere")) == (401, "unauthenticated")
    assert http.request("GET", served, headers=KEY).status == 200
    assert http.request("GET", f"{house.url}/open").status == 200


@pytest.mark.parametrize("wish", ["raise", "status", "header", "nonsense", "surrogate", "huge"])
def test_a_failed_function_or_a_refused_answer_is_a_500(
    house: LocalStack, http: urllib3.PoolManager, wish: str
) -> None:
    answer = http.request("GET", f"{house.url}/open?do={wish}")
    assert _problem(answer) == (500, "internal")
    assert b"purpose" not in answer.data
    assert http.request("GET", f"{house.url}/open").status == 200


def test_answers_arrive_as_the_function_gave_them(house: LocalStack, http: urllib3.PoolManager) -> None:
    binary = http.request("GET", f"{house.url}/open?do=binary")
    assert (binary.status, binary.data) == (200, b"\x00\x01\xff")
    assert binary.headers.getlist("set-cookie") == ["a=1", "b=2"]
    empty = http.request("GET", f"{house.url}/open?do=empty")
    assert (empty.status, empty.data) == (204, b"")
    assert "content-length" not in empty.headers
    created = http.request("GET", f"{house.url}/open?do=created")
    assert (created.status, created.data.decode(), created.headers["location"]) == (201, "über", "/items/1")
    plain = http.request("GET", f"{house.url}/open?do=plain")
    assert (plain.status, plain.headers["content-type"], plain.json()) == (200, "application/json", {"fine": True})
    assert http.request("GET", f"{house.url}/open?do=number").json() == 7
    assert http.request("GET", f"{house.url}/open").headers["x-made"] == "true"


def test_head_has_the_headers_alone(house: LocalStack, http: urllib3.PoolManager) -> None:
    answer = http.request("HEAD", f"{house.url}/open?do=created")
    assert (answer.status, answer.data, answer.headers["content-length"]) == (201, b"", "5")
    assert http.request("GET", f"{house.url}/open").status == 200


@pytest.mark.parametrize("path", ["/open?q=%FF", "/items/%C3%28", "/%80"])
def test_text_that_is_not_utf8_is_refused(house: LocalStack, http: urllib3.PoolManager, path: str) -> None:
    assert _problem(http.request("GET", house.url + path, headers=KEY)) == (422, "invalid")


def test_a_body_within_the_limits_passes_and_one_over_them_does_not(
    house: LocalStack, http: urllib3.PoolManager
) -> None:
    headers = {"Content-Type": "text/plain"}
    mega = 1024 * 1024
    passes = http.request("POST", f"{house.url}/open?do=empty", headers=headers, body=b"x" * (5 * mega))
    assert passes.status == 204
    # The event that holds it is over Lambda's 6 MB, though the body alone is below the gateway's 10 MB.
    for megabytes in (6, 10, 11):
        refused = http.request("POST", f"{house.url}/open?do=empty", headers=headers, body=b"x" * (megabytes * mega))
        assert _problem(refused) == (413, "too_large"), megabytes
    assert http.request("GET", f"{house.url}/open").status == 200


class _Echo(Protocol):
    """The module of the function ``echo``, with the events that hold it back."""

    entered: threading.Event
    opened: threading.Event


@dataclass(frozen=True)
class _Held:
    """A stack of its own, whose echo function waits at ``do=wait`` until ``opened`` is set."""

    stack: LocalStack
    echo: _Echo


@contextmanager
def _held(state: Path, wait_seconds: float) -> Iterator[_Held]:
    options = StackOptions(HOUSE, state, tables="moto", say=print, wait_seconds=wait_seconds)
    with LocalStack.start(options) as stack:
        echo = cast("_Echo", sys.modules["lethe_function_echo"])
        try:
            yield _Held(stack, echo)
        finally:
            echo.opened.set()


def test_a_slow_function_is_a_503_after_the_gateways_patience(tmp_path: Path, http: urllib3.PoolManager) -> None:
    with _held(tmp_path, wait_seconds=0.3) as held:
        answer = http.request("GET", f"{held.stack.url}/open?do=wait")
        assert _problem(answer) == (503, "unavailable")
        assert answer.headers["retry-after"].isdecimal()
        assert http.request("GET", f"{held.stack.url}/open").status == 200


def test_a_function_over_its_own_time_out_is_a_500(tmp_path: Path, http: urllib3.PoolManager) -> None:
    with _held(tmp_path, wait_seconds=20) as held:
        assert _problem(http.request("GET", f"{held.stack.url}/open?do=wait")) == (500, "internal")


def test_a_container_serves_one_request_at_a_time_and_the_warm_one_first(
    tmp_path: Path, http: urllib3.PoolManager
) -> None:
    with _held(tmp_path, wait_seconds=20) as held, ThreadPoolExecutor(1) as pool:
        served = [http.request("GET", f"{held.stack.url}/open").json()["served"] for _ in range(2)]
        waiting = pool.submit(http.request, "GET", f"{held.stack.url}/open?do=wait")
        assert held.echo.entered.wait(10)
        beside = http.request("GET", f"{held.stack.url}/open").json()["served"]
        held.echo.opened.set()
        assert waiting.result(10).status == 200
    assert (served, beside) == ([1, 2], 1)


def test_the_clock_moves_forward_for_functions(tmp_path: Path, http: urllib3.PoolManager) -> None:
    with LocalStack.start(StackOptions(HOUSE, tmp_path, tables="moto", say=print)) as stack:
        stack.clock.advance(timedelta(days=400))
        now = datetime.fromisoformat(http.request("GET", f"{stack.url}/open").json()["now"])
        with pytest.raises(ValueError, match="forward"):
            stack.clock.advance(timedelta(seconds=-1))
    assert now - datetime.now(UTC) > timedelta(days=399)
