"""What an index looks like, and what it is called.

Settings and mapping are explicit and strict: an unknown field is an error, never a guess. Field by field:

- ``tenant``, ``subject``, ``epoch``: the space; in every filter.
- ``entry``: ``memory``, or ``mark`` for the one entry of a space that says how far its index has come: ``written`` is
  the mark of the newest write that it shows, ``changed_at`` that write's time, ``marked_at`` when that was noted.
- ``memory_id``, ``version``: what the entry is derived from.
- ``terms``: the memory's terms by Lethe's own analysis: exact document frequencies within a subject, which an
  OpenSearch score cannot give, since it counts over all tenants.
- ``text``, ``context``: for BM25, plain, with English inflection and as CJK characters and pairs.
- times are whole microseconds, since dates inside a k-NN filter went wrong (k-NN #2339) and milliseconds would round.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from lethe.adapters.opensearch.flavours import ABILITIES, Flavour
from lethe.domain.embedding import EmbeddingModel
from lethe.domain.json_values import JsonObject, JsonValue

SCHEMA: Final = 1
"""Raised when mapping or analysis change: an index of another schema is built beside, then takes over."""

M: Final = 32
EF_CONSTRUCTION: Final = 200
NO_GRAPHS: Final = -1

Engine = Literal["faiss", "lucene"]

_TEXT: Final[JsonObject] = {
    "type": "text",
    "analyzer": "standard",
    "fields": {
        "en": {"type": "text", "analyzer": "english"},
        "cjk": {"type": "text", "analyzer": "characters_and_pairs"},
    },
}
_KEYWORDS: Final = ("entry", "tenant", "subject", "memory_id", "kind", "status", "origin", "session", "written")
_NUMBERS: Final = ("epoch", "version", "changed_at", "marked_at", "created_at", "valid_from", "valid_until")
_KEYWORD: Final[JsonObject] = {"type": "keyword"}
_NUMBER: Final[JsonObject] = {"type": "long"}


@dataclass(frozen=True, slots=True)
class IndexShape:
    """What can be chosen of an index.

    ``graph_threshold`` is from how many vectors in a segment an HNSW graph is built; -1 builds none, so that every
    filtered search is exact (docs/adr/0007). ``shards`` are the cluster's own business on Serverless, as are copies;
    elsewhere each entry is held twice as soon as there are two nodes.
    """

    engine: Engine = "faiss"
    graph_threshold: int = NO_GRAPHS
    shards: int = 1
    refresh_interval: str = "1s"


def index_name(alias: str, model: EmbeddingModel) -> str:
    """The name of the index that holds vectors of ``model``: vectors of two models never meet in one index."""
    slug = re.sub(r"[^a-z0-9]+", "-", model.label.lower()).strip("-")
    return f"{alias}-v{SCHEMA}-{slug}-{model.dimensions}"


def searched_name(alias: str, model: EmbeddingModel) -> str:
    """What searches with vectors of ``model`` ask: another name of the same index, which it gets when it is whole."""
    return f"{index_name(alias, model)}-shown"


def index_body(model: EmbeddingModel, flavour: Flavour, shape: IndexShape) -> Mapping[str, JsonValue]:
    """Settings and mapping of an index for vectors of ``model``."""
    named = ABILITIES[flavour].engine_setting
    index: dict[str, JsonValue] = {"knn": True}
    if named:
        index |= {
            "number_of_shards": shape.shards,
            "auto_expand_replicas": "0-1",
            "refresh_interval": shape.refresh_interval,
            "knn.advanced.approximate_threshold": shape.graph_threshold,
            # Of a segment with a single deleted entry too; by default one in ten must be deleted.
            "merge.policy.expunge_deletes_allowed": 0,
        }
    return {
        "settings": {"index": index, "analysis": _analysis()},
        "mappings": {"dynamic": "strict", "properties": _properties(model, named, shape.engine)},
    }


def _properties(model: EmbeddingModel, named: bool, engine: Engine) -> JsonObject:
    method: dict[str, JsonValue] = {"name": "hnsw", "parameters": {"m": M, "ef_construction": EF_CONSTRUCTION}}
    vector: dict[str, JsonValue] = {
        "type": "knn_vector",
        "dimension": model.dimensions,
        "space_type": "cosinesimil",
        "method": method,
    }
    if named:
        method["engine"] = engine
    else:
        vector["compression_level"] = "1x"  # the default of 32x would choose candidates by one bit a dimension
    return {
        **{name: _KEYWORD for name in _KEYWORDS},
        **{name: _NUMBER for name in _NUMBERS},
        **{name: {"type": "integer"} for name in ("length", "own_length")},
        "facets": {"type": "keyword", "doc_values": False},
        "terms": {"type": "keyword", "doc_values": False},
        "text": _TEXT,
        "context": _TEXT,
        "embedding": vector,
    }


def _analysis() -> JsonObject:
    # The built-in "cjk" analyzer drops single characters, which are words in Chinese.
    return {
        "filter": {"pairs": {"type": "cjk_bigram", "output_unigrams": True}},
        "analyzer": {
            "characters_and_pairs": {
                "type": "custom",
                "tokenizer": "standard",
                "filter": ["cjk_width", "lowercase", "pairs"],
            }
        },
    }
