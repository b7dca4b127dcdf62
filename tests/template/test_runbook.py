"""The runbook of erasures speaks of the alarms of the template and of every code with which an erasure can fail."""

from __future__ import annotations

import json
import re

from lethe.domain.json_values import JsonObject
from tests.template.stack import ROOT, stack

PAGE = (ROOT / "docs" / "erasure.md").read_text(encoding="utf-8")
RUNBOOK = PAGE.partition("## At 3 a.m.\n")[2].partition("\n## ")[0]


def _in_first_column(heading: str) -> set[str]:
    """What stands in backticks in the first column of the table below a heading."""
    section = RUNBOOK.partition(f"### {heading}\n")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_every_alarm_of_erasures_is_explained_and_no_other_is_made_up() -> None:
    alarms = set(stack(EnableAlarms="true", SearchEngine="managed").raw("AWS::CloudWatch::Alarm"))
    told = _in_first_column("The alarms")
    assert {name for name in alarms if name.startswith(("Eras", "Compaction"))} <= told <= alarms


def test_every_code_of_a_failure_is_explained() -> None:
    machine: JsonObject = json.loads((ROOT / "functions" / "erase" / "erase.asl.json").read_text(encoding="utf-8"))
    states = machine["States"]
    assert isinstance(states, dict)
    codes = {
        state["Parameters"]["error"]
        for state in states.values()
        if isinstance(state, dict) and state.get("Next") == "fail"
    }
    assert len(codes) >= 3
    assert _in_first_column("The codes of a failure") - {"failure"} == codes
