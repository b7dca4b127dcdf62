"""The stack as the tests of the template see it: expanded by SAM's translator, intrinsics resolved.

A ``Ref`` to a resource resolves to its logical id and a ``GetAtt`` to ``LogicalId.Attribute``, so that what the tests
compare reads like the template.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from lethe.domain.json_values import JsonObject, JsonValue
from lethe_local.intrinsics import Resolver
from lethe_local.template import expand

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "template.yaml"
FUNCTIONS = ("AuthorizeFunction", "WriteFunction", "RecallFunction", "GovernFunction", "EraseFunction")

KMS_KEY = "arn:aws:kms:eu-central-1:111122223333:key/00000000-0000-0000-0000-000000000000"
EMBEDDER_SECRET = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:embedder-AbCdEf"
TOPIC = "arn:aws:sns:eu-central-1:111122223333:alarms"


def mapping(value: JsonValue) -> JsonObject:
    assert isinstance(value, Mapping), f"a map is expected, not {value!r}"
    return value


def items(value: JsonValue) -> Sequence[JsonValue]:
    """A list as it is; anything else as a list of one, as IAM reads actions and resources."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


class Stack:
    """One reading of the template, for one set of parameters."""

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self.expanded = expand(TEMPLATE, parameters)
        self._resolver = Resolver(
            self.expanded,
            parameters,
            references=lambda logical_id: logical_id,
            attributes=lambda logical_id, attribute: f"{logical_id}.{attribute}",
        )

    def raw(self, kind: str) -> dict[str, JsonObject]:
        """Whole resources of one type whose condition holds, by logical id, intrinsics as written."""
        found = {}
        for logical_id, value in mapping(self.expanded["Resources"]).items():
            resource = mapping(value)
            condition = resource.get("Condition")
            if resource["Type"] == kind and (condition is None or self._resolver.condition(str(condition))):
                found[logical_id] = resource
        return found

    def resources(self, kind: str) -> dict[str, JsonObject]:
        """Their properties, resolved."""
        return {
            logical_id: mapping(self._resolver.resolve(resource.get("Properties", {})))
            for logical_id, resource in self.raw(kind).items()
        }


@cache
def stack(**parameters: str) -> Stack:
    """The stack with ``parameters`` over the defaults; read once."""
    return Stack(parameters)


def schedule(task: str, **parameters: str) -> JsonObject:
    """The rule of ``stack(**parameters)`` that hands ``task`` to EraseFunction."""
    (found,) = (
        rule
        for rule in stack(**parameters).resources("AWS::Events::Rule").values()
        for target in map(mapping, items(rule["Targets"]))
        if (target["Arn"], json.loads(str(target["Input"]))) == ("EraseFunction.Arn", {"task": task})
    )
    return found
