"""Reading a template: what CloudFormation would compute, and a clear refusal of what is not known here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lethe.domain.json_values import JsonValue
from lethe_local.functions import load_build
from lethe_local.intrinsics import Resolver, TemplateError
from lethe_local.template import read_template
from tests.component.local.conftest import HOUSE

ROOT = Path(__file__).resolve().parents[3]
TEMPLATE: Mapping[str, JsonValue] = {
    "Parameters": {"Name": {"Type": "String", "Default": "a:b"}, "Flag": {"Type": "String", "Default": "true"}},
    "Conditions": {
        "On": {"Fn::Equals": [{"Ref": "Flag"}, "true"]},
        "Off": {"Fn::Not": [{"Condition": "On"}]},
        "Both": {"Fn::And": [{"Condition": "On"}, {"Condition": "Off"}]},
        "Either": {"Fn::Or": [{"Condition": "On"}, {"Condition": "Off"}]},
    },
    "Mappings": {"Sizes": {"small": {"memory": 256}}},
}


def _resolver(**parameters: str) -> Resolver:
    def reference(logical_id: str) -> str:
        if logical_id != "Table":
            raise TemplateError(f"nothing is called {logical_id}")
        return "lethe-table"

    return Resolver(
        TEMPLATE, parameters, reference, lambda logical_id, attribute: f"{reference(logical_id)}/{attribute}"
    )


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ({"Ref": "Name"}, "a:b"),
        ({"Ref": "Table"}, "lethe-table"),
        ({"Ref": "AWS::Region"}, "us-east-1"),
        ({"a": {"Ref": "AWS::NoValue"}, "b": [1, {"Ref": "AWS::NoValue"}, 2]}, {"b": [1, 2]}),
        ({"Fn::GetAtt": ["Table", "Arn"]}, "lethe-table/Arn"),
        ({"Fn::GetAtt": "Table.StreamArn"}, "lethe-table/StreamArn"),
        (
            {"Fn::Sub": "${Name}/${Table}/${Table.Arn}/${!Literal}/${AWS::StackName}"},
            "a:b/lethe-table/lethe-table/Arn/${Literal}/lethe",
        ),
        ({"Fn::Sub": ["${x}-${Name}", {"x": {"Ref": "Flag"}}]}, "true-a:b"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Flag"}]]}, "a-true"),
        ({"Fn::Select": [1, {"Fn::Split": [":", {"Ref": "Name"}]}]}, "b"),
        ({"Fn::FindInMap": ["Sizes", "small", "memory"]}, 256),
        ({"Fn::If": ["On", "yes", "no"]}, "yes"),
        ({"Fn::If": ["Off", "yes", {"Ref": "Flag"}]}, "true"),
        ({"Fn::If": ["Both", 1, 2]}, 2),
        ({"Fn::If": ["Either", 1, 2]}, 1),
        ({"Condition": {"StringEquals": {"a": "b"}}}, {"Condition": {"StringEquals": {"a": "b"}}}),
        ([{"k": "v"}, None, 1.5, True], [{"k": "v"}, None, 1.5, True]),
    ],
)
def test_intrinsics_are_computed(value: JsonValue, resolved: JsonValue) -> None:
    assert _resolver().resolve(value) == resolved


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"Fn::Cidr": ["10.0.0.0/16", 6, 8]}, "Fn::Cidr"),
        ({"Fn::ImportValue": "x"}, "Fn::ImportValue"),
        ({"Ref": "Unknown"}, "Unknown"),
        ({"Ref": "AWS::NotificationARNs"}, "NotificationARNs"),
        ({"Ref": ["Name"]}, "Ref"),
        ({"Fn::Sub": "${Nobody}"}, "Nobody"),
        ({"Fn::If": ["Nothing", 1, 2]}, "Nothing"),
        ({"Fn::If": ["On", 1]}, "list of 3"),
        ({"Fn::Select": [5, ["a"]]}, "outside"),
        ({"Fn::FindInMap": ["Sizes", "large", "memory"]}, "large"),
        ({"Fn::Join": ["-", "text"]}, "list"),
    ],
)
def test_what_is_not_known_is_refused_by_name(value: JsonValue, words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        _resolver().resolve(value)


def test_parameters_are_known_or_refused() -> None:
    assert _resolver(Flag="false").condition("Off")
    with pytest.raises(TemplateError, match="Colour"):
        _resolver(Colour="red")
    with pytest.raises(TemplateError, match="Open"):
        Resolver({"Parameters": {"Open": {"Type": "String"}}}, {}, str, lambda a, b: a + b)


def test_conditions_and_parameters_shape_the_house() -> None:
    fast = read_template(HOUSE / "template.yaml")
    slow = read_template(HOUSE / "template.yaml", {"Fast": "false", "Greeting": "bonjour"})
    assert (set(fast.tables), set(slow.tables)) == ({"NotesTable"}, {"NotesTable", "SlowTable"})
    assert fast.functions["EchoFunction"].timeout_seconds == 2
    echo = slow.functions["EchoFunction"]
    assert (echo.timeout_seconds, echo.memory_mb, echo.name) == (20, 256, "echo")
    assert echo.environment == {"NOTES_TABLE": "lethe-notes", "GREETING": "bonjour from lethe"}


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("Method: ANY, Auth", "Method: ANY, Auht", "Auht"),
        ("ReauthorizeEvery: 0", "ReauthorizeEvery: 60", "ReauthorizeEvery"),
        ("EnableSimpleResponses: true", "EnableSimpleResponses: false", "EnableSimpleResponses"),
        ("!Ref NotesTable", "!GetAtt NotesTable.Colour", "Colour"),
        ("!Ref NotesTable", "!Ref NoTable", "NoTable"),
        ("Timeout: 5", "Timeout: soon", "Timeout"),
        ("CodeUri: functions/echo", "CodeUri: s3://somewhere/else", "CodeUri"),
        ("Resources:", "Things:", "no template"),
    ],
)
def test_a_template_that_is_wrong_is_refused_in_words(tmp_path: Path, part: str, change: str, words: str) -> None:
    text = (HOUSE / "template.yaml").read_text(encoding="utf-8")
    assert part in text
    (tmp_path / "template.yaml").write_text(text.replace(part, change), encoding="utf-8")
    with pytest.raises(TemplateError, match=words):
        read_template(tmp_path / "template.yaml")


def test_a_function_needs_its_file_and_build(tmp_path: Path) -> None:
    text = (HOUSE / "template.yaml").read_text(encoding="utf-8")
    (tmp_path / "template.yaml").write_text(text, encoding="utf-8")
    echo = read_template(tmp_path / "template.yaml").functions["EchoFunction"]
    with pytest.raises(TemplateError, match="there is no echo"):
        load_build(echo)
    echo.folder.mkdir(parents=True)
    (echo.folder / "app.py").write_text("lambda_handler = None\n", encoding="utf-8")
    with pytest.raises(TemplateError, match="must have build"):
        load_build(echo)


def test_lethes_own_template_is_read_whole() -> None:
    template = read_template(ROOT / "template.yaml")
    assert {function.name for function in template.functions.values()} >= {"authorize", "write", "recall"}
    routes = {route.key: route for route in template.routes}
    open_routes = {key for key, route in routes.items() if route.authorizer is None}
    assert open_routes == {"GET /v1/health", "GET /v1/openapi.json", "GET /docs"}
    assert "$default" in routes
    assert set(template.table_names.values()) >= {
        f"lethe-{name}" for name in ("subjects", "sessions", "entities", "memories", "ledger", "access")
    }
    for function in template.functions.values():
        assert callable(load_build(function))
