"""Alarms watch metrics that exist: a wrong name never fires, and nobody notices."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lethe.domain.json_values import JsonObject
from tests.template.stack import FUNCTIONS, TOPIC, items, mapping, stack

# Namespace and dimension of every metric that we watch, as the services' own metric references list them. HTTP APIs
# publish 4xx, 5xx and Count by ApiId; 4XXError and 5XXError by ApiName are the REST APIs'.
PUBLISHED = {
    "AWS/Lambda": ("FunctionName", {"Errors", "Throttles", "Duration"}),
    "AWS/ApiGateway": ("ApiId", {"4xx", "5xx", "Count"}),
    "AWS/DynamoDB": ("TableName", {"ReadThrottleEvents", "WriteThrottleEvents"}),
    "AWS/States": ("StateMachineArn", {"ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted", "ExecutionTime"}),
    "AWS/Events": ("RuleName", {"FailedInvocations"}),
}
KINDS = {
    "FunctionName": "AWS::Lambda::Function",
    "ApiId": "AWS::ApiGatewayV2::Api",
    "TableName": "AWS::DynamoDB::Table",
    "StateMachineArn": "AWS::StepFunctions::StateMachine",
    "RuleName": "AWS::Events::Rule",
}
BY_ONE = {"AWS/States", "AWS/Events"}
"""Where a single bad minute calls: an erasure that does not end well, a schedule that reaches nobody."""

Metric = tuple[str, str, str, str]
"""Namespace, name, dimension, resource."""


def _metric(metric: JsonObject) -> Metric:
    (dimension,) = (mapping(item) for item in items(metric["Dimensions"]))
    return (str(metric["Namespace"]), str(metric["MetricName"]), str(dimension["Name"]), str(dimension["Value"]))


def metrics_of(alarm: JsonObject) -> Iterator[Metric]:
    if "Metrics" not in alarm:
        yield _metric(alarm)
        return
    for query in items(alarm["Metrics"]):
        if "MetricStat" in mapping(query):
            yield _metric(mapping(mapping(mapping(query)["MetricStat"])["Metric"]))


def alarms(**parameters: str) -> dict[str, JsonObject]:
    return stack(**parameters).resources("AWS::CloudWatch::Alarm")


def assert_published(metric: Metric) -> None:
    namespace, name, dimension, resource = metric
    expected_dimension, names = PUBLISHED[namespace]
    assert (dimension, name in names) == (expected_dimension, True), metric
    assert resource in stack().resources(KINDS[dimension]), f"{metric}: no such resource"


def test_every_alarm_watches_a_metric_that_is_published() -> None:
    watched = [metric for alarm in alarms().values() for metric in metrics_of(alarm)]
    assert len(watched) >= len(alarms())
    for metric in watched:
        assert_published(metric)


def test_every_part_that_can_fail_is_watched() -> None:
    watched = {metric for alarm in alarms().values() for metric in metrics_of(alarm)}
    tables = stack().resources("AWS::DynamoDB::Table").keys()
    assert watched == (
        {("AWS/Lambda", name, "FunctionName", f) for f in FUNCTIONS for name in ("Errors", "Throttles")}
        | {("AWS/ApiGateway", "5xx", "ApiId", "HttpApi")}
        | {
            ("AWS/DynamoDB", name, "TableName", table)
            for table in tables
            for name in ("ReadThrottleEvents", "WriteThrottleEvents")
        }
        | {("AWS/States", name, "StateMachineArn", "EraseStateMachine") for name in PUBLISHED["AWS/States"][1]}
        | {("AWS/Events", "FailedInvocations", "RuleName", "EraseFunctionTick")}
    )


def test_silence_is_no_alarm_and_one_bad_minute_is_not_enough() -> None:
    for alarm in alarms().values():
        assert alarm["TreatMissingData"] == "notBreaching"
        assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
        if alarm.get("Namespace") in BY_ONE:
            assert "DatapointsToAlarm" not in alarm
            assert alarm["EvaluationPeriods"] == 1
        else:
            assert 1 < int(str(alarm["DatapointsToAlarm"])) <= int(str(alarm["EvaluationPeriods"]))
        assert alarm["AlarmDescription"]


def test_a_sum_of_metrics_names_the_metrics_that_it_reads() -> None:
    summed = [alarm for alarm in alarms().values() if "Metrics" in alarm]
    assert summed
    for alarm in summed:
        queries = [mapping(query) for query in items(alarm["Metrics"])]
        returned = [query for query in queries if query.get("ReturnData", True)]
        assert len(returned) == 1
        for query in queries:
            if "MetricStat" in query:
                assert str(query["Id"]) in str(returned[0]["Expression"])


@pytest.mark.parametrize(
    ("parameters", "count", "actions"),
    [({"EnableAlarms": "false"}, 0, None), ({}, 22, None), ({"AlarmTopicArn": TOPIC}, 22, [TOPIC])],
)
def test_alarms_are_optional_and_go_to_the_topic(
    parameters: dict[str, str], count: int, actions: list[str] | None
) -> None:
    assert [alarm.get("AlarmActions") for alarm in alarms(**parameters).values()] == [actions] * count


def test_the_dashboard_shows_metrics_that_are_published() -> None:
    (dashboard,) = stack().resources("AWS::CloudWatch::Dashboard").values()
    widgets = json.loads(str(dashboard["DashboardBody"]))["widgets"]
    shown = [tuple(metric[:4]) for widget in widgets for metric in widget["properties"]["metrics"]]
    assert shown
    for metric in shown:
        namespace, name, dimension, resource = metric
        assert_published((namespace, name, dimension, resource))
