"""`lethe receipt export`: all receipts of a tenant, as one chain."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from lethe_client.cli.failures import CommandError, UsageError
from lethe_client.cli.output import Output, some
from lethe_client.cli.service import open_client
from lethe_client.cli.surroundings import Surroundings
from lethe_client.client import Lethe
from lethe_client.json_types import JsonObject, JsonValue


def export(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    """Run `lethe receipt export`."""
    with open_client(options.stack, around) as client:
        documents = sorted(_receipts(client), key=_place)
    lines = [json.dumps(document, ensure_ascii=False) for document in documents]
    if options.output is None:
        for line in lines:
            output.line(line)
    else:
        _write(around.folder / options.output, lines)
        count = "1 receipt" if len(lines) == 1 else f"{len(lines)} receipts"
        output.line(f"{count} written to {options.output}")
        output.line(f"next: lethe receipt verify {options.output} --key PUB")
    places = {_place(document) for document in documents}
    missing: list[JsonValue] = [n for n in range(1, max(places, default=0)) if n not in places]
    if missing:
        raise CommandError(
            f"no whole chain, since these are missing: {some(missing)}. A key that covers every user sees all; "
            "when an erasure ended meanwhile, export again"
        )


def _receipts(client: Lethe) -> list[JsonObject]:
    """Every receipt of every erasure that the key sees."""
    return [
        client.erasures.receipt(erasure.id, receipt_id)
        for erasure in client.erasures.list(page_size=200)
        for receipt_id in erasure.receipts
    ]


def _place(document: JsonObject) -> int:
    receipt = document.get("receipt")
    n = receipt.get("n") if isinstance(receipt, dict) else None
    if not isinstance(n, int):
        raise CommandError("the service answered with something that is not a receipt")
    return n


def _write(path: Path, lines: list[str]) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({type(error).__name__})") from None
