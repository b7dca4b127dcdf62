"""Finds every fault of a signed receipt, and of a chain of them, by name.

The checks ask nothing but the document and the public key: whoever has both comes to the same result
(``docs/receipts.md``). A document without faults was signed by that key as it stands, and does not contradict itself.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast

from lethe.domain.chain import NOTHING, hash_of
from lethe.domain.json_values import JsonObject, JsonValue
from lethe.domain.receipt import statement_of
from lethe.domain.receipt_form import DOCUMENT, Fault, FaultName

Verify: TypeAlias = Callable[[bytes, bytes], bool]
"""Whether the second argument is a signature (DER) of the first."""

_IN_ORDER: Final = ("requested_at", "unreadable_since", "completed_at", "issued_at")


def check_receipt(document: JsonValue, verify: Verify, public_key_sha256: str | None = None) -> tuple[Fault, ...]:
    """Every fault of one signed receipt; none when it is what the key's owner signed.

    ``public_key_sha256`` tells a receipt that another key signed from one that was changed.
    """
    faults = list(DOCUMENT(document, "document"))
    if not isinstance(document, Mapping):
        return tuple(faults)
    receipt, statement = document.get("receipt"), document.get("statement")
    whole = not faults
    if isinstance(receipt, Mapping):
        faults += _of_content(receipt, statement, whole)
    if isinstance(statement, str):
        faults += _of_signature(document, statement, verify, public_key_sha256)
    return tuple(faults)


def check_chain(documents: Sequence[JsonObject], end: str | None = None) -> tuple[Fault, ...]:
    """Every fault of the order of receipts of one tenant, from its first on. They are checked one by one elsewhere.

    Receipts that are missing at the end leave no trace in those before them: ``end``, the hash of a receipt that is
    known to be the last, tells.
    """
    faults: list[Fault] = []
    previous, tenant, seen = NOTHING, None, set[str]()
    for n, document in enumerate(documents):
        where = f"receipts[{n}]"
        receipt = document.get("receipt")
        if not isinstance(receipt, Mapping):
            faults.append(Fault(FaultName.WRONG_TYPE, where))
            continue
        tenant = receipt.get("tenant") if n == 0 else tenant
        found = _hash(receipt)
        faults += _of_link(receipt, n, previous, found in seen, tenant, where)
        seen.add(found)
        previous = found
    if end is not None and previous != end:
        faults.append(Fault(FaultName.WRONG_END, f"receipts[{len(documents)}]"))
    return tuple(faults)


def _of_link(
    receipt: JsonObject, place: int, previous: str, known: bool, tenant: JsonValue, where: str
) -> Iterator[Fault]:
    if known:
        yield Fault(FaultName.REPEATED, where)
    if receipt.get("tenant") != tenant:
        yield Fault(FaultName.OTHER_TENANT, where)
    if receipt.get("n") != place + 1:
        yield Fault(FaultName.OUT_OF_ORDER, where)
    if receipt.get("previous") != previous:
        yield Fault(FaultName.BROKEN_CHAIN, where)


def _of_content(receipt: JsonObject, statement: JsonValue, whole: bool) -> Iterator[Fault]:
    """What the receipt says against its statement and, when it has the right form, against itself."""
    said = _statement(statement)
    if said.get("sha256") != _hash(receipt):
        yield Fault(FaultName.WRONG_HASH, "document.statement")
    if whole:
        if statement != statement_of(receipt):
            yield Fault(FaultName.WRONG_STATEMENT, "document.statement")
        for where in _contradictions(receipt):
            yield Fault(FaultName.CONTRADICTION, f"document.receipt.{where}")


def _of_signature(
    document: JsonObject, statement: str, verify: Verify, public_key_sha256: str | None
) -> Iterator[Fault]:
    signature, receipt = document.get("signature"), document.get("receipt")
    if not isinstance(signature, Mapping):
        return
    signing = receipt.get("signing") if isinstance(receipt, Mapping) else None
    if isinstance(signing, Mapping):
        if {name: signature.get(name) for name in ("algorithm", "key_id")} != {
            name: signing.get(name) for name in ("algorithm", "key_id")
        }:
            yield Fault(FaultName.CONTRADICTION, "document.signature")
        if public_key_sha256 is not None and signing.get("public_key_sha256") != public_key_sha256:
            yield Fault(FaultName.OTHER_KEY, "document.receipt.signing.public_key_sha256")
    value = _decoded(signature.get("value"))
    if value is None:
        yield Fault(FaultName.NOT_CANONICAL, "document.signature.value")
    elif not _encodable(statement) or not verify(statement.encode(), value):
        yield Fault(FaultName.WRONG_SIGNATURE, "document.signature.value")


def _contradictions(receipt: JsonObject) -> Iterator[str]:
    """Where a receipt of the right form contradicts itself."""
    times = [str(receipt[name]) for name in _IN_ORDER]
    looked = cast("Sequence[Mapping[str, JsonValue]]", receipt["verifications"])
    first, last = looked
    if times != sorted(times) or not str(receipt["unreadable_since"]) <= str(first["at"]) <= str(last["at"]):
        yield "issued_at"
    if receipt["completed_at"] != last["at"]:
        yield "completed_at"
    counts = cast("Mapping[str, Mapping[str, int]]", receipt["counts"])
    for name in ("remaining", "held"):
        if sum(store[name] for store in counts.values()) != last[name]:
            yield f"verifications[1].{name}"
    if last["remaining"] != 0:
        yield "verifications[1].remaining"
    counted = [*counts.items(), ("swept", cast("Mapping[str, int]", receipt["swept"]))]
    yield from (store for store, count in counted if count["deleted"] > count["found"])
    if (receipt["outcome"] == "completed_with_holds") != bool(receipt["holds"]) or (
        last["held"] and not receipt["holds"]
    ):
        yield "holds"
    yield from _broken_promises(receipt)
    yield from _misplaced(receipt)


def _broken_promises(receipt: JsonObject) -> Iterator[str]:
    promises = cast("Mapping[str, JsonValue]", receipt["promises"])
    surfaces = cast("Sequence[Mapping[str, str | None]]", receipt["residuals"])
    if promises["not_retrievable_since"] != receipt["unreadable_since"]:
        yield "promises.not_retrievable_since"
    if promises["without_date"] != [each["surface"] for each in surfaces if each["until"] is None]:
        yield "promises.without_date"
    content = [each["until"] for each in surfaces if each["carries"] == "content"]
    if promises["content_gone_by"] != _latest(content):
        yield "promises.content_gone_by"
    if promises["physically_gone_by"] != _latest([each["until"] for each in surfaces]):
        yield "promises.physically_gone_by"
    if any((each["until"] is None) != (each["basis"] == "none") for each in surfaces):
        yield "residuals"


def _latest(dates: Sequence[str | None]) -> str | None:
    """The latest date; None when one is missing. As texts they sort as times do."""
    known = [date for date in dates if date is not None]
    return max(known) if known and len(known) == len(dates) else None


def _misplaced(receipt: JsonObject) -> Iterator[str]:
    """A first receipt has none before it; a whole tenant has no subject, all else has one."""
    if (receipt["n"] == 1) != (receipt["previous"] == NOTHING):
        yield "previous"
    if (receipt["subject"] is None) != ("tenant" in cast("JsonObject", receipt["scope"])):
        yield "subject"


def _hash(receipt: JsonObject) -> str:
    """The receipt's hash; "" for what no hash can be made of (NaN, half of a surrogate pair)."""
    try:
        return hash_of(receipt)
    except ValueError:
        return ""


def _statement(text: JsonValue) -> JsonObject:
    """What a statement says; {} when it is none."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
        return value if isinstance(value, dict) else {}
    except (ValueError, RecursionError):
        return {}


def _decoded(value: JsonValue) -> bytes | None:
    """The bytes of a base 64 text; None when it is not the one text of these bytes."""
    if not isinstance(value, str):
        return None
    try:
        decoded = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded if decoded and base64.b64encode(decoded).decode("ascii") == value else None


def _encodable(text: str) -> bool:
    """Whether it has UTF-8 at all: half of a surrogate pair has none."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
