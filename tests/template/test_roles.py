"""What each function may do, to the letter: actions by resource, and nothing on everything."""

from __future__ import annotations

import re

import pytest

from lethe.domain.json_values import JsonObject
from tests.template.stack import EMBEDDER_SECRET, FUNCTIONS, KMS_KEY, ROOT, Stack, items, mapping, stack

TITAN_SETTING = "bedrock:amazon.titan-embed-text-v2:0"
TITAN = "arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-embed-text-v2:0"

MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:lethe-erase"

TABLE_RIGHTS = {
    "AuthorizeFunction": {
        "AccessTable": {"GetItem"},
    },
    "WriteFunction": {
        "SubjectsTable": {"GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"},
        "SessionsTable": {"BatchGetItem", "Query", "PutItem", "UpdateItem", "ConditionCheckItem"},
        "EntitiesTable": {"GetItem", "Query", "PutItem", "DeleteItem", "BatchWriteItem"},
        "MemoriesTable": {"GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem"},
        "LedgerTable": {"PutItem", "Query"},
    },
    "RecallFunction": {
        "SubjectsTable": {"GetItem", "PutItem", "UpdateItem", "DeleteItem"},
        "SessionsTable": {"GetItem", "Query"},
        "EntitiesTable": {"GetItem", "Query"},
        "MemoriesTable": {"GetItem", "BatchGetItem", "Query"},
        "LedgerTable": {"PutItem", "Query"},
    },
    "GovernFunction": {
        "SubjectsTable": {
            "GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "ConditionCheckItem",
        },
        "SessionsTable": {"GetItem", "Query", "DeleteItem", "BatchWriteItem"},
        "EntitiesTable": {"Query", "BatchWriteItem"},
        "MemoriesTable": {"GetItem", "BatchGetItem", "Query", "PutItem", "DeleteItem", "BatchWriteItem"},
        "LedgerTable": {"GetItem", "BatchGetItem", "Query", "PutItem", "DeleteItem"},
        "AccessTable": {"GetItem", "Query", "UpdateItem"},
    },
    "EraseFunction": {
        "SubjectsTable": {"GetItem", "Query", "Scan", "DescribeTable", "PutItem", "UpdateItem", "BatchWriteItem"},
        "SessionsTable": {"GetItem", "Query", "Scan", "DescribeTable", "DeleteItem", "BatchWriteItem"},
        "EntitiesTable": {"Query", "Scan", "DescribeTable", "BatchWriteItem"},
        "MemoriesTable": {
            "GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable", "PutItem", "DeleteItem", "BatchWriteItem",
        },
        "LedgerTable": {"GetItem", "Query", "PutItem", "DeleteItem"},
        "AccessTable": {"GetItem", "Query", "UpdateItem"},
    },
}  # fmt: skip

OTHER_RIGHTS = {
    "AuthorizeFunction": set[tuple[str, str]](),
    "WriteFunction": {("secretsmanager:GetSecretValue", "MasterSecret"), ("bedrock:InvokeModel", TITAN)},
    "RecallFunction": {("secretsmanager:GetSecretValue", "MasterSecret"), ("bedrock:InvokeModel", TITAN)},
    "GovernFunction": {
        ("secretsmanager:GetSecretValue", "MasterSecret"),
        ("bedrock:InvokeModel", TITAN),
        ("states:StartExecution", MACHINE),
    },
    "EraseFunction": {
        ("secretsmanager:GetSecretValue", "MasterSecret"),
        ("bedrock:InvokeModel", TITAN),
        ("states:StartExecution", MACHINE),
        ("kms:Sign", "ReceiptKey.Arn"),
        ("kms:GetPublicKey", "ReceiptKey.Arn"),
    },
}

ON_EVERYTHING = {
    "xray:PutTraceSegments": "X-Ray has no resources to name",
    "xray:PutTelemetryRecords": "X-Ray has no resources to name",
}


def statements(a_stack: Stack, function: str) -> list[JsonObject]:
    """The statements of a function's own role."""
    role = str(a_stack.resources("AWS::Lambda::Function")[function]["Role"])
    assert role.endswith("Role.Arn"), f"{function} has no role of this template"
    properties = a_stack.resources("AWS::IAM::Role")[role.removesuffix(".Arn")]
    assert "ManagedPolicyArns" not in properties
    policies = [mapping(mapping(policy)["PolicyDocument"]) for policy in items(properties["Policies"])]
    return [mapping(statement) for policy in policies for statement in items(policy["Statement"])]


def rights(a_stack: Stack, function: str) -> set[tuple[str, str]]:
    """Pairs of action and resource."""
    return {
        (str(action), str(resource))
        for statement in statements(a_stack, function)
        for action in items(statement["Action"])
        for resource in items(statement["Resource"])
    }


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_may_do_exactly_this(function: str) -> None:
    tables = {
        (f"dynamodb:{action}", f"{table}.Arn")
        for table, actions in TABLE_RIGHTS[function].items()
        for action in actions
    }
    log = f"{function.removesuffix('Function')}LogGroup.Arn"
    logs = {("logs:CreateLogStream", log), ("logs:PutLogEvents", log)}
    traces = {(action, "*") for action in ON_EVERYTHING}
    assert rights(stack(), function) == tables | logs | traces | OTHER_RIGHTS[function]


