"""What `lethe index rebuild` makes of the settings."""

from __future__ import annotations

import pytest

from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.mapping import index_body
from lethe.domain.embedding import EmbeddingModel
from lethe.domain.json_values import JsonObject
from lethe.entry.settings import IndexSettings
from lethe.entry.wiring.search import index_shape

MODEL = EmbeddingModel("test/words", "1", 8)
NEEDED = {
    "LETHE_SUBJECTS_TABLE": "subjects",
    "LETHE_MEMORIES_TABLE": "memories",
    "LETHE_OPENSEARCH_URL": "https://search.test",
}


@pytest.mark.parametrize(
    ("given", "shards", "threshold"),
    [
        ({}, 1, -1),
        ({"LETHE_OPENSEARCH_GRAPHS": "0", "LETHE_OPENSEARCH_SHARDS": "19"}, 19, -1),
        ({"LETHE_OPENSEARCH_GRAPHS": "15000"}, 1, 15_000),
    ],
)
def test_shards_and_graphs_are_settings(given: dict[str, str], shards: int, threshold: int) -> None:
    shape = index_shape(IndexSettings.from_environment({**NEEDED, **given}))
    settings = index_body(MODEL, Flavour.MANAGED, shape)["settings"]
    assert isinstance(settings, dict)
    index: JsonObject = settings["index"]
    assert (index["number_of_shards"], index["knn.advanced.approximate_threshold"]) == (shards, threshold)


def test_a_serverless_collection_decides_by_itself() -> None:
    shape = index_shape(IndexSettings.from_environment({**NEEDED, "LETHE_OPENSEARCH_GRAPHS": "15000"}))
    assert index_body(MODEL, Flavour.SERVERLESS, shape)["settings"]["index"] == {"knn": True}  # type: ignore[index, call-overload]  # an object


def test_a_number_below_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="LETHE_OPENSEARCH_GRAPHS"):
        IndexSettings.from_environment({**NEEDED, "LETHE_OPENSEARCH_GRAPHS": "-1"})
