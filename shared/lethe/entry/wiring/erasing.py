"""The functions ``govern`` and ``erase``: what is asked of governance, and the tasks of the state machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from lethe import __version__
from lethe.entry.settings import EraseSettings, ErasingSettings, GovernSettings, ReceiptKeySettings
from lethe.entry.wiring.parts import Parts
from lethe.entry.wiring.search import begin_compaction, index_writer

if TYPE_CHECKING:
    from lethe.domain.residuals import Retention
    from lethe.entry.application import Application
    from lethe.entry.erasing import EraseApplication
    from lethe.ports import (
        AccessStore,
        Clock,
        Executions,
        IndexWriter,
        Ledger,
        Purge,
        Receipts,
        Signer,
        Subjects,
        Verifier,
    )
    from lethe.services.erasure.partial import PartialDeletion


def build_govern(environment: Mapping[str, str], clock: Clock | None = None) -> Application:
    """The function ``govern``."""
    from lethe.entry.application import Application
    from lethe.entry.observability import PowertoolsObserver
    from lethe.entry.operations.audit import AuditReads
    from lethe.entry.operations.erasures import ErasureOperations
    from lethe.services.erasure.requests import ErasureRequests
    from lethe.services.holds import HoldDesk

    settings = GovernSettings.from_environment(environment)
    parts = _ErasingParts(settings, clock)
    requests = ErasureRequests(
        parts.spaces,
        parts.heads,
        parts.ledger,
        parts.access,
        parts.partial,
        parts.executions,
        parts.clock,
        parts.ids,
        parts.master_key,
    )
    holds = HoldDesk(parts.spaces, parts.holds, parts.clock, parts.master_key)
    operations = {
        **ErasureOperations(requests, parts.receipts, holds, parts.cursors).operations(),
        **AuditReads(parts.spaces, parts.audit_trail, parts.cursors).operations(),
    }
    return Application(
        operations,
        parts.spaces.beside,
        parts.idempotency,
        parts.auditor(settings.audit),
        PowertoolsObserver("govern"),
    )


def build_erase(environment: Mapping[str, str], clock: Clock | None = None) -> EraseApplication:
    """The function ``erase``."""
    from lethe.entry.erasing import COMPACT, TICK, EraseApplication
    from lethe.entry.observability import PowertoolsEraseObserver
    from lethe.services.erasure.receipts import ReceiptWriter
    from lethe.services.erasure.tick import Tick
    from lethe.services.erasure.verification import Looking
    from lethe.services.erasure.whole import WholeDeletion
    from lethe.services.erasure.worker import Worker

    settings = EraseSettings.from_environment(environment)
    parts = _ErasingParts(settings, clock)
    whole = WholeDeletion(
        parts.ledger, parts.heads, parts.subjects, parts.access, parts.purge, parts.writer, parts.holds
    )
    verifier = _verifier(settings, parts)
    looking = Looking(verifier, parts.holds)
    receipts = ReceiptWriter(
        parts.receipts, parts.holds, signer(settings), retention(settings), looking.method, __version__, parts.clock
    )
    worker = Worker(parts.ledger, whole, parts.partial, looking, receipts, parts.clock)
    tick = Tick(parts.ledger, parts.holds, parts.executions, parts.clock)
    scheduled: dict[str, Callable[[], int]] = {TICK: tick.run, COMPACT: partial(begin_compaction, settings)}
    return EraseApplication(worker, scheduled, PowertoolsEraseObserver(), time.perf_counter)


def receipt_signer(environment: Mapping[str, str]) -> Signer:
    """What signs receipts, for the command line, which shows its public key. Raises ValueError."""
    return signer(ReceiptKeySettings.from_environment(environment))


def signer(settings: EraseSettings | ReceiptKeySettings) -> Signer:
    """What signs receipts. Raises ValueError when the settings name no key."""
    if settings.receipt_key_file is not None:
        from lethe.adapters.local_signer import LocalSigner

        return LocalSigner(Path(settings.receipt_key_file))
    if settings.receipt_key_arn is None:
        raise ValueError("set LETHE_RECEIPT_KEY_ARN, or LETHE_RECEIPT_KEY_FILE on a laptop")
    from lethe.adapters.kms import KmsSigner

    return KmsSigner(settings.region, settings.receipt_key_arn)


def retention(settings: EraseSettings) -> Retention:
    """How long copies are kept that no eraser reaches, as the stack is set up."""
    from lethe.domain.residuals import Retention

    return Retention(
        settings.tables,
        "scan" if settings.opensearch_url is None else settings.opensearch_flavour,
        settings.point_in_time_recovery_days,
        settings.log_retention_days,
        settings.cache_seconds,
        settings.search_compaction_days,
    )


def _verifier(settings: EraseSettings, parts: _ErasingParts) -> Verifier:
    from lethe.adapters.inspection import Inspector
    from lethe.adapters.inspection.tables import Tables, plain_client

    names = {
        "subjects": settings.subjects_table,
        "sessions": settings.sessions_table,
        "entities": settings.entities_table,
        "memories": settings.memories_table,
        "access": settings.access_table,
    }
    tables = Tables(plain_client(settings.region, settings.dynamodb_endpoint), names)
    entries = None
    if settings.opensearch_url is not None:
        from lethe.adapters.inspection.index import Entries
        from lethe.adapters.opensearch.connection import make_client
        from lethe.adapters.opensearch.flavours import ABILITIES, Flavour

        flavour = Flavour(settings.opensearch_flavour)
        abilities = ABILITIES[flavour]
        settles = None if abilities.refreshes else 2.0 * abilities.refresh_seconds
        client = make_client(settings.opensearch_url, flavour, settings.region)
        entries = Entries(client, f"{settings.opensearch_alias}-v", settles)
    return Inspector(tables, entries, parts.master_key, settings.verify == "tables")


class _ErasingParts(Parts):
    """What deleting needs beside what every function has."""

    def __init__(self, settings: ErasingSettings, clock: Clock | None) -> None:
        super().__init__(settings, clock, access=settings.access_table)
        self._erasing = settings

    @cached_property
    def ledger(self) -> Ledger:
        from lethe.adapters.dynamodb.ledger import DynamoLedger

        return DynamoLedger(self.database)

    @cached_property
    def receipts(self) -> Receipts:
        from lethe.adapters.dynamodb.receipts import DynamoReceipts

        return DynamoReceipts(self.database)

    @cached_property
    def access(self) -> AccessStore:
        from lethe.adapters.dynamodb.access import DynamoAccessStore

        return DynamoAccessStore(self.database)

    @cached_property
    def subjects(self) -> Subjects:
        from lethe.adapters.dynamodb.heads import DynamoSubjects

        return DynamoSubjects(self.database)

    @cached_property
    def purge(self) -> Purge:
        from lethe.adapters.dynamodb.purge import DynamoPurge

        return DynamoPurge(self.database, self.master_key)

    @cached_property
    def writer(self) -> IndexWriter | None:
        settings = self._erasing
        if settings.opensearch_url is None:
            return None
        return index_writer(settings, settings.opensearch_url, self.clock)

    @cached_property
    def executions(self) -> Executions:
        from lethe.adapters.step_functions import StepFunctionsExecutions

        settings = self._erasing
        return StepFunctionsExecutions(settings.region, settings.state_machine_arn, settings.step_functions_endpoint)

    @cached_property
    def partial(self) -> PartialDeletion:
        from lethe.services.erasure.partial import PartialDeletion
        from lethe.services.erasure.rebuilding import Rebuilding

        return PartialDeletion(
            self.heads,
            self.memories,
            self.sessions,
            self.entities,
            self.answers,
            Rebuilding(self.memories, self.memory_embedder),
            self.writer,
            self.holds,
            self.master_key,
        )
