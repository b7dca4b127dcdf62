"""Problem documents: what to change, never what was sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from lethe import errors
from lethe.entry.api.entities import PutEntity
from lethe.entry.api.memories import AddMemories, SearchMemories
from lethe.entry.api.recall import RecallMemory
from lethe.entry.api.sessions import AppendMessages, ReadMessages
from lethe.entry.problems import invalid_input, problem, problem_headers, problem_text

ERRORS = [
    errors.InvalidInput.of("a", "b"),
    errors.MalformedRequest("invalid_json", "no"),
    errors.Unauthenticated(),
    errors.Forbidden(),
    errors.NotFound(),
    errors.MethodNotAllowed(["GET"]),
    errors.Conflict(),
    errors.InProgress(),
    errors.Erased(),
    errors.VersionConflict(7),
    errors.TooLarge(),
    errors.UnsupportedMediaType(),
    errors.IdempotencyMismatch(),
    errors.Throttled(),
    errors.Unavailable(),
    errors.LetheError(),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_every_error_is_a_whole_document(error: errors.LetheError) -> None:
    document = json.loads(problem_text(error, "r-1"))

    assert document.keys() >= {"type", "title", "status", "detail", "code", "request_id", "errors"}
    assert document["status"] == error.status
    assert document["code"] == error.code
    assert document["type"].endswith(error.code)
    assert document["request_id"] == "r-1"
    assert document["title"]
    assert document["detail"]
    assert problem_headers(error)["content-type"] == "application/problem+json"


def test_a_version_conflict_tells_the_current_version() -> None:
    assert problem(errors.VersionConflict(7), "r")["current_version"] == 7
    assert "current_version" not in problem(errors.Conflict(), "r")


def test_headers_that_the_status_asks_for() -> None:
    assert problem_headers(errors.MethodNotAllowed(["GET", "PUT"]))["allow"] == "GET, PUT"
    assert problem_headers(errors.Unauthenticated())["www-authenticate"].startswith("Bearer")
    for error in (errors.Throttled(), errors.Unavailable()):
        assert int(problem_headers(error)["retry-after"]) >= 1
    assert problem_headers(errors.NotFound()).keys() == {"content-type"}


@pytest.mark.parametrize("base", [errors.LetheError, errors.Unavailable])
def test_a_fault_of_ours_tells_nothing_of_the_inside(base: type[errors.LetheError]) -> None:
    class Inner(base):  # type: ignore[misc, valid-type]  # a subclass with words of its own
        title = "table SubjectsTable-17 is on fire"

    text = problem_text(Inner("host db-3 port 5432"), "r")

    assert "SubjectsTable" not in text
    assert "db-3" not in text


def refuse(model: type[BaseModel], body: object) -> errors.InvalidInput:
    with pytest.raises(ValidationError) as refused:
        model.model_validate_json(json.dumps(body))
    return invalid_input(refused.value)


CASES: list[tuple[type[BaseModel], dict[str, Any], str, str]] = [
    (AddMemories, {"text": 5}, "text", "must be a string"),
    (AddMemories, {"text": ""}, "text", "at least 1 character"),
    (AddMemories, {"text": "x" * 2_001}, "text", "at most 2000 characters"),
    (AddMemories, {"text": "x", "confidence": 2}, "confidence", "must be at most 1.0"),
    (AddMemories, {"text": "x", "confidence": -1}, "confidence", "must be at least 0.0"),
    (AddMemories, {"text": "x", "kind": "song"}, "kind", "must be 'profile', 'preference'"),
    (AddMemories, {"text": "x", "nope": 1}, "nope", "unknown field"),
    (AddMemories, {"text": "x", "a b": 1}, "?", "unknown field"),
    (AddMemories, {"text": "x", "metadata": 1}, "metadata", "must be an object"),
    (AddMemories, {"text": "x", "metadata": {"a": "m" * 4_096}}, "metadata", "at most 4096 bytes as JSON"),
    (AddMemories, {"text": "x", "occurred_at": 5}, "occurred_at", "must be an RFC 3339 time in a string"),
    (AddMemories, {"messages": []}, "messages", "at least 1 item"),
    (AddMemories, {}, "body", "give either text or messages"),
    (AddMemories, {"messages": [{"role": "user"}]}, "messages[0].content", "required"),
    (AddMemories, {"text": "x", "session_id": "a b"}, "session_id", "must be 1 to 128 of A-Z a-z 0-9 . _ : -"),
    (AppendMessages, {"messages": [{"role": "user", "content": "x"}] * 101}, "messages", "at most 100 items"),
    (AppendMessages, {"messages": 5}, "messages", "must be an array"),
    (AppendMessages, {"messages": [{"role": "user", "content": "x"}], "remember": 1}, "remember", "true or false"),
    (SearchMemories, {"query": "x", "top_k": 1.5}, "top_k", "must be a whole number"),
    (SearchMemories, {"query": "x", "filters": {"kind": ["song"]}}, "filters.kind[0]", "must be"),
    (RecallMemory, {"query": "x", "tiers": ["dreams"]}, "tiers[0]", "must be 'session', 'entities' or 'memories'"),
    (PutEntity, {"value": 1, "category": "song"}, "category", "must be 'preference'"),
]


@pytest.mark.parametrize(("model", "body", "field", "message"), CASES, ids=[str(n) for n in range(len(CASES))])
def test_a_refusal_names_field_and_limit(model: type[BaseModel], body: object, field: str, message: str) -> None:
    found = refuse(model, body)

    assert any(error.field == field and message in error.message for error in found.errors), found.errors


def test_a_query_is_refused_likewise() -> None:
    with pytest.raises(ValidationError) as refused:
        ReadMessages.model_validate({"turns": "many", "limit": "1e9", "order": "desc", "colour": "red"})

    found = {error.field: error.message for error in invalid_input(refused.value).errors}

    assert found == {
        "turns": "must be a whole number, in digits",
        "limit": "must be a whole number, in digits",
        "order": "must be 'asc'",
        "colour": "unknown field",
    }


def test_many_errors_are_cut_and_repeated_ones_told_once() -> None:
    found = refuse(AddMemories, {"text": "x"} | {f"field{n}": 1 for n in range(100)})
    assert len(found.errors) == 20

    odd = refuse(AddMemories, {"text": "x"} | {f"a {n}": 1 for n in range(100)})
    assert [(error.field, error.message) for error in odd.errors] == [("?", "unknown field")]


def test_nothing_sent_is_repeated() -> None:
    canary = "zqx canary"
    body = {"text": [canary], "kind": canary, "origin": canary, "occurred_at": canary, "speaker": {canary: canary},
            "metadata": canary, "user_id": canary + "\x00", canary: canary}  # fmt: skip

    assert canary not in problem_text(refuse(AddMemories, body), "r")
