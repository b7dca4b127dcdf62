"""Mapping and documents: what an index may look like and what it takes, with the node's own words for what it refuses.

The texts were read off a 2.19.1 node with the k-NN plugin.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from lethe.adapters.opensearch.flavours import Flavour
from lethe.domain.json_values import JsonValue
from tests.fakes.opensearch.analysis import ANALYZERS
from tests.fakes.opensearch.failures import Json, NotInTheContract, Refusal, allowed

_LONGEST_TERM: Final = 32_766
_PLAIN_SETTINGS: Final = ("knn",)
_NODE_SETTINGS: Final = (
    "number_of_shards",
    "number_of_replicas",
    "auto_expand_replicas",
    "refresh_interval",
    "knn.advanced.approximate_threshold",
    "merge.policy.expunge_deletes_allowed",
)
_RANGES: Final = {"long": 63, "integer": 31}


@dataclass(frozen=True, slots=True)
class IndexMapping:
    """Fields by name; sub-fields of text by their full name, with the analyzer."""

    types: Mapping[str, str]
    analyzers: Mapping[str, str]
    dimension: int
    vector: str


@dataclass(slots=True)
class Document:
    """What can be searched of one document."""

    id: str
    source: Json
    keywords: dict[str, frozenset[str]] = field(default_factory=dict)
    numbers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    tokens: dict[str, Counter[str]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    vector: NDArray[np.float64] | None = None


def read_settings(body: Json, flavour: Flavour) -> tuple[int, float | None]:
    """Shards and seconds between refreshes (None: never by itself). Raises Refusal or NotInTheContract."""
    settings = cast(Json, body["settings"])
    allowed("settings", settings, "index", "analysis")
    index = cast(Json, settings["index"])
    if index.get("knn") is not True:
        raise NotInTheContract("an index for vectors says index.knn: true")
    if flavour is Flavour.SERVERLESS:
        unknown = sorted(set(index) - set(_PLAIN_SETTINGS))
        if unknown:
            raise Refusal(400, "illegal_argument_exception", f"unknown setting [index.{unknown[0]}]")
        return 2, 10.0  # shards are the collection's own business, and there is more than one
    allowed("settings.index", index, *_PLAIN_SETTINGS, *_NODE_SETTINGS)
    interval = str(index.get("refresh_interval", "1s"))
    if interval == "-1":
        return cast(int, index.get("number_of_shards", 1)), None
    return cast(int, index.get("number_of_shards", 1)), float(interval.removesuffix("s"))


def read_mapping(body: Json, flavour: Flavour) -> IndexMapping:
    """The mapping of a new index. Raises Refusal or NotInTheContract."""
    mappings = cast(Json, body["mappings"])
    allowed("mappings", mappings, "dynamic", "properties")
    if mappings.get("dynamic") != "strict":
        raise NotInTheContract("the mapping is strict")
    types: dict[str, str] = {}
    analyzers: dict[str, str] = {}
    vector, dimension = "", 0
    for name, each in cast("dict[str, Json]", mappings["properties"]).items():
        kind = types[name] = str(each["type"])
        if kind == "text":
            analyzers |= _analyzers(name, each)
        elif kind == "knn_vector":
            vector, dimension = name, _dimension(each, flavour)
        elif kind in ("keyword", *_RANGES):
            allowed(f"field {name}", each, "type", "doc_values")
        else:
            raise NotInTheContract(f"fields of type {kind} are not used")
    return IndexMapping(types, analyzers, dimension, vector)


def _analyzers(name: str, text: Json) -> dict[str, str]:
    allowed(f"field {name}", text, "type", "analyzer", "fields")
    found = {name: str(text["analyzer"])}
    for part, each in cast("dict[str, Json]", text.get("fields", {})).items():
        allowed(f"field {name}.{part}", each, "type", "analyzer")
        found[f"{name}.{part}"] = str(each["analyzer"])
    if not set(found.values()) <= set(ANALYZERS):
        raise NotInTheContract(f"field {name} has another analyzer")
    return found


def _dimension(vector: Json, flavour: Flavour) -> int:
    allowed("the vector", vector, "type", "dimension", "space_type", "method", "compression_level")
    method = cast(Json, vector["method"])
    allowed("the method", method, "name", "engine", "parameters")
    if vector["space_type"] != "cosinesimil" or method["name"] != "hnsw":
        raise NotInTheContract("vectors are compared by cosine, with HNSW declared")
    if flavour is Flavour.SERVERLESS and "engine" in method:
        raise Refusal(400, "illegal_argument_exception", "Field parameter 'engine' is not supported")
    if flavour is not Flavour.SERVERLESS and "compression_level" in vector:
        raise NotInTheContract("compression is chosen on Serverless alone")
    dimension = cast(int, vector["dimension"])
    if not 1 <= dimension <= 16_000:
        raise Refusal(400, "mapper_parsing_exception", "Dimension value must be from 1 to 16000")
    return dimension


def parse(mapping: IndexMapping, document_id: str, source: Json) -> Document:
    """``source`` as it is indexed. Raises Refusal with what the node would say of it."""
    document = Document(document_id, source)
    for name, value in source.items():
        kind = mapping.types.get(name)
        if kind is None:
            reason = f"mapping set to strict, dynamic introduction of [{name}] within [_doc] is not allowed"
            raise Refusal(400, "strict_dynamic_mapping_exception", reason)
        if value is None:
            continue
        if kind == "keyword":
            document.keywords[name] = _keywords(name, value)
        elif kind in _RANGES:
            document.numbers[name] = _numbers(document_id, name, kind, value)
        elif kind == "text":
            _analyse(mapping, document, name, value)
        else:
            document.vector = _vector(mapping, document_id, name, value)
    return document


def _each(value: JsonValue) -> list[JsonValue]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _keywords(name: str, value: JsonValue) -> frozenset[str]:
    values = _each(value)
    if not all(isinstance(each, str) for each in values):
        raise NotInTheContract(f"{name} is a keyword, and Lethe writes texts there")
    if any(len(str(each).encode()) > _LONGEST_TERM for each in values):
        reason = f'Document contains at least one immense term in field="{name}"'
        raise Refusal(400, "illegal_argument_exception", reason)
    return frozenset(str(each) for each in values)


def _numbers(document_id: str, name: str, kind: str, value: JsonValue) -> tuple[int, ...]:
    numbers = []
    for each in _each(value):
        if isinstance(each, bool) or not isinstance(each, int):
            raise _unparsed(document_id, name, kind, str(each), f'For input string: "{each}"')
        if not -(2 ** _RANGES[kind]) <= each < 2 ** _RANGES[kind]:
            raise _unparsed(document_id, name, kind, str(each), f"Value [{each}] is out of range for a {kind}")
        numbers.append(each)
    return tuple(numbers)


def _analyse(mapping: IndexMapping, document: Document, name: str, value: JsonValue) -> None:
    if not isinstance(value, str):
        raise NotInTheContract(f"{name} is a text")
    for part, analyzer in mapping.analyzers.items():
        if part == name or part.startswith(f"{name}."):
            tokens = ANALYZERS[analyzer](value)
            document.tokens[part] = Counter(tokens)
            document.lengths[part] = len(tokens)


def _vector(mapping: IndexMapping, document_id: str, name: str, value: JsonValue) -> NDArray[np.float64]:
    numbers = [cast(float, each) for each in _each(value)]
    problem = None
    if any(math.isnan(each) for each in numbers):
        problem = "KNN vector values cannot be NaN"
    elif any(math.isinf(each) for each in numbers):
        problem = "KNN vector values cannot be infinity"
    elif len(numbers) != mapping.dimension:
        problem = f"Vector dimension mismatch. Expected: {mapping.dimension}, Given: {len(numbers)}"
    elif not any(numbers):
        problem = "zero vector is not supported when space type is [cosinesimil]"
    if problem is not None:
        raise _unparsed(document_id, name, "knn_vector", "null", problem)
    vector = np.asarray(numbers, np.float32).astype(np.float64)
    return vector / np.linalg.norm(vector)


def _unparsed(document_id: str, name: str, kind: str, preview: str, reason: str) -> Refusal:
    whole = (
        f"failed to parse field [{name}] of type [{kind}] in document with id '{document_id}'. "
        f"Preview of field's value: '{preview}'"
    )
    cause: Json = {"type": "illegal_argument_exception", "reason": reason}
    return Refusal(400, "mapper_parsing_exception", whole, cause)
