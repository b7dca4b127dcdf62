"""`lethe ledger replay`: doing all erasures again over tables that were restored from a backup."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lethe_client.cli.access import LEDGER_TABLE, stack_environment, told
from lethe_client.cli.failures import UsageError
from lethe_client.cli.output import Output
from lethe_client.cli.progress import Progress
from lethe_client.cli.surroundings import Parsers, Surroundings

if TYPE_CHECKING:
    from lethe.services.erasure.replay import Replayed


_NEXT = (
    "next: the service starts the opened erasures within minutes; let nobody read before `lethe erasures list`, with a "
    "key of each tenant that sees all users, shows none that is accepted, running or failed"
)


def add_commands(parsers: Parsers, common: argparse.ArgumentParser) -> None:
    """Declare the commands of this group."""
    group = parsers.add_parser("ledger", help="what must be done after a backup was restored").add_subparsers(
        metavar="ACTION", required=True
    )
    what = "fence again what was erased, and erase again what the backup brought back"
    replay = group.add_parser("replay", parents=[common], help=what)
    replay.add_argument(
        "--backup-of",
        type=_moment,
        metavar="TIME",
        help="the moment that the tables were restored to, such as 2026-03-01T12:00:00Z; all erasures without it",
    )
    replay.add_argument("--yes", action="store_true", help="the tables were restored; nothing is done without it")
    replay.set_defaults(run=_replay)


def _replay(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    environment = stack_environment(options.stack, around, LEDGER_TABLE, "no ledger table")
    if not options.yes:
        erasures = "all erasures" if options.backup_of is None else "the erasures since that backup"
        raise UsageError(
            f"by the ledger {environment[LEDGER_TABLE]} this fences whoever was erased and not admitted since and "
            f"begins {erasures} again, each of which reads whole tables; if a backup was restored into these, add --yes"
        )
    progress = Progress(around.err)
    with told():
        done = around.build_replay(environment).run(lambda done: progress.show(_fenced(done)), options.backup_of)
    progress.end()
    output.counts(asdict(done))
    if not output.as_json:
        output.line()
        output.line(_NEXT if done.opened else "no erasure was opened again: there is nothing to wait for")


def _fenced(done: Replayed) -> str:
    return f"{done.subjects} subjects fenced, {done.opened} erasures opened again"


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("not a time such as 2026-03-01T12:00:00Z") from None
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError("a time without an offset: end it with Z for UTC")
    if moment > datetime.now(UTC):
        raise argparse.ArgumentTypeError("no table can have been restored to a time that is still to come")
    return moment
