"""The OpenSearch in memory is held against a real node: the same requests, the same refusals and answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

import pytest
from opensearchpy import OpenSearch
from opensearchpy.exceptions import TransportError

from lethe.adapters.opensearch.connection import Cluster, make_client
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.mapping import IndexShape, index_body
from lethe.domain.embedding import EmbeddingModel
from lethe.domain.json_values import JsonValue
from lethe.domain.times import microseconds
from tests.fakes.opensearch.analysis import ANALYZERS
from tests.fakes.opensearch.cluster import FakeOpenSearch
from tests.fakes.opensearch.connection import connected_to
from tests.fakes.opensearch.failures import Json, NotInTheContract, Refusal
from tests.fakes.time_and_ids import START, FixedClock
from tests.support.search_worlds import World

_MODEL = EmbeddingModel("fake/words", "1", 2)
_INSIDE: list[JsonValue] = [
    {"term": {name: value}} for name, value in (("tenant", "t"), ("subject", "s"), ("epoch", 1), ("entry", "memory"))
]
_ENTRY: Json = {
    "tenant": "t", "subject": "s", "epoch": 1, "entry": "memory", "memory_id": "m", "version": 1,
    "created_at": microseconds(START), "valid_from": -1, "kind": "fact", "status": "current", "origin": "user",
    "facets": ["f1", "f2"], "terms": ["tea", "love"], "length": 4, "own_length": 3, "text": "I love tea", "context": "",
    "embedding": [3.0, 4.0],
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """What a cluster said, without names, times and words that differ from run to run."""

    status: int
    kind: str = ""
    reasons: str = ""


def _send(client: OpenSearch, method: str, path: str, body: object = None) -> tuple[int, Json]:
    raw = "".join(json.dumps(line) + "\n" for line in body) if isinstance(body, list) else body
    try:
        answer = client.transport.perform_request(method, path, body=raw)
    except TransportError as error:
        return int(error.status_code), error.info if isinstance(error.info, dict) else {}
    return 200, answer if isinstance(answer, dict) else {}


def _told(status: int, error: JsonValue) -> Told:
    reasons: list[str] = []

    def walk(value: JsonValue) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("reason"), str):
                reasons.append(str(value["reason"]))
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(error)
    return Told(status, str(error.get("type", "")) if isinstance(error, dict) else "", "\n".join(reasons))


@pytest.fixture(params=["fake", pytest.param("node", marks=pytest.mark.opensearch)])
def world(request: pytest.FixtureRequest, make_world: Callable[[str], World]) -> World:
    """An index on a fake node and on a real one, with vectors of the size that other tests use."""
    return make_world("local" if request.param == "fake" else "node")


@pytest.fixture
def client(world: World) -> OpenSearch:
    assert world.on is not None
    return world.on.cluster._client


@pytest.fixture
def index(world: World, client: OpenSearch) -> Iterator[str]:
    """An index of two dimensions, which is dropped with its test."""
    assert world.on is not None
    name = f"{world.on.index}-two"
    assert _send(client, "PUT", f"/{name}", dict(index_body(_MODEL, Flavour.LOCAL, IndexShape())))[0] == 200
    yield name
    assert _send(client, "DELETE", f"/{name}")[0] == 200


def _item(client: OpenSearch, index: str, *lines: Json) -> Told:
    status, answer = _send(client, "POST", f"/{index}/_bulk", list(lines))
    assert status == 200
    results = [cast(Json, result) for item in _list(answer["items"]) for result in item.values()]
    assert len(results) == 1
    return _told(cast(int, results[0]["status"]), results[0].get("error"))


@pytest.mark.parametrize(
    ("fields", "kind", "reason"),
    [
        ({}, "", ""),
        ({"nope": 1}, "strict_dynamic_mapping_exception",
         "mapping set to strict, dynamic introduction of [nope] within [_doc] is not allowed"),
        ({"embedding": [1, 0, 0]}, "mapper_parsing_exception", "Vector dimension mismatch. Expected: 2, Given: 3"),
        ({"embedding": [0, 0]}, "mapper_parsing_exception",
         "zero vector is not supported when space type is [cosinesimil]"),
        ({"epoch": "abc"}, "mapper_parsing_exception", 'For input string: "abc"'),
        ({"epoch": True}, "mapper_parsing_exception", "failed to parse field [epoch] of type [long]"),
        ({"length": 2**40}, "mapper_parsing_exception", "failed to parse field [length] of type [integer]"),
        ({"session": "x" * 33_000}, "illegal_argument_exception", "immense term in field=\"session\""),
        ({"text": "x" * 100_000}, "", ""),
    ],
)  # fmt: skip
def test_entries_are_taken_and_refused_alike(
    client: OpenSearch, index: str, fields: Json, kind: str, reason: str
) -> None:
    told = _item(client, index, {"index": {"_id": "a"}}, _ENTRY | fields)
    assert (told.status, told.kind) == (400 if kind else 201, kind)
    assert reason in told.reasons


def test_versions_and_tombstones(client: OpenSearch, index: str) -> None:
    def write(version: int | None, *source: Json, kind: str = "index") -> tuple[int, str]:
        action: Json = {"_id": "a", "routing": "s"}
        if version is not None:
            action |= {"version": version, "version_type": "external"}
        told = _item(client, index, {kind: action}, *source)
        return told.status, told.reasons

    assert write(2, _ENTRY)[0] == 201
    assert write(2, _ENTRY) == (
        409,
        "[a]: version conflict, current version [2] is higher or equal to the one provided [2]",
    )
    assert write(3, _ENTRY)[0] == 200
    assert write(3, kind="delete")[0] == 409
    assert write(4, kind="delete")[0] == 200
    assert write(4, _ENTRY)[0] == 409
    assert write(9, kind="delete")[0] == 404, "a delete of nothing leaves its version too"
    assert write(8, _ENTRY)[0] == 409
    assert write(10, _ENTRY)[0] == 201
    assert write(None, _ENTRY)[0] == 200


def _search(client: OpenSearch, index: str, body: Json) -> tuple[int, Json]:
    return _send(client, "POST", f"/{index}/_search", body)


def _list(value: JsonValue) -> list[Json]:
    return list(cast("Sequence[Json]", value))


def _scores(answer: Json) -> dict[str, float]:
    hits = _list(cast(Json, answer["hits"])["hits"])
    return {str(hit["_id"]): cast(float, hit["_score"]) for hit in hits}


def _knn(vector: list[float], k: int, **others: JsonValue) -> Json:
    inside: Json = {"bool": {"filter": _INSIDE}}
    return {"size": k, "query": {"knn": {"embedding": {"vector": vector, "k": k, "filter": inside}}}, **others}


def test_nearest_inside_the_filter_with_scores_of_cosine(client: OpenSearch, index: str) -> None:
    vectors = {"same": [3, 4], "near": [1, 1], "across": [-4, 3], "against": [-3, -4]}
    lines: list[Json] = []
    for name, vector in vectors.items():
        lines += [{"index": {"_id": name}}, _ENTRY | {"embedding": vector}]
    lines += [{"index": {"_id": "bare"}}, {k: v for k, v in _ENTRY.items() if k != "embedding"}]
    lines += [{"index": {"_id": "foreign"}}, _ENTRY | {"tenant": "other"}]
    assert _send(client, "POST", f"/{index}/_bulk", lines)[0] == 200
    assert _send(client, "POST", f"/{index}/_refresh")[0] == 200
    status, answer = _search(client, index, _knn([6, 8], 5, _source=["memory_id"]))
    assert status == 200
    expected = {"same": 1.0, "near": (1 + 1.4 / 2**0.5) / 2, "across": 0.5, "against": 0.0}
    assert _scores(answer) == pytest.approx(expected, abs=1e-6)
    assert list(_scores(answer)) == list(expected)
    assert list(_scores(_search(client, index, _knn([6, 8], 2))[1])) == ["same", "near"]
    assert list(_scores(_search(client, index, _knn([6, 8], 1) | {"size": 3})[1])) == ["same"], "k cuts before size"


def test_hits_bring_their_columns_and_nothing_that_is_stored(client: OpenSearch, index: str) -> None:
    _send(client, "POST", f"/{index}/_bulk", [{"index": {"_id": "a"}}, _ENTRY])
    _send(client, "POST", f"/{index}/_refresh")
    columns: Json = {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["epoch", "memory_id", "session"]}
    _, answer = _search(client, index, _knn([3, 4], 1, **columns))
    (hit,) = _list(cast(Json, answer["hits"])["hits"])
    assert hit["fields"] == {"epoch": [1], "memory_id": ["m"]}
    assert not {"_id", "_source"} & hit.keys()


@pytest.mark.parametrize(
    ("vector", "k", "kind", "reason"),
    [
        ([1.0], 1, "search_phase_execution_exception",
         "Query vector has invalid dimension: 1. Dimension should be: 2"),
        ([0.0, 0.0], 1, "search_phase_execution_exception", "Cannot normalize a zero-length vector"),
        ([1.0, 0.0], 20_000, "illegal_argument_exception", "[knn] requires k to be in the range (0, 10000]"),
    ],
)  # fmt: skip
def test_neighbours_are_refused_alike(
    client: OpenSearch, index: str, vector: list[float], k: int, kind: str, reason: str
) -> None:
    status, answer = _search(client, index, _knn(vector, k) | {"size": 1})
    told = _told(status, answer["error"])
    assert (told.status, told.kind) == (400, kind)
    assert reason in told.reasons


def test_keywords_are_compared_exactly_and_numbers_as_numbers(client: OpenSearch, index: str) -> None:
    lines: list[Json] = [{"index": {"_id": "a"}}, _ENTRY | {"session": "Ana *"}]
    lines += [{"index": {"_id": "b"}}, _ENTRY | {"valid_until": 5}]
    _send(client, "POST", f"/{index}/_bulk", lines)
    _send(client, "POST", f"/{index}/_refresh")

    def found(clause: Json) -> list[str]:
        body: Json = {"size": 9, "sort": [{"memory_id": "asc"}], "query": {"bool": {"filter": [*_INSIDE, clause]}}}
        return sorted(_scores(_search(client, index, body)[1]))

    assert found({"term": {"session": "Ana *"}}) == ["a"]
    assert [found({"term": {"session": other}}) for other in ("ana *", "Ana", "*", "Ana ?")] == [[], [], [], []]
    assert found({"terms": {"facets": ["f2", "f3"]}}) == ["a", "b"]
    assert found({"range": {"created_at": {"gt": microseconds(START) - 1}}}) == ["a", "b"]
    assert found({"range": {"created_at": {"gt": microseconds(START)}}}) == []
    assert found({"range": {"valid_until": {"lte": 5}}}) == ["b"]
    assert found({"bool": {"must_not": [{"range": {"valid_until": {"lte": 5}}}]}}) == ["a"]
    either: list[JsonValue] = [{"term": {"session": "Ana *"}}, {"range": {"valid_until": {"lt": 6}}}]
    assert found({"bool": {"should": either, "minimum_should_match": 1}}) == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "Ana's dogs were running at 2.5 km/h, foo_bar and e.g. U.S.A.",
        "我喜欢红茶 and Tea ＡＢ",
        "カタカナ と ひらがな、한국어 단어",
        "Zoë's café — naïve co-operation; 1,200 euros @ 7:30",
        "tea\u3000😀 tea",
        "",
    ],
)
def test_words_are_cut_alike(client: OpenSearch, index: str, text: str, world: World) -> None:
    if world.name != "node":
        assert all(isinstance(analyse(text), list) for analyse in ANALYZERS.values())
        return
    for name, analyse in ANALYZERS.items():
        _, answer = _send(client, "POST", f"/{index}/_analyze", {"analyzer": name, "text": text})
        tokens = [token["token"] for token in _list(answer["tokens"])]
        assert analyse(text) == tokens, name


def test_one_search_of_many_fails_alone(client: OpenSearch, index: str) -> None:
    bodies = [_knn([1, 0], 1), _knn([1, 0, 0], 1)]
    lines = [part for body in bodies for part in ({"routing": "s"}, body)]
    status, answer = _send(client, "POST", f"/{index}/_msearch", lines)
    assert status == 200
    assert [each["status"] for each in _list(answer["responses"])] == [200, 400]


def test_missing_indexes_and_aliases(client: OpenSearch, index: str) -> None:
    gone = f"{index}-gone"
    answers = {
        "search": _search(client, gone, _knn([1, 0], 1)),
        "delete": _send(client, "DELETE", f"/{gone}"),
        "alias": _send(client, "POST", "/_aliases", {"actions": [{"add": {"index": gone, "alias": f"{gone}-a"}}]}),
    }
    for told in (_told(status, answer["error"]) for status, answer in answers.values()):
        assert (told.status, told.kind) == (404, "index_not_found_exception")
    assert _send(client, "GET", f"/_alias/{gone}") == (404, {"error": f"alias [{gone}] missing", "status": 404})
    again = _send(client, "PUT", f"/{index}", dict(index_body(_MODEL, Flavour.LOCAL, IndexShape())))
    assert _told(again[0], again[1]["error"]).kind == "resource_already_exists_exception"
    assert _item(client, gone, {"index": {"_id": "a"}}, _ENTRY).kind == "index_not_found_exception"
    assert not client.indices.exists(index=gone)


def test_an_alias_moves_in_one_step(client: OpenSearch, index: str) -> None:
    alias = f"{index}-alias"
    assert _send(client, "POST", "/_aliases", {"actions": [{"add": {"index": index, "alias": alias}}]})[0] == 200
    assert _send(client, "GET", f"/_alias/{alias}") == (200, {index: {"aliases": {alias: {}}}})
    wrong: list[JsonValue] = [
        {"remove": {"index": index, "alias": alias}},
        {"add": {"index": f"{index}-gone", "alias": alias}},
    ]
    assert _send(client, "POST", "/_aliases", {"actions": wrong})[0] == 404
    assert client.indices.exists(index=alias), "all or nothing"
    assert _told(*_error(_send(client, "DELETE", f"/{alias}"))).kind == "illegal_argument_exception"


def test_a_write_may_demand_an_alias_which_an_index_may_be_made_with(client: OpenSearch, index: str) -> None:
    name, alias = f"{index}-made", f"{index}-made-alias"
    body = {**index_body(_MODEL, Flavour.LOCAL, IndexShape()), "aliases": {alias: {}}}
    assert _send(client, "PUT", f"/{name}", body)[0] == 200
    entry = json.dumps({"index": {"_id": "a"}}) + "\n" + json.dumps(_ENTRY) + "\n"
    statuses = {}
    for target in (alias, name, f"{name}-gone"):
        (item,) = client.bulk(index=target, body=entry, params={"require_alias": "true"})["items"]
        statuses[target] = (item["index"]["status"], item["index"].get("error", {}).get("type"))
    missing = (404, "index_not_found_exception")
    assert statuses == {alias: (201, None), name: missing, f"{name}-gone": missing}
    assert _item(client, alias, {"index": {"_id": "a"}}, _ENTRY).status == 200, "without it an alias does too"
    assert _send(client, "DELETE", f"/{name}")[0] == 200
    assert not client.indices.exists(index=alias)


def _error(answer: tuple[int, Json]) -> tuple[int, JsonValue]:
    return answer[0], answer[1].get("error")


def _serverless() -> tuple[OpenSearch, FakeOpenSearch, FixedClock]:
    clock = FixedClock()
    fake = FakeOpenSearch(Flavour.SERVERLESS, clock)
    client = make_client("https://search.test", Flavour.SERVERLESS, "eu-central-1", connected_to(fake))
    assert _send(client, "PUT", "/two", dict(index_body(_MODEL, Flavour.SERVERLESS, IndexShape())))[0] == 200
    return client, fake, clock


def test_serverless_refuses_what_it_does_not_know() -> None:
    client, _, _ = _serverless()
    managed = index_body(_MODEL, Flavour.MANAGED, IndexShape())
    bare = {**managed, "settings": {"index": {"knn": True}}}
    told = _told(*_error(_send(client, "PUT", "/other", bare)))
    assert (told.status, told.reasons.split("\n")[0]) == (400, "Field parameter 'engine' is not supported")
    assert _send(client, "PUT", "/other", dict(managed))[0] == 400
    assert _send(client, "POST", "/two/_refresh")[0] == 404
    assert _send(client, "POST", "/two/_bulk", [{"index": {"_id": "a"}}, _ENTRY | {"text": "x" * 11_000_000}])[0] == 413
    for method, path, body in (
        ("PUT", "/two/_bulk", [{"delete": {"_id": "a"}}]),
        ("POST", "/two/_bulk", [{"delete": {"_id": "a", "routing": "s"}}]),
        ("POST", "/two/_bulk", [{"delete": {"_id": "a", "version": 1, "version_type": "external"}}]),
        ("POST", "/two/_msearch", [{"routing": "s"}, _knn([1, 0], 1)]),
        ("POST", "/two/_delete_by_query", {"query": {"bool": {"filter": _INSIDE}}}),
        ("GET", "/", None),
    ):
        with pytest.raises(NotInTheContract):
            _send(client, method, path, body)


def test_serverless_shows_writes_by_time_alone_and_shard_by_shard() -> None:
    client, _, clock = _serverless()
    lines: list[Json] = []
    for number in range(20):
        lines += [{"index": {"_id": f"m{number}"}}, _ENTRY | {"memory_id": f"m{number}"}]
    assert _send(client, "POST", "/two/_bulk", lines)[0] == 200
    seen = []
    for _ in range(21):
        seen.append(len(_scores(_search(client, "two", _knn([1, 0], 100))[1])))
        clock.move(timedelta(milliseconds=500))
    assert seen[0] == 0
    assert seen[-1] == 20
    assert any(0 < count < 20 for count in seen), "for a while some shards show more than others"


def test_a_classic_collection_takes_no_id_of_ours() -> None:
    client, fake, _ = _serverless()
    fake.classic = True
    told = _item(client, "two", {"index": {"_id": "a"}}, _ENTRY)
    assert (told.status, told.reasons) == (400, "Document ID is not supported in create/index operation request")


def test_what_is_told_to_fail_fails_once() -> None:
    client, fake, _ = _serverless()
    fake.failures.append(Refusal(429, "rejected", "too many"))
    assert _send(client, "HEAD", "/two")[0] == 429
    cluster = Cluster(client, Flavour.SERVERLESS)
    assert cluster.exists("two")


@pytest.mark.parametrize(
    "query",
    [
        {"match_all": {}},
        {"query_string": {"query": "*"}},
        {"bool": {"filter": [*_INSIDE[1:]]}},
        {"bool": {"filter": [*_INSIDE, {"wildcard": {"session": "*"}}]}},
        {"bool": {"should": _INSIDE}},
        {"bool": {"filter": [{"bool": {"should": _INSIDE, "minimum_should_match": 1}}]}},
        {"knn": {"embedding": {"vector": [1, 0], "k": 1}}},
    ],
)
def test_a_search_that_is_not_inside_one_space_is_not_answered(query: Json) -> None:
    client, fake, _ = _serverless()
    with pytest.raises(NotInTheContract):
        _search(client, "two", {"size": 1, "query": query})
    assert fake.searches == []
