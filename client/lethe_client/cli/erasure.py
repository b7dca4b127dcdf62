"""`lethe erase | erasures list | erasures show | admit`: forgetting, over HTTP. Receipts are `lethe receipt`'s."""

import argparse
import itertools

from lethe_client.cli.failures import CommandError, UsageError
from lethe_client.cli.numbers import number, whole
from lethe_client.cli.output import Output
from lethe_client.cli.scopes import add_scope_options, scope_of, scope_words
from lethe_client.cli.service import open_client
from lethe_client.cli.surroundings import Parsers, Surroundings
from lethe_client.client import Lethe
from lethe_client.erasure_models import Erasure
from lethe_client.errors import StillErasingError


def add_commands(parsers: Parsers, common: argparse.ArgumentParser) -> None:
    """Declare the commands of this group."""
    erase = parsers.add_parser("erase", parents=[common], help="erase a user, or parts of what is known, with proof")
    erase.add_argument("user", metavar="USER", nargs="?", help="left out with --tenant only")
    add_scope_options(erase)
    erase.add_argument("--tenant", action="store_true", help="everything of every user of the key's tenant")
    erase.add_argument("--yes", action="store_true", help="with --tenant, which does nothing without it")
    erase.add_argument("--reason", metavar="TEXT", help="why; kept as a keyed hash alone")
    erase.add_argument("--wait", action="store_true", help="until it has ended; status 1 when it failed")
    erase.add_argument(
        "--timeout", type=number(0), default=300.0, metavar="SECONDS", help="how long --wait waits (default 300)"
    )
    erase.set_defaults(run=_erase)

    group = parsers.add_parser("erasures", help="how far erasures have come").add_subparsers(
        metavar="ACTION", required=True
    )
    listing = group.add_parser("list", parents=[common], help="list erasures, newest first")
    listing.add_argument("--user", metavar="USER", help="of this user alone, also of one who was erased")
    listing.add_argument("--limit", type=whole(1), default=50, metavar="N", help="at most this many (default 50)")
    listing.set_defaults(run=_list)
    show = group.add_parser("show", parents=[common], help="one erasure, step by step; status 1 when it failed")
    show.add_argument("id", metavar="ID")
    show.set_defaults(run=_show)

    admit = parsers.add_parser("admit", parents=[common], help="let an erased user be written to again, empty")
    admit.add_argument("user", metavar="USER")
    admit.set_defaults(run=_admit)


def _erase(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    if options.tenant == (options.user is not None):
        raise UsageError("name a user, or --tenant and none")
    if options.yes and not options.tenant:
        raise UsageError("--yes is for --tenant alone")
    scope = scope_of(options, options.tenant)
    with open_client(options.stack, around) as client:
        if options.tenant and not options.yes:
            raise UsageError(
                f"this erases every user of the tenant whose key this is, at {client.url}, and locks the tenant out; "
                "if that is meant, add --yes"
            )
        erasure = client.erasures.begin(scope, user_id=options.user, reason=options.reason)
        if options.wait:
            if not output.as_json:
                output.line(f"{erasure.id}: {scope_words(erasure.scope)}, {_readable(erasure)}")
            erasure = _awaited(client, erasure.id, options.timeout)
    if output.as_json:
        output.json(erasure.raw)
    else:
        _describe(erasure, output, scope_words(erasure.scope))
        if options.tenant:
            output.line(
                "its keys reach erasures, receipts, holds and the audit trail alone until `lethe tenants admit NAME`"
            )
    _fail_if_failed(erasure)


def _awaited(client: Lethe, erasure_id: str, timeout: float) -> Erasure:
    try:
        return client.erasures.wait(erasure_id, timeout)
    except StillErasingError as error:
        raise CommandError(f"{error}; it goes on by itself: lethe erasures show {erasure_id}") from error


def _list(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_client(options.stack, around) as client:
        walk = client.erasures.list(user_id=options.user, page_size=min(options.limit, 200))
        found = list(itertools.islice(walk, options.limit))
    if output.as_json:
        output.json({"erasures": [erasure.raw for erasure in found]})
    elif not found:
        output.line("no erasures")
    else:
        output.table(("requested", "state", "scope", "id"), [_row(erasure) for erasure in found])


def _show(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_client(options.stack, around) as client:
        erasure = client.erasures.get(options.id)
    if output.as_json:
        output.json(erasure.raw)
    else:
        output.line(f"{scope_words(erasure.scope)}, asked for at {erasure.requested_at:%Y-%m-%d %H:%M:%S} UTC")
        _describe(erasure, output)
        output.line()
        header = ("step", "state", "found", "deleted", "attempts")
        output.table(
            header,
            [(s.name, s.state, str(s.found), str(s.deleted), str(s.attempts)) for s in erasure.steps],
        )
        for look in erasure.verified:
            output.line(f"verified at {look.at:%Y-%m-%d %H:%M:%S} UTC: {sum(look.remaining.values())} left")
    _fail_if_failed(erasure)


def _admit(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_client(options.stack, around) as client:
        client.subjects.admit(options.user)
    if output.as_json:
        output.json({"user_id": options.user, "state": "active"})
    else:
        output.line("admitted: may be written to")


def _describe(erasure: Erasure, output: Output, what: str = "") -> None:
    """What it erases, where that was not said yet, the state, since when nothing can be read, what a hold keeps, and
    where the proof is.
    """
    state = erasure.state.replace("_", " ")
    output.line(f"{erasure.id}: {what and what + ', '}{state}, {_readable(erasure)}")
    if erasure.held:
        count = "1 record" if erasure.held == 1 else f"{erasure.held} records"
        holds = ", ".join(erasure.holds)
        end = "those are" if len(erasure.holds) > 1 else "that is"
        output.line(f"held: {count}, kept by {holds or 'a legal hold'}; erased when {end} released")
    if erasure.receipt_id is not None:
        output.line(f"receipt {erasure.receipt_id}: lethe receipt show {erasure.id}")
    elif erasure.under_way:
        output.line(f"next: lethe erasures show {erasure.id}")


def _readable(erasure: Erasure) -> str:
    if erasure.unreadable_since is None:
        return "not all of it is unreadable yet"
    stays = erasure.held and not erasure.scope.keys() & {"subject", "tenant"}
    what = "what no hold keeps is unreadable" if stays else "unreadable"
    return f"{what} since {erasure.unreadable_since:%Y-%m-%d %H:%M:%S} UTC"


def _row(erasure: Erasure) -> tuple[str, ...]:
    state = f"{erasure.state} ({erasure.failure})" if erasure.failure else erasure.state
    return f"{erasure.requested_at:%Y-%m-%d %H:%M}", state, scope_words(erasure.scope), erasure.id


def _fail_if_failed(erasure: Erasure) -> None:
    if erasure.state == "failed":
        step = "" if erasure.failed_step is None else f" at the step {erasure.failed_step}"
        again = "soon" if erasure.retry_at is None else f"soon after {erasure.retry_at:%Y-%m-%d %H:%M:%S} UTC"
        whole = erasure.scope.keys() & {"subject", "tenant"}
        at_once = ", or at once when the same is asked for again" if whole else ""
        why = erasure.failure or "no reason given"
        raise CommandError(f"{erasure.id} failed{step} ({why}); the service tries again {again}{at_once}")
