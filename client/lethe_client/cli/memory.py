"""`lethe remember | search | recall | memories`: one user's memory, over HTTP."""

import argparse
import itertools
from dataclasses import asdict

from lethe_client.cli.numbers import number, whole
from lethe_client.cli.output import Output, shorten
from lethe_client.cli.service import open_client
from lethe_client.cli.surroundings import Parsers, Surroundings
from lethe_client.explain import ExplainedCandidate
from lethe_client.models import Memory


def add_commands(parsers: Parsers, common: argparse.ArgumentParser) -> None:
    """Declare the commands of this group."""
    remember = parsers.add_parser("remember", parents=[common], help="store one statement about a user")
    remember.add_argument("user", metavar="USER")
    remember.add_argument("text", metavar="TEXT")
    remember.set_defaults(run=_remember)

    search = parsers.add_parser("search", parents=[common], help="find memories of a user")
    recall = parsers.add_parser("recall", parents=[common], help="print the block for the prompt")
    for command, run in ((search, _search), (recall, _recall)):
        command.add_argument("user", metavar="USER")
        command.add_argument("query", metavar="QUERY")
        command.add_argument("--top-k", type=whole(1, 100), metavar="N", help="memories at most (default 5)")
        command.add_argument(
            "--threshold", type=number(0, 1), metavar="T", help="least relevance, 0 to 1 (default 0.55)"
        )
        command.set_defaults(run=run)
    search.add_argument("--explain", action="store_true", help="show every candidate and why it was kept or dropped")

    memories = parsers.add_parser("memories", parents=[common], help="list the memories of a user, newest first")
    memories.add_argument("user", metavar="USER")
    memories.add_argument("--limit", type=whole(1), default=50, metavar="N", help="at most this many (default 50)")
    memories.set_defaults(run=_memories)


def _remember(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_client(options.stack, around) as client:
        answer = client.memories.add(options.text, user_id=options.user)
    if output.as_json:
        output.json({"results": [result.raw for result in answer.results], "notice": answer.notice})
        return
    for result in answer.results:
        output.line(f"{result.event} ({result.reason})" + (f"  {result.memory.id}" if result.memory else ""))
    if answer.notice:
        output.line(answer.notice)


def _search(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_client(options.stack, around) as client:
        found = client.memories.search(
            options.query,
            user_id=options.user,
            top_k=options.top_k,
            threshold=options.threshold,
            explain=options.explain or None,
        )
    if output.as_json:
        answer: dict[str, object] = {
            "memories": [memory.raw for memory in found.memories],
            "outcome": found.outcome,
            "degraded": found.degraded,
        }
        if found.explain is not None:
            answer["explain"] = [candidate.raw for candidate in found.explain]
        output.json(answer)
        return
    if not found.memories:
        output.line(found.outcome.replace("_", " "))
    else:
        output.table(("score", "date", "text"), [_row(memory, _score(memory)) for memory in found.memories])
    if found.explain:
        output.line()
        rows = [_explained(candidate) for candidate in found.explain]
        output.table(("relevance", "words", "vector", "decided by", "reason", "text"), rows)


def _recall(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_client(options.stack, around) as client:
        recalled = client.recall(options.query, user_id=options.user, top_k=options.top_k, threshold=options.threshold)
    if output.as_json:
        output.json(
            {
                "context": recalled.context,
                "memories": [memory.raw for memory in recalled.memories],
                "outcome": recalled.outcome,
                "degraded": recalled.degraded,
                "tokens": recalled.tokens,
                "left_out": asdict(recalled.left_out),
            }
        )
    else:
        output.line(recalled.context or recalled.outcome.replace("_", " "))


def _memories(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with open_client(options.stack, around) as client:
        walk = client.memories.list(user_id=options.user, page_size=min(options.limit, 200))
        found = list(itertools.islice(walk, options.limit))
    if output.as_json:
        output.json({"memories": [memory.raw for memory in found]})
    elif not found:
        output.line("nothing stored")
    else:
        output.table(("status", "date", "text", "id"), [(*_row(memory, memory.status), memory.id) for memory in found])


def _row(memory: Memory, first: str) -> tuple[str, str, str]:
    said = memory.occurred_at or memory.created_at
    return first, f"{said:%Y-%m-%d}" if said else "", shorten(memory.text, 64)


def _explained(candidate: ExplainedCandidate) -> tuple[str, ...]:
    """One candidate with its rank in each leg and the decision that ended its way, or the last one."""
    decided = next(
        (d for d in candidate.decisions if not d.kept), candidate.decisions[-1] if candidate.decisions else None
    )
    ranks = (candidate.legs.get(name) for name in ("words", "vector"))
    return (
        f"{candidate.relevance:.2f}",
        *("-" if leg is None or leg.rank is None else str(leg.rank) for leg in ranks),
        decided.stage if decided else "",
        decided.reason if decided else "",
        shorten(candidate.text, 48),
    )


def _score(memory: Memory) -> str:
    return "" if memory.score is None else f"{memory.score:.2f}"
