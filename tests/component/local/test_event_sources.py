"""Event source mappings as the template has them, and the patterns that filter their records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lethe.domain.json_values import JsonValue
from lethe_local.event_sources import EventSource
from lethe_local.intrinsics import TemplateError
from lethe_local.stream_filters import matches, read_pattern
from lethe_local.template import read_template

ROOT = Path(__file__).resolve().parents[3]
HOUSE = Path(__file__).parent / "stream_house"


def test_a_mapping_is_read_whole() -> None:
    template = read_template(HOUSE / "template.yaml")
    assert template.event_sources == (
        EventSource(
            logical_id="NoticeFunctionNotes",
            function="NoticeFunction",
            table="lethe-notes",
            batch_size=10,
            window_seconds=1,
            from_start=True,
            bisects=True,
            reports_failures=True,
            most_retries=2,
            most_age_seconds=3600,
            destination="lethe-Failed",
            filters=({"dynamodb": {"Keys": {"sk": {"S": [{"prefix": "note#"}]}}}},),
        ),
    )
    assert template.functions["NoticeFunction"].environment["NOTES_TABLE"] == "lethe-notes"


def test_a_mapping_whose_condition_does_not_hold_is_none() -> None:
    silent = read_template(HOUSE / "template.yaml", {"Listens": "false"})
    assert (silent.event_sources, silent.functions) == ((), {})


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("BatchSize: 10", "BatchSize: many", "BatchSize"),
        ("BatchSize: 10", "TumblingWindowInSeconds: 10", "TumblingWindowInSeconds"),
        ("StartingPosition: TRIM_HORIZON", "StartingPosition: YESTERDAY", "StartingPosition"),
        ("NotesTable.StreamArn", "Failed.Arn", "streams of DynamoDB"),
        ('[{"prefix": "note#"}]', '[{"cidr": "10.0.0.0/8"}]', "filter of S"),
        ('[{"prefix": "note#"}]', '"note#"', "filter of S"),
        ('{"dynamodb"', '{dynamodb"', "JSON"),
    ],
)
def test_a_mapping_that_is_not_known_here_is_refused(tmp_path: Path, part: str, change: str, words: str) -> None:
    text = (HOUSE / "template.yaml").read_text(encoding="utf-8")
    assert part in text
    (tmp_path / "template.yaml").write_text(text.replace(part, change), encoding="utf-8")
    with pytest.raises(TemplateError, match=words):
        read_template(tmp_path / "template.yaml")


def test_a_mapping_that_is_switched_off(tmp_path: Path) -> None:
    text = (HOUSE / "template.yaml").read_text(encoding="utf-8")
    (tmp_path / "template.yaml").write_text(text.replace("BatchSize: 10", "Enabled: false"), encoding="utf-8")
    assert read_template(tmp_path / "template.yaml").event_sources == ()


def test_lethes_index_hears_of_memories() -> None:
    assert read_template(ROOT / "template.yaml").event_sources == ()
    for engine in ("managed", "serverless"):
        template = read_template(ROOT / "template.yaml", {"SearchEngine": engine})
        (source,) = template.event_sources
        assert (template.functions[source.function].name, source.table) == ("index", "lethe-memories")
        assert (source.batch_size, source.window_seconds) == (200, 2)
        assert source.bisects
        assert source.reports_failures


RECORD: dict[str, JsonValue] = {
    "eventName": "MODIFY",
    "dynamodb": {
        "Keys": {"pk": {"S": "a"}, "sk": {"S": "MEM#1"}},
        "NewImage": {"flag": {"BOOL": True}},
        "SizeBytes": 7,
    },
}


@pytest.mark.parametrize(
    ("pattern", "holds"),
    [
        ({}, True),
        ({"eventName": ["INSERT", "MODIFY"]}, True),
        ({"eventName": ["REMOVE"]}, False),
        ({"eventName": [{"anything-but": ["REMOVE"]}]}, True),
        ({"eventName": [{"anything-but": "MODIFY"}]}, False),
        ({"eventName": [{"equals-ignore-case": "modify"}]}, True),
        ({"dynamodb": {"Keys": {"sk": {"S": [{"prefix": "MEM#"}]}}}}, True),
        ({"dynamodb": {"Keys": {"sk": {"S": [{"prefix": "ENT#"}, {"suffix": "#1"}]}}}}, True),
        ({"dynamodb": {"Keys": {"sk": {"S": [{"prefix": "ENT#"}]}}}}, False),
        ({"dynamodb": {"NewImage": {"flag": {"BOOL": [True]}}}}, True),
        ({"dynamodb": {"SizeBytes": [7]}}, True),
        ({"dynamodb": {"SizeBytes": [True]}}, False),
        ({"dynamodb": {"OldImage": {"flag": {"BOOL": [{"exists": False}]}}}}, True),
        ({"dynamodb": {"OldImage": {"flag": {"BOOL": [{"exists": True}]}}}}, False),
        ({"dynamodb": {"OldImage": {"flag": {"BOOL": [None]}}}}, False),
        ({"dynamodb": {"OldImage": {"flag": {"BOOL": [{"anything-but": False}]}}}}, False),
        ({"eventName": ["MODIFY"], "dynamodb": {"Keys": {"pk": {"S": ["b"]}}}}, False),
    ],
)
def test_what_a_pattern_lets_through(pattern: JsonValue, holds: bool) -> None:
    assert matches(RECORD, [read_pattern(json.dumps(pattern), "here")]) is holds


def test_any_pattern_is_enough_and_none_lets_all_through() -> None:
    patterns = [read_pattern('{"eventName": ["REMOVE"]}', "here"), read_pattern('{"eventName": ["MODIFY"]}', "here")]
    assert matches(RECORD, patterns)
    assert not matches(RECORD, patterns[:1])
    assert matches(RECORD, [])
