"""`lethe cost` counts what the template makes."""

import pytest

from lethe_client.cli.cost_model import ALARM_METRICS
from tests.template.stack import items, mapping, stack


@pytest.mark.parametrize("engine", list(ALARM_METRICS))
def test_the_metrics_of_the_alarms(engine: str) -> None:
    alarms = stack(SearchEngine=engine).resources("AWS::CloudWatch::Alarm").values()
    sums = [items(alarm["Metrics"]) if "Metrics" in alarm else None for alarm in alarms]
    read = [1 if each is None else sum("MetricStat" in mapping(query) for query in each) for each in sums]
    assert sum(read) == ALARM_METRICS[engine]
