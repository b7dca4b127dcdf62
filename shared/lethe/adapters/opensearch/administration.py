"""Making an index, and letting searches see it: for the operator and the laptop, never for a function."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import cast

from lethe.adapters.opensearch.connection import Cluster, IndexMissing, Json, Refused
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.mapping import IndexShape, index_body, index_name
from lethe.domain.embedding import EmbeddingModel
from lethe.errors import InvalidInput, Unavailable

_CONCRETE = "-index"
_ATTEMPTS = 8

_CLASSIC = (
    "this is an OpenSearch Serverless collection of the Classic generation, which refuses ids of our own, so that "
    "entries could be neither replaced nor erased: make a NextGen collection (SearchEngine=serverless does), or a "
    "managed domain"
)


class IndexAdministration:
    """The indexes behind one alias. Searches ask the alias; each model and schema has an index of its own."""

    def __init__(
        self,
        cluster: Cluster,
        alias: str,
        model: EmbeddingModel,
        shape: IndexShape | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._sleep = sleep
        self._cluster = cluster
        self._alias = alias
        self._model = model
        self._shape = shape or IndexShape()
        self.name = index_name(alias, model)
        """What is written to: an alias, so that a write can demand that it is there."""
        self._concrete = self.name + _CONCRETE

    def make(self) -> bool:
        """Make the index unless it is there; whether it was made now.

        Raises InvalidInput when the cluster is one that Lethe cannot use, Unavailable when it takes no entries yet.
        """
        if self._cluster.exists(self.name):
            return False
        body = index_body(self._model, self._cluster.flavour, self._shape)
        try:
            self._cluster.call("PUT", f"/{self._concrete}", {**body, "aliases": {self.name: {}}})
        except Refused:
            if not self._cluster.exists(self.name):  # else somebody was faster
                raise
        self._refuse_classic()
        return True

    def drop(self) -> None:
        """Delete the index; again is no error."""
        if self._cluster.exists(self.name):
            self._cluster.call("DELETE", f"/{self._concrete}")

    def shown(self) -> str | None:
        """The index that searches see; None before the first was shown."""
        try:
            found = self._cluster.call("GET", f"/_alias/{self._alias}")
        except IndexMissing:
            return None
        return next((name.removesuffix(_CONCRETE) for name in found), None)

    def show(self) -> None:
        """Let searches see this index, and no other, from one moment to the next."""
        before = self.shown()
        actions: list[Mapping[str, Json]] = [{"add": {"index": self._concrete, "alias": self._alias}}]
        if before is not None and before != self.name:
            actions.insert(0, {"remove": {"index": before + _CONCRETE, "alias": self._alias}})
        self._cluster.call("POST", "/_aliases", {"actions": actions})

    def _refuse_classic(self) -> None:
        """A Classic vector collection takes no id of ours: one harmless entry tells. A collection that was made a
        moment ago may not know its new index yet; that is waited for.
        """
        if self._cluster.flavour is not Flavour.SERVERLESS:
            return
        canary = '{"index":{"_id":"canary"}}\n{"entry":"canary"}\n{"delete":{"_id":"canary"}}\n'
        for attempt in range(_ATTEMPTS):
            status = cast(int, self._cluster.bulk(self.name, canary, 60.0)[0]["status"])
            if status < 300:
                return
            if status == 400:
                self.drop()
                raise InvalidInput.of("LETHE_OPENSEARCH_URL", _CLASSIC)
            self._sleep(min(2.0**attempt, 10.0))
        raise Unavailable("the collection does not take entries yet")
