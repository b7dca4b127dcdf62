"""`lethe receipt verify | show | export | key`: receipts of erasures, checked offline by their public key."""

from __future__ import annotations

import argparse
import base64
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lethe_client.cli.access import stack_environment, told
from lethe_client.cli.failures import CommandError, UsageError
from lethe_client.cli.output import Output
from lethe_client.cli.receipts_exported import export
from lethe_client.cli.receipts_shown import show
from lethe_client.cli.surroundings import Parsers, Surroundings
from lethe_client.json_types import JsonObject, JsonValue
from lethe_client.receipt_form import Fault
from lethe_client.receipts import PublicKey, check_chain, check_receipt, read_documents, read_public_key

KEY_FILE, KEY_ARN = "LETHE_RECEIPT_KEY_FILE", "LETHE_RECEIPT_KEY_ARN"


def add_commands(parsers: Parsers, common: argparse.ArgumentParser, on_stack: argparse.ArgumentParser) -> None:
    """Declare the commands of this group."""
    group = parsers.add_parser("receipt", help="check and show receipts of erasures").add_subparsers(
        metavar="ACTION", required=True
    )
    what = "check receipts offline; several are checked as the chain of one tenant, too"
    verify = group.add_parser("verify", parents=[common], help=what)
    verify.add_argument("files", nargs="+", type=Path, metavar="FILE", help="one receipt, a JSON array, or one a line")
    verify.add_argument("--key", required=True, type=Path, metavar="PUB", help="the public key, PEM or DER")
    verify.add_argument(
        "--end", type=_sha256, metavar="SHA256", help="the hash of the receipt that must be the last of the chain"
    )
    verify.add_argument("--each", action="store_true", help="receipts that are no whole chain: check each alone")
    verify.set_defaults(run=_verify)
    shown = group.add_parser("show", parents=[on_stack], help="print what a receipt says (--json: the document)")
    shown.add_argument("source", metavar="FILE|ERASURE", help="a file, or the id of an erasure of the service")
    shown.add_argument("--receipt", metavar="ID", help="of an erasure not the newest receipt, but this one")
    shown.set_defaults(run=show)
    what = "fetch all receipts of the tenant, one a line, in the order of their chain"
    exported = group.add_parser("export", parents=[on_stack], help=what)
    exported.add_argument("--output", type=Path, metavar="FILE", help="a new file (default: print)")
    exported.set_defaults(run=export)
    key = group.add_parser("key", parents=[on_stack], help="print the public key that receipts are checked with")
    key.set_defaults(run=_key)


@dataclass(frozen=True, slots=True)
class _Checked:
    file: str
    document: JsonValue
    faults: tuple[Fault, ...]

    @property
    def receipt(self) -> JsonObject:
        """What it says; {} when that cannot be found."""
        receipt = self.document.get("receipt") if isinstance(self.document, dict) else None
        return receipt if isinstance(receipt, dict) else {}


