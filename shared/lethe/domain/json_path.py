"""The small part of JSONPath that entity queries use: ``$``, ``.name``, ``["name"]`` and ``[index]``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonValue

_STEP: Final = re.compile(r"\.([^\W\d][\w-]*)|\[(0|[1-9][0-9]{0,5})\]|\[(\"(?:[^\"\\]|\\.)*\"|'[^'\\]*')\]")
_LONGEST: Final = 256


@immutable
class JsonPath:
    """A parsed path: object keys and array indices from the root."""

    steps: tuple[str | int, ...]

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """Raises ValueError with what is accepted."""
        problem = ValueError('must be a path such as $.address.city, $["first name"] or $.sizes[0]')
        if not text.startswith("$") or len(text) > _LONGEST:
            raise problem
        steps: list[str | int] = []
        position = 1
        while position < len(text):
            match = _STEP.match(text, position)
            if match is None:
                raise problem
            steps.append(_step(match))
            position = match.end()
        return cls(tuple(steps))

    def find(self, value: JsonValue) -> tuple[bool, JsonValue]:
        """Whether the path exists in ``value``, and what is there."""
        for step in self.steps:
            if isinstance(step, str) and isinstance(value, Mapping) and step in value:
                value = value[step]
            elif isinstance(step, int) and isinstance(value, Sequence) and not isinstance(value, str):
                if step >= len(value):
                    return False, None
                value = value[step]
            else:
                return False, None
        return True, value

    def matches(self, value: JsonValue, equals: JsonValue, compares: bool) -> bool:
        """Whether the path exists and, when ``compares``, holds exactly ``equals`` (``true`` is not 1)."""
        exists, found = self.find(value)
        if not exists or not compares:
            return exists
        if isinstance(found, bool) or isinstance(equals, bool):
            return found is equals
        return found == equals


def _step(match: re.Match[str]) -> str | int:
    name, index, quoted = match.groups()
    if name is not None:
        return str(name)
    if index is not None:
        return int(index)
    if quoted.startswith("'"):
        return str(quoted[1:-1])
    try:
        return str(json.loads(quoted))
    except ValueError as error:
        raise ValueError("the quoted name in the path is not a JSON string") from error
