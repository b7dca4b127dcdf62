"""`lethe audit verify | export | list`: the audit trail in the table, or in a file, checked from its first entry on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lethe_client.cli.access import ACCESS_TABLE, LEDGER_TABLE, stack_environment, told
from lethe_client.cli.failures import CommandError, UsageError
from lethe_client.cli.keys import DIGITS
from lethe_client.cli.numbers import whole
from lethe_client.cli.output import Output, shorten
from lethe_client.cli.surroundings import Parsers, Surroundings

if TYPE_CHECKING:
    from lethe.domain.access import ApiKey
    from lethe.domain.audit import AuditEntry, Ends
    from lethe.domain.audit_trail import TrailChecked
    from lethe.services.audit import AuditDesk

_ACTOR = 32
"""Columns of an actor's name in a table; `lethe keys list` shows all of it."""


def add_commands(parsers: Parsers, common: argparse.ArgumentParser) -> None:
    """Declare the commands of this group."""
    group = parsers.add_parser("audit", help="check, export and list the audit trail").add_subparsers(
        metavar="ACTION", required=True
    )
    verify = group.add_parser("verify", parents=[common], help="check the trail in the table, or an export of it")
    verify.add_argument("file", nargs="?", type=Path, metavar="FILE", help="an export; without one, the table")
    verify.add_argument("--tenant", metavar="T", help="whose trail (of a file: whose it must be)")
    verify.add_argument(
        "--known", action="append", default=[], type=Path, metavar="FILE",
        help="an earlier export, whose ends the trail must reach; may be repeated",
    )  # fmt: skip
    verify.set_defaults(run=_verify)
    export = group.add_parser("export", parents=[common], help="write the trail as lines of JSON")
    export.add_argument("--tenant", required=True, metavar="T")
    export.add_argument("--output", type=Path, metavar="FILE", help="a new file (default: print)")
    export.set_defaults(run=_export)
    listing = group.add_parser("list", parents=[common], help="the newest entries")
    listing.add_argument("--tenant", required=True, metavar="T")
    listing.add_argument("--user", metavar="USER", help="only those about a user")
    listing.add_argument("--limit", type=whole(1), default=20, metavar="N", help="at most so many (20)")
    listing.set_defaults(run=_list)