def _verify(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    if options.each and options.end:
        raise UsageError("--end is about a chain, and --each checks none")
    key = _public_key(around.folder / options.key)
    files = [_checked(around.folder, path, key) for path in options.files]
    # A shell gives files in the order of their names, which is not that of the chain; inside a file order counts.
    checked = [each for file in sorted(files, key=_place) for each in file]
    chain: tuple[Fault, ...] = ()
    if not options.each and (len(checked) > 1 or options.end):
        chain = check_chain([each.document for each in checked], options.end)
    _tell(checked, chain, None if options.each else options.end or "", output)
    count = sum(len(each.faults) for each in checked) + len(chain)
    if count:
        raise CommandError(f"not valid: {count} {'fault' if count == 1 else 'faults'}")


def _public_key(path: Path) -> PublicKey:
    try:
        return read_public_key(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({type(error).__name__})") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    except ImportError:
        raise UsageError("signatures need the package cryptography: pip install 'lethe-memory[receipts]'") from None


def _checked(folder: Path, path: Path, key: PublicKey) -> list[_Checked]:
    try:
        documents = read_documents((folder / path).read_bytes().decode("utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({type(error).__name__})") from None
    except ValueError:
        return [_Checked(str(path), None, (Fault("not_json", "document"),))]
    if not documents:
        return [_Checked(str(path), None, (Fault("missing_field", "document"),))]
    return [_Checked(str(path), document, check_receipt(document, key)) for document in documents]


def _place(file: Sequence[_Checked]) -> int:
    n = file[0].receipt.get("n")
    return n if isinstance(n, int) else 0


def _tell(checked: Sequence[_Checked], chain: Sequence[Fault], end: str | None, output: Output) -> None:
    """``end`` is the hash that the chain had to end with, "" when none was named, None when no chain was checked."""
    if output.as_json:
        receipts = [
            {
                "file": each.file,
                "receipt": each.receipt.get("id"),
                "n": each.receipt.get("n"),
                "faults": [asdict(fault) for fault in each.faults],
            }
            for each in checked
        ]
        valid = not chain and not any(each.faults for each in checked)
        output.json({"valid": valid, "receipts": receipts, "chain": [asdict(fault) for fault in chain]})
        return
    for each in checked:
        if each.faults:
            output.line(f"{each.file}: not valid")
            _tell_faults(each.faults, output)
        else:
            said = each.receipt
            output.line(f"{each.file}: valid, receipt {said['id']}, number {said['n']} of {said['tenant']}")
            output.line(f"  {_promise(said)}")
    if chain:
        output.line("the chain: not valid")
        _tell_faults(chain, output)
    elif not any(each.faults for each in checked):
        _tell_chain(checked, end, output)


def _tell_chain(checked: Sequence[_Checked], end: str | None, output: Output) -> None:
    """What was found beside that each is valid."""
    count = "1 receipt" if len(checked) == 1 else f"{len(checked)} receipts, each"
    if end is None:
        output.line(f"{count} signed by this key; whether they are a whole chain was not looked at")
    elif end or len(checked) > 1:
        last = checked[-1].receipt
        known = "and ends as demanded" if end else "whether it goes on after that only --end can tell"
        output.line(
            f"{count} signed by this key: the chain of {last['tenant']} is whole from 1 to {last['n']}; {known}"
        )


def _tell_faults(faults: Sequence[Fault], output: Output) -> None:
    for fault in faults:
        output.line(f"  {fault.name} at {fault.where}")


def _promise(receipt: JsonObject) -> str:
    promises = receipt["promises"]
    assert isinstance(promises, dict)  # the receipt is valid
    since, content, gone = (
        promises[name] for name in ("not_retrievable_since", "content_gone_by", "physically_gone_by")
    )
    undated = f"; no date for {_listed(promises['without_date'])}" if gone is None else f"; the last id gone by {gone}"
    return f"not retrievable since {since}" + (f"; content gone by {content}" if content else "") + undated


def _sha256(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError("not a SHA-256: 64 digits of 0-9 and a-f")
    return text


def _listed(values: JsonValue) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else ""


def _key(options: argparse.Namespace, around: Surroundings, output: Output) -> None:
    with told():
        signer = around.build_signer(_key_environment(options.stack, around))
        der, name = signer.public_key(), signer.key_id
    pem = _pem(der)
    if output.as_json:
        output.json({"key_id": name, "algorithm": signer.algorithm, "public_key": pem})
    else:
        output.line(pem.rstrip())


def _key_environment(stack: str | None, around: Surroundings) -> Mapping[str, str]:
    """The environment that names the signing key: of the stack, of this process, or of the laptop's stack."""
    without = "no key that signs receipts"
    if stack is not None or around.environment.get(KEY_ARN):
        # A file that this shell names is the laptop's, and would be taken before the stack's own key.
        found = stack_environment(stack, around, KEY_ARN, without)
        return {name: value for name, value in found.items() if name != KEY_FILE}
    return stack_environment(None, around, KEY_FILE, without)


def _pem(der: bytes) -> str:
    """A public key as text (RFC 7468)."""
    lines = "\n".join(textwrap.wrap(base64.b64encode(der).decode("ascii"), 64))
    return f"-----BEGIN PUBLIC KEY-----\n{lines}\n-----END PUBLIC KEY-----\n"
