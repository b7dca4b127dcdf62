"""`lethe holds place | list | release`: legal holds, over HTTP."""

import argparse

from lethe_client.cli.output import Output
from lethe_client.cli.scopes import add_scope_options, scope_of, scope_words
from lethe_client.cli.service import open_client
from lethe_client.cli.surroundings import Parsers, Surroundings
from lethe_client.client import Lethe
from lethe_client.errors import NotFoundError


def add_commands(parsers: Parsers, common: argparse.ArgumentParser) -> None:
    """Declare the commands of this group."""
    group = parsers.add_parser("holds", help="keep records from being erased").add_subparsers(
        metavar="ACTION", required=True
    )
    place = group.add_parser("place", parents=[common], help="place a hold on a user, or on a part")
    place.add_argument("name", metavar="NAME", help="what receipts call it; must not tell who it is about")
    place.add_argument("user", metavar="USER")
    add_scope_options(place)
    place.add_argument("--reason", metavar="TEXT", help="why")
    place.set_defaults(run=_place)
    listing = group.add_parser("list", parents=[common], help="list the holds, by name")
    listing.add_argument("--user", metavar="USER", help="on this user alone, also on one who was erased")
    listing.set_defaults(run=_list)
    release = group.add_parser("release", parents=[common], help="let go what a hold kept")
    release.add_argument("name", metavar="NAME")
    release.set_defaults(run=_release)


def _place(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    scope = scope_of(options)
    with open_client(options.stack, around) as client:
        hold = client.holds.place(options.name, user_id=options.user, scope=scope, reason=options.reason)
    if output.as_json:
        output.json(hold.raw)
    else:
        output.line(f"{hold.name} holds {scope_words(hold.scope)}")


def _list(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_client(options.stack, around) as client:
        holds = list(client.holds.list(user_id=options.user, page_size=200))
    if output.as_json:
        output.json({"holds": [hold.raw for hold in holds]})
    elif not holds:
        output.line("no holds")
    else:
        rows = [
            (hold.name, f"{hold.created_at:%Y-%m-%d %H:%M}", scope_words(hold.scope), hold.subject) for hold in holds
        ]
        output.table(("name", "placed", "holds", "subject"), rows)


def _release(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_client(options.stack, around) as client:
        stood = _stands(client, options.name)
        client.holds.release(options.name)
    if output.as_json:
        output.json({"name": options.name, "released": stood})
    elif not stood:
        output.line(f"there is no hold {options.name} on the users of this key: nothing was released")
    else:
        output.line(f"released {options.name}; what was erased meanwhile is deleted within minutes")


def _stands(client: Lethe, name: str) -> bool:
    """Whether there is such a hold: to release none is no error, but must not look as if one had been let go."""
    try:
        client.holds.get(name)
    except NotFoundError:
        return False
    return True