def _verify(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    from lethe.domain.audit_trail import check_export
    from lethe.services.audit import NO_ENTRY

    noted = [_noted(path) for path in options.known]
    known = [ends for _, ends in noted]
    if options.file is not None and options.stack is not None:
        raise UsageError("an export is checked without a stack: leave --stack out")
    if options.file is None:
        if options.tenant is None:
            raise UsageError("audit verify: name a file, or --tenant")
        with _desk(_environment(options.stack, around), around) as desk:
            checked = desk.verify(options.tenant, known)
    else:
        checked = _of_file(options.file, lambda lines: check_export(lines, known))
        if options.tenant not in (None, checked.tenant):
            raise CommandError("the file holds the trail of another tenant")
    if any(tenant != checked.tenant for tenant, _ in noted):
        raise CommandError("the noted ends are of another tenant's trail")
    _tell(checked, bool(known), output)
    if not checked.strands:
        raise CommandError(NO_ENTRY)
    if checked.faults:
        raise CommandError("the audit trail is not what it was")


def _of_file(path: Path, check: Callable[[Iterable[str]], TrailChecked]) -> TrailChecked:
    try:
        with path.open(encoding="utf-8") as lines:
            return check(lines)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({type(error).__name__})") from None
    except ValueError as error:
        raise CommandError(f"{path} is no export of an audit trail: {error}") from error


def _noted(path: Path) -> tuple[str, Ends]:
    """The tenant and the ends in an export's first line."""
    from lethe.domain.audit_trail import noted_ends

    try:
        with path.open(encoding="utf-8") as lines:
            return noted_ends(json.loads(lines.readline()))
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({type(error).__name__})") from None
    except ValueError:
        raise UsageError(f"{path} names no ends of an audit trail") from None


def _tell(checked: TrailChecked, compared: bool, output: Output) -> None:
    faults = {strand: {"n": fault.n, "wrong": fault.wrong.value} for strand, fault in checked.faults}
    if output.as_json:
        strands = [
            {"strand": strand, "length": each.end.length, "hash": each.end.hash, "fault": faults.get(strand)}
            for strand, each in checked.strands
        ]
        output.json({"tenant": checked.tenant, "sound": not faults, "length": checked.length, "strands": strands})
        return
    for strand, fault in checked.faults:
        output.line(f"strand {strand}: entry {fault.n} is {fault.wrong.value}; sound up to {fault.n - 1}")
    found = "first faults above" if faults else "nothing is missing, moved or changed"
    if not compared and not faults:
        found += " as far as it shows by itself; --known compares it with ends that were noted elsewhere"
    output.line(f"{checked.length} entries of tenant {checked.tenant} in {len(checked.strands)} strands: {found}")


def _export(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with _desk(_environment(options.stack, around), around) as desk:
        lines = desk.export(options.tenant)
        if options.output is None:
            for line in lines:
                output.line(line)
            return
        try:
            with options.output.open("x", encoding="utf-8") as file:
                count = sum(1 for line in lines if file.write(line + "\n"))
        except OSError as error:
            raise UsageError(f"{options.output} cannot be written ({type(error).__name__})") from None
    output.line(f"{count - 1} entries written to {options.output}")


def _list(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    from lethe.domain.audit import document

    environment = _environment(options.stack, around)
    with _desk(environment, around) as desk:
        if options.user is None:
            entries = desk.newest(options.tenant, options.limit)
        else:
            entries = desk.of_user(options.tenant, options.user, options.limit)
    keys = _keys(options.tenant, environment, around) if entries else {}
    if output.as_json:
        # Beside the entries, not in them: the hash of an entry is of all that is in it.
        asked = {entry.event.key for entry in entries}
        named = {key_hash: {"id": key.id, "actor": key.actor} for key_hash, key in keys.items() if key_hash in asked}
        output.json({"entries": [document(entry) for entry in entries], "keys": named})
    elif not entries:
        output.line("no entries")
    else:
        header = ("at", "action", "verdict", "subject", "key", "actor", "request", "targets")
        output.table(header, [_row(entry, keys.get(entry.event.key)) for entry in entries])


def _keys(tenant: str, environment: Mapping[str, str], around: Surroundings) -> dict[str, ApiKey]:
    """The keys of the tenant, revoked ones too, by the hash that entries name them by. None where they cannot be read,
    which is said: the entries are worth seeing all the same.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    from lethe.errors import LetheError

    try:
        if not environment.get(ACCESS_TABLE):
            raise UsageError(f"set {ACCESS_TABLE}")
        access = around.build_access(environment)
        return {access.audit_key(key): key for key in access.list_keys(tenant)}
    except (UsageError, LetheError, ValueError, BotoCoreError, ClientError) as error:
        print(f"lethe: keys are shown by their hashes, for the tenant's keys cannot be read: {error}", file=around.err)
        return {}


def _row(entry: AuditEntry, key: ApiKey | None) -> tuple[str, ...]:
    event = entry.event
    more = f" and {len(event.targets) - 1} more" if len(event.targets) > 1 else ""
    return (
        f"{event.at:%Y-%m-%d %H:%M:%S}",
        event.action,
        event.verdict.value,
        (event.subject or "")[:DIGITS],
        event.key[:DIGITS] if key is None else key.id,
        _actor(key),
        event.request_id,
        "".join(event.targets[:1]) + more,
    )


def _actor(key: ApiKey | None) -> str:
    """The name that was chosen for the key, if one was: its own name only says its id again."""
    from lethe.domain.access import own_actor

    return "" if key is None or key.actor == own_actor(key.id) else shorten(key.actor, _ACTOR)


def _environment(stack: str | None, around: Surroundings) -> Mapping[str, str]:
    return stack_environment(stack, around, LEDGER_TABLE, "no ledger table")


@contextmanager
def _desk(environment: Mapping[str, str], around: Surroundings) -> Iterator[AuditDesk]:
    """The audit trail; what it refuses becomes a CommandError with its own words."""
    try:
        with told():
            yield around.build_audit(environment)
    except ValueError as error:  # an item that is no entry, or a user id that is none
        raise CommandError(str(error)) from error
