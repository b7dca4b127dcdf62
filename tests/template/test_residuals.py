"""Every date of a receipt is the one that the deployed resources say: receipt and template are held together."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from lethe.domain.residuals import LOGS_LINGER, MERGE, SNAPSHOTS, STREAM, Basis, Residual, residuals
from lethe.entry.settings import EraseSettings
from lethe.entry.wiring.erasing import retention
from tests.fakes.time_and_ids import START
from tests.template.stack import mapping, schedule, stack
from tests.template.test_functions import environment

VARIANTS: tuple[dict[str, str], ...] = (
    {},
    {"PointInTimeRecoveryDays": "35", "LogRetentionDays": "365", "CacheSeconds": "3600"},
    {"PointInTimeRecoveryDays": "1", "LogRetentionDays": "1", "CacheSeconds": "0"},
    {"SearchEngine": "managed"},
    {"SearchEngine": "managed", "SearchCompactionDays": "2"},
    {"SearchEngine": "serverless", "LogRetentionDays": "90"},
)
every_variant = pytest.mark.parametrize("parameters", VARIANTS, ids=lambda p: ",".join(p) or "defaults")


def surfaces(parameters: dict[str, str]) -> dict[str, Residual]:
    settings = EraseSettings.from_environment(environment("EraseFunction", **parameters))
    return {each.surface: each for each in residuals(retention(settings), START, held=False)}


def lasts(residual: Residual) -> timedelta:
    assert residual.until is not None
    return residual.until - START


@every_variant
def test_backups_last_as_long_as_every_table_keeps_them(parameters: dict[str, str]) -> None:
    said = lasts(surfaces(parameters)["point_in_time_recovery"])
    tables = stack(**parameters).resources("AWS::DynamoDB::Table")
    assert len(tables) >= 6
    for table in tables.values():
        recovery = mapping(table["PointInTimeRecoverySpecification"])
        assert said == timedelta(days=int(str(recovery["RecoveryPeriodInDays"])))


@every_variant
def test_logs_last_as_long_as_every_group_keeps_them(parameters: dict[str, str]) -> None:
    said = lasts(surfaces(parameters)["logs"])
    groups = stack(**parameters).resources("AWS::Logs::LogGroup")
    assert len(groups) >= 5
    for group in groups.values():
        assert said == timedelta(days=int(str(group["RetentionInDays"]))) + LOGS_LINGER


@every_variant
def test_streams_keep_nothing_longer_than_a_day(parameters: dict[str, str]) -> None:
    said = lasts(surfaces(parameters)["table_streams"])
    assert said == STREAM
    tables = stack(**parameters).resources("AWS::DynamoDB::Table")
    streamed = {name: table["StreamSpecification"] for name, table in tables.items() if "StreamSpecification" in table}
    feeds_an_index = parameters.get("SearchEngine", "scan") != "scan"
    assert streamed == ({"MemoriesTable": {"StreamViewType": "NEW_IMAGE"}} if feeds_an_index else {})
    for source in stack(**parameters).resources("AWS::Lambda::EventSourceMapping").values():
        assert timedelta(seconds=int(str(source["MaximumRecordAgeInSeconds"]))) <= said


@every_variant
def test_a_container_uses_what_it_keeps_as_long_as_recall_is_told(parameters: dict[str, str]) -> None:
    seconds = environment("RecallFunction", **parameters)["LETHE_CACHE_SECONDS"]
    said = surfaces(parameters)["container_memory"]
    assert f"no longer than {seconds} seconds" in said.what
    assert lasts(said) >= timedelta(seconds=int(seconds))
    assert said.basis is Basis.ASSUMED


@every_variant
def test_dead_letters_last_as_long_as_the_queue_keeps_them(parameters: dict[str, str]) -> None:
    queues = stack(**parameters).resources("AWS::SQS::Queue")
    said = surfaces(parameters)
    assert ("dead_letters" in said) == bool(queues)
    for queue in queues.values():
        assert lasts(said["dead_letters"]) == STREAM + timedelta(seconds=int(str(queue["MessageRetentionPeriod"])))


@every_variant
def test_what_an_index_keeps_is_named_where_there_is_one(parameters: dict[str, str]) -> None:
    kinds = ("AWS::OpenSearchService::Domain", "AWS::OpenSearchServerless::Collection")
    there_is_one = any(stack(**parameters).resources(kind) for kind in kinds)
    said = surfaces(parameters)
    for name in ("index_segments", "index_snapshots"):
        assert (name in said) == there_is_one
        if parameters.get("SearchEngine") == "serverless":
            assert (said[name].until, said[name].basis) == (None, Basis.NONE)


@every_variant
def test_segments_last_until_the_second_merge_that_a_schedule_asks_for(parameters: dict[str, str]) -> None:
    rule = schedule("compact", **parameters)
    if parameters.get("SearchEngine") != "managed":
        assert rule["State"] == "DISABLED"
        return
    assert rule["State"] == "ENABLED"
    (days,) = re.findall(r"^rate\((\d+) days\)$", str(rule["ScheduleExpression"]))
    said = surfaces(parameters)
    assert lasts(said["index_segments"]) == 2 * timedelta(days=int(days)) + MERGE
    assert lasts(said["index_snapshots"]) == lasts(said["index_segments"]) + SNAPSHOTS


def test_the_machine_keeps_a_history_of_ids_alone() -> None:
    (machine,) = stack().resources("AWS::StepFunctions::StateMachine").values()
    assert machine["StateMachineType"] == "STANDARD"
    assert mapping(machine["LoggingConfiguration"])["IncludeExecutionData"] is False
    assert lasts(surfaces({})["state_machine_history"]) == timedelta(days=90)
    assert lasts(surfaces({})["traces"]) == timedelta(days=30)
