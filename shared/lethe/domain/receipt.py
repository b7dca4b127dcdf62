"""The receipt of an erasure: what it says, its one text, its hash, and the statement that is signed.

A stored receipt has three members::

    {"receipt": {...}, "statement": "...", "signature": {"algorithm", "key_id", "value"}}

``receipt`` says everything. Its canonical text (keys sorted, no white space, UTF-8) has a SHA-256, and that hash stands
in ``statement``, a short canonical JSON text with the receipt's place in its tenant's chain. The statement's bytes are
what is signed: a signature by KMS covers at most 4,096 bytes, and a receipt may be longer.

Nothing here holds content. All texts are ids that Lethe made, keyed hashes, times, names of stores, the tenant's name
and the names of holds; all numbers are whole, so that canonical JSON is one text in every language.
``docs/receipts.md`` is the description for strangers; ``receipt_check`` finds what is wrong with one.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from lethe.domain.chain import hash_of
from lethe.domain.erasure import DELETING, Erasure, Step, StepName, Verification
from lethe.domain.erasure_json import scope_json
from lethe.domain.holds import Hold
from lethe.domain.ids import RECEIPT, ulid
from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonObject, canonical
from lethe.domain.residuals import OUTSIDE, Carries, Residual, gone_by
from lethe.domain.times import to_rfc3339

KIND: Final = "lethe.erasure-receipt"
STATEMENT_KIND: Final = "lethe.erasure-statement"
FORMAT: Final = 1

STATEMENT_BYTES: Final = 4096
"""Most bytes that KMS signs as they are."""
ALGORITHM: Final = "ECDSA_SHA_256"
"""What receipts are signed with, in the words of KMS, on a key of the curve P-256."""


@immutable
class Place:
    """A receipt's place in its tenant's chain, counted from 1, the hash of the receipt before it, and its time."""

    n: int
    previous: str
    issued_at: datetime


@immutable
class VerifiedBy:
    """How it was verified that nothing is left: the verifier's method and the version of the code."""

    method: str
    version: str


@immutable
class Signing:
    """Who signs: the algorithm, the key's name, and the SHA-256 of the public key (DER, SubjectPublicKeyInfo)."""

    algorithm: str
    key_id: str
    public_key_sha256: str


def receipt_id(erasure: Erasure, holds: Sequence[Hold | str], held: int) -> str:
    """The id of the erasure's next receipt: the same for the same outcome, however often its run is repeated.

    A run that died after the receipt was stored and before the erasure's row names it finds it again by this id. What
    a further receipt would say otherwise is in it: how many there are, which holds kept something, and how much.
    """
    outcome = canonical([erasure.id, len(erasure.receipts), sorted(map(_name, holds)), held])
    randomness = int.from_bytes(hashlib.sha256(outcome.encode()).digest()[:10])
    return RECEIPT + ulid(erasure.requested_at, randomness)


def build(
    identifier: str,
    place: Place,
    erasure: Erasure,
    verifications: Sequence[Verification],
    holds: Sequence[Hold | str],
    remains: Sequence[Residual],
    verified_by: VerifiedBy,
    signing: Signing,
) -> JsonObject:
    """The receipt of ``erasure``; of ``verifications`` the last two count, the last of which must be clean.

    ``holds`` are those that kept something (a name alone: it was released since), ``remains`` what ``residuals``
    computed for the last verification's time.
    Raises ValueError when the erasure has not been seen to be complete: a receipt says nothing that was not checked.
    """
    if len(verifications) < 2:
        raise ValueError("a receipt needs two verifications")
    first, last = verifications[-2:]
    if not last.is_clean:
        raise ValueError("the last verification found something")
    if erasure.unreadable_since is None:
        raise ValueError("the erasure does not say since when nothing can be read")
    return {
        "type": KIND,
        "format": FORMAT,
        "id": identifier,
        "n": place.n,
        "previous": place.previous,
        "issued_at": to_rfc3339(place.issued_at),
        **_request(erasure),
        "unreadable_since": to_rfc3339(erasure.unreadable_since),
        "completed_at": to_rfc3339(last.at),
        "outcome": "completed_with_holds" if holds else "completed",
        "counts": _counts(erasure, last),
        "swept": _found_and_deleted(erasure.step(StepName.SWEEP)),
        "verifications": [_looked(each) for each in (first, last)],
        "verifier": {"method": verified_by.method, "version": verified_by.version},
        "holds": [_hold(hold) for hold in sorted(holds, key=_name)],
        "residuals": [_residual(each) for each in remains],
        "promises": _promises(erasure.unreadable_since, remains),
        "signing": {
            "algorithm": signing.algorithm,
            "key_id": signing.key_id,
            "public_key_sha256": signing.public_key_sha256,
        },
    }


