"""Checks erasure receipts offline, with nothing but the public key: no service, no account, no word of the service.

This follows docs/receipts.md and shares no code with what writes receipts. Signatures are checked by the package
`cryptography` (`pip install 'lethe-memory[receipts]'`); everything else is the standard library's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from lethe_client.json_types import JsonObject, JsonValue
from lethe_client.receipt_form import Fault, compare

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

FIRST_PREVIOUS = "0" * 64


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key of the curve P-256, and the SHA-256 of its DER form, by which receipts name it."""

    key: EllipticCurvePublicKey
    sha256: str

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Whether `signature` (DER) is this key's for `message`."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec

        try:
            self.key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return True


def read_public_key(data: bytes) -> PublicKey:
    """The key in a PEM or DER file.

    Raises:
        ValueError: it is not a public key of the curve P-256.
        ImportError: the package `cryptography` is not installed.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    pem = data.lstrip().startswith(b"-----")
    load = serialization.load_pem_public_key if pem else serialization.load_der_public_key
    try:
        key = load(data)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("not a public key in PEM or DER") from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("not a key of the curve P-256")
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return PublicKey(key, hashlib.sha256(der).hexdigest())


def read_documents(text: str) -> list[JsonValue]:
    """The documents in a file: one, a JSON array of them, or one a line.

    Raises:
        ValueError: it is not JSON, or an object has a member twice, which two readers could read in two ways.
    """
    try:
        value = _parse(text)
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
        return [_parse(line) for line in lines]
    return value if isinstance(value, list) else [value]


def check_receipt(document: JsonValue, key: PublicKey) -> tuple[Fault, ...]:
    """Every fault of one receipt; none when it is what the owner of `key` signed and does not contradict itself."""
    faults = list(compare(document))
    if not isinstance(document, dict):
        return tuple(faults)
    receipt, statement, signature = (document.get(name) for name in ("receipt", "statement", "signature"))
    sound = not faults
    if isinstance(receipt, dict):
        if _stated_hash(statement) != receipt_hash(receipt):
            faults.append(Fault("wrong_hash", "document.statement"))
        if sound and statement != _statement(receipt):
            faults.append(Fault("wrong_statement", "document.statement"))
        if sound:
            faults += (Fault("contradiction", f"document.receipt.{where}") for where in _contradictions(receipt))
    if isinstance(signature, dict):
        signing = receipt.get("signing") if isinstance(receipt, dict) else None
        faults += _signature_faults(statement, signature, signing, key)
    return tuple(faults)


def check_chain(documents: Sequence[JsonValue], end: str | None = None) -> tuple[Fault, ...]:
    """Every fault of the order of one tenant's receipts, from the first on; each is checked by `check_receipt`.

    What is missing at the end cannot be seen, unless `end` says which receipt is the last, by its hash.
    """
    faults: list[Fault] = []
    previous, tenant = FIRST_PREVIOUS, None
    known: set[str] = set()
    for place, document in enumerate(documents):
        where = f"receipts[{place}]"
        receipt = document.get("receipt") if isinstance(document, dict) else None
        if not isinstance(receipt, dict):
            faults.append(Fault("wrong_type", where))
            continue
        tenant = receipt.get("tenant") if place == 0 else tenant
        own = receipt_hash(receipt)
        wrong = {
            "repeated": own in known,
            "other_tenant": receipt.get("tenant") != tenant,
            "out_of_order": receipt.get("n") != place + 1,
            "broken_chain": receipt.get("previous") != previous,
        }
        faults += [Fault(name, where) for name, found in wrong.items() if found]
        known.add(own)
        previous = own
    if end is not None and end != previous:
        faults.append(Fault("wrong_end", f"receipts[{len(documents)}]"))
    return tuple(faults)


def receipt_hash(receipt: JsonObject) -> str:
    """SHA-256 of the canonical JSON text; "" when the receipt has none (NaN, half of a surrogate pair)."""
    try:
        return hashlib.sha256(_canonical(receipt).encode("utf-8")).hexdigest()
    except ValueError:
        return ""


def _canonical(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _parse(text: str) -> JsonValue:
    def once(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
        members = dict(pairs)
        if len(members) < len(pairs):
            raise ValueError("an object has a member twice")
        return members

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        value: JsonValue = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _statement(receipt: JsonObject) -> str:
    named = {name: receipt[name] for name in ("n", "previous", "tenant", "issued_at")}
    return _canonical(
        {
            **named,
            "type": "lethe.erasure-statement",
            "format": 1,
            "receipt": receipt["id"],
            "sha256": receipt_hash(receipt),
        }
    )


def _stated_hash(statement: JsonValue) -> JsonValue:
    try:
        said = json.loads(statement) if isinstance(statement, str) else None
    except (ValueError, RecursionError):
        return None
    return said.get("sha256") if isinstance(said, dict) else None


def _signature_faults(
    statement: JsonValue, signature: JsonObject, signing: JsonValue, key: PublicKey
) -> Iterator[Fault]:
    if isinstance(signing, dict):
        if any(signature.get(name) != signing.get(name) for name in ("algorithm", "key_id")):
            yield Fault("contradiction", "document.signature")
        if signing.get("public_key_sha256") != key.sha256:
            yield Fault("other_key", "document.receipt.signing.public_key_sha256")
    if not isinstance(statement, str):
        return
    value = signature.get("value")
    try:
        der = base64.b64decode(value if isinstance(value, str) else "", validate=True)
    except (binascii.Error, ValueError):
        der = b""
    if not der or base64.b64encode(der).decode("ascii") != value:
        yield Fault("not_canonical", "document.signature.value")
    elif not key.signed(statement.encode("utf-8", "surrogatepass"), der):
        yield Fault("wrong_signature", "document.signature.value")


def _contradictions(receipt: JsonObject) -> Iterator[str]:
    """Where members of a receipt of the right form cannot be true together."""
    times = [receipt[name] for name in ("requested_at", "unreadable_since", "completed_at", "issued_at")]
    first, last = _objects(receipt["verifications"])
    looks = [receipt["unreadable_since"], first["at"], last["at"]]
    if times != sorted(times, key=str) or looks != sorted(looks, key=str):
        yield "issued_at"
    if receipt["completed_at"] != last["at"]:
        yield "completed_at"
    counts = _members(receipt["counts"])
    for what in ("remaining", "held"):
        if sum(_number(store[what]) for store in counts.values()) != last[what]:
            yield f"verifications[1].{what}"
    if last["remaining"] != 0:
        yield "verifications[1].remaining"
    counted = {**counts, "swept": _object(receipt["swept"])}
    yield from (name for name, count in counted.items() if _number(count["deleted"]) > _number(count["found"]))
    with_holds = receipt["outcome"] == "completed_with_holds"
    if with_holds != bool(receipt["holds"]) or (last["held"] != 0 and not with_holds):
        yield "holds"
    yield from _promises(receipt)
    if (receipt["n"] == 1) != (receipt["previous"] == FIRST_PREVIOUS):
        yield "previous"
    if (receipt["subject"] is None) != ("tenant" in _object(receipt["scope"])):
        yield "subject"


def _promises(receipt: JsonObject) -> Iterator[str]:
    promised, surfaces = _object(receipt["promises"]), _objects(receipt["residuals"])
    computed = {
        "not_retrievable_since": receipt["unreadable_since"],
        "without_date": [each["surface"] for each in surfaces if each["until"] is None],
        "content_gone_by": _last([each["until"] for each in surfaces if each["carries"] == "content"]),
        "physically_gone_by": _last([each["until"] for each in surfaces]),
    }
    yield from (f"promises.{name}" for name, value in computed.items() if promised[name] != value)
    if any((each["until"] is None) != (each["basis"] == "none") for each in surfaces):
        yield "residuals"


def _last(dates: Sequence[JsonValue]) -> str | None:
    texts = [date for date in dates if isinstance(date, str)]
    return max(texts) if texts and len(texts) == len(dates) else None


def _objects(value: JsonValue) -> list[JsonObject]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _members(value: JsonValue) -> dict[str, JsonObject]:
    return {name: _object(entry) for name, entry in _object(value).items()}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
