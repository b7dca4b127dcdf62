"""`lethe index rebuild | check | repair`: the search index against the table it is made from."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, TextIO

from lethe_client.cli.access import stack_environment
from lethe_client.cli.output import Output
from lethe_client.cli.surroundings import CommandError, Parsers, Surroundings

if TYPE_CHECKING:
    from lethe.services.reconcile import Findings, Reconciler

URL = "LETHE_OPENSEARCH_URL"


def add_commands(parsers: Parsers, common: argparse.ArgumentParser) -> None:
    """Declare the commands of this group."""
    group = parsers.add_parser("index", help="build, compare and mend the search index").add_subparsers(
        metavar="ACTION", required=True
    )
    for name, (what, _) in _ACTIONS.items():
        group.add_parser(name, parents=[common], help=what).set_defaults(run=_run, action=name)


class Progress:
    """Says on a terminal how far it is, on one line; silent elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream if stream.isatty() else None

    def __call__(self, findings: Findings) -> None:
        """Show the counts so far."""
        if self._stream is not None:
            print(f"\r{findings.memories} memories, {findings.entries} entries", end="", file=self._stream, flush=True)

    def end(self) -> None:
        """Leave the line as it is."""
        if self._stream is not None:
            print(file=self._stream)


_ACTIONS: Mapping[str, tuple[str, Callable[[Reconciler, Progress], Findings]]] = {
    "check": (
        "count what is missing, stale, orphaned or fenced, and change nothing",
        lambda reconciler, progress: reconciler.check(progress),
    ),
    "repair": ("mend what `check` finds", lambda reconciler, progress: reconciler.repair(progress)),
    "rebuild": (
        "make the index, put what it lacks, and let searches see it",
        lambda reconciler, progress: reconciler.rebuild(progress),
    ),
}


def _run(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    progress = Progress(around.err)
    _, act = _ACTIONS[options.action]
    with _reconciler(options.stack, around) as reconciler:
        findings = act(reconciler, progress)
    progress.end()
    _tell(findings, output)
    if findings.refused or (options.action == "check" and findings.divergences):
        raise CommandError("the index is not in step with the table")


@contextmanager
def _reconciler(stack: str | None, around: Surroundings) -> Iterator[Reconciler]:
    """The index's upkeep; what the service refuses becomes a CommandError with its own words."""
    from lethe.errors import LetheError

    environment = stack_environment(stack, around, URL, "no search index: the stack runs with the scan engine")
    try:
        yield around.build_reconciler(environment)
    except LetheError as error:
        raise CommandError(str(error)) from error


def _tell(findings: Findings, output: Output) -> None:
    numbers = asdict(findings) | {"divergences": findings.divergences}
    if output.as_json:
        output.json(numbers)
        return
    output.table(("", "count"), [(name.replace("_", " "), str(value)) for name, value in numbers.items()])
