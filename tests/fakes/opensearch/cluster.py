"""A strict OpenSearch in memory: it speaks what Lethe's adapter speaks, and takes nothing else for an answer.

Flavours differ as on the data plane. ``managed`` and ``local``: external versions, routing, explicit refresh, engine
and shards in the mapping. ``serverless`` (NextGen): none of these; ``_refresh`` is 404, writes show after 10 seconds by
the clock and shard by shard, a body of more than 10 MB is 413. Versions and routing, which Serverless may ignore
silently, are NotInTheContract there: the fake cannot know, so Lethe must not send them.

Anything that no flavour defines is NotInTheContract, an AssertionError that no code of Lethe catches.
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, cast

from lethe.adapters.opensearch.flavours import ABILITIES, Flavour
from lethe.domain.json_values import JsonValue
from lethe.domain.times import microseconds
from lethe.ports import Clock
from tests.fakes.opensearch.bulk import Bulk
from tests.fakes.opensearch.documents import Document, read_mapping, read_settings
from tests.fakes.opensearch.failures import Json, NotInTheContract, Refusal, allowed, no_such_index
from tests.fakes.opensearch.inspecting import inspect, is_pattern, matching
from tests.fakes.opensearch.scope import scope_of
from tests.fakes.opensearch.searching import brought, search, sort_values
from tests.fakes.opensearch.store import Index, Standing

Answer = tuple[int, JsonValue]
_LARGEST_BODY: Final = 10 * 1024 * 1024
"""Bytes of a request that the smallest managed instance types take."""
_EXPUNGING: Final = {"only_expunge_deletes": "true", "wait_for_completion": "false"}
_PATH: Final = re.compile(r"(?:/(?P<index>[a-z0-9][^/_]*[^/]*))?(?:/(?P<call>_\w+))?(?:/(?P<rest>[^/]+))?")


class FakeOpenSearch:
    """The cluster. Its attributes are for tests: what was asked, and what shall go wrong.

    ``failures`` are answered or raised instead of the next requests, one each. ``item_failures`` are the errors that
    bulk items of an ``_id`` meet, one after the other; ``broken`` says which searches of a multi-search fail;
    ``classic`` makes it a collection of the Classic generation, which takes no id of ours. ``merged`` are the indexes
    whose segments were had written anew.
    """

    def __init__(self, flavour: Flavour, clock: Clock) -> None:
        self.flavour = flavour
        self.indexes: dict[str, Index] = {}
        self.aliases: dict[str, set[str]] = {}
        self.requests: list[tuple[str, str]] = []
        self.searches: list[Json] = []
        self.failures: deque[Refusal | Exception] = deque()
        self.item_failures: dict[str, deque[Refusal]] = {}
        self.broken: Callable[[Json], bool] = lambda body: False
        self.classic = False
        self.merged: list[str] = []
        self._abilities = ABILITIES[flavour]
        self._clock = clock
        self._lock = threading.RLock()

    def handle(self, method: str, path: str, params: Mapping[str, object], body: bytes) -> Answer:
        """Status and JSON body of the answer. Raises NotInTheContract, or a failure that is due."""
        with self._lock:
            self.requests.append((method, path))
            try:
                if self.failures:
                    raise self.failures.popleft()
                if len(body) > _LARGEST_BODY:
                    raise Refusal(413, "content_too_long", "Request size exceeded")
                return self._answer(method, path, params, body)
            except Refusal as refusal:
                return refusal.status, refusal.body

    def _answer(self, method: str, path: str, params: Mapping[str, object], body: bytes) -> Answer:
        alias_demanded = path.endswith("/_bulk") and dict(params) == {"require_alias": "true"}
        inspects = path.endswith("*/_search") and dict(params) == {"expand_wildcards": "open,closed"}
        merges = path.endswith("*/_forcemerge") and dict(params) == _EXPUNGING
        if params and not ((alias_demanded or inspects or merges) and self.flavour is not Flavour.SERVERLESS):
            raise NotInTheContract(f"parameters {sorted(params)} are not sent")
        match = _PATH.fullmatch(path)
        if match is None:
            raise NotInTheContract(f"{method} {path} is not sent")
        index, call, rest = match["index"], match["call"], match["rest"]
        calls: dict[tuple[str, bool, str | None], Callable[[], Answer]] = {
            ("PUT", True, None): lambda: self._create(index, _object(body)),
            ("DELETE", True, None): lambda: self._delete(index),
            ("HEAD", True, None): lambda: (200 if self._named(index) else 404, None),
            ("POST", False, "_aliases"): lambda: self._change_aliases(_object(body)),
            ("GET", False, "_alias"): lambda: self._alias(rest),
            ("POST", True, "_bulk"): lambda: self._bulk(index, body, alias_demanded),
            ("POST", True, "_msearch"): lambda: self._multi_search(index, _lines(body)),
            ("POST", True, "_search"): lambda: (200, self._search(index, _object(body), None)),
            ("POST", True, "_mget"): lambda: self._get_many(index, _object(body)),
            ("POST", True, "_refresh"): lambda: self._refresh(index),
            ("POST", True, "_forcemerge"): lambda: self._merge(index, merges),
        }
        known = calls.get((method, index is not None, call))
        if known is None or (rest is not None and call != "_alias"):
            raise NotInTheContract(f"{method} {path} is not sent")
        return known()

    def seconds(self) -> float:
        """The cluster's clock."""
        return microseconds(self._clock.now()) / 1_000_000

    def _named(self, name: str) -> list[Index]:
        return [self.indexes[each] for each in sorted(self.aliases.get(name, {name})) if each in self.indexes]

    def _matching(self, pattern: str) -> list[Index]:
        """The indexes of a pattern, with what refreshes have shown by now."""
        found = matching(self.indexes.values(), pattern)
        for index in found:
            index.refresh_by_time(self.seconds())
        return found

    def _one(self, name: str) -> Index:
        """The index of this name or alias, with what refreshes have shown by now."""
        found = self._named(name)
        if not found:
            raise no_such_index(name)
        if len(found) > 1:
            raise NotInTheContract("an alias stands for one index")
        found[0].refresh_by_time(self.seconds())
        return found[0]

    def _create(self, name: str, body: Json) -> Answer:
        allowed("an index", body, "settings", "mappings", "aliases")
        if name in self.indexes:
            raise Refusal(400, "resource_already_exists_exception", f"index [{name}] already exists")
        shards, refresh_seconds = read_settings(body, self.flavour)
        self.indexes[name] = Index(name, read_mapping(body, self.flavour), shards, refresh_seconds)
        for alias, options in cast(Json, body.get("aliases", {})).items():
            allowed("an alias", cast(Json, options))
            self.aliases.setdefault(alias, set()).add(name)
        for alias in cast(Json, body.get("aliases", {})):
            self.aliases.setdefault(alias, set()).add(name)
        return 200, {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def _delete(self, name: str) -> Answer:
        if name in self.aliases:
            reason = f"The provided expression [{name}] matches an alias, specify the corresponding concrete indices"
            raise Refusal(400, "illegal_argument_exception", reason)
        if self.indexes.pop(name, None) is None:
            raise no_such_index(name)
        self.aliases = {alias: names - {name} for alias, names in self.aliases.items() if names != {name}}
        return 200, {"acknowledged": True}

    def _change_aliases(self, body: Json) -> Answer:
        """All or nothing, as on a node: what is refused is found before anything is changed."""
        actions = []
        for each in cast("list[Json]", body["actions"]):
            ((kind, action),) = cast("dict[str, dict[str, str]]", each).items()
            allowed("an alias", dict(action), "alias", "index")
            actions.append((kind, action["alias"], action["index"]))
        for kind, alias, index in actions:
            if kind not in ("add", "remove"):
                raise NotInTheContract("aliases are added and removed")
            if index not in self.indexes:
                raise no_such_index(index)
            if kind == "remove" and index not in self.aliases.get(alias, ()):
                raise Refusal(404, "aliases_not_found_exception", f"aliases [{alias}] missing")
        for kind, alias, index in actions:
            names = self.aliases.setdefault(alias, set())
            names.add(index) if kind == "add" else names.discard(index)
        self.aliases = {alias: names for alias, names in self.aliases.items() if names}
        return 200, {"acknowledged": True}

    def _alias(self, alias: str | None) -> Answer:
        if alias is None or alias not in self.aliases:
            return 404, {"error": f"alias [{alias}] missing", "status": 404}
        return 200, {name: {"aliases": {alias: {}}} for name in sorted(self.aliases[alias])}

    def _bulk(self, name: str, body: bytes, alias_demanded: bool) -> Answer:
        names = self.aliases.get(name, set())
        if len(names) > 1:
            raise NotInTheContract("an alias that is written to stands for one index")
        # What must be an alias and is none is answered item by item, as an index that is not there.
        name = next(iter(names), f"{name} is no alias" if alias_demanded else name)
        bulk = Bulk(name, self.indexes, self._abilities, self.item_failures, self.seconds(), self.classic)
        items = bulk.items(_lines(body))
        errors = any("error" in cast(Json, result) for item in items for result in item.values())
        return 200, {"took": 1, "errors": errors, "items": cast("list[JsonValue]", items)}

    def _multi_search(self, name: str, lines: list[Json]) -> Answer:
        answers: list[JsonValue] = []
        for header, body in zip(lines[::2], lines[1::2], strict=True):
            allowed("a header", header, "routing")
            if scope_of(body) is None:
                raise NotInTheContract("a multi-search asks for one space")
            try:
                if self.broken(body):
                    raise Refusal(503, "search_phase_execution_exception", "all shards failed")
                routing = cast("str | None", header.get("routing"))
                answers.append(self._search(name, body, routing) | {"status": 200})
            except Refusal as refusal:
                answers.append({"error": refusal.error, "status": refusal.status})
        return 200, {"took": 1, "responses": answers}

    def _shards(self, index: Index, routing: str | None) -> list[list[Document]]:
        if routing is None:
            return [list(shard.visible.values()) for shard in index.shards]
        if not self._abilities.routing:
            raise NotInTheContract("routing may be ignored silently there")
        return [list(index.shard(routing).visible.values())]

    def _search(self, name: str, body: Json, routing: str | None) -> Json:
        if is_pattern(name):
            return inspect(self._matching(name), body)
        scope_of(body)
        self.searches.append(body)
        index = self._one(name)
        found = search(index.mapping, self._shards(index, routing), body)
        hits: list[JsonValue] = []
        for score, document in found.hits:
            hit: Json = {"_index": index.name, "_score": score, **brought(document, body)}
            if found.sort:
                hit |= {"_score": None, "sort": sort_values(document, found.sort)}
            hits.append(hit)
        exact = body.get("track_total_hits") is True or found.total <= 10_000
        total: Json = {
            "value": min(found.total, found.total if exact else 10_000),
            "relation": "eq" if exact else "gte",
        }
        answer: Json = {
            "took": 1,
            "timed_out": False,
            "_shards": {"total": len(index.shards), "successful": len(index.shards), "skipped": 0, "failed": 0},
            "hits": {"total": total, "hits": hits},
        }
        return answer | {"aggregations": found.aggregations} if found.aggregations is not None else answer

    def _get_many(self, name: str, body: Json) -> Answer:
        index = self._one(name)
        docs: list[JsonValue] = []
        for doc in cast("list[Json]", body["docs"]):
            allowed("a document", doc, "_id", "routing", "_source")
            if "routing" in doc and not self._abilities.routing:
                raise NotInTheContract("routing may be ignored silently there")
            found = index.get(str(doc["_id"]), cast("str | None", doc.get("routing")), self.seconds())
            docs.append({"_index": index.name, "_id": doc["_id"]} | _got(found, doc.get("_source")))
        return 200, {"docs": docs}

    def _refresh(self, name: str) -> Answer:
        if not self._abilities.refreshes:
            raise Refusal(404, "not_found", "")
        for index in self._matching(name) if is_pattern(name) else [self._one(name)]:
            index.refresh()
        return 200, {"_shards": {"total": 1, "successful": 1, "failed": 0}}

    def _merge(self, pattern: str, only_where_deleted: bool) -> Answer:
        if not self._abilities.merges:
            raise Refusal(404, "not_found", "")
        if not only_where_deleted:
            raise NotInTheContract("a merge is asked for where entries were deleted, and not waited for")
        self.merged += [index.name for index in self._matching(pattern)]
        return 200, {"task": f"fake:{len(self.merged)}"}


def _got(found: Standing | None, keep: JsonValue) -> Json:
    if found is None or found.document is None:
        return {"found": False}
    answer: Json = {"found": True, "_version": found.version}
    if keep is False:
        return answer
    if not isinstance(keep, list):
        raise NotInTheContract("a read by id says which fields it wants")
    return answer | {"_source": {str(name): found.document.source[str(name)] for name in keep}}


def _object(body: bytes) -> Json:
    value = json.loads(body)
    if not isinstance(value, dict):
        raise NotInTheContract("a body is an object")
    return value


def _lines(body: bytes) -> list[Json]:
    """Raises Refusal when the last line does not end, as the node does."""
    if not body.endswith(b"\n"):
        raise Refusal(400, "illegal_argument_exception", "The bulk request must be terminated by a newline [\\n]")
    return [json.loads(line) for line in body.decode().split("\n")[:-1]]
