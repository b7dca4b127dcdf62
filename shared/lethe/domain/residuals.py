"""What may outlive an erasure, where, and until when: computed from the settings of the stack that erased.

Deleting takes a record out of every store that Lethe reads. Copies that nobody reads any more stay for a while in
backups, streams, files and logs, each with a last day of its own. A receipt names them all. Where nobody promises a
day, there is none, and a receipt that names such a surface promises no day on which everything is physically gone.

Where the numbers come from:

- point-in-time recovery keeps every state of a table for as many days as the template says (1 to 35);
- a DynamoDB stream shows a change for 24 hours; that of the memories shows what was written and never what was there
  before, so it forgets a memory 24 hours after its last change;
- CloudWatch Logs deletes within 72 hours after the retention that the template says ("typically", its API reference);
- X-Ray keeps traces for 30 days, Step Functions the history of a Standard execution for 90;
- an item with an expired TTL is typically deleted within two days;
- a segment of an index keeps a deleted entry until it is merged, and a merge drops it once a flush has come between.
  A managed domain is told to merge every ``SearchCompactionDays``, and the second time after a deletion drops it at the
  latest; its hourly snapshots, each with the segments of its time, live 14 days. Nobody tells a serverless collection
  when to merge, nor promises it, so there is no date there, and none on a laptop, which is not always on;
- AWS ends a Lambda container "every few hours" and publishes no number; a day is assumed here, and marked as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Literal

from lethe.domain.idempotency import KEPT
from lethe.domain.immutable import immutable

STREAM: Final = timedelta(hours=24)
STATE_MACHINE_HISTORY: Final = timedelta(days=90)
TRACES: Final = timedelta(days=30)
LOGS_LINGER: Final = timedelta(hours=72)
TTL_LINGERS: Final = timedelta(days=2)
DEAD_LETTERS: Final = timedelta(days=14)
"""How long the template's queue keeps what the index refused."""
MERGE: Final = timedelta(days=1)
"""How long the merge of a whole index may take: an assumption, wide for what one domain holds."""
SNAPSHOTS: Final = timedelta(days=14)
CONTAINER: Final = timedelta(days=1)
SAVED_AGAIN: Final = timedelta(minutes=10)
"""moto's tables are written to their file whole: some seconds after a change, later on a busy machine."""

OUTSIDE: Final = (
    "answers_given_before",
    "copies_made_by_the_operator",
    "provider_of_the_embedding_model",
)
"""What no promise covers, since Lethe cannot see it."""


class Carries(StrEnum):
    """What a surface may still hold: stored content, or only ids that Lethe made and keyed hashes."""

    CONTENT = "content"
    IDS = "ids"


class Basis(StrEnum):
    """What a date rests on: a setting of the stack, the vendor's own documentation, an assumption, or nothing."""

    SETTING = "setting"
    SERVICE = "service"
    ASSUMED = "assumed"
    NONE = "none"


@immutable
class Retention:
    """How long things are kept, by the settings of the deployed stack.

    ``tables`` and ``engine`` say what it runs on: DynamoDB, or one of the laptop's two tables; no index, an OpenSearch
    domain, a serverless collection, a node of one's own.
    """

    tables: Literal["dynamodb", "dynoxide", "moto"]
    engine: Literal["scan", "managed", "serverless", "local"]
    point_in_time_recovery_days: int
    log_retention_days: int
    cache_seconds: int
    search_compaction_days: int


@immutable
class Residual:
    """A place where something may still be until ``until``; None: nobody can say until when."""

    surface: str
    carries: Carries
    until: datetime | None
    basis: Basis
    what: str


def residuals(retention: Retention, done: datetime, held: bool, whole: bool = True) -> tuple[Residual, ...]:
    """Every surface that may hold something of what was gone from all stores at ``done``, by name.

    ``held``: whether records were kept because of a hold; they are a surface, too, until the hold is released. Of a
    ``whole`` user they are unreadable, of a part they can be read as before.
    """
    found = [*_tables(retention, done), *_index(retention, done), *_memory(retention, done)]
    if retention.tables == "dynamodb":
        found += _operation(retention, done)
    if held:
        how = "unreadable" if whole else "still readable and outside of what is promised here"
        what = f"records that a hold keeps, {how}; a further receipt follows its release"
        found.append(Residual("held_records", Carries.CONTENT, None, Basis.NONE, what))
    return tuple(sorted(found, key=lambda residual: residual.surface))


