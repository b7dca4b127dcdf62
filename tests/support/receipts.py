"""Erasures that have come to their receipts, signed documents, and the means to check them."""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lethe.domain.chain import NOTHING, hash_of
from lethe.domain.erasure import (
    Erasure,
    ErasureState,
    MemoriesWithin,
    OneSession,
    Scope,
    Step,
    StepName,
    StepState,
    TheseMemories,
    Verification,
    WholeSubject,
    WholeTenant,
)
from lethe.domain.holds import Hold
from lethe.domain.ids import ERASURE, MEMORY, ulid
from lethe.domain.json_values import JsonObject
from lethe.domain.memory import MemoryKind
from lethe.domain.receipt import Place, Signing, VerifiedBy, build, receipt_id, signed, statement_of
from lethe.domain.residuals import Retention, residuals
from lethe.ports import Page
from tests.fakes.receipts import FakeSigner
from tests.fakes.time_and_ids import START

RETENTION = Retention("dynamodb", "scan", 14, 30, 300, 7)
VERIFIED_BY = VerifiedBy("table_scan", "0.1.0")
STORES = ("answers", "entities", "index", "memories", "sessions")
_DELETING = (StepName.INDEX, StepName.DERIVED, StepName.MEMORIES, StepName.ENTITIES, StepName.SESSIONS, StepName.SWEEP)


@dataclass
class StandingHolds:
    """Holds by name; only what a writer asks of them."""

    by_name: dict[str, Hold] = field(default_factory=dict)

    def hold(self, tenant: str, name: str) -> Hold | None:
        return self.by_name.get(name)

    def place(self, tenant: str, hold: Hold) -> Hold:
        return self.by_name.setdefault(hold.name, hold)

    def release(self, tenant: str, name: str) -> bool:
        return self.by_name.pop(name, None) is not None

    def of_tenant(self, tenant: str, limit: int, start: str | None) -> Page[Hold]:
        return Page(tuple(self.by_name.values()))

    def of_subject(self, tenant: str, subject: str) -> tuple[Hold, ...]:
        return tuple(hold for hold in self.by_name.values() if hold.subject == subject)


def some_scope(chance: random.Random) -> Scope:
    """Any kind of scope."""
    memories = tuple(MEMORY + ulid(START, chance.getrandbits(80)) for _ in range(chance.randint(1, 4)))
    within = MemoriesWithin(
        tuple(chance.sample(list(MemoryKind), chance.randint(0, 2))),
        chance.choice([None, START - timedelta(days=3)]),
        chance.choice([None, START]),
    )
    session = OneSession(f"{chance.getrandbits(128):032x}")
    scopes: list[Scope] = [WholeTenant(), WholeSubject(), session, TheseMemories(memories), within]
    return chance.choice(scopes)


def some_hold(chance: random.Random, name: str) -> Hold:
    """A hold on something of a subject."""
    return Hold(name, f"{chance.getrandbits(128):032x}", OneSession(f"{chance.getrandbits(128):032x}"), START)


def done_erasure(
    chance: random.Random, tenant: str = "acme", scope: Scope | None = None, holds: Sequence[Hold] = ()
) -> Erasure:
    """An erasure that was verified twice, with counts of its own."""
    chosen = scope or some_scope(chance)
    begun = START + timedelta(seconds=chance.randint(0, 10**6), microseconds=chance.randint(0, 999_999))
    steps = []
    for name in _DELETING:
        found = chance.randint(0, 10_000)
        steps.append(Step(name, StepState.DONE, found, chance.randint(0, found), attempts=1))
    held = tuple((store, 1 if holds and store == "memories" else 0) for store in STORES)
    clean = tuple((store, 0) for store in STORES)
    looks = tuple(
        Verification(begun + timedelta(seconds=seconds, microseconds=1), clean, held)
        for seconds in (chance.randint(2, 30), chance.randint(130, 400))
    )
    return Erasure(
        id=ERASURE + ulid(begun, chance.getrandbits(80)),
        tenant=tenant,
        subject=None if isinstance(chosen, WholeTenant) else f"{chance.getrandbits(128):032x}",
        scope=chosen,
        requested_at=begun,
        actor=f"{chance.getrandbits(128):032x}",
        state=ErasureState.RUNNING,
        epochs=chance.randint(1, 5) if isinstance(chosen, WholeSubject | WholeTenant) else 0,
        unreadable_since=begun + timedelta(milliseconds=12),
        steps=tuple(steps),
        holds=tuple(hold.name for hold in holds),
        held=sum(count for _, count in held),
        verified=looks,
    )


def document_of(
    erasure: Erasure,
    signer: FakeSigner,
    place: Place | None = None,
    holds: Sequence[Hold] = (),
    retention: Retention = RETENTION,
) -> JsonObject:
    """The signed receipt of ``erasure``, at the beginning of a chain unless told."""
    done = erasure.verified[-1].at
    stands = place or Place(1, NOTHING, done + timedelta(seconds=1))
    signing = Signing(signer.algorithm, signer.key_id, hashlib.sha256(signer.public_key()).hexdigest())
    receipt = build(
        receipt_id(erasure, holds, erasure.held),
        stands,
        erasure,
        erasure.verified,
        holds,
        residuals(retention, done, bool(holds)),
        VERIFIED_BY,
        signing,
    )
    return signed(receipt, signing, signer.sign(statement_of(receipt).encode()))


def chain_of(chance: random.Random, length: int, signer: FakeSigner, tenant: str = "acme") -> list[JsonObject]:
    """Receipts of ``length`` erasures of a tenant, each after the other."""
    chain: list[JsonObject] = []
    previous = NOTHING
    for n in range(1, length + 1):
        holds = [some_hold(chance, f"case-{n}")] if chance.random() < 0.3 else []
        erasure = done_erasure(chance, tenant, holds=holds)
        late = START + timedelta(days=20, seconds=n)
        chain.append(document_of(erasure, signer, Place(n, previous, late), holds))
        previous = hash_of(receipt_in(chain[-1]))
    return chain


def receipt_in(document: JsonObject) -> JsonObject:
    """The member ``receipt``."""
    receipt = document["receipt"]
    assert isinstance(receipt, dict)
    return receipt


def verifier(public_key: bytes) -> Callable[[bytes, bytes], bool]:
    """Checks signatures with a public key (DER)."""
    key = serialization.load_der_public_key(public_key)
    assert isinstance(key, ec.EllipticCurvePublicKey)

    def verify(message: bytes, signature: bytes) -> bool:
        try:
            key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return True

    return verify


def fresh_tenant() -> str:
    """A tenant that no other test has."""
    return f"t-{secrets.token_hex(6)}"


def with_receipt(erasure: Erasure, identifier: str) -> Erasure:
    """As the ledger keeps it when its receipt is stored."""
    return replace(erasure, receipts=(*erasure.receipts, identifier))
