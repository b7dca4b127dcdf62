"""The search index: there only when it is asked for, fed by the stream, and each role confined to its own verbs."""

from __future__ import annotations

import json

import pytest

from lethe.domain.json_values import JsonObject
from lethe.entry.settings import IndexSettings, RecallSettings
from lethe_local.functions import load_build
from tests.template.stack import KMS_KEY, ROOT, TOPIC, items, mapping, stack
from tests.template.test_functions import LIBRARIES, POWERTOOLS, environment, function
from tests.template.test_roles import ON_EVERYTHING, rights

MODES = ("managed", "serverless")
DOMAIN = "arn:aws:es:us-east-1:000000000000:domain/lethe"


def layers_of(name: str, **parameters: str) -> set[str]:
    """The layers' names as the template has them: SAM adds a digest to each."""
    return {str(layer)[:-10] for layer in items(function(name, **parameters)["Layers"])}


def mapping_of_source(mode: str) -> JsonObject:
    (source,) = stack(SearchEngine=mode).resources("AWS::Lambda::EventSourceMapping").values()
    return source


def test_a_stack_that_scans_has_none_of_it() -> None:
    resources = mapping(stack().expanded["Resources"])
    kinds = ("OpenSearch", "SQS", "EventSourceMapping")
    declared = [name for name, each in resources.items() if any(kind in str(mapping(each)["Type"]) for kind in kinds)]
    assert len(declared) >= 8
    assert {"IndexFunction", "IndexRole", "IndexLogGroup"} <= resources.keys()
    for name in (*declared, "IndexFunction", "IndexRole", "IndexLogGroup"):
        kind = str(mapping(resources[name])["Type"])
        assert name not in stack().resources(kind)
    assert not layers_of("RecallFunction", SearchEngine="scan", Embedder="local") & {"SearchLayer"}
    settings = RecallSettings.from_environment(environment("RecallFunction"))
    assert (settings.search_engine, settings.opensearch_url) == ("scan", None)


@pytest.mark.parametrize("mode", MODES)
def test_the_settings_are_those_of_the_function(mode: str) -> None:
    variables = environment("IndexFunction", SearchEngine=mode)
    fields = IndexSettings.names() - IndexSettings.LOCAL_ONLY
    assert variables.keys() == {f"LETHE_{name.upper()}" for name in fields} | POWERTOOLS.keys() | LIBRARIES.keys()
    index = IndexSettings.from_environment(variables)
    recall = RecallSettings.from_environment(environment("RecallFunction", SearchEngine=mode))
    assert recall.search_engine == "opensearch"
    assert (index.opensearch_flavour, index.opensearch_alias) == (mode, "lethe-memories")
    shared = ("opensearch_url", "opensearch_flavour", "opensearch_alias", "embedder", "embedder_url", "memories_table")
    assert all(getattr(index, name) == getattr(recall, name) for name in shared)
    assert "Search" in str(index.opensearch_url)
    assert index.dead_letters_url == "IndexDeadLetters"


@pytest.mark.parametrize("mode", MODES)
def test_the_function_is_a_file_of_its_folder_with_the_client_in_its_layers(mode: str) -> None:
    assert (ROOT / "functions/index/app.py").is_file()
    common = {"DependenciesLayer", "SharedLayer"}
    assert layers_of("IndexFunction", SearchEngine=mode) == common | {"SearchLayer"}
    for embedder, model in (("local", {"LocalModelLayer"}), ("openai:m?dimensions=8", set[str]())):
        assert layers_of("RecallFunction", SearchEngine=mode, Embedder=embedder) == common | {"SearchLayer"} | model
        assert layers_of("WriteFunction", SearchEngine=mode, Embedder=embedder) == common | model


def test_the_handler_can_be_built_from_its_folder() -> None:
    from lethe_local.template import FunctionResource

    resource = FunctionResource("IndexFunction", ROOT / "functions/index", "app.lambda_handler", 60, 1024, {})
    assert callable(load_build(resource))


