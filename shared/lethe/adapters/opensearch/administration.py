"""Making an index, and letting searches see it: for the operator and the laptop, never for a function."""

from __future__ import annotations

import time
from typing import cast

from lethe.adapters.opensearch.connection import Cluster, Refused
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.mapping import IndexShape, index_body, index_name, searched_name
from lethe.domain.embedding import EmbeddingModel
from lethe.domain.json_values import JsonValue
from lethe.errors import InvalidInput, Unavailable

_CONCRETE = "-index"
_ATTEMPTS = 8

_CLASSIC = (
    "this is an OpenSearch Serverless collection of the Classic generation, which refuses ids of our own, so that "
    "entries could be neither replaced nor erased: make a NextGen collection (SearchEngine=serverless does), or a "
    "managed domain"
)


class IndexAdministration:
    """The index of one model and schema; ``alias`` stands for all that there are.

    Searches ask an index by a name of its own that it has only when it is whole; so a function of each model finds the
    right one, or none. An index that nobody keeps in step any more is deleted when another is shown, since what is
    erased would stay there: all but that of the model ``beside``, which is still written to.
    """

    def __init__(
        self,
        cluster: Cluster,
        alias: str,
        model: EmbeddingModel,
        shape: IndexShape | None = None,
        beside: EmbeddingModel | None = None,
    ) -> None:
        self._cluster = cluster
        self._alias = alias
        self._model = model
        self._kept = {index_name(alias, each) + _CONCRETE for each in (model, beside) if each is not None}
        self._shape = shape or IndexShape()
        self.name = index_name(alias, model)
        """What is written to: an alias, so that a write can demand that it is there."""
        self.searched = searched_name(alias, model)
        """What is searched, once it is shown."""
        self._concrete = self.name + _CONCRETE

    def make(self) -> bool:
        """Make the index unless it is there; whether it was made now.

        Raises InvalidInput when the cluster is one that Lethe cannot use, Unavailable when it takes no entries yet.
        """
        if self._cluster.exists(self.name):
            return False
        body = index_body(self._model, self._cluster.flavour, self._shape)
        try:
            self._cluster.call("PUT", f"/{self._concrete}", {**body, "aliases": {self.name: {}, self._alias: {}}})
        except Refused:
            if not self._cluster.exists(self.name):  # else somebody was faster
                raise
        self._refuse_classic()
        return True

    def drop(self) -> None:
        """Delete the index; again is no error."""
        if self._cluster.exists(self.name):
            self._cluster.call("DELETE", f"/{self._concrete}")

    def shown(self) -> bool:
        """Whether searches see this index."""
        return self._cluster.exists(self.searched)

    def show(self) -> None:
        """Let searches with vectors of this model see the index, and delete those that are left behind."""
        names = (self._alias, self.searched)
        actions: list[JsonValue] = [{"add": {"index": self._concrete, "alias": name}} for name in names]
        self._cluster.call("POST", "/_aliases", {"actions": actions})
        for index in sorted(set(self._cluster.call("GET", f"/_alias/{self._alias}")) - self._kept):
            self._cluster.call("DELETE", f"/{index}")

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
            time.sleep(min(2.0**attempt, 10.0))
        raise Unavailable("the collection does not take entries yet")
