"""`lethe index rebuild | check | repair`: the search index against the table that it is made from; `lethe index
reembed`: the vectors in that table against the models that are configured.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from lethe_client.cli.access import stack_environment, told
from lethe_client.cli.failures import CommandError, UsageError
from lethe_client.cli.output import Output
from lethe_client.cli.progress import Progress
from lethe_client.cli.surroundings import Parsers, Surroundings

if TYPE_CHECKING:
    from lethe.services.reconcile import Findings, Reconciler, Watcher
    from lethe.services.reembedding import Reembedded

URL = "LETHE_OPENSEARCH_URL"
TABLE = "LETHE_MEMORIES_TABLE"
EMBEDDER = ("LETHE_EMBEDDER", "LETHE_EMBEDDER_URL")
SECOND = ("LETHE_SECOND_EMBEDDER", "LETHE_SECOND_EMBEDDER_URL")
_WITHOUT_INDEX: Final = (
    "no search index: the stack searches by scan; on a laptop start it with `make dev OPENSEARCH=1`, on AWS deploy it "
    "with SearchEngine=managed or serverless"
)


def add_commands(parsers: Parsers, common: argparse.ArgumentParser) -> None:
    """Declare the commands of this group."""
    group = parsers.add_parser("index", help="build, compare and mend the search index").add_subparsers(
        metavar="ACTION", required=True
    )
    for name, (what, _) in _ACTIONS.items():
        action = group.add_parser(name, parents=[common], help=what)
        action.add_argument("--second", action="store_true", help="the index of the second embedder's model")
        action.set_defaults(run=_run, action=name)
    what = "give every memory the vectors of the embedder and the second one, and no others, while all goes on"
    group.add_parser("reembed", parents=[common], help=what).set_defaults(run=_reembed)


_ACTIONS: Mapping[str, tuple[str, Callable[[Reconciler, Watcher], Findings]]] = {
    "check": (
        "count what is missing, stale, orphaned or fenced, and change nothing",
        lambda reconciler, watcher: reconciler.check(watcher),
    ),
    "repair": ("mend what `check` finds", lambda reconciler, watcher: reconciler.repair(watcher)),
    "rebuild": (
        "make the index, put what it lacks, and let searches see it",
        lambda reconciler, watcher: reconciler.rebuild(watcher),
    ),
}


def _run(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    progress = Progress(around.err)
    _, act = _ACTIONS[options.action]
    environment = stack_environment(options.stack, around, URL, "no search index", _WITHOUT_INDEX)
    if options.second:
        environment = _of_the_second(environment)
    with told():
        findings = act(around.build_reconciler(environment), lambda found: progress.show(_compared(found)))
    progress.end()
    output.counts(_counts(findings, mended=options.action != "check"))
    if findings.left:
        raise CommandError(_what_is_left(findings))


def _compared(findings: Findings) -> str:
    later = f", {findings.later} to be tried again in a moment" if findings.later else ""
    return f"{findings.memories} memories, {findings.entries} entries{later}"


def _counts(findings: Findings, mended: bool) -> dict[str, int]:
    """What was compared and found; of a run that mends also what became of it; at the end what is left."""
    numbers = asdict(findings)
    found = {name: numbers[name] for name in ("memories", "entries", "missing", "stale", "orphans", "fenced")}
    became = {name: numbers[name] for name in ("mended", "refused", "later")} if mended else {}
    return found | {"found": findings.divergences} | became | {"left": findings.left}


def _what_is_left(findings: Findings) -> str:
    """How much, and a part for each reason."""
    reasons = [f"the index is not in step with the table: {findings.left} left"]
    if findings.refused:
        reasons.append(
            f"{findings.refused} refused: the index does not take these entries as they are; its log says why"
        )
    if findings.later:
        reasons.append(
            f"{findings.later} later: the index still remembers that these entries were deleted, or it is too busy; "
            "run this again after a minute"
        )
    return "; ".join(reasons)


def _reembed(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    progress = Progress(around.err)
    environment = stack_environment(options.stack, around, TABLE, "no table of memories")
    with told():
        done = around.build_reembedder(environment).run(lambda done: progress.show(_embedded(done)))
    progress.end()
    output.counts(asdict(done))


def _embedded(done: Reembedded) -> str:
    return f"{done.versions} versions of memories, {done.embedded} embedded"


def _of_the_second(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The settings with the two embedders exchanged."""
    if not environment.get(SECOND[0]):
        raise UsageError("there is no second embedder: deploy with SecondEmbedder, or set LETHE_SECOND_EMBEDDER")
    exchanged = zip((*EMBEDDER, *SECOND), (*SECOND, *EMBEDDER), strict=True)
    return {**environment, **{name: environment.get(other, "") for name, other in exchanged}}
