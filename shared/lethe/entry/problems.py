"""Errors as RFC 9457 problem documents: what to change, never what was sent and never a word of the inside."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from lethe.errors import FieldError, InvalidInput, LetheError, MethodNotAllowed, Throttled, Unavailable, VersionConflict

TYPE_PREFIX: Final = "https://lethe.dev/problems/"
CONTENT_TYPE: Final = "application/problem+json"

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_MOST_ERRORS: Final = 20
_BY_STATUS: Final[dict[int, type[LetheError]]] = {LetheError.status: LetheError, Unavailable.status: Unavailable}

# Pydantic adds the branch of a union to the location, such as str-enum[Origin]; a client knows no branches.
_UNION_BRANCH: Final = re.compile(r"(?:str-enum|list)\[.*\]")

# Pydantic's own sentences for these kinds say only what is accepted; others could quote the input.
_OWN_WORDS: Final = {
    "missing": "required",
    "extra_forbidden": "unknown field",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number within the range of 64 bits",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be an array",
    "string_pattern_mismatch": "must be 1 to 128 of A-Z a-z 0-9 . _ : -",
    "string_unicode": "must be valid Unicode",
    "invalid_key": "keys must be strings",
    "recursion_loop": "is nested too deeply",
}


def problem(error: LetheError, request_id: str) -> dict[str, object]:
    """The document of ``error``. A fault of ours or of what we rest on is told by its kind alone: the rest is ours."""
    told = _BY_STATUS.get(error.status)
    document: dict[str, object] = {
        "type": TYPE_PREFIX + error.code,
        "title": told.title if told else error.title,
        "status": error.status,
        "detail": told.title if told else error.detail,
        "code": error.code,
        "request_id": request_id,
        "errors": [],
    }
    if isinstance(error, InvalidInput):
        document["errors"] = [{"field": e.field, "message": e.message} for e in error.errors]
    if isinstance(error, VersionConflict):
        document["current_version"] = error.current_version
    return document


def problem_headers(error: LetheError) -> dict[str, str]:
    """Headers that go with the document."""
    headers = {"content-type": CONTENT_TYPE}
    if isinstance(error, Throttled | Unavailable):
        headers["retry-after"] = str(error.retry_after)
    if isinstance(error, MethodNotAllowed):
        headers["allow"] = ", ".join(error.allowed)  # RFC 9110, 15.5.6
    if error.status == 401:
        headers["www-authenticate"] = 'Bearer realm="lethe"'
    return headers


def problem_text(error: LetheError, request_id: str) -> str:
    """The document as JSON."""
    return json.dumps(problem(error, request_id), ensure_ascii=False)


def invalid_input(error: ValidationError, root: str = "body") -> InvalidInput:
    """Pydantic's findings as ours, in words that never repeat the input; ``root`` names what the model is about."""
    details = error.errors(include_url=False, include_input=False)
    found = [
        FieldError(place_of(location) or root, _message(detail))
        for detail in details
        for location in _locations(detail)
    ]
    return InvalidInput(list(dict.fromkeys(found))[:_MOST_ERRORS])


def _locations(detail: ErrorDetails) -> list[tuple[int | str, ...]]:
    """Where it is, or the fields there that it is about (``types.refused``)."""
    return [(*detail["loc"], name) for name in detail.get("ctx", {}).get("fields", ())] or [detail["loc"]]


def _message(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _OWN_WORDS:
        return _OWN_WORDS[kind]
    if kind == "refused":
        return detail["msg"]
    if kind in ("enum", "literal_error"):
        return f"must be {context.get('expected', 'one of the allowed values')}"
    if kind == "string_too_short":
        return f"at least {context['min_length']} character{'' if context['min_length'] == 1 else 's'}"
    if kind == "string_too_long":
        return f"at most {context['max_length']} characters"
    if kind == "too_short":
        return f"at least {context['min_length']} item{'' if context['min_length'] == 1 else 's'}"
    if kind == "too_long":
        return f"at most {context['max_length']} items"
    if kind in ("greater_than_equal", "less_than_equal"):
        return f"must be at {'least' if 'ge' in context else 'most'} {context.get('ge', context.get('le'))}"
    return "has a value that is not allowed"


def place_of(location: Sequence[int | str]) -> str:
    """A place in a body, such as ``messages[3].content``. A name that only the client knows is shown when it looks
    like one.
    """
    path = ""
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        elif _UNION_BRANCH.fullmatch(step):
            continue
        else:
            name = step if _NAME.fullmatch(step) else "?"
            path += f".{name}" if path else name
    return path
