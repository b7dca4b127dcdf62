"""The authorizer; and tenants, keys and the audit trail for the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lethe.entry.settings import AccessSettings, AuditSettings, AuthorizeSettings
from lethe.entry.wiring.stores import access_store, open_database, read_master_key

if TYPE_CHECKING:
    from lethe.entry.authorizer import Authorizer
    from lethe.ports import Clock
    from lethe.services.access import Access
    from lethe.services.audit import AuditDesk


def build_authorize(environment: Mapping[str, str], clock: Clock | None = None) -> Authorizer:
    """The function ``authorize``. ``clock`` is taken for likeness with the others; nothing here tells the time."""
    from lethe.entry.authorizer import Authorizer
    from lethe.services.access import authenticate

    settings = AuthorizeSettings.from_environment(environment)
    store = access_store(settings, settings.access_table)
    return Authorizer(lambda presented: authenticate(store, presented))


def access_service(environment: Mapping[str, str]) -> Access:
    """Tenants and keys, for the command line and the laptop."""
    from lethe.adapters.system import SystemClock, UlidIds
    from lethe.services.access import Access

    settings = AccessSettings.from_environment(environment)
    clock = SystemClock()
    store = access_store(settings, settings.access_table)
    return Access(
        store, read_master_key(settings.region, settings.secret_arn, settings.master_key), clock, UlidIds(clock)
    )


def audit_desk(environment: Mapping[str, str]) -> AuditDesk:
    """The audit trail, for the command line."""
    from lethe.adapters.dynamodb.audit import DynamoAuditTrail
    from lethe.services.audit import AuditDesk

    settings = AuditSettings.from_environment(environment)
    database = open_database(settings.region, settings.dynamodb_endpoint, ledger=settings.ledger_table)
    return AuditDesk(
        DynamoAuditTrail(database),
        lambda: read_master_key(settings.region, settings.secret_arn, settings.master_key),
    )
