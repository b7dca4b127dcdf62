"""What an operator does beside the API: admit tenants after their erasure, replay the ledger over restored tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lethe.entry.settings import OperatorSettings
from lethe.entry.wiring.stores import open_database

if TYPE_CHECKING:
    from lethe.services.erasure.replay import Replay
    from lethe.services.erasure.tenants import TenantAdmission


def tenant_admission(environment: Mapping[str, str]) -> TenantAdmission:
    """For `lethe tenants admit`."""
    from lethe.adapters.dynamodb.access import DynamoAccessStore
    from lethe.adapters.dynamodb.ledger import DynamoLedger
    from lethe.adapters.system import SystemClock
    from lethe.services.erasure.tenants import TenantAdmission

    settings = OperatorSettings.from_environment(environment)
    database = open_database(
        settings.region, settings.dynamodb_endpoint, access=settings.access_table, ledger=settings.ledger_table
    )
    return TenantAdmission(DynamoAccessStore(database), DynamoLedger(database), SystemClock())


def replay(environment: Mapping[str, str]) -> Replay:
    """For `lethe ledger replay`. Raises ValueError when a table is not named."""
    from lethe.adapters.dynamodb.access import DynamoAccessStore
    from lethe.adapters.dynamodb.heads import DynamoSubjectHeads
    from lethe.adapters.dynamodb.ledger import DynamoLedger
    from lethe.adapters.system import SystemClock
    from lethe.services.erasure.replay import Replay

    settings = OperatorSettings.from_environment(environment)
    database = open_database(
        settings.region,
        settings.dynamodb_endpoint,
        subjects=settings.subjects_table,
        access=settings.access_table,
        ledger=settings.ledger_table,
    )
    return Replay(DynamoLedger(database), DynamoSubjectHeads(database), DynamoAccessStore(database), SystemClock())
