"""`lethe cost`: what a stack costs a month, from volumes and dated prices, with the formula of each item."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import Final, get_args

from lethe_client.cli.cost_model import ASSUMED, Audited, Mode, Volumes, monthly, total
from lethe_client.cli.cost_of_erasure import DAYS, MILLION, Verified
from lethe_client.cli.failures import UsageError
from lethe_client.cli.numbers import number, whole
from lethe_client.cli.output import Output
from lethe_client.cli.prices import Prices, load_prices
from lethe_client.cli.surroundings import Parsers, Surroundings

_MOST_IN_A_TRANSACTION = 49


def add_commands(parsers: Parsers, common: argparse.ArgumentParser) -> None:
    """Declare the command."""
    cost = parsers.add_parser("cost", parents=[common], help="what a stack costs a month, from volumes")
    cost.set_defaults(run=_run)
    cost.add_argument("--compare", action="store_true", help="all modes: idle, and for a million of each")
    default = Volumes()
    for name, choices, what in (
        ("mode", get_args(Mode), "the template's SearchEngine"),
        ("audit", get_args(Audited), "the template's Audit"),
        ("verify", get_args(Verified), "the template's ErasureVerification"),
        ("embedder", ("titan", "cohere", "local"), "the model of the texts' vectors"),
        ("architecture", ("arm64", "x86_64"), "of the functions"),
        ("instance_type", None, "managed: type of the domain's instances"),
    ):
        shown = f"{what} ({getattr(default, name)})"
        cost.add_argument(_option(name), choices=choices, default=argparse.SUPPRESS, help=shown)
    for name, kind, what in _NUMBERS:
        value = getattr(default, name)
        shown = "" if value is None else f" ({value:g})"
        option = _option(name)
        cost.add_argument(option, type=kind, default=argparse.SUPPRESS, metavar="N", help=what + shown)


_NUMBERS: tuple[tuple[str, Callable[[str], float], str], ...] = (
    ("subjects", whole(0), "subjects"),
    ("memories", whole(1), "memories of a subject"),
    ("writes", number(0), "memories written a day, of all subjects"),
    ("recalls", number(0), "recalls a day, of all subjects"),
    ("erasures", number(0), "users erased a day, each with all memories"),
    ("characters", whole(1), "bytes of a memory's text and context in UTF-8"),
    ("dimensions", whole(1), "numbers of a vector"),
    ("batch", whole(1, _MOST_IN_A_TRANSACTION), "memories in one request"),
    ("cold_share", number(0, 1), "scan: share of recalls whose container has not read the subject's memories"),
    ("instances", whole(1), "managed: instances of the domain"),
    ("gigabytes", whole(1), "managed: disk of each instance of the domain"),
    ("index_bytes", number(1), "with an index: bytes of an entry"),
    ("search_units", number(0), "serverless: OCUs of an awake collection for searching"),
    ("index_units", number(0), "serverless: OCUs of an awake collection for indexing"),
    ("write_ms", number(0), "milliseconds of a write"),
    ("recall_ms", number(0), "milliseconds of a recall"),
    ("authorize_ms", number(0), "milliseconds of the authorizer"),
    ("index_ms", number(0), "with an index: milliseconds of a batch of the indexer"),
    ("erase_ms", number(0), "milliseconds of a task of an erasure, of its request, of a tick"),
)


def _run(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    prices = load_prices()
    given = {name: value for name, value in vars(options).items() if name in asdict(Volumes())}
    volumes = Volumes(**given)
    _refuse_what_does_not_apply(given, None if options.compare else volumes.mode)
    if f"opensearch.{volumes.instance_type}" not in prices.by_name:
        raise UsageError(f"no price of {volumes.instance_type}; there is one of {', '.join(prices.instance_types())}")
    if options.compare:
        _compare(volumes, prices, output)
    else:
        _tell(volumes, prices, output)


def _refuse_what_does_not_apply(given: Iterable[str], mode: Mode | None) -> None:
    """What would change nothing; ``mode`` None compares all. Raises UsageError."""
    if mode is None:
        beside = [name for name in given if name in _OF_ONE_BILL]
        because = "to --compare, which is of all modes, for a million of each"
    else:
        beside = [name for name in given if mode not in _MODES_OF.get(name, get_args(Mode))]
        because = f"to --mode {mode}"
    if beside:
        raise UsageError(f"{', '.join(map(_option, beside))} does not apply {because}")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


_OF_ONE_BILL: Final = frozenset(("mode", "subjects", "writes", "recalls", "erasures"))
_MODES_OF: Final[dict[str, tuple[Mode, ...]]] = {
    "cold_share": ("scan",),
    "instance_type": ("managed",),
    "instances": ("managed",),
    "gigabytes": ("managed",),
    "search_units": ("serverless",),
    "index_units": ("serverless",),
    "index_bytes": ("managed", "serverless"),
    "index_ms": ("managed", "serverless"),
}
"""The modes whose bill an option changes; all, where it is not named."""


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
    output.line(
        "| mode | idle, $ a month | 1 M memories kept, a month | 1 M memories written | 1 M recalls "
        "| 1,000 users erased, of 1 M memories |"
    )
    output.line("| --- | --- | --- | --- | --- | --- |")
    for mode, costs in compared.items():
        output.line(f"| `{mode}` | " + " | ".join(f"{usd:,.2f}" for usd in costs.values()) + " |")


def _of_each(volumes: Volumes, prices: Prices) -> dict[str, float]:
    """What nothing costs, and what a million memories, writes or recalls in a month add to that; and what a thousand
    users add who are erased where a million memories are kept.
    """
    idle = replace(volumes, subjects=0, writes=0, recalls=0, erasures=0)
    kept = replace(idle, subjects=MILLION, memories=1)
    written = replace(idle, writes=MILLION / DAYS)
    recalled = replace(idle, recalls=MILLION / DAYS)
    full = replace(idle, subjects=max(1, MILLION // volumes.memories))
    erased = replace(full, erasures=1_000 / DAYS)
    nothing, *more = (total(monthly(each, prices)) for each in (idle, kept, written, recalled))
    added = dict(zip(("kept", "written", "recalled"), more, strict=True))
    costs = {"idle": nothing} | {name: usd - nothing for name, usd in added.items()}
    return costs | {"erased": total(monthly(erased, prices)) - total(monthly(full, prices))}
