"""The plans in docs follow from one size of an entry and one rate, which are the measured ones."""

from __future__ import annotations

import re
from math import ceil
from pathlib import Path

import pytest

from lethe_client.cli.cost_model import Volumes

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCALE = (DOCS / "scale.md").read_text(encoding="utf-8")
OPENSEARCH = (DOCS / "opensearch.md").read_text(encoding="utf-8")

B = Volumes(dimensions=384).bytes_an_entry
B_512 = Volumes(dimensions=512).bytes_an_entry
MARGIN = 4 / 3
RATE = 1_380
ROOM = 1.45
SIZES = (5e6, 100e6, 1e9)
GIGABYTE, TEBIBYTE = 1e9, 2**40


def row(label: str) -> list[str]:
    """The cells of the plan's row that begins with ``label``."""
    plan = SCALE.partition("<!-- scale-plan:begin -->")[2].partition("<!-- scale-plan:end -->")[0]
    (line,) = [line for line in plan.splitlines() if line.startswith(f"| {label}")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def numbers(cells: list[str]) -> list[float]:
    """Bytes, hours or plain counts, in the unit that a cell names."""
    units = {"MB": 1e6, "GB": 1e9, "TB": 1e12, "days": 24.0}
    found = [re.match(r"([\d.,]+) ?(\w*)", cell) for cell in cells]
    return [float(each[1].replace(",", "")) * units.get(each[2], 1.0) for each in found if each is not None]


@pytest.mark.parametrize(
    ("label", "formula"),
    [
        ("S, one copy", lambda n: n * B),
        ("shards P", lambda n: ceil(n * B / (30 * GIGABYTE))),
        ("disk of the domain", lambda n: n * B * 2 * ROOM),
        ("rebuild by one process", lambda n: n / RATE / 3_600),
        ("graphs", lambda n: n * 1.1 * (4 * 384 + 8 * 32)),
        ("vectors of 1 %", lambda n: n / 100 * 4 * 384),
    ],
)
def test_the_plan_is_what_its_formulas_give(label: str, formula: object) -> None:
    assert callable(formula)
    assert numbers(row(label)) == pytest.approx([formula(n) for n in SIZES], rel=0.03)


def test_the_size_of_an_entry_and_the_rate_are_the_measured_ones() -> None:
    built = re.search(r"\| no graphs \| 1,000,000 \| ([\d,]+) \| ([\d,]+) \|", SCALE)
    entries = re.search(r"over some ([\d,]+) entries", SCALE.replace("\n", " "))
    assert built is not None
    assert entries is not None
    rate, megabytes, many = (int(each.replace(",", "")) for each in (built[1], built[2], entries[1]))
    measured = megabytes * 1e6 / many
    assert pytest.approx(MARGIN * measured, rel=0.05) == B
    assert f"a third more than the {measured / 1000:.1f} KB that the table gives ({megabytes:,} MB" in SCALE.replace(
        "\n", " "
    )
    assert rate == pytest.approx(RATE, rel=0.1)
    assert f"at {RATE:,} a second" in SCALE
    assert f"b = {B / 1000:g} KB" in SCALE


def test_the_instances_have_room_for_both_copies() -> None:
    for cell, n in zip(row("instances that hold it"), SIZES, strict=True):
        found = re.match(r"(\d+) × `[\w.]+`, ([\d,]+) GB each", cell)
        assert found is not None
        room = int(found[1]) * int(found[2].replace(",", "")) * GIGABYTE
        assert 1.0 <= room / (n * B * 2 * ROOM) < 1.15


def test_the_text_says_what_the_table_says() -> None:
    shards, hours, days = ceil(1e9 * B / (30 * GIGABYTE)), 100e6 / RATE / 3_600, 1e9 / RATE / 86_400
    assert f"One index of {shards} shards" in SCALE
    assert f"a rebuild of {days:.1f} days" in SCALE
    assert f"takes {hours:.0f} hours in one process" in SCALE
    assert f"| 100 M | the rebuild by one process | {hours:.0f} hours |" in SCALE
    assert f"LETHE_OPENSEARCH_SHARDS={ceil(100e6 * B / (30 * GIGABYTE))} lethe index rebuild" in SCALE
    assert f"1 TiB an index, {TEBIBYTE / B / 1e6:.0f} million entries at b = {B / 1000:g} KB" in SCALE


def test_what_breaks_first_breaks_where_it_is_said() -> None:
    assert f"| {int(50 * GIGABYTE / B / 1e6)} M | one shard beyond 50 GB |" in SCALE
    room = int(100 * GIGABYTE / ROOM / B / 1e6)
    assert f"| {room} M | the disk of one instance of the default domain" in SCALE
    assert f"| {TEBIBYTE / B_512 / 1e6:.0f}–{TEBIBYTE / B / 1e6:.0f} M | a Serverless index, at 512 or 384" in SCALE
    assert f"have room for {room} million entries of 384 dimensions" in OPENSEARCH.replace("\n", " ")


def test_the_bytes_a_dimension() -> None:
    assert f"about {B / 384:.0f} a dimension" in OPENSEARCH
    assert f"{B / 1000:.1f} KB at 384 and {B_512 / 1000:.1f} KB at 512" in OPENSEARCH
