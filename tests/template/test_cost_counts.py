"""`lethe cost` counts what the template makes."""

import json

import pytest

from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.known import SEARCH_READS
from lethe.adapters.opensearch.mapping import IndexShape, index_body
from lethe.domain.embedding import EmbeddingModel
from lethe_client.cli.cost_model import ALARM_METRICS, CANDIDATES
from lethe_client.cli.cost_of_erasure import HOURS, TASKS, TICKS, TRANSITIONS
from tests.support.stores import ROOT
from tests.template.stack import items, mapping, schedule, stack

DOCS = ROOT / "docs"


@pytest.mark.parametrize("engine", list(ALARM_METRICS))
def test_the_metrics_of_the_alarms(engine: str) -> None:
    alarms = stack(SearchEngine=engine).resources("AWS::CloudWatch::Alarm").values()
    sums = [items(alarm["Metrics"]) if "Metrics" in alarm else None for alarm in alarms]
    read = [1 if each is None else sum("MetricStat" in mapping(query) for query in each) for each in sums]
    assert sum(read) == ALARM_METRICS[engine]


def test_the_states_that_an_erasure_goes_through() -> None:
    """The shortest way to a good end: every task is done when it has run once."""
    machine = json.loads((ROOT / "functions" / "erase" / "erase.asl.json").read_text(encoding="utf-8"))
    states, name, ways, tasks = machine["States"], machine["StartAt"], 0, 0
    while name is not None:
        state, ways = states[name], ways + 1
        tasks += state["Type"] == "Task"
        done = [choice["Next"] for choice in state.get("Choices", ()) if choice.get("BooleanEquals") is True]
        name = done[0] if done else state.get("Next")
    assert (ways, tasks, state["Type"]) == (TRANSITIONS, TASKS, "Succeed")
    assert f"{TRANSITIONS} states" in (DOCS / "cost.md").read_text(encoding="utf-8")


def test_ticks_are_as_many_as_the_schedule_makes() -> None:
    tick = schedule("tick")
    assert (tick["ScheduleExpression"], TICKS) == ("rate(5 minutes)", HOURS * 60 // 5)


def test_the_memories_that_a_search_reads_are_those_of_the_engine() -> None:
    assert CANDIDATES == SEARCH_READS
    for page in ("cost.md", "scale.md", "opensearch.md"):
        assert f"{CANDIDATES} candidates" in " ".join((DOCS / page).read_text(encoding="utf-8").split()), page


@pytest.mark.parametrize("engine", ["managed", "serverless"])
@pytest.mark.parametrize("instances", ["1", "2", "3"])
def test_copies_are_what_the_page_says(engine: str, instances: str) -> None:
    """Held twice from two instances on, in two zones; the index itself takes as many copies as there is room for."""
    body = index_body(EmbeddingModel("m", "1", 8), Flavour(engine), IndexShape())
    assert ('"auto_expand_replicas": "0-1"' in json.dumps(body)) == (engine == "managed")
    for domain in (
        stack(SearchEngine=engine, SearchInstances=instances).resources("AWS::OpenSearchService::Domain").values()
    ):
        cluster = mapping(domain["ClusterConfig"])
        assert str(cluster["ZoneAwarenessEnabled"]).lower() == ("false" if instances == "1" else "true")
    assert "from two on every entry is held twice" in (DOCS / "opensearch.md").read_text(encoding="utf-8")
