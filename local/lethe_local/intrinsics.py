"""Resolves CloudFormation's intrinsic functions, as far as our template uses them; anything else is an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from lethe.domain.json_values import JsonObject, JsonValue

ACCOUNT = "000000000000"
REGION = "us-east-1"
STACK = "lethe"

_PLACE = re.compile(r"\$\{(!?)([^}]*)\}")
_ABSENT = object()
Resolved: TypeAlias = "JsonValue | object"


def function_arn(logical_id: str) -> str:
    """The address of a function here."""
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{logical_id}"


class TemplateError(Exception):
    """The template uses something that the local stack cannot make true; the message says what and where."""


class Resolver:
    """Computes the values of a template for one set of parameters.

    ``references`` gives what ``Ref`` of a resource means (its physical id) and ``attributes`` what ``Fn::GetAtt``
    means; both get the logical id and raise TemplateError for what they do not know.
    """

    def __init__(
        self,
        template: JsonObject,
        parameters: Mapping[str, str],
        references: Callable[[str], str],
        attributes: Callable[[str, str], str],
    ) -> None:
        self._parameters = _parameter_values(_section(template, "Parameters"), parameters)
        self._conditions = _section(template, "Conditions")
        self._mappings = _section(template, "Mappings")
        self._references = references
        self._attributes = attributes
        self._functions: dict[str, Callable[[JsonValue], Resolved]] = {
            "Ref": self._ref,
            "Condition": lambda name: self.condition(_text(name, "Condition")),
            "Fn::If": self._if,
            "Fn::Sub": self._sub,
            "Fn::GetAtt": self._get_att,
            "Fn::Join": self._join,
            "Fn::Select": self._select,
            "Fn::Split": self._split,
            "Fn::FindInMap": self._find_in_map,
            "Fn::Equals": self._equals,
            "Fn::Not": lambda value: not self._truths(value)[0],
            "Fn::And": lambda value: all(self._truths(value)),
            "Fn::Or": lambda value: any(self._truths(value)),
        }

    @property
    def parameters(self) -> Mapping[str, str]:
        """Every parameter with the value that holds."""
        return self._parameters

    def resolve(self, value: JsonValue) -> JsonValue:
        """``value`` without intrinsics; members that are ``AWS::NoValue`` are gone. Raises TemplateError."""
        resolved = self._resolve(value)
        if resolved is _ABSENT:
            return None
        return resolved  # type: ignore[return-value]  # everything but the marker is JSON

    def condition(self, name: str) -> bool:
        """The truth of a named condition. Raises TemplateError when there is none of that name."""
        if name not in self._conditions:
            raise TemplateError(f"the condition {name} is not declared")
        return _truth(self._resolve(self._conditions[name]), f"the condition {name}")

    def _resolve(self, value: JsonValue) -> Resolved:
        if isinstance(value, Mapping):
            name = _intrinsic(value)
            if name is not None:
                return self._call(name, value[name])
            members = {key: self._resolve(member) for key, member in value.items()}
            return {key: member for key, member in members.items() if member is not _ABSENT}
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [item for item in (self._resolve(item) for item in value) if item is not _ABSENT]
        return value

    def _call(self, name: str, argument: JsonValue) -> Resolved:
        function = self._functions.get(name)
        if function is None:
            raise TemplateError(f"the local stack does not know {name}")
        return function(argument)

    def _ref(self, argument: JsonValue) -> Resolved:
        name = _text(argument, "Ref")
        return _ABSENT if name == "AWS::NoValue" else self._named(name)

    def _named(self, name: str) -> str:
        if name in self._parameters:
            return self._parameters[name]
        if name in _PSEUDO:
            return _PSEUDO[name]
        if name.startswith("AWS::"):
            raise TemplateError(f"the local stack does not know the pseudo parameter {name}")
        return self._references(name)

    def _if(self, argument: JsonValue) -> Resolved:
        condition, yes, no = _items(argument, "Fn::If", 3)
        return self._resolve(yes if self.condition(_text(condition, "Fn::If")) else no)

    def _sub(self, argument: JsonValue) -> str:
        if isinstance(argument, str):
            text, own = argument, {}
        else:
            first, second = _items(argument, "Fn::Sub", 2)
            if not isinstance(second, Mapping):
                raise TemplateError("the second part of Fn::Sub must be a map")
            text = _text(first, "Fn::Sub")
            own = {name: self._string(member, "Fn::Sub") for name, member in second.items()}

        def fill(match: re.Match[str]) -> str:
            literal, name = match[1], match[2].strip()
            if literal:
                return "${" + name + "}"
            if name in own:
                return own[name]
            logical_id, dot, attribute = name.partition(".")
            return self._attributes(logical_id, attribute) if dot else self._named(name)

        return _PLACE.sub(fill, text)

    def _get_att(self, argument: JsonValue) -> str:
        if isinstance(argument, str):
            logical_id, _, attribute = argument.partition(".")
        else:
            first, second = _items(argument, "Fn::GetAtt", 2)
            logical_id, attribute = _text(first, "Fn::GetAtt"), _text(second, "Fn::GetAtt")
        return self._attributes(logical_id, attribute)

    def _join(self, argument: JsonValue) -> str:
        separator, parts = _items(argument, "Fn::Join", 2)
        return _text(separator, "Fn::Join").join(self._strings(parts, "Fn::Join"))

    def _select(self, argument: JsonValue) -> str:
        position, parts = _items(argument, "Fn::Select", 2)
        chosen = self._strings(parts, "Fn::Select")
        try:
            return chosen[int(self._string(position, "Fn::Select"))]
        except (ValueError, IndexError) as error:
            raise TemplateError("Fn::Select points outside its list") from error

    def _split(self, argument: JsonValue) -> list[str]:
        separator, text = _items(argument, "Fn::Split", 2)
        return self._string(text, "Fn::Split").split(_text(separator, "Fn::Split"))

    def _find_in_map(self, argument: JsonValue) -> Resolved:
        value: JsonValue = self._mappings
        for key in _items(argument, "Fn::FindInMap", 3):
            name = self._string(key, "Fn::FindInMap")
            if not isinstance(value, Mapping) or name not in value:
                raise TemplateError(f"Fn::FindInMap finds no {name}")
            value = value[name]
        return value

    def _equals(self, argument: JsonValue) -> bool:
        left, right = (self._string(side, "Fn::Equals") for side in _items(argument, "Fn::Equals", 2))
        return left == right

    def _truths(self, argument: JsonValue) -> list[bool]:
        if not isinstance(argument, Sequence) or isinstance(argument, str) or not argument:
            raise TemplateError("Fn::And, Fn::Or and Fn::Not take a list")
        return [_truth(self._resolve(item), "a condition") for item in argument]

    def _string(self, value: JsonValue, where: str) -> str:
        resolved = self._resolve(value)
        if isinstance(resolved, bool):
            return "true" if resolved else "false"
        if not isinstance(resolved, (str, int, float)):
            raise TemplateError(f"{where} needs text")
        return str(resolved)

    def _strings(self, value: JsonValue, where: str) -> list[str]:
        resolved = self._resolve(value)
        if not isinstance(resolved, list):
            raise TemplateError(f"{where} needs a list")
        return [self._string(item, where) for item in resolved]


_PSEUDO = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::StackName": STACK,
    "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{STACK}/local",
    "AWS::URLSuffix": "amazonaws.com",
}


def _intrinsic(value: JsonObject) -> str | None:
    if len(value) != 1:
        return None
    (name,) = value
    # A policy statement has a member named Condition too, whose value is a map.
    is_condition = name == "Condition" and isinstance(value[name], str)
    return name if name == "Ref" or name.startswith("Fn::") or is_condition else None


def _parameter_values(declared: JsonObject, given: Mapping[str, str]) -> dict[str, str]:
    unknown = given.keys() - declared.keys()
    if unknown:
        raise TemplateError(f"the template has no parameter {', '.join(sorted(unknown))}")
    values: dict[str, str] = {}
    for name, declaration in declared.items():
        if name in given:
            values[name] = given[name]
        elif isinstance(declaration, Mapping) and "Default" in declaration:
            default = declaration["Default"]
            values[name] = str(default).lower() if isinstance(default, bool) else str(default)
        else:
            raise TemplateError(f"the parameter {name} has no default and no value")
    return values


def _section(template: JsonObject, name: str) -> JsonObject:
    section = template.get(name, {})
    if not isinstance(section, Mapping):
        raise TemplateError(f"{name} must be a map")
    return section


def _text(value: JsonValue, where: str) -> str:
    if not isinstance(value, str):
        raise TemplateError(f"{where} needs text")
    return value


def _items(value: JsonValue, where: str, count: int) -> Sequence[JsonValue]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != count:
        raise TemplateError(f"{where} needs a list of {count}")
    return value


def _truth(value: Resolved, where: str) -> bool:
    if not isinstance(value, bool):
        raise TemplateError(f"{where} is neither true nor false")
    return value
