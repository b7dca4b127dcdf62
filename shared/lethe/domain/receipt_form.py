"""The form of a signed receipt, member by member: what must be there, of which type, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeAlias

from lethe.domain import ids
from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonValue
from lethe.domain.memory import MemoryKind
from lethe.domain.receipt import ALGORITHM, FORMAT, KIND
from lethe.domain.residuals import Basis, Carries
from lethe.domain.times import parse_rfc3339


class FaultName(StrEnum):
    """What can be wrong. The first five are about form, the next five about one receipt, the last ones about chains."""

    MISSING_FIELD = "missing_field"
    EXTRA_FIELD = "extra_field"
    WRONG_TYPE = "wrong_type"
    WRONG_VALUE = "wrong_value"
    NOT_CANONICAL = "not_canonical"
    WRONG_HASH = "wrong_hash"
    WRONG_STATEMENT = "wrong_statement"
    WRONG_SIGNATURE = "wrong_signature"
    OTHER_KEY = "other_key"
    CONTRADICTION = "contradiction"
    OTHER_TENANT = "other_tenant"
    REPEATED = "repeated"
    OUT_OF_ORDER = "out_of_order"
    BROKEN_CHAIN = "broken_chain"
    WRONG_END = "wrong_end"


@immutable
class Fault:
    """One fault, and where: a path such as ``receipt.counts.memories.found``, or ``receipts[2]`` of a chain."""

    name: FaultName
    where: str


Check: TypeAlias = Callable[[JsonValue, str], Iterator[Fault]]

_MOST: Final = 2**53
"""Whole numbers up to here are the same in every language."""


def text(pattern: str) -> Check:
    """A text that matches ``pattern`` as a whole."""
    compiled = re.compile(pattern, re.ASCII)

    def check(value: JsonValue, where: str) -> Iterator[Fault]:
        if not isinstance(value, str):
            yield Fault(FaultName.WRONG_TYPE, where)
        elif not compiled.fullmatch(value):
            yield Fault(FaultName.WRONG_VALUE, where)

    return check


def one_of(*values: str) -> Check:
    """One of these texts."""
    return text("|".join(map(re.escape, values)))


def whole(least: int = 0, most: int = _MOST) -> Check:
    """A whole number; true and 1.0 are none."""

    def check(value: JsonValue, where: str) -> Iterator[Fault]:
        if not isinstance(value, int) or isinstance(value, bool):
            yield Fault(FaultName.WRONG_TYPE, where)
        elif not least <= value <= most:
            yield Fault(FaultName.WRONG_VALUE, where)

    return check


def true(value: JsonValue, where: str) -> Iterator[Fault]:
    """``true``."""
    if not isinstance(value, bool):
        yield Fault(FaultName.WRONG_TYPE, where)
    elif not value:
        yield Fault(FaultName.WRONG_VALUE, where)


def time(value: JsonValue, where: str) -> Iterator[Fault]:
    """A time in UTC, to the microsecond, with ``Z``, that exists."""
    faults = list(_TIME(value, where))
    yield from faults
    if not faults:
        try:
            parse_rfc3339(str(value))
        except ValueError:
            yield Fault(FaultName.WRONG_VALUE, where)


def optional(check: Check) -> Check:
    """``null``, or what ``check`` accepts."""
    return lambda value, where: iter(()) if value is None else check(value, where)


def each(check: Check, least: int = 0, most: int | None = None) -> Check:
    """A list whose entries ``check`` accepts."""

    def check_all(value: JsonValue, where: str) -> Iterator[Fault]:
        if not isinstance(value, Sequence) or isinstance(value, str):
            yield Fault(FaultName.WRONG_TYPE, where)
            return
        if len(value) < least or (most is not None and len(value) > most):
            yield Fault(FaultName.WRONG_VALUE, where)
        for n, entry in enumerate(value):
            yield from check(entry, f"{where}[{n}]")

    return check_all


def named(name: str, check: Check) -> Check:
    """An object with any members whose names match ``name`` and whose values ``check`` accepts."""

    def check_all(value: JsonValue, where: str) -> Iterator[Fault]:
        if not isinstance(value, Mapping):
            yield Fault(FaultName.WRONG_TYPE, where)
            return
        for key, entry in value.items():
            if not re.fullmatch(name, key, re.ASCII):
                yield Fault(FaultName.EXTRA_FIELD, where)  # a name that came from outside is not repeated
            yield from check(entry, f"{where}.{key}")

    return check_all


def members(fields: Mapping[str, Check]) -> Check:
    """An object with exactly these members."""

    def check_all(value: JsonValue, where: str) -> Iterator[Fault]:
        if not isinstance(value, Mapping):
            yield Fault(FaultName.WRONG_TYPE, where)
            return
        if value.keys() - fields.keys():
            yield Fault(FaultName.EXTRA_FIELD, where)
        for name, check in fields.items():
            if name not in value:
                yield Fault(FaultName.MISSING_FIELD, f"{where}.{name}")
            else:
                yield from check(value[name], f"{where}.{name}")

    return check_all


def _scope(value: JsonValue, where: str) -> Iterator[Fault]:
    if not isinstance(value, Mapping):
        yield Fault(FaultName.WRONG_TYPE, where)
        return
    known = next((check for name, check in _SCOPES.items() if name in value), None)
    if known is None:
        yield Fault(FaultName.WRONG_VALUE, where)
    else:
        yield from known(value, where)


_TIME: Final = text(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_HASH: Final = text("[0-9a-f]{64}")
_KEYED: Final = text("[0-9a-f]{32}")
_NAME: Final = text("[a-z][a-z0-9_]{0,63}")
_LINE: Final = text(r"[^\x00-\x1f\x7f]{1,2048}")
_TENANT: Final = text("[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_MEMORY: Final = text(ids.MEMORY + ids.ULID)

_SCOPES: Final[Mapping[str, Check]] = {
    "tenant": members({"tenant": true}),
    "subject": members({"subject": true}),
    "session": members({"session": _KEYED}),
    "memory_ids": members({"memory_ids": each(_MEMORY, 1)}),
    "kinds": members(
        {
            "kinds": each(one_of(*MemoryKind)),
            "created_after": optional(time),
            "created_before": optional(time),
        }
    ),
}
_COUNTED: Final[Mapping[str, Check]] = {"found": whole(), "deleted": whole()}

RECEIPT: Final = members(
    {
        "type": one_of(KIND),
        "format": whole(FORMAT, FORMAT),
        "id": text(ids.RECEIPT + ids.ULID),
        "n": whole(1, 10**10 - 1),
        "previous": _HASH,
        "issued_at": time,
        "tenant": _TENANT,
        "subject": optional(_KEYED),
        "erasure": text(ids.ERASURE + ids.ULID),
        "scope": _scope,
        "epochs": optional(members({"first": whole(1, 1), "last": whole(1)})),
        "requested_at": time,
        "unreadable_since": time,
        "completed_at": time,
        "outcome": one_of("completed", "completed_with_holds"),
        "counts": named("[a-z][a-z0-9_]{0,63}", members({**_COUNTED, "remaining": whole(), "held": whole()})),
        "swept": members(_COUNTED),
        "verifications": each(members({"at": time, "remaining": whole(), "held": whole()}), 2, 2),
        "verifier": members({"method": _NAME, "version": text(r"[0-9A-Za-z.+-]{1,64}")}),
        "holds": each(members({"name": _LINE, "scope": optional(_scope), "placed_at": optional(time)})),
        "residuals": each(
            members(
                {
                    "surface": _NAME,
                    "carries": one_of(*Carries),
                    "until": optional(time),
                    "basis": one_of(*Basis),
                    "what": _LINE,
                }
            )
        ),
        "promises": members(
            {
                "not_retrievable_since": time,
                "content_gone_by": optional(time),
                "physically_gone_by": optional(time),
                "without_date": each(_NAME),
                "outside": each(_NAME),
            }
        ),
        "signing": members({"algorithm": one_of(ALGORITHM), "key_id": _LINE, "public_key_sha256": _HASH}),
    }
)
"""What ``receipt`` must look like."""

DOCUMENT: Final = members(
    {
        "receipt": RECEIPT,
        "statement": _LINE,
        "signature": members({"algorithm": one_of(ALGORITHM), "key_id": _LINE, "value": _LINE}),
    }
)
"""What the whole document must look like."""
