"""`lethe receipt show`: what a receipt says, of a file or of the service."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from lethe_client.cli.failures import CommandError, UsageError
from lethe_client.cli.output import Output, some
from lethe_client.cli.scopes import scope_words
from lethe_client.cli.service import open_client
from lethe_client.cli.surroundings import Surroundings
from lethe_client.json_types import JsonObject, JsonValue
from lethe_client.receipts import read_documents


def show(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    """Run `lethe receipt show`."""
    documents = _documents(options, around)
    if output.as_json:
        output.json(documents[0] if len(documents) == 1 else documents)
        return
    for document in documents:
        receipt = document.get("receipt") if isinstance(document, dict) else None
        try:
            _describe(receipt if isinstance(receipt, dict) else {}, output)
        except (KeyError, TypeError, AttributeError):
            raise CommandError("this is not a receipt; `lethe receipt verify` says what is wrong with it") from None
    output.line("Nothing was checked here: lethe receipt verify FILE --key PUB")


def _documents(options: argparse.Namespace, around: Surroundings) -> list[JsonValue]:
    source: str = options.source
    path = around.folder / source
    if source.startswith("er_") and not path.exists():
        with open_client(options.stack, around) as client:
            return [client.erasures.receipt(source, options.receipt)]
    if options.receipt is not None or options.stack is not None:
        raise UsageError("--receipt and --stack are for the id of an erasure (er_…), and this is none")
    if source.startswith("rc_") and not path.exists():
        raise UsageError(
            f"a receipt is found by its erasure: lethe receipt show ERASURE --receipt {source}; "
            "lethe receipt export has all of them"
        )
    try:
        return read_documents(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{source} cannot be read ({type(error).__name__}): name a file, or the id of an erasure (er_…)"
        ) from None
    except ValueError:
        raise CommandError(f"{source} is not JSON") from None


def _describe(receipt: Mapping[str, JsonValue], output: Output) -> None:
    output.line(f"receipt {receipt['id']}, number {receipt['n']} of {receipt['tenant']}, {receipt['issued_at']}")
    output.line(f"  erasure: {receipt['erasure']}")
    output.line(f"  subject: {receipt['subject'] or 'every user of the tenant'}")
    output.line(f"  scope: {_scope(receipt['scope'])}")
    for name in ("outcome", "requested_at", "unreadable_since", "completed_at"):
        output.line(f"  {name.replace('_', ' ')}: {receipt[name]}")
    output.line()
    counts = _of(receipt["counts"])
    header = ("store", "found", "deleted", "remaining", "held")
    output.table(header, [(store, *(str(_of(count)[name]) for name in header[1:])) for store, count in counts.items()])
    for hold in _each(receipt["holds"]):
        if hold["scope"] is None:
            output.line(f"  hold {hold['name']}: released meanwhile")
        else:
            output.line(f"  hold {hold['name']}: on {_scope(hold['scope'])}, placed at {hold['placed_at']}")
    output.line()
    _describe_residuals(receipt, output)


def _describe_residuals(receipt: Mapping[str, JsonValue], output: Output) -> None:
    """Where something may still be, what, and until when."""
    surfaces = _each(receipt["residuals"])
    columns = ("surface", "carries", "until", "basis")
    output.table(
        ("may still be in", *columns[1:]),
        [tuple(str(each[name] or "no date") for name in columns) for each in surfaces],
    )
    for each in surfaces:
        output.line(f"  {each['surface']}: {each['what']}")
    output.line()
    promises = _of(receipt["promises"])
    content = [str(each["surface"]) for each in surfaces if each["carries"] == "content"]
    undated = [str(each["surface"]) for each in surfaces if each["until"] is None]
    output.line(f"  not retrievable since: {promises['not_retrievable_since']}")
    output.line(
        f"  content gone by: {_date(promises['content_gone_by'], [name for name in undated if name in content])}"
    )
    output.line(f"  physically gone by: {_date(promises['physically_gone_by'], undated)}")
    outside = promises["outside"]
    output.line(f"  outside of these promises: {', '.join(map(str, outside if isinstance(outside, list) else []))}")


def _date(promised: JsonValue, without: list[str]) -> str:
    return (
        str(promised) if promised is not None else f"no date{', because of ' + ', '.join(without) if without else ''}"
    )


def _scope(scope: JsonValue) -> str:
    said = scope_words(_of(scope))
    ids = _of(scope).get("memory_ids")
    return f"{said}: {some(ids)}" if isinstance(ids, list) else said


def _of(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _each(value: JsonValue) -> list[JsonObject]:
    if not isinstance(value, list):
        raise TypeError
    return [_of(entry) for entry in value]