@pytest.mark.parametrize("mode", MODES)
def test_records_come_in_order_and_none_is_given_up(mode: str) -> None:
    source = mapping_of_source(mode)
    assert source["EventSourceArn"] == "MemoriesTable.StreamArn"
    assert (source["BatchSize"], source["MaximumBatchingWindowInSeconds"]) == (200, 2)
    assert source["ParallelizationFactor"] == 1
    assert source["StartingPosition"] == "TRIM_HORIZON"
    assert source["BisectBatchOnFunctionError"] is True
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["MaximumRecordAgeInSeconds"] == 86_400, "as long as the stream holds a record"
    failure = mapping(mapping(source["DestinationConfig"])["OnFailure"])
    assert failure["Destination"] == "IndexDeadLetters.Arn"
    (pattern,) = (
        json.loads(str(mapping(each)["Pattern"])) for each in items(mapping(source["FilterCriteria"])["Filters"])
    )
    assert pattern == {"dynamodb": {"Keys": {"sk": {"S": [{"prefix": "MEM#"}]}}}}


@pytest.mark.parametrize("mode", MODES)
def test_the_indexer_may_do_exactly_this(mode: str) -> None:
    tables = {("dynamodb:GetItem", "SubjectsTable.Arn"), ("dynamodb:BatchGetItem", "MemoriesTable.Arn")}
    stream = {
        (f"dynamodb:{action}", "MemoriesTable.StreamArn")
        for action in ("DescribeStream", "GetRecords", "GetShardIterator")
    }
    logs = {(f"logs:{action}", "IndexLogGroup.Arn") for action in ("CreateLogStream", "PutLogEvents")}
    others = {("sqs:SendMessage", "IndexDeadLetters.Arn"), *((action, "*") for action in ON_EVERYTHING)}
    index = {
        "managed": {("es:ESHttpPost", f"{DOMAIN}/lethe-memories-*/{path}") for path in ("_bulk", "_mget")},
        "serverless": {("aoss:APIAccessAll", "SearchCollection.Arn")},
    }
    assert rights(stack(SearchEngine=mode), "IndexFunction") == tables | stream | logs | others | index[mode]


@pytest.mark.parametrize("function", ["GovernFunction", "EraseFunction"])
def test_who_erases_may_remove_and_look_and_nothing_else(function: str) -> None:
    before = rights(stack(), function)
    sent = {"_bulk", "_mget", "_search", "_refresh"} | ({"_forcemerge"} if function == "EraseFunction" else set())
    managed = {("es:ESHttpPost", f"{DOMAIN}/lethe-memories-*/{path}") for path in sent}
    assert rights(stack(SearchEngine="managed"), function) - before == managed
    serverless = {("aoss:APIAccessAll", "SearchCollection.Arn")}
    assert rights(stack(SearchEngine="serverless"), function) - before == serverless


def test_recall_may_search_and_nothing_else() -> None:
    before = rights(stack(), "RecallFunction")
    managed = rights(stack(SearchEngine="managed"), "RecallFunction") - before
    assert managed == {("es:ESHttpPost", f"{DOMAIN}/lethe-memories-*/_msearch")}
    serverless = rights(stack(SearchEngine="serverless"), "RecallFunction") - before
    assert serverless == {("aoss:APIAccessAll", "SearchCollection.Arn")}
    assert rights(stack(SearchEngine="managed"), "WriteFunction") == rights(stack(), "WriteFunction")


def test_a_collection_tells_its_readers_from_its_writers() -> None:
    (policy,) = stack(SearchEngine="serverless").resources("AWS::OpenSearchServerless::AccessPolicy").values()
    given = {
        role: set(rule["Rules"][0]["Permission"])
        for rule in json.loads(str(policy["Policy"]))
        for role in rule["Principal"]
    }
    writing = {"aoss:ReadDocument", "aoss:WriteDocument"}
    assert given == {
        "RecallRole.Arn": {"aoss:ReadDocument"},
        "IndexRole.Arn": writing,
        "EraseRole.Arn": writing,
        "GovernRole.Arn": writing,
    }


