"""State machines and schedules as the template has them, and what is remembered of executions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lethe_local.executions import Begun, Executions
from lethe_local.intrinsics import TemplateError
from lethe_local.stack import LocalStack, StackOptions
from lethe_local.template import read_template
from lethe_local.workflows import ScheduleResource

ROOT = Path(__file__).resolve().parents[3]
HOUSE = Path(__file__).parent / "machine_house"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    folder = tmp_path / "house"
    shutil.copytree(HOUSE, folder)
    shutil.copy(ROOT / "functions/erase/erase.asl.json", folder / "functions/erase/erase.asl.json")
    return folder


def _change(house: Path, part: str, change: str) -> Path:
    file = house / "template.yaml"
    text = file.read_text(encoding="utf-8")
    assert part in text
    file.write_text(text.replace(part, change), encoding="utf-8")
    return file


def test_a_machine_is_read_with_its_substitutions(house: Path) -> None:
    template = read_template(house / "template.yaml")
    (machine,) = template.state_machines
    assert (machine.logical_id, machine.name) == ("EraseStateMachine", "lethe-erase")
    assert "${" not in machine.definition
    states = json.loads(machine.definition)["States"]
    assert states["ledger"]["Resource"] == "arn:aws:lambda:us-east-1:000000000000:function:EraseFunction"
    assert states["drain time"]["Parameters"]["seconds.$"] == "States.StringToJson('86400')"
    assert template.schedules == (
        ScheduleResource("EraseFunctionTick", "EraseFunction", seconds=3600.0, event='{"task": "tick"}'),
    )


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("rate(1 hour)", "cron(0 12 1 1 6 2030)", "rate"),
        ('DrainSeconds: "86400"', 'Other: "1"', "DrainSeconds"),
        ("erase.asl.json", "other.asl.json", "other.asl.json"),
        ("functions/erase/erase.asl.json", "s3://elsewhere/erase.asl.json", "beside the template"),
        ("Name: !Sub ${AWS::StackName}-erase", "Type: EXPRESS", "standard"),
    ],
)
def test_what_is_not_known_here_is_refused(house: Path, part: str, change: str, words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        read_template(_change(house, part, change))


def test_one_machine_is_run_and_no_two(house: Path, tmp_path: Path) -> None:
    text = (house / "template.yaml").read_text(encoding="utf-8")
    second = (
        text[text.index("  EraseStateMachine:") :].replace("EraseStateMachine", "Other").replace("-erase", "-other", 1)
    )
    (house / "template.yaml").write_text(text + "\n" + second, encoding="utf-8")
    with pytest.raises(TemplateError, match="one state machine"):
        LocalStack.start(StackOptions(house, tmp_path / "state", tables="moto", say=print))


def test_a_schedule_that_is_switched_off(house: Path) -> None:
    assert read_template(_change(house, "rate(1 hour)", "rate(1 hour), Enabled: false")).schedules == ()


def test_executions_are_remembered(tmp_path: Path) -> None:
    file = tmp_path / "executions.json"
    first = Executions(file)
    for name in ("er_1", "er_2", "er_2"):
        first.begin(Begun("lethe-erase", name, '{"tenant": "acme"}'))
    first.end("er_1")
    first.end("er_3")
    again = Executions(file)
    assert again.running() == (Begun("lethe-erase", "er_2", '{"tenant": "acme"}'),)
    assert [again.has_ended(name) for name in ("er_1", "er_2", "er_3")] == [True, False, False]
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"running": {"a": {}}, "ended": []}'])
def test_a_memory_that_cannot_be_read_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "executions.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"executions\.json cannot be read"):
        Executions(tmp_path / "executions.json")
