"""The last day of each surface, and of all of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

import pytest

from lethe.domain.residuals import Basis, Carries, Residual, Retention, gone_by, residuals
from tests.fakes.time_and_ids import START

AWS = Retention("dynamodb", "scan", 14, 30, 300, 7)


def by_name(retention: Retention, held: bool = False) -> dict[str, Residual]:
    return {residual.surface: residual for residual in residuals(retention, START, held)}


def until(retention: Retention) -> dict[str, timedelta | None]:
    found = by_name(retention)
    return {name: None if each.until is None else each.until - START for name, each in found.items()}


def test_a_stack_that_scans() -> None:
    assert until(AWS) == {
        "container_memory": timedelta(days=1),
        "idempotency_claims": timedelta(days=3),
        "logs": timedelta(days=33),
        "point_in_time_recovery": timedelta(days=14),
        "state_machine_history": timedelta(days=90),
        "table_streams": timedelta(days=1),
        "traces": timedelta(days=30),
    }
    content = {name for name, each in by_name(AWS).items() if each.carries is Carries.CONTENT}
    assert content == {"container_memory", "point_in_time_recovery", "table_streams"}


def test_every_setting_moves_its_own_date_and_no_other() -> None:
    full = replace(AWS, engine="managed")
    for field, changed, surfaces in (
        ("point_in_time_recovery_days", 35, {"point_in_time_recovery"}),
        ("log_retention_days", 1, {"logs"}),
        ("cache_seconds", 172_800, {"container_memory"}),
        ("search_compaction_days", 30, {"index_segments", "index_snapshots"}),
    ):
        before, after = until(full), until(replace(full, **{field: changed}))  # type: ignore[arg-type]  # by name
        assert {name for name in before if before[name] != after[name]} == surfaces


@pytest.mark.parametrize(
    ("engine", "segments", "snapshots"),
    [("managed", timedelta(days=15), timedelta(days=29)), ("serverless", None, None)],
)
def test_a_domain_is_told_when_to_merge_and_a_collection_is_not(
    engine: Literal["managed", "serverless"], segments: timedelta | None, snapshots: timedelta | None
) -> None:
    found = until(replace(AWS, engine=engine))
    assert found.items() - until(AWS).items() == {
        ("index_segments", segments),
        ("index_snapshots", snapshots),
        ("dead_letters", timedelta(days=15)),
    }


def test_beside_a_domain_everything_has_a_date() -> None:
    assert gone_by(residuals(replace(AWS, engine="managed"), START, held=False)) == START + timedelta(days=90)
    content = [
        each for each in residuals(replace(AWS, engine="managed"), START, held=False) if each.carries is Carries.CONTENT
    ]
    assert gone_by(content) == START + timedelta(days=29)


def test_a_laptop_says_what_it_does_not_know() -> None:
    strict = until(Retention("dynoxide", "scan", 14, 30, 300, 7))
    assert strict == {"executions_file": None, "process_memory": None, "table_file": None}
    node = until(Retention("moto", "local", 14, 30, 300, 7))
    assert node.keys() == {"executions_file", "index_segments", "process_memory", "table_file"}
    assert node["table_file"] == timedelta(minutes=10)
    assert node["index_segments"] is None


@pytest.mark.parametrize("retention", [AWS, replace(AWS, engine="managed"), Retention("dynoxide", "local", 1, 1, 0, 7)])
def test_what_has_no_date_has_no_basis(retention: Retention) -> None:
    for each in residuals(retention, START, held=True):
        assert (each.until is None) == (each.basis is Basis.NONE), each.surface


def test_held_records_are_a_surface_without_a_date() -> None:
    assert "held_records" not in by_name(AWS)
    assert by_name(AWS, held=True)["held_records"].until is None


def test_everything_is_gone_when_the_last_is() -> None:
    def at(moment: datetime | None) -> Residual:
        return Residual("x", Carries.IDS, moment, Basis.SERVICE, "x")

    late = START + timedelta(days=3)
    assert gone_by([at(START), at(late), at(START)]) == late
    assert gone_by([at(START), at(None)]) is None
    assert gone_by([]) is None
