"""`lethe keys create | list | revoke`."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from lethe_client.cli.access import open_access
from lethe_client.cli.output import Output, utc
from lethe_client.cli.surroundings import Parsers, Surroundings

if TYPE_CHECKING:
    from lethe.domain.access import ApiKey
    from lethe.services.access import Access

EVERY_USER = "*"
DIGITS = 12
"""Of a keyed hash in a table: `lethe audit list` shows the same, and --json all of them."""


def add_commands(parsers: Parsers, common: argparse.ArgumentParser) -> None:
    """Declare the commands of this group."""
    group = parsers.add_parser("keys", help="create, list and revoke API keys").add_subparsers(
        metavar="ACTION", required=True
    )
    create = group.add_parser("create", parents=[common], help="create a key; it is shown once")
    create.add_argument("--tenant", required=True, metavar="T")
    create.add_argument(
        "--permissions", required=True, type=_comma_list, metavar="LIST", help="of read,write,erase,govern,admin"
    )
    create.add_argument(
        "--users",
        type=_comma_list,
        default=(EVERY_USER,),
        metavar="LIST",
        help="users that it may act for (default: *)",
    )
    create.add_argument("--actor", metavar="NAME", help="who is named as the writer (default: the key's id)")
    create.set_defaults(run=_create)
    listing = group.add_parser("list", parents=[common], help="list the keys of a tenant")
    listing.add_argument("--tenant", required=True, metavar="T")
    listing.set_defaults(run=_list)
    revoke = group.add_parser("revoke", parents=[common], help="make a key useless, at once and for good")
    revoke.add_argument("key_id", metavar="ID", help="the key's id, as create and list show it, or the whole key")
    revoke.set_defaults(run=_revoke)


def _create(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_access(options.stack, around) as access:
        key, api_key = access.create_key(options.tenant, options.permissions, options.users, options.actor)
    if output.as_json:
        output.json({**_described(key, access), "api_key": api_key, "users": list(options.users)})
    else:
        output.line(api_key)
        output.line(f"id {key.id}, tenant {key.tenant}, {_permissions(key)}")
        output.line("Keep it: it is not stored and cannot be shown again.")


def _list(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_access(options.stack, around) as access:
        keys = access.list_keys(options.tenant)
    if output.as_json:
        output.json({"keys": [_described(key, access) for key in keys]})
    elif not keys:
        output.line("no keys")
    else:
        header = ("id", "actor", "permissions", "users", "created", "audit key", "state")
        output.table(header, [_row(key, access) for key in keys])


def _revoke(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    whole = re.fullmatch(r"lk_([^_]+)_.+", options.key_id)
    with open_access(options.stack, around) as access:
        key = access.revoke_key(whole[1] if whole else options.key_id)
    if output.as_json:
        output.json(_described(key, access))
    else:
        output.line(f"revoked {key.id}")


def _described(key: ApiKey, access: Access) -> dict[str, object]:
    return {
        "id": key.id,
        "audit_key": access.audit_key(key),
        "tenant": key.tenant,
        "actor": key.actor,
        "permissions": sorted(key.permissions),
        "users_covered": None if EVERY_USER in key.subjects else len(key.subjects),
        "created_at": utc(key.created_at),
        "revoked_at": None if key.revoked_at is None else utc(key.revoked_at),
        "fenced_by": key.fenced,
    }


def _row(key: ApiKey, access: Access) -> tuple[str, ...]:
    return (
        key.id,
        key.actor,
        _permissions(key),
        "all" if EVERY_USER in key.subjects else str(len(key.subjects)),
        f"{key.created_at:%Y-%m-%d %H:%M}",
        access.audit_key(key)[:DIGITS],
        _state(key),
    )


def _state(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "active" if key.fenced is None else f"its tenant is erased by {key.fenced}"


def _permissions(key: ApiKey) -> str:
    return ",".join(sorted(key.permissions))


def _comma_list(text: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts):
        raise argparse.ArgumentTypeError("must be names with commas between them")
    return parts
