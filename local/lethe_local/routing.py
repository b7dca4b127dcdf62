"""Finds the route of a request as an HTTP API does: the most specific one, and `$default` for the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from lethe_local.template import Route

_VARIABLE = re.compile(r"\{([^{}+]+)(\+?)\}")


@dataclass(frozen=True, slots=True)
class Match:
    """The route of a request and its path parameters, percent-decoded."""

    route: Route
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Entry:
    route: Route
    pattern: re.Pattern[str]
    rank: tuple[tuple[int, ...], bool]


class Router:
    """The routes of one HTTP API."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._default = next((route for route in routes if route.path == "$default"), None)
        entries = [_entry(route) for route in routes if route.path != "$default"]
        self._entries = sorted(entries, key=lambda entry: entry.rank)

    def match(self, method: str, path: str) -> Match | None:
        """The route for ``path`` as it stood in the request line; None when there is not even a `$default`.

        Raises ValueError when a path parameter is not percent-encoded UTF-8.
        """
        for entry in self._entries:
            found = entry.pattern.fullmatch(path)
            if found is not None and entry.route.method in (method, "ANY"):
                return Match(entry.route, {name: percent_decoded(text) for name, text in found.groupdict().items()})
        return Match(self._default, {}) if self._default is not None else None


def percent_decoded(text: str) -> str:
    """``text`` with percent-encoding undone. Raises ValueError when what comes out is not UTF-8."""
    return unquote_to_bytes(text).decode("utf-8")


def _entry(route: Route) -> _Entry:
    pattern, place = "", 0
    for variable in _VARIABLE.finditer(route.path):
        pattern += re.escape(route.path[place : variable.start()])
        pattern += f"(?P<{variable[1]}>{'.+' if variable[2] else '[^/]+'})"
        place = variable.end()
    pattern += re.escape(route.path[place:])
    # Literal segments go before variables, variables before greedy ones, a method before ANY.
    weights = tuple(_weight(segment) for segment in route.path.split("/"))
    return _Entry(route, re.compile(pattern), (weights, route.method == "ANY"))


def _weight(segment: str) -> int:
    variable = _VARIABLE.fullmatch(segment)
    if variable is None:
        return 0
    return 2 if variable[2] else 1