def statement_of(receipt: JsonObject) -> str:
    """The text that is signed for ``receipt``. Raises ValueError when KMS would not sign so long a one."""
    text = canonical(
        {
            "type": STATEMENT_KIND,
            "format": FORMAT,
            "receipt": receipt["id"],
            "sha256": hash_of(receipt),
            "n": receipt["n"],
            "previous": receipt["previous"],
            "tenant": receipt["tenant"],
            "issued_at": receipt["issued_at"],
        }
    )
    if len(text.encode()) > STATEMENT_BYTES:
        raise ValueError(f"a statement has at most {STATEMENT_BYTES} bytes")
    return text


def signed(receipt: JsonObject, signing: Signing, signature: bytes) -> JsonObject:
    """The document that is stored and handed out. ``signature`` is DER, of the statement's UTF-8 bytes."""
    value = base64.b64encode(signature).decode("ascii")
    return {
        "receipt": receipt,
        "statement": statement_of(receipt),
        "signature": {"algorithm": signing.algorithm, "key_id": signing.key_id, "value": value},
    }


def _request(erasure: Erasure) -> JsonObject:
    return {
        "tenant": erasure.tenant,
        "subject": erasure.subject,
        "erasure": erasure.id,
        "scope": scope_json(erasure.scope),
        "epochs": {"first": 1, "last": erasure.epochs} if erasure.epochs else None,
        "requested_at": to_rfc3339(erasure.requested_at),
    }


def _counts(erasure: Erasure, last: Verification) -> JsonObject:
    """By store: what the steps found and deleted, what the last verification still found and what holds kept."""
    remaining, held = dict(last.remaining), dict(last.held)
    steps = {name.value: erasure.step(name) for name in DELETING}
    stores = sorted({*steps, *remaining, *held})
    return {
        store: {
            **_found_and_deleted(steps.get(store)),
            "remaining": remaining.get(store, 0),
            "held": held.get(store, 0),
        }
        for store in stores
    }


def _found_and_deleted(step: Step | None) -> Mapping[str, int]:
    """What was written between counting and deleting was found, too."""
    return (
        {"found": 0, "deleted": 0}
        if step is None
        else {"found": max(step.found, step.deleted), "deleted": step.deleted}
    )


def _looked(seen: Verification) -> JsonObject:
    return {"at": to_rfc3339(seen.at), "remaining": _total(seen.remaining), "held": _total(seen.held)}


def _total(counts: Iterable[tuple[str, int]]) -> int:
    return sum(count for _, count in counts)


def _name(hold: Hold | str) -> str:
    return hold if isinstance(hold, str) else hold.name


def _hold(hold: Hold | str) -> JsonObject:
    if isinstance(hold, str):
        return {"name": hold, "scope": None, "placed_at": None}
    return {"name": hold.name, "scope": scope_json(hold.scope), "placed_at": to_rfc3339(hold.created_at)}


def _residual(residual: Residual) -> JsonObject:
    return {
        "surface": residual.surface,
        "carries": residual.carries.value,
        "until": _date(residual.until),
        "basis": residual.basis.value,
        "what": residual.what,
    }


def _date(moment: datetime | None) -> str | None:
    return None if moment is None else to_rfc3339(moment)


def _promises(unreadable_since: datetime, remains: Sequence[Residual]) -> JsonObject:
    content = [residual for residual in remains if residual.carries is Carries.CONTENT]
    return {
        "not_retrievable_since": to_rfc3339(unreadable_since),
        "content_gone_by": _date(gone_by(content)),
        "physically_gone_by": _date(gone_by(remains)),
        "without_date": [residual.surface for residual in remains if residual.until is None],
        "outside": list(OUTSIDE),
    }