def test_every_function_has_a_role_of_its_own() -> None:
    roles = [properties["Role"] for properties in stack().resources("AWS::Lambda::Function").values()]
    own = {f"{name.removesuffix('Function')}Role" for name in FUNCTIONS}
    assert sorted(map(str, roles)) == sorted(f"{role}.Arn" for role in own)
    assert stack().resources("AWS::IAM::Role").keys() == own | {"EraseMachineRole"}


def test_only_lambda_takes_the_roles() -> None:
    roles = dict(stack().resources("AWS::IAM::Role"))
    del roles["EraseMachineRole"]  # tests/template/test_state_machine.py
    for role in roles.values():
        (trust,) = items(mapping(role["AssumeRolePolicyDocument"])["Statement"])
        assert mapping(trust) == {
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_is_allowed_on_everything_but_what_aws_cannot_narrow(function: str) -> None:
    everywhere = stack(KmsKeyArn=KMS_KEY, EmbedderKeySecretArn=EMBEDDER_SECRET)
    for action, resource in rights(everywhere, function):
        assert "*" not in action
        assert "*" not in resource or (resource == "*" and action in ON_EVERYTHING), (action, resource)
    assert all(statement["Effect"] == "Allow" for statement in statements(everywhere, function))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_own_key_is_used_through_the_stores_only(function: str) -> None:
    added = [s for s in statements(stack(KmsKeyArn=KMS_KEY), function) if s not in statements(stack(), function)]
    (key,) = added
    assert key["Action"] == ["kms:Decrypt", "kms:DescribeKey"]
    assert key["Resource"] == KMS_KEY
    services = items(mapping(mapping(key["Condition"])["StringEquals"])["kms:ViaService"])
    stores = {"AuthorizeFunction": ["dynamodb"]}.get(function, ["dynamodb", "secretsmanager"])
    assert services == [f"{store}.us-east-1.amazonaws.com" for store in stores]


@pytest.mark.parametrize(
    ("embedder", "resources"),
    [
        ("bedrock:amazon.titan-embed-text-v2:0", [TITAN]),
        ("bedrock:amazon.titan-embed-text-v2:0?dimensions=256", [TITAN]),
        (
            "bedrock:cohere.embed-multilingual-v3",
            ["arn:aws:bedrock:us-east-1::foundation-model/cohere.embed-multilingual-v3"],
        ),
        ("openai:text-embedding-3-small", []),
        ("local", []),
    ],
)
@pytest.mark.parametrize("function", ["WriteFunction", "RecallFunction"])
def test_only_the_configured_model_may_be_invoked(function: str, embedder: str, resources: list[str]) -> None:
    allowed = rights(stack(Embedder=embedder), function)
    assert [resource for action, resource in allowed if action.startswith("bedrock:")] == resources


@pytest.mark.parametrize("function", ["WriteFunction", "RecallFunction"])
def test_while_models_are_exchanged_both_may_be_invoked(function: str) -> None:
    """Role and settings of a function do not change at one moment: neither order may refuse a model."""
    cohere = "bedrock:cohere.embed-multilingual-v3?dimensions=1024"
    before, after = stack(SecondEmbedder=cohere), stack(Embedder=cohere, SecondEmbedder=TITAN_SETTING)
    assert rights(before, function) == rights(after, function)
    assert rights(before, function) - rights(stack(), function) == {
        ("bedrock:InvokeModel", "arn:aws:bedrock:us-east-1::foundation-model/cohere.embed-multilingual-v3")
    }
    with_key = rights(
        stack(SecondEmbedder="openai:m?dimensions=8", SecondEmbedderKeySecretArn=EMBEDDER_SECRET), function
    )
    assert with_key - rights(stack(), function) == {("secretsmanager:GetSecretValue", EMBEDDER_SECRET)}


@pytest.mark.parametrize("function", ["WriteFunction", "RecallFunction"])
def test_the_endpoints_key_is_readable_only_when_there_is_one(function: str) -> None:
    with_key = rights(stack(EmbedderKeySecretArn=EMBEDDER_SECRET), function)
    assert with_key - rights(stack(), function) == {("secretsmanager:GetSecretValue", EMBEDDER_SECRET)}


def test_the_layer_keeps_the_api_models_of_what_the_roles_may_call() -> None:
    makefile = (ROOT / "layers/dependencies/Makefile").read_text(encoding="utf-8")
    kept = re.search(r"^SERVICES := (.*)$", makefile, re.MULTILINE)
    assert kept is not None
    client_names = {"bedrock": "bedrock-runtime", "states": "stepfunctions"}
    by_platform = {"logs", "xray"}  # Lambda's runtime and its tracing daemon call these, not our code
    by_http = {"es", "aoss"}  # OpenSearch has an HTTP client of its own
    whole = stack(KmsKeyArn=KMS_KEY, SearchEngine="managed")
    called = {
        action.partition(":")[0] for function in (*FUNCTIONS, "IndexFunction") for action, _ in rights(whole, function)
    }
    called -= by_platform | by_http
    assert set(kept[1].split()) == {client_names.get(service, service) for service in called}
