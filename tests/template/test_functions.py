"""Environment, logs, limits and handlers of the functions."""

from __future__ import annotations

import pytest

from lethe.domain.json_values import JsonObject
from lethe.entry.settings import (
    AuthorizeSettings,
    EraseSettings,
    GovernSettings,
    RecallSettings,
    Settings,
    WriteSettings,
)
from lethe_local.functions import load_build
from lethe_local.template import read_template
from tests.template.stack import FUNCTIONS, ROOT, TEMPLATE, mapping, stack

SETTINGS: dict[str, type[Settings]] = {
    "AuthorizeFunction": AuthorizeSettings,
    "WriteFunction": WriteSettings,
    "RecallFunction": RecallSettings,
    "GovernFunction": GovernSettings,
    "EraseFunction": EraseSettings,
}

POWERTOOLS = {
    "POWERTOOLS_SERVICE_NAME": "lethe",
    "POWERTOOLS_METRICS_NAMESPACE": "Lethe",
    "POWERTOOLS_LOG_LEVEL": "INFO",
    "POWERTOOLS_TRACER_CAPTURE_RESPONSE": "false",
    "POWERTOOLS_TRACER_CAPTURE_ERROR": "false",
}
LIBRARIES = {"OPENBLAS_NUM_THREADS": "1"}

HTTP_API_SECONDS = 30


def function(name: str, **parameters: str) -> JsonObject:
    return stack(**parameters).resources("AWS::Lambda::Function")[name]


def environment(name: str, **parameters: str) -> dict[str, str]:
    variables = mapping(mapping(function(name, **parameters)["Environment"])["Variables"])
    return {variable: str(value) for variable, value in variables.items()}


def test_these_are_the_functions() -> None:
    assert stack().resources("AWS::Lambda::Function").keys() == set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_environment_holds_exactly_what_the_settings_read(name: str) -> None:
    settings = SETTINGS[name]
    fields = settings.names() - settings.LOCAL_ONLY
    expected = {f"LETHE_{field.upper()}" for field in fields} | POWERTOOLS.keys() | LIBRARIES.keys()
    assert environment(name).keys() == expected


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("embedder", ["bedrock:amazon.titan-embed-text-v2:0", "local"])
def test_the_settings_accept_what_the_template_sets(name: str, embedder: str) -> None:
    settings = SETTINGS[name].from_environment(environment(name, Embedder=embedder))
    if isinstance(settings, WriteSettings | RecallSettings):
        assert settings.embedder == embedder


@pytest.mark.parametrize("name", FUNCTIONS)
def test_powertools_never_sees_content(name: str) -> None:
    variables = environment(name)
    assert {key: value for key, value in variables.items() if key.startswith("POWERTOOLS_")} == POWERTOOLS
    for hazard in ("LOG_EVENT", "DEBUG", "DEV"):
        assert not [variable for variable in variables if hazard in variable]


def test_globals_name_no_table_no_secret_and_no_endpoint() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    shared = text[text.index("\nGlobals:") : text.index("\nResources:")]
    assert "LETHE_" not in shared


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_table_variable_points_at_its_table(name: str) -> None:
    tables = {key: value for key, value in environment(name).items() if key.endswith("_TABLE")}
    assert tables
    for variable, table in tables.items():
        assert table == f"{variable.removeprefix('LETHE_').removesuffix('_TABLE').capitalize()}Table"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_logs_to_a_group_that_forgets(name: str) -> None:
    logging = mapping(function(name)["LoggingConfig"])
    group = stack().resources("AWS::Logs::LogGroup")[str(logging["LogGroup"])]
    assert logging["LogGroup"] == f"{name.removesuffix('Function')}LogGroup"
    assert logging["LogFormat"] == "JSON"
    assert str(group["RetentionInDays"]) == "30"


def test_retention_and_level_are_parameters() -> None:
    for group in stack(LogRetentionDays="3").resources("AWS::Logs::LogGroup").values():
        assert str(group["RetentionInDays"]) == "3"
    for name in FUNCTIONS:
        assert environment(name, LogLevel="ERROR")["POWERTOOLS_LOG_LEVEL"] == "ERROR"
        assert mapping(function(name, LogLevel="ERROR")["LoggingConfig"])["ApplicationLogLevel"] == "ERROR"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_handler_is_a_file_of_its_folder(name: str) -> None:
    resource = read_template(TEMPLATE).functions[name]
    assert resource.folder == ROOT / "functions" / name.removesuffix("Function").lower()
    assert callable(load_build(resource)), "load_build refuses a file without the handler"


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
@pytest.mark.parametrize("embedder", ["bedrock:amazon.titan-embed-text-v2:0", "local"])
def test_one_runtime_and_one_architecture_for_all(name: str, architecture: str, embedder: str) -> None:
    properties = function(name, Architecture=architecture, Embedder=embedder)
    assert properties["Runtime"] == "python3.13"
    assert properties["Architectures"] == [architecture]
    assert properties["TracingConfig"] == {"Mode": "Active"}
    layers = stack(Architecture=architecture, Embedder=embedder).resources("AWS::Lambda::LayerVersion")
    assert len(layers) == (3 if embedder == "local" else 2)
    assert set(map(str, properties["Layers"])) == layers.keys()  # type: ignore[arg-type]  # a list, as SAM makes it
    for layer in layers.values():
        assert layer["CompatibleArchitectures"] == [architecture]
        assert layer["CompatibleRuntimes"] == ["python3.13"]


def test_time_limits_end_before_the_gateway_gives_up() -> None:
    limits = {name: int(str(function(name)["Timeout"])) for name in FUNCTIONS}
    assert limits.pop("EraseFunction") == 300, "nobody waits for it"
    assert limits == {"AuthorizeFunction": 5, "WriteFunction": 29, "RecallFunction": 29, "GovernFunction": 29}
    assert max(limits.values()) < HTTP_API_SECONDS
