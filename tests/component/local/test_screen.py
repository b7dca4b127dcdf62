"""What `make dev` shows of logs and requests."""

from __future__ import annotations

import io
import json

import pytest

from lethe_local.exchange import Answer, Request
from lethe_local.screen import FunctionOutput, Screen, banner


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_request_is_shown_by_its_route() -> None:
    shown = io.StringIO()
    request = Request("GET", "/v1/subjects/alice", "user_id=bob", ())
    Screen(shown).request(request, Answer(404, (), b"", "GET /v1/subjects/{user_id}"), 0.0123)
    line = shown.getvalue()
    assert line.endswith("12.3 ms\n")
    assert "GET    /v1/subjects/{user_id}" in line
    assert "alice" not in line
    assert "bob" not in line


@pytest.mark.parametrize(
    ("method", "named"), [("DELETE", "DELETE"), ("-", "-"), ("TEA-AT-FOUR", "other"), ("get", "other"), ("", "other")]
)
def test_a_method_that_is_none_is_not_shown(method: str, named: str) -> None:
    shown = io.StringIO()
    Screen(shown).request(Request(method, "/v1/health", "", ()), Answer(404, (), b"", "$default"), 0.0)
    assert shown.getvalue().split()[1:3] == [named, "$default"]


def test_colours_are_for_terminals() -> None:
    plain, terminal = io.StringIO(), _Terminal()
    for stream in (plain, terminal):
        Screen(stream).request(Request("GET", "/", "", ()), Answer(500, (), b"", "$default"), 0.0)
    assert "\x1b[31m500" in terminal.getvalue()
    assert "\x1b" not in plain.getvalue()


def test_function_logs_become_text_and_metrics_go() -> None:
    shown = io.StringIO()
    output = FunctionOutput(Screen(shown))
    failed = {"level": "ERROR", "location": "x:1", "message": "failed", "timestamp": "now", "service": "lethe-write"}
    for record in (
        failed | {"error": "Unavailable"},
        {"level": "INFO", "message": "served", "status": 200},
        {"level": "DEBUG", "message": "detail"},
        {"_aws": {"Timestamp": 1}, "Latency": [3]},
    ):
        print(json.dumps(record), file=output)
    print("plain words", file=output)
    print("{half a record", file=output)
    lines = [line.strip() for line in shown.getvalue().splitlines()]
    assert lines == ["ERROR   lethe-write: failed error=Unavailable", "plain words", "{half a record"]


def test_nobody_reading_is_no_failure() -> None:
    Screen(_Closed()).line("words")


def test_the_banner_quotes_for_the_shell() -> None:
    text = banner("http://127.0.0.1:1", "lk_1_2", "tables on moto", "/state")
    lines = [line for line in text.splitlines() if line.startswith("  curl")]
    assert len(lines) == 6
    assert all(line.count("'") % 2 == 0 and "http://127.0.0.1:1/" in line for line in lines)
    assert "tables on moto" in text
