"""The tables and the secret: keys, expiry, streams, backups, encryption, protection."""

from __future__ import annotations

import re

import pytest

from lethe_local.template import expand
from tests.template.stack import EMBEDDER_SECRET, KMS_KEY, TEMPLATE, TOPIC, mapping, stack

TABLES = {"SubjectsTable", "SessionsTable", "EntitiesTable", "MemoriesTable", "LedgerTable", "AccessTable"}
FOR_EVER = {"LedgerTable"}


def test_these_are_the_tables() -> None:
    assert stack().resources("AWS::DynamoDB::Table").keys() == TABLES


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_table_has_the_common_shape(name: str) -> None:
    table = stack().resources("AWS::DynamoDB::Table")[name]
    assert "TableName" not in table, "CloudFormation names it, so that stacks never collide"
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["KeySchema"] == [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]
    assert table["AttributeDefinitions"] == [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
    ]
    ttl = None if name in FOR_EVER else {"AttributeName": "ttl", "Enabled": True}
    assert table.get("TimeToLiveSpecification") == ttl
    assert "StreamSpecification" not in table, "content would lie in it for a day, and nobody reads it"


@pytest.mark.parametrize("engine", ["managed", "serverless"])
def test_a_stream_is_there_for_whoever_reads_it_and_shows_no_old_images(engine: str) -> None:
    made = stack(SearchEngine=engine)
    tables = made.resources("AWS::DynamoDB::Table")
    streamed = {name: table["StreamSpecification"] for name, table in tables.items() if "StreamSpecification" in table}
    assert streamed == {"MemoriesTable": {"StreamViewType": "NEW_IMAGE"}}
    sources = made.resources("AWS::Lambda::EventSourceMapping").values()
    assert {str(source["EventSourceArn"]) for source in sources} == {"MemoriesTable.StreamArn"}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_table_outlives_mistakes(name: str) -> None:
    resource = stack().raw("AWS::DynamoDB::Table")[name]
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
    for parameters, days, protected in (
        ({}, "14", "true"),
        ({"PointInTimeRecoveryDays": "1", "DeletionProtection": "false"}, "1", "false"),
    ):
        table = stack(**parameters).resources("AWS::DynamoDB::Table")[name]
        recovery = mapping(table["PointInTimeRecoverySpecification"])
        assert recovery["PointInTimeRecoveryEnabled"] is True
        assert str(recovery["RecoveryPeriodInDays"]) == days
        assert str(table["DeletionProtectionEnabled"]) == protected


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_table_takes_an_own_key(name: str) -> None:
    assert "SSESpecification" not in stack().resources("AWS::DynamoDB::Table")[name]
    encrypted = stack(KmsKeyArn=KMS_KEY).resources("AWS::DynamoDB::Table")[name]
    assert encrypted["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KMS_KEY}


def test_the_master_secret_is_random_and_kept() -> None:
    (resource,) = stack().raw("AWS::SecretsManager::Secret").values()
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
    (secret,) = stack().resources("AWS::SecretsManager::Secret").values()
    assert secret["GenerateSecretString"] == {"PasswordLength": 64, "ExcludePunctuation": True}
    assert "SecretString" not in secret
    assert "KmsKeyId" not in secret
    (encrypted,) = stack(KmsKeyArn=KMS_KEY).resources("AWS::SecretsManager::Secret").values()
    assert encrypted["KmsKeyId"] == KMS_KEY


@pytest.mark.parametrize(
    ("parameter", "good", "bad"),
    [
        (
            "Embedder",
            [
                "local",
                "bedrock:amazon.titan-embed-text-v2:0",
                "bedrock:cohere.embed-multilingual-v3",
                "openai:bge-m3?dimensions=1024",
                "bedrock:amazon.titan-embed-text-v2:0?dimensions=256",
            ],
            ["", "titan", "bedrock:", "bedrock:a b", "bedrock:a?dimensions=x", "openai:", "LOCAL"],
        ),
        ("EmbedderUrl", ["", "https://models.example.com/v1"], ["http://models.example.com", "models.example.com"]),
        ("EmbedderKeySecretArn", ["", EMBEDDER_SECRET], ["sk-123", KMS_KEY]),
        ("KmsKeyArn", ["", KMS_KEY], ["alias/mine", EMBEDDER_SECRET]),
        ("AlarmTopicArn", ["", TOPIC], ["me@example.com"]),
    ],
)
def test_a_parameter_refuses_what_would_fail_later(parameter: str, good: list[str], bad: list[str]) -> None:
    declared = mapping(mapping(expand(TEMPLATE, {})["Parameters"])[parameter])
    pattern = re.compile(str(declared["AllowedPattern"]))
    assert [value for value in good if not pattern.fullmatch(value)] == []
    assert [value for value in bad if pattern.fullmatch(value)] == []
