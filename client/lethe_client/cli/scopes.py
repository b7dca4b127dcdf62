"""The options that say what is meant of a user's memory, and scopes in words."""

import argparse

from lethe_client.cli.failures import UsageError
from lethe_client.inputs import ErasureScope
from lethe_client.json_types import JsonObject


def add_scope_options(command: argparse.ArgumentParser) -> None:
    """Declare `--session`, `--memory`, `--kind`, `--after` and `--before`; without any, everything is meant."""
    command.add_argument("--session", metavar="ID", help="one session and what rests on it")
    command.add_argument("--memory", action="append", metavar="ID", help="one memory; may be repeated")
    command.add_argument("--kind", action="append", metavar="K", help="memories of this kind; may be repeated")
    command.add_argument("--after", metavar="T", help="memories created after this time (RFC 3339 with an offset)")
    command.add_argument("--before", metavar="T", help="memories created before this time")


def scope_of(options: argparse.Namespace, tenant: bool | None = None) -> ErasureScope:
    """The scope that the options name; ``tenant`` is None where none can be named.

    Raises:
        UsageError: they name two things.
    """
    ranged: ErasureScope = {}
    if options.kind:
        ranged["kind"] = list(options.kind)
    if options.after is not None:
        ranged["created_after"] = options.after
    if options.before is not None:
        ranged["created_before"] = options.before
    named: list[ErasureScope] = [ranged] if ranged else []
    if options.session is not None:
        named.append({"session_id": options.session})
    if options.memory:
        named.append({"memory_ids": list(options.memory)})
    if tenant:
        named.append({"tenant": True})
    if len(named) > 1:
        more = "" if tenant is None else ", or --tenant"
        raise UsageError(f"name one thing: --session, --memory, a range of --kind, --after and --before{more}")
    return named[0] if named else {"subject": True}


def scope_words(scope: JsonObject) -> str:
    """A scope of an answer for a person: `everything of a user`, `3 memories`, …."""
    if scope.get("tenant"):
        return "everything of the tenant"
    if scope.get("subject"):
        return "everything of a user"
    if "session" in scope:
        return f"a session ({str(scope['session'])[:8]}…)"
    if isinstance(ids := scope.get("memory_ids"), list):
        return "1 memory" if len(ids) == 1 else f"{len(ids)} memories"
    kinds, after, before = (scope.get(name) for name in ("kinds", "created_after", "created_before"))
    kind = f" of kind {', '.join(map(str, kinds))}" if isinstance(kinds, list) and kinds else ""
    return f"memories{kind}" + (f" after {after}" if after else "") + (f" before {before}" if before else "")
