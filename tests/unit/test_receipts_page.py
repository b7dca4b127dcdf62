"""docs/receipts.md is what strangers write their checks from: it names every member, fault and surface there is."""

from __future__ import annotations

import random
import re
from pathlib import Path

from lethe.domain.erasure import DELETING
from lethe.domain.receipt_form import FaultName
from lethe.domain.residuals import OUTSIDE, Retention, residuals
from tests.fakes.receipts import FakeSigner
from tests.fakes.time_and_ids import START
from tests.support.receipts import document_of, done_erasure, receipt_in, some_hold

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "receipts.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([a-z_0-9]+)`", PAGE))


def names_in(value: object) -> set[str]:
    """Every member's name, at any depth, less the names of stores."""
    if isinstance(value, dict):
        return set(value) | set().union(*(names_in(inner) for inner in value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list) else set()


def test_every_member_is_described() -> None:
    hold = some_hold(random.Random(1), "case-7")
    document = document_of(done_erasure(random.Random(1), holds=[hold]), FakeSigner(), holds=[hold])
    receipt = receipt_in(document)
    counts = receipt["counts"]
    assert isinstance(counts, dict)
    plain = {**receipt, "counts": list(counts.values()), "scope": {}, "holds": [{"name": "", "placed_at": ""}]}
    assert len(names_in(plain)) > 40
    assert names_in(plain) - NAMED == set()
    assert set(document) - NAMED == set()


def test_every_store_that_is_counted_is_described() -> None:
    section = PAGE.partition("### What is counted")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z]+)` \|", section, re.MULTILINE)) == set(DELETING)


def test_every_fault_is_explained() -> None:
    assert set(FaultName) - NAMED == set()


def test_every_surface_is_named() -> None:
    every = [
        residuals(Retention(tables, engine, 14, 30, 300, 7), START, held=True)
        for tables in ("dynamodb", "dynoxide", "moto")
        for engine in ("scan", "managed", "serverless", "local")
    ]
    surfaces = {each.surface for found in every for each in found}
    assert len(surfaces) >= 12
    assert surfaces - NAMED == set()


def test_what_no_promise_covers_is_explained() -> None:
    assert len(OUTSIDE) == 3
    for words in (
        "answers that were given before",
        "copies that the operator\nmade",
        "the provider of the embedding model",
    ):
        assert words in PAGE
