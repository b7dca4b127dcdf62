"""Writing the receipt of an erasure: built, signed, and added to its tenant's chain."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

from lethe.domain.chain import ChainEnd, hash_of
from lethe.domain.erasure import Erasure
from lethe.domain.holds import Hold, still_keeps
from lethe.domain.json_values import JsonObject
from lethe.domain.receipt import Place, Signing, VerifiedBy, build, receipt_id, signed, statement_of
from lethe.domain.receipt_check import check_receipt
from lethe.domain.residuals import Retention, residuals
from lethe.errors import Conflict, LetheError, Throttled
from lethe.ports import Clock, Holds, Receipts, Signer

ATTEMPTS: Final = 50
"""How often a place in the chain is sought. Each failure means that another erasure of the tenant got its receipt."""


class NoReceipt(LetheError):
    """What was seen does not allow a receipt, or the one that was made contradicts itself: a defect, not bad luck."""

    code, title = "no_receipt", "There is no receipt for this"


class ReceiptWriter:
    """Writes receipts. ``method`` tells how an erasure was verified, ``version`` is that of the code, ``retention``
    that of the stack.
    """

    def __init__(
        self,
        receipts: Receipts,
        holds: Holds,
        signer: Signer,
        retention: Retention,
        method: Callable[[Erasure], str],
        version: str,
        clock: Clock,
    ) -> None:
        self._receipts = receipts
        self._holds = holds
        self._signer = signer
        self._retention = retention
        self._method = method
        self._version = version
        self._clock = clock

    def write(self, erasure: Erasure) -> str:
        """The id of the receipt of what ``erasure.verified`` saw last, stored and signed.

        Again with the same outcome gives the same receipt, whoever asks: the row may not know yet that it is there.
        Raises NoReceipt when the erasure was not seen to be complete, Throttled when others of the tenant are always
        faster, and what the ports raise.
        """
        holds = self._that_kept(erasure)
        identifier = receipt_id(erasure, holds, erasure.held)
        signing: Signing | None = None
        for _ in range(ATTEMPTS):
            if self._receipts.read(erasure.tenant, identifier) is not None:
                return identifier
            signing = signing or self._signing()
            end = self._receipts.end(erasure.tenant)
            document = self._document(identifier, end, erasure, holds, signing)
            try:
                self._receipts.append(erasure.tenant, end, identifier, document, _hash(document))
            except Conflict:
                continue  # the chain has moved, or this receipt was stored a moment ago
            return identifier
        raise Throttled("too many erasures of one tenant end at once")

    def _that_kept(self, erasure: Erasure) -> Sequence[Hold | str]:
        """The holds that kept something, by name alone where one was released since."""
        standing = ((name, self._holds.hold(erasure.tenant, name)) for name in erasure.holds)
        return [hold if hold is not None and still_keeps(hold, erasure) else name for name, hold in standing]

    def _signing(self) -> Signing:
        signer = self._signer
        return Signing(signer.algorithm, signer.key_id, hashlib.sha256(signer.public_key()).hexdigest())

    def _document(
        self, identifier: str, end: ChainEnd, erasure: Erasure, holds: Sequence[Hold | str], signing: Signing
    ) -> JsonObject:
        """The signed document for the place behind ``end``, free of faults as far as that is seen without its key."""
        place = Place(end.length + 1, end.hash, self._clock.now())
        try:
            done = erasure.verified[-1].at if erasure.verified else erasure.requested_at
            remains = residuals(self._retention, done, bool(holds), erasure.is_whole)
            verified_by = VerifiedBy(self._method(erasure), self._version)
            receipt = build(identifier, place, erasure, erasure.verified, holds, remains, verified_by, signing)
            statement = statement_of(receipt)
        except ValueError as error:
            raise NoReceipt(str(error)) from error
        document = signed(receipt, signing, self._signer.sign(statement.encode()))
        faults = check_receipt(document, lambda message, signature: True, signing.public_key_sha256)
        if faults:
            raise NoReceipt(f"{faults[0].name} at {faults[0].where}")
        return document


def _hash(document: JsonObject) -> str:
    receipt = document["receipt"]
    assert isinstance(receipt, dict)  # ``build`` made it
    return hash_of(receipt)
