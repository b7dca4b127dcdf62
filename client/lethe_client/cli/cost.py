"""`lethe cost`: what a stack costs a month, from volumes and dated prices, with the formula of each item."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import get_args

from lethe_client.cli.cost_model import ASSUMED, DAYS, MILLION, Audited, Mode, Volumes, monthly, total
from lethe_client.cli.output import Output
from lethe_client.cli.prices import Prices, load_prices
from lethe_client.cli.surroundings import Parsers, Surroundings, UsageError

_MOST_IN_A_TRANSACTION = 49


def add_commands(parsers: Parsers, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    cost = parsers.add_parser("cost", parents=[common], help="what a stack costs a month, from volumes")
    cost.set_defaults(run=_run)
    cost.add_argument("--compare", action="store_true", help="all modes: idle, and for a million of each")
    default = Volumes()
    cost.add_argument("--mode", choices=get_args(Mode), default=default.mode, help="the template's SearchEngine")
    cost.add_argument("--audit", choices=get_args(Audited), default=default.audit, help="the template's Audit")
    cost.add_argument("--embedder", choices=("titan", "cohere", "local"), default=default.embedder)
    cost.add_argument("--architecture", choices=("arm64", "x86_64"), default=default.architecture)
    cost.add_argument("--instance-type", default=default.instance_type, help="of a managed domain")
    for name, kind, what in _NUMBERS:
        value = getattr(default, name)
        shown = "" if value is None else f" ({value:g})"
        cost.add_argument(f"--{name.replace('_', '-')}", type=kind, default=value, metavar="N", help=what + shown)


def _at_least(least: float, most: float | None = None) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = float(text)
        if not least <= value <= (most if most is not None else float("1e15")):
            raise argparse.ArgumentTypeError(
                f"{text} is not {least:g} or more" + (f", {most:g} at most" if most else "")
            )
        return value

    return number


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    check = _at_least(least, most)

    def number(text: str) -> int:
        check(text)
        return int(text)

    return number


_NUMBERS: tuple[tuple[str, Callable[[str], float], str], ...] = (
    ("subjects", _whole(0), "subjects"),
    ("memories", _whole(1), "memories of a subject"),
    ("writes", _at_least(0), "memories written a day, of all subjects"),
    ("recalls", _at_least(0), "recalls a day, of all subjects"),
    ("characters", _whole(1), "bytes of a memory's text and context in UTF-8"),
    ("dimensions", _whole(1), "numbers of a vector"),
    ("batch", _whole(1, _MOST_IN_A_TRANSACTION), "memories in one request"),
    ("cold_share", _at_least(0, 1), "scan: share of recalls whose container has not read the subject's memories"),
    ("instances", _whole(1), "of a managed domain"),
    ("gigabytes", _whole(1), "disk of each instance of a managed domain"),
    ("index_bytes", _at_least(1), "bytes of an entry of the index"),
    ("search_units", _at_least(0), "OCUs of an awake collection for searching"),
    ("index_units", _at_least(0), "OCUs of an awake collection for indexing"),
    ("write_ms", _at_least(0), "milliseconds of a write"),
    ("recall_ms", _at_least(0), "milliseconds of a recall"),
    ("authorize_ms", _at_least(0), "milliseconds of the authorizer"),
    ("index_ms", _at_least(0), "milliseconds of a batch of the indexer"),
)


def _run(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    prices = load_prices()
    given = vars(options)
    volumes = Volumes(**{name: given[name] for name in asdict(Volumes()) if name in given})
    if f"opensearch.{volumes.instance_type}" not in prices.by_name:
        raise UsageError(f"no price of {volumes.instance_type}; there is one of {', '.join(prices.instance_types())}")
    if options.compare:
        _compare(volumes, prices, output)
    else:
        _tell(volumes, prices, output)


def _tell(volumes: Volumes, prices: Prices, output: Output) -> None:
    lines = monthly(volumes, prices)
    if output.as_json:
        output.json(
            {
                "region": prices.region,
                "prices_collected": prices.collected,
                "volumes": asdict(volumes),
                "lines": [asdict(line) for line in lines],
                "total_usd": total(lines),
                "assumed": list(ASSUMED),
            }
        )
        return
    rows = [(line.service, line.what, f"{line.usd:,.2f}", line.formula) for line in lines]
    output.table(("service", "what", "$ a month", "formula"), [*rows, ("total", "", f"{total(lines):,.2f}", "")])
    output.line()
    _tell_basis(prices, output)


def _tell_basis(prices: Prices, output: Output) -> None:
    output.line(f"{prices.region}, prices collected {prices.collected} (prices.json names the source of each).")
    output.line(f"Assumed: {'; '.join(ASSUMED)}.")


def _compare(volumes: Volumes, prices: Prices, output: Output) -> None:
    compared = {mode: _of_each(replace(volumes, mode=mode), prices) for mode in get_args(Mode)}
    if output.as_json:
        output.json({"region": prices.region, "prices_collected": prices.collected, "modes": compared})
        return
    output.line("| mode | idle, $ a month | 1 M memories kept, a month | 1 M memories written | 1 M recalls |")
    output.line("| --- | --- | --- | --- | --- |")
    for mode, costs in compared.items():
        output.line(f"| `{mode}` | " + " | ".join(f"{usd:,.2f}" for usd in costs.values()) + " |")


def _of_each(volumes: Volumes, prices: Prices) -> dict[str, float]:
    """What nothing costs, and what a million memories, writes or recalls in a month add to that."""
    idle = replace(volumes, subjects=0, writes=0, recalls=0)
    kept = replace(idle, subjects=MILLION, memories=1)
    written = replace(idle, writes=MILLION / DAYS)
    recalled = replace(idle, recalls=MILLION / DAYS)
    nothing, *more = (total(monthly(each, prices)) for each in (idle, kept, written, recalled))
    added = dict(zip(("kept", "written", "recalled"), more, strict=True))
    return {"idle": nothing} | {name: usd - nothing for name, usd in added.items()}
