"""The form of a signed receipt as a template: what stands where, written the way the document looks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from lethe_client.json_types import JsonValue


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: its name, and where it is, such as `document.receipt.counts.memories.found`."""

    name: str
    where: str


@dataclass(frozen=True, slots=True)
class Maybe:
    """null, or this."""

    form: Form


@dataclass(frozen=True, slots=True)
class Many:
    """A list of these, of `least` to `most` entries."""

    form: Form
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """An object with any names and these values."""

    form: Form


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number; `true` and `1.0` are none."""

    least: int = 0
    most: int = 2**53


@dataclass(frozen=True, slots=True)
class OneOf:
    """The form whose own name is among the members of the object."""

    forms: Mapping[str, Form]


Form: TypeAlias = "str | bool | Mapping[str, Form] | Maybe | Many | Named | Whole | OneOf"
"""A text is a regular expression, an object has exactly these members, `True` is `true`."""

_ID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
_TIME = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z"
_SHA256 = "[0-9a-f]{64}"
_KEYED = "[0-9a-f]{32}"
_NAME = "[a-z][a-z0-9_]{0,63}"
_LINE = r"[^\x00-\x1f\x7f]{1,2048}"
_KIND = "profile|preference|decision|fact|commitment|episode|summary"

_SCOPE = OneOf(
    {
        "tenant": {"tenant": True},
        "subject": {"subject": True},
        "session": {"session": _KEYED},
        "memory_ids": {"memory_ids": Many("mem_" + _ID, least=1)},
        "kinds": {"kinds": Many(_KIND), "created_after": Maybe(_TIME), "created_before": Maybe(_TIME)},
    }
)
_COUNTED: Mapping[str, Form] = {"found": Whole(), "deleted": Whole()}
_SIGNING: Mapping[str, Form] = {"algorithm": "ECDSA_SHA_256", "key_id": _LINE}

_RECEIPT: Mapping[str, Form] = {
    "type": r"lethe\.erasure-receipt",
    "format": Whole(1, 1),
    "id": "rc_" + _ID,
    "n": Whole(1, 10**10 - 1),
    "previous": _SHA256,
    "issued_at": _TIME,
    "tenant": "[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?",
    "subject": Maybe(_KEYED),
    "erasure": "er_" + _ID,
    "scope": _SCOPE,
    "epochs": Maybe({"first": Whole(1, 1), "last": Whole(1)}),
    "requested_at": _TIME,
    "unreadable_since": _TIME,
    "completed_at": _TIME,
    "outcome": "completed|completed_with_holds",
    "counts": Named({**_COUNTED, "remaining": Whole(), "held": Whole()}),
    "swept": _COUNTED,
    "verifications": Many({"at": _TIME, "remaining": Whole(), "held": Whole()}, 2, 2),
    "verifier": {"method": _NAME, "version": "[0-9A-Za-z.+-]{1,64}"},
    "holds": Many({"name": _LINE, "scope": Maybe(_SCOPE), "placed_at": Maybe(_TIME)}),
    "residuals": Many(
        {
            "surface": _NAME,
            "carries": "content|ids",
            "until": Maybe(_TIME),
            "basis": "setting|service|assumed|none",
            "what": _LINE,
        }
    ),
    "promises": {
        "not_retrievable_since": _TIME,
        "content_gone_by": Maybe(_TIME),
        "physically_gone_by": Maybe(_TIME),
        "without_date": Many(_NAME),
        "outside": Many(_NAME),
    },
    "signing": {**_SIGNING, "public_key_sha256": _SHA256},
}
_DOCUMENT: Mapping[str, Form] = {
    "receipt": _RECEIPT,
    "statement": _LINE,
    "signature": {**_SIGNING, "value": _LINE},
}


def compare(document: JsonValue) -> Iterator[Fault]:
    """Every place where `document` has not the form of a signed receipt."""
    return _compare(document, _DOCUMENT, "document")


def _compare(value: JsonValue, form: Form, where: str) -> Iterator[Fault]:
    match form:
        case Maybe(inner):
            yield from () if value is None else _compare(value, inner, where)
        case Many():
            yield from _compare_list(value, form, where)
        case Named(inner):
            yield from _compare_named(value, inner, where)
        case OneOf(forms):
            yield from _compare_one_of(value, forms, where)
        case Whole() | bool() | str():
            yield from _compare_single(value, form, where)
        case _:
            yield from _compare_object(value, form, where)


def _compare_single(value: JsonValue, form: str | bool | Whole, where: str) -> Iterator[Fault]:
    kind = str if isinstance(form, str) else int if isinstance(form, Whole) else bool
    if type(value) is not kind:
        yield Fault("wrong_type", where)
    elif isinstance(form, Whole):
        if not form.least <= int(value) <= form.most:
            yield Fault("wrong_value", where)
    elif isinstance(form, bool):
        if value is not form:
            yield Fault("wrong_value", where)
    elif not re.fullmatch(form, str(value), re.ASCII) or (form == _TIME and not _exists(str(value))):
        yield Fault("wrong_value", where)


def _exists(moment: str) -> bool:
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        return False
    return True


def _compare_list(value: JsonValue, form: Many, where: str) -> Iterator[Fault]:
    if not isinstance(value, list):
        yield Fault("wrong_type", where)
        return
    if len(value) < form.least or (form.most is not None and len(value) > form.most):
        yield Fault("wrong_value", where)
    for number, entry in enumerate(value):
        yield from _compare(entry, form.form, f"{where}[{number}]")


def _compare_named(value: JsonValue, form: Form, where: str) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault("wrong_type", where)
        return
    for name, entry in value.items():
        if not re.fullmatch(_NAME, name, re.ASCII):
            yield Fault("extra_field", where)
        yield from _compare(entry, form, f"{where}.{name}")


def _compare_one_of(value: JsonValue, forms: Mapping[str, Form], where: str) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault("wrong_type", where)
        return
    chosen = next((form for name, form in forms.items() if name in value), None)
    if chosen is None:
        yield Fault("wrong_value", where)
    else:
        yield from _compare(value, chosen, where)


def _compare_object(value: JsonValue, form: Mapping[str, Form], where: str) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault("wrong_type", where)
        return
    if value.keys() - form.keys():
        yield Fault("extra_field", where)
    for name, inner in form.items():
        if name in value:
            yield from _compare(value[name], inner, f"{where}.{name}")
        else:
            yield Fault("missing_field", f"{where}.{name}")
