"""`lethe cost` counts what the template makes."""

import json

import pytest

from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.known import SEARCH_READS
from lethe.adapters.opensearch.mapping import IndexShape, index_body
from lethe.domain.embedding import EmbeddingModel
from lethe_client.cli.cost_model import ALARM_METRICS, CANDIDATES
from tests.support.stores import ROOT
from tests.template.stack import items, mapping, stack

DOCS = ROOT / "docs"


@pytest.mark.parametrize("engine", list(ALARM_METRICS))
def test_the_metrics_of_the_alarms(engine: str) -> None:
    alarms = stack(SearchEngine=engine).resources("AWS::CloudWatch::Alarm").values()
    sums = [items(alarm["Metrics"]) if "Metrics" in alarm else None for alarm in alarms]
    read = [1 if each is None else sum("MetricStat" in mapping(query) for query in each) for each in sums]
    assert sum(read) == ALARM_METRICS[engine]


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
