"""The tables, and the secrets that requests rest on; one client a process."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

from lethe.entry.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_secretsmanager.client import SecretsManagerClient

    from lethe.adapters.dynamodb.database import Database
    from lethe.ports import AccessStore


def access_store(settings: Settings, table: str) -> AccessStore:
    """Tenants and keys."""
    from lethe.adapters.dynamodb.access import DynamoAccessStore

    return DynamoAccessStore(open_database(settings.region, settings.dynamodb_endpoint, access=table))


def open_database(
    region: str,
    endpoint: str | None,
    *,
    subjects: str = "",
    sessions: str = "",
    entities: str = "",
    memories: str = "",
    access: str = "",
    ledger: str = "",
) -> Database:
    """The tables that a function was told of; the others have no name and are never touched."""
    from lethe.adapters.dynamodb.database import Database
    from lethe.adapters.dynamodb.models import TableNames, build_models

    return Database(
        _client(region, endpoint),
        build_models(TableNames(subjects, sessions, entities, memories, access, ledger), region),
    )


@cache
def _client(region: str, endpoint: str | None) -> DynamoDBClient:
    """One client a process: making one is most of a cold start."""
    from lethe.adapters.aws_logging import quiet_botocore
    from lethe.adapters.dynamodb.client import Timeouts, make_client

    quiet_botocore()
    # Another endpoint is an emulator, which on a busy laptop takes seconds for what AWS does in milliseconds.
    return make_client(region, endpoint, Timeouts(read=8.0) if endpoint else None)


def read_master_key(region: str, secret_arn: str | None, given: str | None) -> bytes:
    """The root of subject hashes and cursor signatures. Raises ValueError when the settings name none."""
    if given is not None:
        return given.encode()
    if secret_arn is None:
        raise ValueError("set LETHE_SECRET_ARN, or LETHE_MASTER_KEY on a laptop")
    return read_secret(region, secret_arn).encode()


@cache
def read_secret(region: str, arn: str) -> str:
    """A secret's text, read once a container."""
    from botocore.config import Config

    from lethe.adapters.aws_logging import quiet_botocore
    from lethe.adapters.aws_session import aws_session

    quiet_botocore()
    config = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 3})
    client = cast(
        "SecretsManagerClient", aws_session().create_client("secretsmanager", region_name=region, config=config)
    )
    return client.get_secret_value(SecretId=arn)["SecretString"]
