"""The HTTP API: routes as the code has them, an authorizer that never caches, logs without content."""

from __future__ import annotations

import json
import re

from lethe.entry.routes import ROUTES
from lethe_client.cli.stack import environment_of_stack
from lethe_local.template import read_template
from tests.template.stack import FUNCTIONS, TEMPLATE, mapping, stack

WITHOUT_KEY = {"GET /v1/health", "GET /v1/openapi.json", "GET /docs"}

LOGGED = {
    "$context.requestId",
    "$context.requestTimeEpoch",
    "$context.routeKey",
    "$context.status",
    "$context.responseLatency",
    "$context.integrationStatus",
    "$context.integrationLatency",
    "$context.authorizer.latency",
}


def test_the_template_has_the_routes_of_the_code_and_no_others() -> None:
    in_template = {route.key: route.function for route in read_template(TEMPLATE).routes}
    assert in_template.pop("$default") == "RecallFunction"
    assert in_template == {route.key: f"{route.function.capitalize()}Function" for route in ROUTES}


def test_everything_but_three_routes_asks_the_authorizer() -> None:
    routes = read_template(TEMPLATE).routes
    assert {route.key for route in routes if route.authorizer is None} == WITHOUT_KEY
    assert {route.key for route in ROUTES if not route.permissions} == WITHOUT_KEY
    assert {route.authorizer for route in routes if route.key not in WITHOUT_KEY} == {"ApiKey"}


def test_the_authorizer_is_asked_each_time_and_for_any_request() -> None:
    (api,) = stack().resources("AWS::ApiGatewayV2::Api").values()
    scheme = mapping(mapping(mapping(mapping(api["Body"])["components"])["securitySchemes"])["ApiKey"])
    authorizer = mapping(scheme["x-amazon-apigateway-authorizer"])
    assert authorizer["authorizerResultTtlInSeconds"] == 0
    assert authorizer["authorizerPayloadFormatVersion"] == "2.0"
    assert authorizer["enableSimpleResponses"] is True
    # A header here would make the gateway refuse requests without it, in its own words.
    assert authorizer["identitySource"] == ["$context.routeKey"]
    assert "AuthorizeFunction" in str(authorizer["authorizerUri"])
    assert api["FailOnWarnings"] is True


def test_the_gateway_may_invoke_every_function() -> None:
    permissions = list(stack().resources("AWS::Lambda::Permission").values())
    others = [each for each in permissions if each["Principal"] != "apigateway.amazonaws.com"]
    gateway = [each for each in permissions if each not in others]
    answering = set(FUNCTIONS) - {"EraseFunction"}
    assert {str(permission["FunctionName"]).removesuffix(".Arn") for permission in gateway} == answering
    assert all("HttpApi" in str(permission["SourceArn"]) for permission in gateway)
    scheduled = {(each["FunctionName"], each["Principal"], each["SourceArn"]) for each in others}
    rules = stack().resources("AWS::Events::Rule")
    assert scheduled == {("EraseFunction", "events.amazonaws.com", f"{rule}.Arn") for rule in rules}


def test_the_access_log_holds_no_content() -> None:
    (stage,) = stack().resources("AWS::ApiGatewayV2::Stage").values()
    settings = mapping(stage["AccessLogSettings"])
    assert settings["DestinationArn"] == "AccessLogGroup.Arn"
    line = str(settings["Format"])
    assert set(re.findall(r"\$[A-Za-z.]+", line)) == LOGGED
    assert json.loads(line)["route"] == "$context.routeKey"


def test_traffic_is_limited_by_parameters() -> None:
    for parameters, expected in (({}, (200, 400)), ({"ThrottlingRate": "5", "ThrottlingBurst": "9"}, (5, 9))):
        (stage,) = stack(**parameters).resources("AWS::ApiGatewayV2::Stage").values()
        limits = mapping(stage["DefaultRouteSettings"])
        found = (int(str(limits["ThrottlingRateLimit"])), int(str(limits["ThrottlingBurstLimit"])))
        assert found == expected


def test_the_command_line_finds_what_it_needs_in_the_outputs() -> None:
    declared = mapping(stack().expanded["Outputs"])
    outputs = {name: f"<{name}>" for name in declared}
    settings = environment_of_stack("lethe", fetch=lambda _: outputs)
    access = {
        "LETHE_URL": "<ApiUrl>",
        "LETHE_ACCESS_TABLE": "<AccessTableName>",
        "LETHE_SECRET_ARN": "<MasterSecretArn>",
    }
    always = {
        "LETHE_SUBJECTS_TABLE": "<SubjectsTableName>",
        "LETHE_MEMORIES_TABLE": "<MemoriesTableName>",
        "LETHE_EMBEDDER": "<EmbedderName>",
        "LETHE_RECEIPT_KEY_ARN": "<ReceiptKeyArn>",
        "LETHE_LEDGER_TABLE": "<LedgerTableName>",
    }
    index = {"LETHE_OPENSEARCH_URL": "<SearchUrl>", "LETHE_OPENSEARCH_FLAVOUR": "<SearchFlavour>"}
    models = {
        "LETHE_EMBEDDER_URL": "<EmbedderAddress>",
        "LETHE_EMBEDDER_KEY_ARN": "<EmbedderKeyArn>",
        "LETHE_SECOND_EMBEDDER": "<SecondEmbedderName>",
        "LETHE_SECOND_EMBEDDER_URL": "<SecondEmbedderAddress>",
        "LETHE_SECOND_EMBEDDER_KEY_ARN": "<SecondEmbedderKeyArn>",
    }
    assert settings == access | always | models | index
    scanning = {name: text for name, text in outputs.items() if "Condition" not in mapping(declared[name])}
    assert environment_of_stack("lethe", fetch=lambda _: scanning) == access | always