def test_a_collection_admits_an_operator_who_is_named() -> None:
    operator = "arn:aws:iam::111122223333:role/operator"
    (policy,) = (
        stack(SearchEngine="serverless", SearchOperatorArn=operator)
        .resources("AWS::OpenSearchServerless::AccessPolicy")
        .values()
    )
    recall, index, named = json.loads(str(policy["Policy"]))
    assert (recall["Principal"], index["Principal"], named["Principal"]) == (
        ["RecallRole.Arn"],
        ["IndexRole.Arn", "EraseRole.Arn", "GovernRole.Arn"],
        [operator],
    )
    assert {rule["ResourceType"] for rule in named["Rules"]} == {"index", "collection"}


def test_a_collection_is_of_the_generation_that_takes_ids() -> None:
    (group,) = stack(SearchEngine="serverless").resources("AWS::OpenSearchServerless::CollectionGroup").values()
    assert (group["Generation"], group["StandbyReplicas"]) == ("NEXTGEN", "ENABLED")
    (collection,) = stack(SearchEngine="serverless").resources("AWS::OpenSearchServerless::Collection").values()
    assert (collection["Type"], collection["CollectionGroupName"]) == ("VECTORSEARCH", "SearchCollectionGroup")


def test_a_domain_is_encrypted_and_its_bodies_name_no_index() -> None:
    (domain,) = stack(SearchEngine="managed", KmsKeyArn=KMS_KEY).resources("AWS::OpenSearchService::Domain").values()
    assert mapping(domain["EncryptionAtRestOptions"]) == {"Enabled": True, "KmsKeyId": KMS_KEY}
    assert mapping(domain["NodeToNodeEncryptionOptions"])["Enabled"] is True
    assert mapping(domain["DomainEndpointOptions"])["EnforceHTTPS"] is True
    assert mapping(domain["AdvancedOptions"])["rest.action.multi.allow_explicit_index"] == "false"
    assert str(domain["EngineVersion"]) == "OpenSearch_2.19"


@pytest.mark.parametrize("mode", MODES)
def test_lag_errors_and_dead_letters_are_watched(mode: str) -> None:
    alarms = stack(SearchEngine=mode, AlarmTopicArn=TOPIC).resources("AWS::CloudWatch::Alarm")
    watched = {
        (alarm["Namespace"], alarm["MetricName"], str(mapping(items(alarm["Dimensions"])[0])["Value"]))
        for name, alarm in alarms.items()
        if name.startswith("Index")
    }
    assert watched == {
        ("AWS/Lambda", "Errors", "IndexFunction"),
        ("AWS/Lambda", "Throttles", "IndexFunction"),
        ("AWS/Lambda", "IteratorAge", "IndexFunction"),
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "IndexDeadLetters.QueueName"),
    }
    assert all(alarm["AlarmActions"] == [TOPIC] for alarm in alarms.values())


@pytest.mark.parametrize("mode", MODES)
def test_the_index_has_a_dashboard_of_the_metrics_that_its_alarms_watch(mode: str) -> None:
    dashboard = stack(SearchEngine=mode).resources("AWS::CloudWatch::Dashboard")["IndexDashboard"]
    widgets = json.loads(str(dashboard["DashboardBody"]))["widgets"]
    shown = {tuple(metric[:4]) for widget in widgets for metric in widget["properties"]["metrics"]}
    assert shown == {
        ("AWS/Lambda", "IteratorAge", "FunctionName", "IndexFunction"),
        ("AWS/Lambda", "Duration", "FunctionName", "IndexFunction"),
        ("AWS/Lambda", "Errors", "FunctionName", "IndexFunction"),
        ("AWS/Lambda", "Throttles", "FunctionName", "IndexFunction"),
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "IndexDeadLetters.QueueName"),
    }
    assert "IndexDashboard" not in stack().resources("AWS::CloudWatch::Dashboard")
