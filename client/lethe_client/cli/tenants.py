"""`lethe tenants create | list | admit`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from lethe_client.cli.access import LEDGER_TABLE, open_access, stack_environment, told
from lethe_client.cli.output import Output, utc
from lethe_client.cli.surroundings import Parsers, Surroundings

if TYPE_CHECKING:
    from lethe.domain.access import Tenant


def add_commands(parsers: Parsers, common: argparse.ArgumentParser) -> None:
    """Declare the commands of this group."""
    group = parsers.add_parser("tenants", help="create, list and admit tenants").add_subparsers(
        metavar="ACTION", required=True
    )
    create = group.add_parser("create", parents=[common], help="create a tenant")
    create.add_argument("name", metavar="NAME", help="lower-case letters, digits and hyphens, at most 64")
    create.set_defaults(run=_create)
    admit = group.add_parser("admit", parents=[common], help="let a tenant be used again that was erased as a whole")
    admit.add_argument("name", metavar="NAME")
    admit.set_defaults(run=_admit)
    group.add_parser("list", parents=[common], help="list the tenants").set_defaults(run=_list)


def _create(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_access(options.stack, around) as access:
        tenant = access.create_tenant(options.name)
    if output.as_json:
        output.json(_described(tenant))
    else:
        output.line(f"created tenant {tenant.name}")
        output.line(f"next: lethe keys create --tenant {tenant.name} --permissions read,write --users alice")


def _admit(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    environment = stack_environment(options.stack, around, LEDGER_TABLE, "no ledger table")
    with open_access(options.stack, around) as access:
        # Also when an admission was cut short: the tenant is free by then, and some of its keys are not.
        was_fenced = any(known.fenced for known in access.list_tenants() if known.name == options.name) or any(
            key.fenced for key in access.list_keys(options.name)
        )
    with told():
        tenant = around.build_admission(environment).admit(options.name)
    if output.as_json:
        output.json({**_described(tenant), "admitted": was_fenced})
    elif not was_fenced:
        output.line(f"tenant {tenant.name} is not erased: there was nothing to admit")
    else:
        output.line(f"tenant {tenant.name} can be used again; its former users begin empty once they are admitted")


def _list(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_access(options.stack, around) as access:
        tenants = access.list_tenants()
    if output.as_json:
        output.json({"tenants": [_described(tenant) for tenant in tenants]})
    elif not tenants:
        output.line("no tenants")
    else:
        output.table(("tenant", "created", "state"), [_row(tenant) for tenant in tenants])


def _row(tenant: Tenant) -> tuple[str, ...]:
    state = "active" if tenant.fenced is None else f"erased by {tenant.fenced}"
    return tenant.name, f"{tenant.created_at:%Y-%m-%d %H:%M}", state


def _described(tenant: Tenant) -> dict[str, object]:
    return {
        "tenant": tenant.name,
        "name": tenant.name,
        "created_at": utc(tenant.created_at),
        "fenced_by": tenant.fenced,
    }