def gone_by(surfaces: Iterable[Residual]) -> datetime | None:
    """When the last of them is empty; None when one has no date."""
    dates = [residual.until for residual in surfaces]
    known = [date for date in dates if date is not None]
    return max(known) if known and len(known) == len(dates) else None


def _tables(retention: Retention, done: datetime) -> Iterator[Residual]:
    if retention.tables == "dynamodb":
        kept = timedelta(days=retention.point_in_time_recovery_days)
        yield Residual(
            "point_in_time_recovery",
            Carries.CONTENT,
            done + kept,
            Basis.SETTING,
            "states of the tables from before; after a restore the ledger is replayed before anything is read",
        )
        what = "memories as they were written in the day before, in the stream that feeds a search index"
        yield Residual("table_streams", Carries.CONTENT, done + STREAM, Basis.SERVICE, what)
        what = "digests of requests with an idempotency key; expired items go typically within two days"
        yield Residual("idempotency_claims", Carries.IDS, done + KEPT + TTL_LINGERS, Basis.SERVICE, what)
    elif retention.tables == "dynoxide":
        what = "free pages and stream records in the file of the tables, until they are overwritten or it is compacted"
        yield Residual("table_file", Carries.CONTENT, None, Basis.NONE, what)
    else:
        what = "the file of the tables, until it is written again"
        yield Residual("table_file", Carries.CONTENT, done + SAVED_AGAIN, Basis.ASSUMED, what)


def _index(retention: Retention, done: datetime) -> Iterator[Residual]:
    if retention.engine == "scan":
        return
    merged = _merged(retention, done)
    what = "deleted entries in segments and the translog of the index, which no search shows, until a merge drops them"
    yield Residual("index_segments", Carries.CONTENT, merged, Basis.SETTING if merged else Basis.NONE, what)
    if retention.engine != "local":
        until = merged + SNAPSHOTS if merged else None
        what = "snapshots that the search service makes by itself, each with the segments of its time"
        yield Residual("index_snapshots", Carries.CONTENT, until, Basis.SERVICE if until else Basis.NONE, what)
        what = "memory ids and sequence numbers in the queue of what the index refused"
        yield Residual("dead_letters", Carries.IDS, done + STREAM + DEAD_LETTERS, Basis.SETTING, what)


def _merged(retention: Retention, done: datetime) -> datetime | None:
    """When a merge has dropped what was deleted: the second one that begins from now on; None: nobody can say."""
    if retention.engine != "managed":
        return None
    return done + 2 * timedelta(days=retention.search_compaction_days) + MERGE


def _memory(retention: Retention, done: datetime) -> Iterator[Residual]:
    if retention.tables == "dynamodb":
        until = done + max(CONTAINER, timedelta(seconds=retention.cache_seconds))
        what = f"memory of idle function containers, which use it no longer than {retention.cache_seconds} seconds"
        yield Residual("container_memory", Carries.CONTENT, until, Basis.ASSUMED, what)
    else:
        what = f"memory of the local stack until it ends; used no longer than {retention.cache_seconds} seconds"
        yield Residual("process_memory", Carries.CONTENT, None, Basis.NONE, what)
        what = "the erasure's id and the tenant's name in the list of the local stack's executions"
        yield Residual("executions_file", Carries.IDS, None, Basis.NONE, what)


def _operation(retention: Retention, done: datetime) -> Iterator[Residual]:
    logs = done + timedelta(days=retention.log_retention_days) + LOGS_LINGER
    yield Residual("logs", Carries.IDS, logs, Basis.SETTING, "request ids and counts in the functions' logs")
    yield Residual("traces", Carries.IDS, done + TRACES, Basis.SERVICE, "names of calls and their times in X-Ray")
    history = done + STATE_MACHINE_HISTORY
    what = "the erasure's id and the tenant's name in the history of the state machine"
    yield Residual("state_machine_history", Carries.IDS, history, Basis.SERVICE, what)
