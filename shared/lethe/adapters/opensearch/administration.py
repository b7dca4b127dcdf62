"""Making an index, and letting searches see it: for the operator and the laptop, never for a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from lethe.adapters.opensearch.connection import Cluster, IndexMissing, Json, Refused
from lethe.adapters.opensearch.flavours import Flavour
from lethe.adapters.opensearch.mapping import IndexShape, index_body, index_name
from lethe.domain.embedding import EmbeddingModel
from lethe.errors import InvalidInput

_CLASSIC = (
    "this is an OpenSearch Serverless collection of the Classic generation, which refuses ids of our own, so that "
    "entries could be neither replaced nor erased: make a NextGen collection (SearchEngine=serverless does), or a "
    "managed domain"
)


class IndexAdministration:
    """The indexes behind one alias. Searches ask the alias; each model and schema has an index of its own."""

    def __init__(self, cluster: Cluster, alias: str, model: EmbeddingModel, shape: IndexShape | None = None) -> None:
        self._cluster = cluster
        self._alias = alias
        self._model = model
        self._shape = shape or IndexShape()
        self.name = index_name(alias, model)

    def make(self) -> bool:
        """Make the index unless it is there; whether it was made now.

        Raises InvalidInput when the cluster is one that Lethe cannot use.
        """
        if self._cluster.exists(self.name):
            return False
        body = index_body(self._model, self._cluster.flavour, self._shape)
        try:
            self._cluster.call("PUT", f"/{self.name}", body)
        except Refused:
            if not self._cluster.exists(self.name):  # else somebody was faster
                raise
        self._refuse_classic()
        return True

    def drop(self) -> None:
        """Delete the index; again is no error."""
        if self._cluster.exists(self.name):
            self._cluster.call("DELETE", f"/{self.name}")

    def shown(self) -> str | None:
        """The index that searches see; None before the first was shown."""
        try:
            found = self._cluster.call("GET", f"/_alias/{self._alias}")
        except IndexMissing:
            return None
        return next(iter(found), None)

    def show(self) -> None:
        """Let searches see this index, and no other, from one moment to the next."""
        before = self.shown()
        actions: list[Mapping[str, Json]] = [{"add": {"index": self.name, "alias": self._alias}}]
        if before is not None and before != self.name:
            actions.insert(0, {"remove": {"index": before, "alias": self._alias}})
        self._cluster.call("POST", "/_aliases", {"actions": actions})

    def _refuse_classic(self) -> None:
        """A Classic vector collection takes no id of ours: one harmless entry tells."""
        if self._cluster.flavour is not Flavour.SERVERLESS:
            return
        canary = '{"index":{"_id":"canary"}}\n{"entry":"canary"}\n{"delete":{"_id":"canary"}}\n'
        results = self._cluster.bulk(self.name, canary, 60.0)
        if any(cast(int, result["status"]) >= 400 for result in results[:1]):
            self.drop()
            raise InvalidInput.of("LETHE_OPENSEARCH_URL", _CLASSIC)
